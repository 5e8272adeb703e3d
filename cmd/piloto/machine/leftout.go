package machine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/ignore"
)

// LeftOut is a file, or a folder with all that is in it, that cannot be a file of a workspace.
type LeftOut struct {
	Name string // as the system has it
	Why  *fault.Error
}

// LeftOut returns the entries that the list of the files leaves out, in the order of bytes of each folder, though they
// are neither hidden nor named in a .gitignore file: links, second names of a file, devices, names that some system
// cannot hold, and files that are too large or unreadable.
func (m *Machine) LeftOut(ctx context.Context) ([]LeftOut, error) {
	root, err := os.OpenRoot(m.Root)
	if err != nil {
		return nil, err
	}
	l, err := m.files.List(ctx)
	s := &search{m: m, ctx: ctx, tree: root.FS(), listed: map[string]bool{}}
	for _, f := range l.Files {
		s.listed[f.Name] = true
	}
	if err == nil {
		err = s.folder(".")
	}
	return s.out, errors.Join(err, root.Close())
}

// search finds entries that are left out.
type search struct {
	m      *Machine
	ctx    context.Context
	tree   fs.FS
	listed map[string]bool
	rules  ignore.Rules
	out    []LeftOut
}

func (s *search) folder(name string) error {
	entries, err := fs.ReadDir(s.tree, name)
	if errors.Is(err, fs.ErrPermission) {
		s.add(name, workspace.ErrDenied.With("name", workspace.Printable(name)).Because(err))
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have gone meanwhile
		return err
	}
	if rules, _, err := workspace.ReadAll(s.ctx, s.m.files, path.Join(name, ignore.File), ""); err == nil {
		if name == "." {
			s.rules.Add("", rules)
		} else {
			s.rules.Add(name, rules)
		}
	}
	for _, e := range entries {
		if err := s.entry(path.Join(name, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) entry(name string, e fs.DirEntry) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.meant(name, e) {
		return nil
	}
	if f, ok := errors.AsType[*fault.Error](workspace.CheckName(name)); ok && !s.isComposed(name) {
		s.add(name, f)
		return nil
	}
	name = norm.NFC.String(name)
	if e.IsDir() {
		return s.folder(name)
	}
	if s.listed[name] {
		return nil
	}
	_, err := s.m.files.Stat(s.ctx, name)
	if errors.Is(err, workspace.ErrNotFound) { // it went meanwhile
		return nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		s.add(name, f)
		return nil
	}
	return err
}

// meant reports whether something is left out because a person or a rule wants it so.
func (s *search) meant(name string, e fs.DirEntry) bool {
	plain := norm.NFC.String(name)
	switch {
	case strings.HasPrefix(e.Name(), workspace.Temporary):
		return true
	case e.IsDir():
		return !s.m.shown.Enters(plain) || s.rules.FolderIgnored(plain) && !s.m.shown.NamesBelow(plain)
	case s.m.shown.Hidden(plain) || s.rules.Ignored(plain) && !s.m.shown.Names(plain):
		return true
	}
	return !e.Type().IsRegular() && s.rules.FolderIgnored(plain) // a link that stands for a folder
}

// isComposed reports whether the system opens a file also by the composed form of its name.
func (s *search) isComposed(name string) bool {
	composed := norm.NFC.String(name)
	if workspace.CheckName(composed) != nil {
		return false
	}
	one, err := fs.Lstat(s.tree, name)
	other, otherErr := fs.Lstat(s.tree, composed)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

func (s *search) add(name string, why *fault.Error) { s.out = append(s.out, LeftOut{name, why}) }
