package overlay

import (
	"context"
	"errors"
	"slices"
	"strings"

	"piloto/internal/workspace"
)

// Done is a change that the base has.
type Done struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // that it has now; "": it is deleted

	found bool // it was there before the call: an attempt before it did it, or somebody else
}

// Written returns the changes that the call of Apply made itself.
func Written(done []Done) []Done {
	return slices.DeleteFunc(slices.Clone(done), func(d Done) bool { return d.found })
}

// Apply writes a set to the base: first the deletes, then the contents. Each write has the condition that the file
// has the version from before. It returns the changes that the base has, by name, also with an error.
//
// The error is ErrMoved, with the names in Args["name"], if files have changed since: if that is seen before the first
// write, nothing is written. Apply can be repeated with the same set after any error and after a crash: it finds its
// earlier writes by the content.
func Apply(ctx context.Context, base workspace.Store, s Set) ([]Done, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var done []Done
	var open []Change
	var moved []string
	for _, c := range s.Changes {
		at, version, err := compare(ctx, base, c)
		switch {
		case err != nil:
			return done, err
		case at == applied:
			done = append(done, Done{Name: c.Name, Version: version, found: true})
		case at == other:
			moved = append(moved, c.Name)
		default:
			open = append(open, c)
		}
	}
	if len(moved) > 0 {
		return done, workspace.ErrMoved.With("name", strings.Join(moved, ", "))
	}
	for _, c := range deletesFirst(open) {
		version, err := write(ctx, base, c, s.Contents[c.After])
		if err != nil {
			return inOrder(done), err
		}
		done = append(done, Done{Name: c.Name, Version: version})
	}
	return inOrder(done), nil
}

// Moved returns the names of the files that do not have the version from before a change any more.
func Moved(ctx context.Context, base workspace.Store, s Set) ([]string, error) {
	var names []string
	for _, c := range s.Changes {
		at, _, err := compare(ctx, base, c)
		if err != nil {
			return nil, err
		}
		if at != pending {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// deletesFirst makes room: a file that is made can have the name of a folder whose files are deleted.
func deletesFirst(list []Change) []Change {
	var deletes, writes []Change
	for _, c := range list {
		if c.After == "" {
			deletes = append(deletes, c)
		} else {
			writes = append(writes, c)
		}
	}
	return append(deletes, writes...)
}

func inOrder(done []Done) []Done {
	slices.SortFunc(done, func(a, b Done) int { return strings.Compare(a.Name, b.Name) })
	return done
}

// state says how the base stands to a change.
type state int

const (
	pending state = iota // it has the version from before
	applied              // it has the content after
	other                // it has another one
)

// compare compares a file of the base with a change, and returns its version.
func compare(ctx context.Context, base workspace.Store, c Change) (state, string, error) {
	f, err := base.Stat(ctx, c.Name)
	missing := errors.Is(err, workspace.ErrNotFound)
	switch {
	case err != nil && !missing:
		return other, "", err
	case f.Version == c.Before: // "" for a file that is missing
		return pending, f.Version, nil
	case missing && c.After == "":
		return applied, "", nil
	case missing || c.After == "":
		return other, "", nil
	}
	content, f, err := workspace.ReadAll(ctx, base, c.Name, "")
	switch {
	case errors.Is(err, workspace.ErrNotFound):
		return other, "", nil
	case err != nil:
		return other, "", err
	case workspace.Sum(content) == c.After:
		return applied, f.Version, nil
	}
	return other, f.Version, nil
}

// write makes one change. A repeated write whose first answer was lost gets ErrMoved, although the base has the content.
func write(ctx context.Context, base workspace.Store, c Change, content []byte) (version string, err error) {
	if c.After == "" {
		err = base.Delete(ctx, c.Name, c.Before)
	} else {
		var f workspace.File
		f, err = base.Write(ctx, c.Name, content, c.Before)
		version = f.Version
	}
	if !errors.Is(err, workspace.ErrMoved) && !errors.Is(err, workspace.ErrNotFound) {
		return version, err
	}
	if at, version, e := compare(ctx, base, c); e == nil && at == applied {
		return version, nil
	}
	return "", workspace.ErrMoved.With("name", c.Name).Because(err)
}

// Undo returns the set that takes back those changes of a set that were done. The error is ErrMoved if the base does
// not keep a version from before any more.
func Undo(ctx context.Context, base workspace.Store, s Set, done []Done) (Set, error) {
	back := Set{Changes: []Change{}, Contents: map[string][]byte{}}
	for _, c := range s.Changes {
		i := slices.IndexFunc(done, func(d Done) bool { return d.Name == c.Name })
		if i < 0 {
			continue
		}
		inverse := Change{Name: c.Name, Before: done[i].Version, Added: c.Removed, Removed: c.Added, Binary: c.Binary}
		if c.Before != "" {
			content, err := readBefore(ctx, base, c.Name, c.Before)
			if err != nil {
				return Set{}, err
			}
			inverse.After = workspace.Sum(content)
			back.Contents[inverse.After] = content
		}
		back.Changes = append(back.Changes, inverse)
	}
	return back, nil
}
