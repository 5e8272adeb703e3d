package overlay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"piloto/internal/workspace"
)

// Diff returns the changes of a set as a unified diff. Of a content that is no text it says the sizes. It reads the
// contents before from the base: an error is ErrMoved if the base does not keep such a version.
func Diff(ctx context.Context, base workspace.Store, s Set) (string, error) {
	var b strings.Builder
	for _, c := range s.Changes {
		before, err := readBefore(ctx, base, c.Name, c.Before)
		if err != nil {
			return "", err
		}
		b.Write(unified(c, before, s.Contents[c.After]))
	}
	return b.String(), nil
}

// readBefore returns the content that a version of a file has, and nil for the version "".
func readBefore(ctx context.Context, base workspace.Store, name, version string) ([]byte, error) {
	if version == "" {
		return nil, nil
	}
	content, f, err := workspace.ReadAll(ctx, base, name, "")
	if err == nil && f.Version == version {
		return content, nil
	}
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return nil, err
	}
	content, _, err = workspace.ReadAll(ctx, base, name, version)
	if errors.Is(err, workspace.ErrNotFound) {
		return nil, workspace.ErrMoved.With("name", name).Because(err)
	}
	return content, err
}

// mostLines is the maximum number of lines of a text whose diff is made: the diff of ten million empty lines would need
// more memory than a function has.
const mostLines = 500_000

// opaque reports whether a content has no diff. Bytes that are no UTF-8 would all be the same character in one.
func opaque(content []byte) bool {
	return workspace.Binary(content) || !utf8.Valid(content) || bytes.Count(content, []byte("\n")) > mostLines
}

// unified returns the diff of one file.
func unified(c Change, before, after []byte) []byte {
	old, next := "a/"+c.Name, "b/"+c.Name
	if c.Before == "" {
		old = "/dev/null"
	}
	if c.After == "" {
		next = "/dev/null"
	}
	head := fmt.Sprintf("--- %s\n+++ %s\n", old, next)
	switch {
	case c.Binary && len(after) > 0 && !opaque(after): // a person sees every text that they confirm
		return slices.Concat(fmt.Appendf(nil, "%s(binary: %d bytes become this text)\n", head, len(before)), wholeHunk(after))
	case c.Binary:
		return fmt.Appendf(nil, "%s(binary: %d bytes become %d)\n", head, len(before), len(after))
	}
	if bytes.Equal(before, after) { // an empty file is made or deleted
		return []byte(head)
	}
	text := diff.Diff(old, before, next, after)
	_, text, _ = bytes.Cut(text, []byte("\n")) // the first line repeats the names
	return text
}

// wholeHunk returns a text as one hunk that adds it.
func wholeHunk(text []byte) []byte {
	_, hunk, _ := bytes.Cut(diff.Diff("", nil, "", text), []byte("\n@@"))
	return append([]byte("@@"), hunk...)
}

// Unseen returns the names of the files whose new content the diff does not have, because it is binary or too long.
func (s Set) Unseen() (names []string) {
	for _, c := range s.Changes {
		if c.After != "" && opaque(s.Contents[c.After]) {
			names = append(names, c.Name)
		}
	}
	return names
}

// count returns the lines that a change adds and removes.
func count(c Change, before, after []byte) (added, removed int) {
	if c.Binary {
		return 0, 0
	}
	for line := range Lines(string(unified(c, before, after))) {
		switch line.Kind {
		case Added:
			added++
		case Removed:
			removed++
		case Stays, Names, Part:
		}
	}
	return added, removed
}
