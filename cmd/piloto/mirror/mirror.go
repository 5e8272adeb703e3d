// Package mirror copies the files of one workspace into another: of a folder to a project (push), and back (pull). It
// owns which files are written over, and which are in conflict because somebody changed them meanwhile.
package mirror

import (
	"context"
	"errors"
	"slices"
	"strings"

	"piloto/internal/workspace"
)

// Seen is a file as both sides had it when it was last copied, or found to be the same.
type Seen struct {
	Here  string `json:"here"`  // version in the folder
	There string `json:"there"` // version at the deployment
}

// Options set which files may be written over.
type Options struct {
	Delete  bool // delete files that this side had at the last copy, and does not have any more
	Force   bool // write over files that were changed meanwhile
	DryRun  bool // change nothing
	Strange bool // a file that was never copied counts as changed

	// Present are files and folders that this side has though its list leaves them out. Nothing of these names is deleted.
	Present []string
}

// Result names the files, in the order of bytes.
type Result struct {
	Written   []string `json:"written"`
	Deleted   []string `json:"deleted"`
	Same      int      `json:"same"`      // the number of files that were left as they are
	Conflicts []string `json:"conflicts"` // changed meanwhile: with one of them, nothing is written
	Strange   []string `json:"strange"`   // not deleted, because only the other side ever had them
}

// A Mirror copies files, and knows their state at the last copy.
type Mirror struct {
	Here, There workspace.Store
	Known       map[string]Seen // by name. Push and Pull bring it up to date, also when they fail
}

// Push copies the files of here to there. A new file there stays, unless it has to be deleted.
func (m *Mirror) Push(ctx context.Context, o Options) (Result, error) {
	return m.copy(ctx, side{m.Here, func(s Seen) string { return s.Here }}, side{m.There, func(s Seen) string { return s.There }},
		func(from, to string) Seen { return Seen{Here: from, There: to} }, o)
}

// Pull copies the files of there to here.
func (m *Mirror) Pull(ctx context.Context, o Options) (Result, error) {
	return m.copy(ctx, side{m.There, func(s Seen) string { return s.There }}, side{m.Here, func(s Seen) string { return s.Here }},
		func(from, to string) Seen { return Seen{Here: to, There: from} }, o)
}

// side is a store, and the version that a Seen has of it.
type side struct {
	store workspace.Store
	of    func(Seen) string
}

// present returns the files of a side by name.
func (s side) present(ctx context.Context) ([]workspace.File, map[string]workspace.File, error) {
	l, err := s.store.List(ctx)
	byName := map[string]workspace.File{}
	for _, f := range l.Files {
		byName[f.Name] = f
	}
	return l.Files, byName, err
}

// copying is a copy in one direction.
type copying struct {
	known    map[string]Seen
	from, to side
	seen     func(from, to string) Seen
	options  Options
	result   Result
}

func (m *Mirror) copy(ctx context.Context, from, to side, seen func(from, to string) Seen, o Options) (Result, error) {
	if m.Known == nil {
		m.Known = map[string]Seen{}
	}
	c := &copying{m.Known, from, to, seen, o, Result{Written: []string{}, Deleted: []string{}, Conflicts: []string{}, Strange: []string{}}}
	list, byName, err := from.present(ctx)
	if err != nil {
		return c.result, err
	}
	olds, there, err := to.present(ctx)
	if err != nil {
		return c.result, err
	}
	writes, err := c.writes(ctx, list, there)
	if err != nil {
		return c.result, err
	}
	var deletes []workspace.File
	if o.Delete {
		if deletes, err = c.deletes(ctx, olds, byName); err != nil {
			return c.result, err
		}
	}
	if len(c.result.Conflicts) > 0 {
		slices.Sort(c.result.Conflicts)
		return c.result, nil
	}
	return c.result, c.run(ctx, writes, deletes, there)
}

// writes returns the files that the other side has otherwise, or not at all.
func (c *copying) writes(ctx context.Context, list []workspace.File, there map[string]workspace.File) ([]workspace.File, error) {
	var writes []workspace.File
	for _, f := range list {
		old, exists := there[f.Name]
		known, copied := c.known[f.Name]
		source, target := copied && c.from.of(known) == f.Version, copied && c.to.of(known) == old.Version
		if !exists {
			writes = append(writes, f)
			continue
		}
		same := source && target
		if !same && old.Size == f.Size {
			var err error
			if same, err = c.alike(ctx, f, old); err != nil {
				return nil, err
			}
		}
		switch {
		case same || source && !c.options.Force: // this side has nothing new
			c.result.Same++
		case !c.options.Force && !target && (copied || c.options.Strange):
			c.result.Conflicts = append(c.result.Conflicts, f.Name)
		default:
			writes = append(writes, f)
		}
	}
	return writes, nil
}

// alike reports whether two files have the same content, and remembers it.
func (c *copying) alike(ctx context.Context, f, old workspace.File) (bool, error) {
	one, _, err := workspace.ReadAll(ctx, c.from.store, f.Name, f.Version)
	if err != nil {
		return false, err
	}
	other, _, err := workspace.ReadAll(ctx, c.to.store, old.Name, old.Version)
	if err != nil || workspace.Sum(one) != workspace.Sum(other) {
		return false, err
	}
	c.known[f.Name] = c.seen(f.Version, old.Version)
	return true, nil
}

// deletes returns the files that only the other side still has. One that this side never had stays, and one that its
// list leaves out.
func (c *copying) deletes(ctx context.Context, olds []workspace.File, byName map[string]workspace.File) ([]workspace.File, error) {
	var deletes []workspace.File
	for _, old := range olds {
		if _, here := byName[old.Name]; here || c.isPresent(old.Name) {
			continue
		}
		if _, err := c.from.store.Stat(ctx, old.Name); err == nil || !errors.Is(err, workspace.ErrNotFound) {
			if err == nil || errors.Is(err, workspace.ErrName) || errors.Is(err, workspace.ErrSpecial) {
				continue
			}
			return nil, err
		}
		known, copied := c.known[old.Name]
		switch {
		case !copied:
			c.result.Strange = append(c.result.Strange, old.Name)
		case c.to.of(known) != old.Version && !c.options.Force:
			c.result.Conflicts = append(c.result.Conflicts, old.Name)
		default:
			deletes = append(deletes, old)
		}
	}
	return deletes, nil
}

func (c *copying) isPresent(name string) bool {
	return slices.ContainsFunc(c.options.Present, func(p string) bool {
		return p == name || strings.HasPrefix(name, p+"/")
	})
}

// run makes the changes: the deletions first, because a file can have the name of a deleted folder.
func (c *copying) run(ctx context.Context, writes, deletes []workspace.File, there map[string]workspace.File) error {
	for _, old := range deletes {
		if !c.options.DryRun {
			if err := c.to.store.Delete(ctx, old.Name, old.Version); err != nil && !errors.Is(err, workspace.ErrNotFound) {
				return err
			}
			delete(c.known, old.Name)
		}
		c.result.Deleted = append(c.result.Deleted, old.Name)
	}
	for _, f := range writes {
		if !c.options.DryRun {
			content, now, err := workspace.ReadAll(ctx, c.from.store, f.Name, f.Version)
			if err != nil {
				return err
			}
			made, err := c.to.store.Write(ctx, f.Name, content, there[f.Name].Version)
			if err != nil {
				return err
			}
			c.known[f.Name] = c.seen(now.Version, made.Version)
		}
		c.result.Written = append(c.result.Written, f.Name)
	}
	return nil
}
