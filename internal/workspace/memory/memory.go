// Package memory is a workspace.Store for tests: it keeps all files, and all their versions, in memory.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/internal/workspace"
)

// Store is a workspace. The zero value has no file.
type Store struct {
	Limits workspace.Limits

	mu    sync.Mutex
	files map[string][]version // the newest last
	moves int                  // changes up to now
}

// version is one version of a file. One with gone says that the file was deleted.
type version struct {
	file    workspace.File
	content []byte
	gone    bool
}

// With returns a store with files, from names to contents.
func With(files map[string]string) *Store {
	s := &Store{}
	for name, content := range files {
		s.put(name, version{content: []byte(content)})
	}
	return s
}

// put adds a version and numbers it.
func (s *Store) put(name string, v version) workspace.File {
	if s.files == nil {
		s.files = map[string][]version{}
	}
	s.moves++
	v.file = workspace.File{Name: name, Size: int64(len(v.content)), Version: fmt.Sprintf("v%d", s.moves), At: time.Unix(int64(s.moves), 0).UTC()}
	s.files[name] = append(s.files[name], v)
	return v.file
}

// present returns the present version of a file.
func (s *Store) present(name string) (version, error) {
	all := s.files[name]
	if len(all) == 0 || all[len(all)-1].gone {
		return version{}, workspace.ErrNotFound.With("name", name)
	}
	return all[len(all)-1], nil
}

// List returns all files.
func (s *Store) List(ctx context.Context) (workspace.Listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return workspace.Listing{}, err
	}
	l := workspace.Listing{Version: fmt.Sprint(s.moves)}
	for name := range s.files {
		if v, err := s.present(name); err == nil {
			l.Files = append(l.Files, v.file)
		}
	}
	slices.SortFunc(l.Files, func(a, b workspace.File) int { return cmp.Compare(a.Name, b.Name) })
	return l, nil
}

// Stat returns the present version of a file.
func (s *Store) Stat(ctx context.Context, name string) (workspace.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := usable(ctx, name); err != nil {
		return workspace.File{}, err
	}
	v, err := s.present(name)
	return v.file, err
}

// Read returns a part of a version.
func (s *Store) Read(ctx context.Context, name, of string, from, n int64) ([]byte, workspace.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := usable(ctx, name); err != nil {
		return nil, workspace.File{}, err
	}
	v, err := s.present(name)
	if of != "" {
		i := slices.IndexFunc(s.files[name], func(v version) bool { return !v.gone && v.file.Version == of })
		if i < 0 {
			return nil, workspace.File{}, workspace.ErrNotFound.With("name", name)
		}
		v, err = s.files[name][i], nil
	}
	if err != nil {
		return nil, workspace.File{}, err
	}
	return bytes.Clone(workspace.Part(v.content, from, n)), v.file, nil
}

// Write makes or replaces a file.
func (s *Store) Write(ctx context.Context, name string, content []byte, of string) (workspace.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := usable(ctx, name); err != nil {
		return workspace.File{}, err
	}
	if v, _ := s.present(name); v.file.Version != of { // no file: its version is ""
		return workspace.File{}, workspace.ErrMoved.With("name", name)
	}
	if err := workspace.CheckSize(name, int64(len(content))); err != nil {
		return workspace.File{}, err
	}
	files, size := 1, int64(len(content))
	for other := range s.files {
		v, err := s.present(other)
		if err != nil || other == name {
			continue
		}
		if err := workspace.CheckNew(name, other); of == "" && err != nil {
			return workspace.File{}, err
		}
		files, size = files+1, size+v.file.Size
	}
	if err := s.Limits.Check(files, size); err != nil {
		return workspace.File{}, err
	}
	return s.put(name, version{content: bytes.Clone(content)}), nil
}

// usable returns an error for a name that no operation uses, and for a caller that was cancelled.
func usable(ctx context.Context, name string) error {
	if err := (workspace.Shown{}).Check(name); err != nil {
		return err
	}
	return ctx.Err()
}

// Delete removes a file.
func (s *Store) Delete(ctx context.Context, name, of string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := usable(ctx, name); err != nil {
		return err
	}
	v, err := s.present(name)
	if err != nil {
		return err
	}
	if v.file.Version != of {
		return workspace.ErrMoved.With("name", name)
	}
	s.put(name, version{gone: true})
	return nil
}

// Versions returns the versions of a file.
func (s *Store) Versions(ctx context.Context, name string) ([]workspace.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	var all []workspace.File
	for _, v := range slices.Backward(s.files[name]) {
		if !v.gone && len(all) < workspace.MaxVersions {
			all = append(all, v.file)
		}
	}
	if len(all) == 0 {
		return nil, workspace.ErrNotFound.With("name", name)
	}
	return all, nil
}

// String lists names and contents, for the message of a test.
func (s *Store) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for name := range s.files {
		if v, err := s.present(name); err == nil {
			lines = append(lines, fmt.Sprintf("%s: %q", name, v.content))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
