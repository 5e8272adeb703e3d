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

// ResolvePath replaces the references in a path by their values. A value fills only the parameter in which its
// reference stands; it is escaped, so that it cannot add a segment. The error is one of package ref, or ErrRequest
// for a value that must not stand in a path.
func ResolvePath(template, path string, look ref.Lookup) (string, error) {
	if !strings.Contains(path, "${") {
		return path, nil
	}
	var odd error
	resolved, err := ref.ResolveText(path, look, literalPath, func(value string) string {
		if reason := valueProblem(value); reason != "" && odd == nil {
			odd = pathError(fmt.Sprintf("the value %.60q %s", value, reason))
		}
		return url.PathEscape(value)
	})
	if err == nil {
		err = odd
	}
	if err != nil {
		return "", err
	}
	resolved = strings.ReplaceAll(resolved, "${", "$%7B") // references that remain are text
	return resolved, checkPlaces(template, path, resolved, look)
}

// literalPath escapes the text around references so that it is decoded to the same text for all values.
func literalPath(text string) string {
	parts := strings.Split(text, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(Unescape(part))
	}
	return strings.Join(parts, "/")
}

// valueProblem returns the reason why a value of a result must not fill a part of a path, or "". It refuses values
// that pass the checks of every segment, but in which some receivers would see a slash, or nothing at all.
func valueProblem(value string) string {
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

// checkPlaces checks that each parameter of a resolved path equals the value of its references: in
// "{base}...{head}" a base that holds "..." would move the boundary between the two.
func checkPlaces(template, written, resolved string, look ref.Lookup) error {
	before, _, ok := matchTemplate(template, written)
	after, _, still := matchTemplate(template, resolved)
	if !ok || !still {
		return pathError("the path does not match " + template)
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
			return pathError(fmt.Sprintf(
				"the value %.60q of {%s} holds what separates it from the next part of %s: give each part by a value without it, or write the path without references",
				want, name, template))
		}
	}
	return nil
}
