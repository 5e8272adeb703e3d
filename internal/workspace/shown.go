package workspace

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/fold"
)

// A Shown has globs of the configuration. A file that one of them matches is not hidden, and a store that leaves files
// out of its list (package ignore) does not leave it out. The zero value has no glob.
//
// A glob without "/" matches the last segment of a name. Any other glob matches the whole name; there "**" stands for
// any number of segments. Only a glob with "/" shows files of a folder that is hidden.
type Shown struct {
	last  []string   // globs of a last segment
	whole [][]string // globs of a whole name, by segment
}

// Show returns the Shown of a configuration. The error names a glob that cannot be read.
func Show(globs ...string) (Shown, error) {
	var s Shown
	for _, glob := range globs {
		segments := strings.Split(strings.TrimPrefix(glob, "/"), "/")
		for _, segment := range segments {
			if _, err := path.Match(segment, ""); err != nil || segment == "" {
				return Shown{}, fmt.Errorf("%q is no glob of files", glob)
			}
		}
		if len(segments) == 1 && !strings.HasPrefix(glob, "/") {
			s.last = append(s.last, glob)
			continue
		}
		s.whole = append(s.whole, segments)
	}
	return s, nil
}

// Check returns ErrName for a name that CheckName refuses, and for a hidden one. No operation of a store uses such a
// name.
func (s Shown) Check(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if s.Hidden(name) {
		return refuse(name, whyHide(name))
	}
	return nil
}

// whyHide returns why a file is hidden.
func whyHide(name string) *fault.Error {
	for segment := range strings.SplitSeq(fold.Text(name), "/") {
		switch segment {
		case ".git":
			return whyGit
		case ".piloto":
			return whyOwn
		}
	}
	return whyHidden
}

// Hidden reports whether a file is never read, listed or written: it usually contains a secret, or belongs to git or to
// the data folder of Piloto (.piloto). Case
// and marks of letters do not matter.
func (s Shown) Hidden(name string) bool {
	dir, last := path.Split(name)
	if slices.ContainsFunc(strings.Split(dir, "/"), hiddenFolder) {
		return !s.namesWhole(name)
	}
	return hiddenFile(last) && !s.Names(name)
}

// Enters reports whether a folder can have files that are not hidden.
func (s Shown) Enters(folder string) bool {
	return !slices.ContainsFunc(strings.Split(folder, "/"), hiddenFolder) || s.NamesBelow(folder)
}

// Names reports whether a glob matches a file.
func (s Shown) Names(name string) bool {
	last := path.Base(name)
	return s.namesWhole(name) || slices.ContainsFunc(s.last, func(glob string) bool { return match([]string{glob}, []string{last}) })
}

// NamesBelow reports whether a glob with "/" can match a file below a folder.
func (s Shown) NamesBelow(folder string) bool {
	segments := strings.Split(folder, "/")
	return slices.ContainsFunc(s.whole, func(glob []string) bool { return matchBelow(glob, segments) })
}

func (s Shown) namesWhole(name string) bool {
	segments := strings.Split(name, "/")
	return slices.ContainsFunc(s.whole, func(glob []string) bool { return match(glob, segments) })
}

// match reports whether a glob matches all segments of a name.
func match(glob, name []string) bool {
	switch {
	case len(glob) == 0:
		return len(name) == 0
	case glob[0] == "**":
		return match(glob[1:], name) || len(name) > 0 && match(glob, name[1:])
	case len(name) == 0:
		return false
	}
	ok, err := path.Match(glob[0], name[0])
	return ok && err == nil && match(glob[1:], name[1:])
}

// matchBelow reports whether a glob can match a name below a folder.
func matchBelow(glob, folder []string) bool {
	switch {
	case len(folder) == 0:
		return len(glob) > 0
	case len(glob) == 0:
		return false
	case glob[0] == "**":
		return true
	}
	ok, err := path.Match(glob[0], folder[0])
	return ok && err == nil && matchBelow(glob[1:], folder[1:])
}

func hiddenFolder(segment string) bool {
	segment = fold.Text(segment)
	return segment == ".git" || segment == ".piloto" || strings.HasPrefix(segment, ".env")
}

func hiddenFile(segment string) bool {
	return slices.ContainsFunc(originals(fold.Text(segment)), hiddenName)
}

func hiddenName(segment string) bool {
	return segment == ".git" || strings.HasPrefix(segment, ".env") || strings.HasPrefix(segment, "id_") ||
		strings.HasSuffix(segment, ".pem") || strings.HasSuffix(segment, ".key")
}
