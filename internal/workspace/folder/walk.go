package folder

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/ignore"
)

// found is a file that a walk found.
type found struct {
	name string
	info fs.FileInfo
}

// A walk goes through the files that are listed.
type walk struct {
	in    *Folder
	ctx   context.Context
	rules ignore.Rules
	stray func(dir *os.Root, segment string) // called with each file that a crash left
	files []found
	bytes int64
}

// walk returns the files that are listed, in no order. It returns ErrMany as soon as they are over the limits, because a person may
// give the folder of all their files.
func (f *Folder) walk(ctx context.Context, stray func(*os.Root, string)) (*walk, error) {
	w := &walk{in: f, ctx: ctx, stray: stray}
	return w, w.folder(f.root, "")
}

// fits returns ErrMany, which is ErrFull too, if so many files, or so many bytes in all, are over the limits.
func (f *Folder) fits(files int, bytes int64) error {
	full := f.config.Limits.Check(files, bytes)
	if full == nil {
		return nil
	}
	of := fault.Of(full).Args
	return workspace.ErrMany.With("name", workspace.Printable(f.config.Root)).With("max", of["max"]).With("max_mb", of["max_mb"]).Because(full)
}

// folder finds the files of a folder and of those below.
func (w *walk) folder(dir *os.Root, prefix string) error {
	entries, err := readFolder(dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ignore.File }) {
		content, _, err := w.in.loadFrom(dir, ignore.File, prefix+ignore.File, 0, workspace.MaxFileBytes)
		if err == nil { // one that cannot be read names nothing
			w.rules.Add(strings.TrimSuffix(prefix, "/"), content)
		}
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := w.entry(dir, prefix, e); err != nil && !isLeftOut(err) {
			return err
		}
	}
	return nil
}

func readFolder(dir *os.Root) ([]fs.DirEntry, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	return d.ReadDir(-1)
}

func (w *walk) entry(dir *os.Root, prefix string, e fs.DirEntry) error {
	segment := norm.NFC.String(e.Name()) // a system that decomposes letters opens both forms
	name := prefix + segment
	switch {
	case strings.HasPrefix(segment, workspace.Temporary):
		w.stray(dir, segment)
		return nil
	case workspace.CheckName(name) != nil:
		return nil
	case e.Type().IsRegular():
		return w.file(dir, segment, name)
	case !e.IsDir() || !w.in.config.Shown.Enters(name) || w.rules.FolderIgnored(name) && !w.in.config.Shown.NamesBelow(name):
		return nil
	}
	below, err := enter(dir, segment, name)
	if err != nil {
		return err
	}
	defer func() { _ = below.Close() }()
	return w.folder(below, name+"/")
}

func (w *walk) file(dir *os.Root, segment, name string) error {
	if w.in.config.Shown.Hidden(name) || w.rules.Ignored(name) && !w.in.config.Shown.Names(name) {
		return nil
	}
	info, err := dir.Lstat(segment)
	if err != nil {
		return unreadable(name, err)
	}
	if !isPlain(info) || info.Size() > workspace.MaxFileBytes {
		return nil
	}
	w.files = append(w.files, found{name, info})
	w.bytes += info.Size()
	return w.in.fits(len(w.files), w.bytes)
}

// isLeftOut reports whether a list goes on after an error of one file: the file went, is none, is too large, or is
// another's.
func isLeftOut(err error) bool {
	for _, left := range []error{workspace.ErrNotFound, workspace.ErrSpecial, workspace.ErrDenied, workspace.ErrTooLarge, workspace.ErrMoved} {
		if errors.Is(err, left) {
			return true
		}
	}
	return false
}

// List returns the files with their versions. It reads only files that changed.
func (f *Folder) List(ctx context.Context) (workspace.Listing, error) {
	if err := f.there(ctx); err != nil {
		return workspace.Listing{}, err
	}
	w, err := f.walk(ctx, func(*os.Root, string) {})
	if err != nil {
		return workspace.Listing{}, err
	}
	slices.SortFunc(w.files, func(a, b found) int { return cmp.Compare(a.name, b.name) })
	files := make([]workspace.File, 0, len(w.files))
	names := make(map[string]bool, len(w.files))
	for _, found := range w.files {
		file, err := f.versioned(ctx, found)
		switch {
		case err == nil:
			files = append(files, file)
			names[file.Name] = true
		case !isLeftOut(err):
			return workspace.Listing{}, err
		}
	}
	f.known.keep(names)
	return workspace.Listing{Files: files, Version: listVersion(files)}, nil
}

// versioned returns the version of a file that a walk found. It reads the file if it must.
func (f *Folder) versioned(ctx context.Context, found found) (workspace.File, error) {
	id, _ := identify(found.info)
	if version, ok := f.known.of(found.name, id); ok {
		return workspace.File{Name: found.name, Size: id.size, Version: version, At: found.info.ModTime().UTC()}, nil
	}
	if err := ctx.Err(); err != nil {
		return workspace.File{}, err
	}
	_, file, err := f.load(found.name, 0, 0)
	return file, err
}

func listVersion(files []workspace.File) string {
	sum := sha256.New()
	for _, file := range files {
		sum.Write([]byte(file.Name + "\x00" + file.Version + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
