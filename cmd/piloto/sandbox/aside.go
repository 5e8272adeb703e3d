package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/visible"
)

// A Moved is something that git would have obeyed, and that was moved out of a workspace.
type Moved struct {
	Name string // slashed: below the workspace, or a whole path
	Back string // a line for a shell that brings it back
	Put  bool   // the former file was restored
	Err  error  // it could not be moved, and is still there
}

// A Guard knows the control files of git in a workspace before a command.
type Guard struct{ before *obeyed }

// Clear moves new control files of git, in the folders that a command could write, into a folder: a new or replaced .git,
// gitdir file, link, bare repository, hook, program of a setting, or configuration with a setting that git may run. It
// restores a replaced file or link. Nothing is deleted. The folder is made when it is needed; at is in the names there.
func (g *Guard) Clear(to string, at time.Time) []Moved {
	c := &clearing{before: g.before, tried: map[string]bool{}, to: filepath.Join(to, at.UTC().Format("20060102-150405.000000"))}
	// Links and gitdir files are moved first, because git does not read their targets afterwards.
	for moved := -1; moved < len(c.moved) && moved < maxLeads; {
		moved = len(c.moved)
		c.after = g.before.empty()
		c.after.collect()
		c.clear(true)
	}
	c.clear(false)
	for path := range c.after.indexes { // of a folder that commands may write: see gitSight
		if hasWithin(g.before.written, path) && exists(path) {
			_ = changeIndex(path, true, (*index).restore)
		}
	}
	return c.moved
}

// maxLeads is the number of links and gitdir files that are moved at most, before their targets are moved too.
const maxLeads = 200

// clear moves new control files: the git folders, links and gitdir files, or the rest.
func (c *clearing) clear(leads bool) {
	var gone []string
	isGone := func(path string) bool {
		return slices.ContainsFunc(gone, func(folder string) bool { return isWithin(path, folder) })
	}
	for _, path := range slices.Sorted(maps.Keys(c.after.folders)) {
		if leads && c.isNew(path) && !isGone(path) {
			gone = append(gone, c.folder(path)...)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.after.files)) {
		if (c.after.files[path].Kind != program) == leads && !isGone(path) {
			c.file(path)
		}
	}
}

type clearing struct {
	before, after *obeyed
	to            string
	moved         []Moved
	tried         map[string]bool // paths that could not be moved
}

// isNew reports whether a git folder was none of the workspace. A folder that has another name now was one.
func (c *clearing) isNew(path string) bool {
	if was, ok := c.before.folders[path]; ok && os.SameFile(was, c.after.folders[path]) {
		return false
	}
	return c.formerly(path) == ""
}

// formerly returns the path that a git folder had before the command.
func (c *clearing) formerly(path string) string {
	for old, was := range c.before.folders {
		if os.SameFile(was, c.after.folders[path]) {
			return old
		}
	}
	return ""
}

// folder moves a new git folder, and returns the paths that are gone. Of a folder with other files in it, it moves only
// those that make it a git folder.
func (c *clearing) folder(path string) []string {
	entries, _ := readFolder(path)
	foreign := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(ownNames, e.Name()) })
	switch {
	case isGitName(filepath.Base(path)):
	case !hasLayout(entries): // only a commondir leads there, which is moved
		return nil
	case foreign || slices.Contains(c.after.roots, path):
		for _, e := range entries {
			if strings.EqualFold(e.Name(), "HEAD") {
				c.move(filepath.Join(path, e.Name()), content{})
			}
		}
		return nil
	}
	c.move(path, content{})
	return []string{path}
}

// file moves a file that is new or was replaced.
func (c *clearing) file(path string) {
	now, former := c.after.files[path], c.before.files[path]
	for folder := range c.after.folders { // it may have another name now
		if rel, err := filepath.Rel(folder, path); former.same(content{}) && err == nil && filepath.IsLocal(rel) {
			former = c.before.files[filepath.Join(c.formerly(folder), rel)]
		}
	}
	if now.same(former) || now.Kind == configuration && now.Whole && now.Mode.IsRegular() && onlyHarmless(now.Text, former.Text) {
		return
	}
	c.move(path, former)
}

// move moves a file or folder, and restores the former one.
func (c *clearing) move(path string, former content) {
	name := path
	if below, err := filepath.Rel(c.after.roots[0], path); err == nil && filepath.IsLocal(below) {
		name = below
	}
	if c.tried[path] {
		return
	}
	m := Moved{Name: filepath.ToSlash(name)}
	kept := keptName(c.to, len(c.moved)+1, path)
	if m.Err = moveAway(path, kept); m.Err == nil {
		m.Back = "mv -- " + visible.Word(kept) + " " + visible.Word(path)
		if m.Put = former.putBack(path); m.Put {
			m.Back = "rm -f -- " + visible.Word(path) + " && " + m.Back
		}
	}
	c.tried[path] = m.Err != nil
	c.moved = append(c.moved, m)
}

// keptName returns a path for something that is moved, which a shell reads without quotes.
func keptName(to string, number int, path string) string {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r
		}
		return -1
	}, filepath.Base(path))
	return fmt.Sprintf("%s-%d-%s", to, number, name[:min(len(name), 40)])
}

// putBack writes a file or a link as it was. It reports whether it did.
func (was content) putBack(path string) bool {
	switch {
	case !was.Whole:
		return false
	case was.Mode&fs.ModeSymlink != 0:
		return os.Symlink(was.Text, path) == nil
	}
	return os.WriteFile(path, []byte(was.Text), was.Mode.Perm()) == nil && os.Chmod(path, was.Mode.Perm()) == nil
}

// moveAway moves a file, a link or a folder, also to another file system, and although a command took away the rights
// for it.
func moveAway(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	parent := filepath.Dir(from)
	if above, err := os.Lstat(parent); err == nil && above.Mode().Perm()&0o300 != 0o300 && os.Chmod(parent, above.Mode().Perm()|0o300) == nil {
		defer func() { _ = os.Chmod(parent, above.Mode()) }()
	}
	if info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
		if err := os.Chmod(from, info.Mode().Perm()|0o700); err != nil {
			return err
		}
	}
	if err := os.Rename(from, to); err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := copyTree(from, to); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// copyTree copies files, folders and links. Sockets and devices hold nothing.
func copyTree(from, to string) error {
	info, err := os.Lstat(from)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case info.Mode().IsRegular():
		return copyFile(from, to, info.Mode().Perm())
	case !info.IsDir():
		return nil
	}
	if info.Mode().Perm()&0o700 != 0o700 { // os.RemoveAll needs it too
		if err := os.Chmod(from, info.Mode().Perm()|0o700); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(from)
	if err == nil {
		err = os.Mkdir(to, 0o700)
	}
	for _, e := range entries {
		if err == nil {
			err = copyTree(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		}
	}
	return err
}

func copyFile(from, to string, mode fs.FileMode) error {
	if mode&0o400 == 0 {
		if err := os.Chmod(from, mode|0o400); err != nil {
			return err
		}
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
