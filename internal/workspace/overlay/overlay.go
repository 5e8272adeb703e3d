// Package overlay keeps the changes that a job makes to the files of a workspace, until a person confirms them. The job
// reads its own changes; the workspace below, the base, is not written. The changes are a Set: it can be stored, shown as a
// diff, and confirmed by its digest. Apply writes it to the base, and Undo makes the set that takes it back.
package overlay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"piloto/internal/workspace"
)

// Options are the settings of an overlay.
type Options struct {
	Now    func() time.Time        // the time of changes
	Check  func(name string) error // whether the base takes a file of that name; nil: workspace.CheckName
	Limits workspace.Limits        // of the base
}

// An Overlay is a workspace.Store that never writes to its base. The version of a changed file is the hex SHA-256 of
// its content. Of a changed file it keeps the last content, and the base its versions.
type Overlay struct {
	base    workspace.Store
	options Options

	mu      sync.RWMutex
	changes map[string]entry
}

// entry is the change of a file.
type entry struct {
	Change
	content []byte
	at      time.Time
}

// New returns an overlay with the changes of a set. An error means that the set is damaged.
func New(base workspace.Store, from Set, o Options) (*Overlay, error) {
	if err := from.check(); err != nil {
		return nil, err
	}
	if o.Check == nil {
		o.Check = workspace.CheckName
	}
	v := &Overlay{base: base, options: o, changes: map[string]entry{}}
	for _, c := range from.Changes {
		v.changes[c.Name] = entry{Change: c, content: from.Contents[c.After], at: o.Now()}
	}
	return v, nil
}

// Changes returns the changes up to now.
func (v *Overlay) Changes() Set {
	v.mu.RLock()
	defer v.mu.RUnlock()
	s := Set{Changes: []Change{}, Contents: map[string][]byte{}}
	for _, e := range v.changes {
		s.Changes = append(s.Changes, e.Change)
		if e.After != "" {
			s.Contents[e.After] = e.content
		}
	}
	slices.SortFunc(s.Changes, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func (v *Overlay) changed(name string) (entry, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	e, ok := v.changes[name]
	return e, ok
}

// file returns the file that an entry stands for, or ErrNotFound if it is deleted.
func (e entry) file() (workspace.File, error) {
	if e.After == "" {
		return workspace.File{}, workspace.ErrNotFound.With("name", e.Name)
	}
	return workspace.File{Name: e.Name, Size: int64(len(e.content)), Version: e.After, At: e.at}, nil
}

// List returns the files of the base with the changes.
func (v *Overlay) List(ctx context.Context) (workspace.Listing, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.list(ctx)
}

// list does the same, for a caller that has the lock.
func (v *Overlay) list(ctx context.Context) (workspace.Listing, error) {
	below, err := v.base.List(ctx)
	if err != nil || len(v.changes) == 0 {
		return below, err
	}
	l := workspace.Listing{}
	for _, f := range below.Files {
		if _, changed := v.changes[f.Name]; !changed {
			l.Files = append(l.Files, f)
		}
	}
	sums := []string{below.Version}
	for name, e := range v.changes {
		if f, err := e.file(); err == nil {
			l.Files = append(l.Files, f)
		}
		sums = append(sums, name+" "+e.After)
	}
	slices.SortFunc(l.Files, func(a, b workspace.File) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(sums[1:])
	hash := sha256.Sum256(fmt.Appendf(nil, "%q", sums))
	l.Version = hex.EncodeToString(hash[:])
	return l, nil
}

// Stat returns the present version of a file.
func (v *Overlay) Stat(ctx context.Context, name string) (workspace.File, error) {
	if e, ok := v.changed(name); ok {
		return e.file()
	}
	return v.base.Stat(ctx, name)
}

// Read returns a part of a file. Older versions come from the base.
func (v *Overlay) Read(ctx context.Context, name, version string, from, n int64) ([]byte, workspace.File, error) {
	e, ok := v.changed(name)
	if !ok || version != "" && version != e.After {
		return v.base.Read(ctx, name, version, from, n)
	}
	f, err := e.file()
	if err != nil {
		return nil, f, err
	}
	return bytes.Clone(workspace.Part(e.content, from, n)), f, nil
}

// Versions returns the present version of a changed file, and those of the base.
func (v *Overlay) Versions(ctx context.Context, name string) ([]workspace.File, error) {
	e, ok := v.changed(name)
	below, err := v.base.Versions(ctx, name)
	if !ok || e.After == "" {
		return below, err
	}
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return nil, err
	}
	f, _ := e.file()
	return append([]workspace.File{f}, below...), nil
}

// Write keeps the new content of a file.
func (v *Overlay) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	if err := v.options.Check(name); err != nil {
		return workspace.File{}, err
	}
	if err := workspace.CheckSize(name, int64(len(content))); err != nil {
		return workspace.File{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	present, before, err := v.present(ctx, name)
	if err != nil {
		return workspace.File{}, err
	}
	if present != version {
		return workspace.File{}, workspace.ErrMoved.With("name", name)
	}
	if err := v.fits(ctx, name, int64(len(content)), version == ""); err != nil {
		return workspace.File{}, err
	}
	content = bytes.Clone(content)
	return v.put(ctx, entry{Change: Change{Name: name, Before: before, After: workspace.Sum(content)}, content: content, at: v.options.Now()})
}

// Delete keeps that a file is deleted.
func (v *Overlay) Delete(ctx context.Context, name, version string) error {
	if err := v.options.Check(name); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	present, before, err := v.present(ctx, name)
	switch {
	case err != nil:
		return err
	case present == "":
		return workspace.ErrNotFound.With("name", name)
	case present != version:
		return workspace.ErrMoved.With("name", name)
	}
	_, err = v.put(ctx, entry{Change: Change{Name: name, Before: before}, at: v.options.Now()})
	return err
}

// present returns the version of a file, and that from before its change; both are "" if there is no file.
func (v *Overlay) present(ctx context.Context, name string) (version, before string, err error) {
	if e, changed := v.changes[name]; changed {
		return e.After, e.Before, nil
	}
	f, err := v.base.Stat(ctx, name)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return "", "", err
	}
	return f.Version, f.Version, nil
}

// fits reports whether the workspace takes a file of a size: as the adapters do, so that a set can be applied.
func (v *Overlay) fits(ctx context.Context, name string, size int64, fresh bool) error {
	l, err := v.list(ctx)
	if err != nil {
		return err
	}
	files := 1
	for _, f := range l.Files {
		if f.Name == name {
			continue
		}
		if fresh {
			if err := workspace.CheckNew(name, f.Name); err != nil {
				return err
			}
		}
		files, size = files+1, size+f.Size
	}
	return v.options.Limits.Check(files, size)
}

// put keeps an entry, or forgets it if the file is again as it is in the base.
func (v *Overlay) put(ctx context.Context, e entry) (workspace.File, error) {
	before, err := readBefore(ctx, v.base, e.Name, e.Before)
	if err != nil {
		return workspace.File{}, err
	}
	if e.Before == "" && e.After == "" || e.Before != "" && e.After == workspace.Sum(before) {
		delete(v.changes, e.Name)
		return workspace.File{Name: e.Name, Size: int64(len(e.content)), Version: e.Before, At: e.at}, nil
	}
	e.Binary = opaque(before) || opaque(e.content)
	e.Added, e.Removed = count(e.Change, before, e.content)
	v.changes[e.Name] = e
	f, _ := e.file()
	return f, nil
}
