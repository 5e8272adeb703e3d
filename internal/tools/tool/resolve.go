package tool

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/ref"
)

// ResolvePath replaces the references in a path by what they name. A value is part of
// one segment: it is escaped, so that it can add none, and it fills the parameter in
// which its reference stands and nothing beside it. An error is ref's, or ErrRequest for
// a value that must not stand in a path.
func ResolvePath(template, path string, look ref.Lookup) (string, error) {
	if !strings.Contains(path, "${") {
		return path, nil
	}
	var odd error
	resolved, err := ref.ResolveText(path, look, literalPath, func(value string) string {
		if reason := oddValue(value); reason != "" && odd == nil {
			odd = refusedPath(fmt.Sprintf("the value %.60q %s", value, reason))
		}
		return url.PathEscape(value)
	})
	if err == nil {
		err = odd
	}
	if err != nil {
		return "", err
	}
	resolved = strings.ReplaceAll(resolved, "${", "$%7B") // what is left of them is text
	return resolved, staysInPlace(template, path, resolved, look)
}

// literalPath writes what stands around references so that it is decoded to the same
// whatever the values are.
func literalPath(text string) string {
	parts := strings.Split(text, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(Unescape(part))
	}
	return strings.Join(parts, "/")
}

// oddValue says why a value of a result must not fill a part of a path, beside what
// holds for every segment: some receivers would see a slash, or nothing at all.
func oddValue(value string) string {
	folded := fold.Runes([]rune(value))
	for range 3 {
		if slices.Contains(folded, '/') || slices.Contains(folded, '\\') {
			return `must not contain what may be read as / or \`
		}
		folded = fold.Runes(fold.Decode(folded))
	}
	seen := fold.Trim(folded)
	if value != "" && (len(seen) == 0 || strings.ContainsRune(";?#", seen[0])) {
		return "has nothing in it that every receiver would see"
	}
	return ""
}

// staysInPlace checks that each parameter of a resolved path is what its references
// came to: in "{base}...{head}" a base that holds "..." would move where one ends.
func staysInPlace(template, written, resolved string, look ref.Lookup) error {
	before, _, ok := fit(template, written)
	after, _, still := fit(template, resolved)
	if !ok || !still {
		return refusedPath("the path does not match " + template)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		text := before[name]
		if !strings.Contains(text, "${") {
			continue
		}
		want, err := ref.ResolveText(text, look, Unescape, nil)
		if err != nil {
			return err
		}
		if after[name] != want {
			return refusedPath(fmt.Sprintf(
				"the value %.60q of {%s} holds what separates it from the next part of %s: give each part by a value without it, or write the path without references",
				want, name, template))
		}
	}
	return nil
}
