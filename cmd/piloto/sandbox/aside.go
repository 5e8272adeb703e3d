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
	Name string // slashed, below the workspace
	Back string // a line for a shell that brings it back
	Put  bool   // what was there before was put back in its place
	Err  error  // it could not be moved, and is still there
}

// A Guard knows what git obeyed in a workspace before a command.
type Guard struct{ before *obeyed }

// Clear moves what git obeys in the workspace, and did not obey before the command, into a folder: a new or replaced
// .git, gitdir file, bare repository, hook, or configuration with a setting that git may run. It puts back what was
// replaced, if it was a file or a link. Nothing is deleted. The folder is made when it is needed; at is in the names there.
func (g *Guard) Clear(to string, at time.Time) []Moved {
	after := newObeyed(g.before.root, g.before.written)
	after.look(g.before.skipped)
	c := &clearing{g.before, after, filepath.Join(to, at.UTC().Format("20060102-150405.000000")), nil}
	var gone []string
	for _, path := range slices.Sorted(maps.Keys(after.folders)) {
		if c.isNew(path) && !slices.ContainsFunc(gone, func(folder string) bool { return isWithin(path, folder) }) {
			gone = append(gone, c.folder(path)...)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after.files)) {
		if !slices.ContainsFunc(gone, func(folder string) bool { return isWithin(path, folder) }) {
			c.file(path)
		}
	}
	return c.moved
}

type clearing struct {
	before, after *obeyed
	to            string
	moved         []Moved
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

// folder moves a new git folder, and returns the paths that are gone. Of a folder that has more than git keeps in one,
// it moves only what makes it one.
func (c *clearing) folder(path string) []string {
	entries, _ := readFolder(path)
	foreign := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(ownNames, e.Name()) })
	switch {
	case isGitName(filepath.Base(path)):
	case !hasLayout(entries): // only a commondir leads there, which is moved
		return nil
	case foreign || path == c.after.root:
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
		if rel, err := filepath.Rel(folder, path); former.mode == 0 && former.text == "" && err == nil && filepath.IsLocal(rel) {
			former = c.before.files[filepath.Join(c.formerly(folder), rel)]
		}
	}
	if now == former || now.config && now.whole && now.mode.IsRegular() && onlyHarmless(now.text, former.text) {
		return
	}
	c.move(path, former)
}

// move moves something, and puts back what was there before.
func (c *clearing) move(path string, former content) {
	name, err := filepath.Rel(c.after.root, path)
	if err != nil {
		name = path
	}
	m := Moved{Name: filepath.ToSlash(name)}
	kept := keptName(c.to, len(c.moved)+1, path)
	if m.Err = moveAway(path, kept); m.Err == nil {
		m.Back = "mv -- " + visible.Word(kept) + " " + visible.Word(path)
		if m.Put = former.putBack(path); m.Put {
			m.Back = "rm -f -- " + visible.Word(path) + " && " + m.Back
		}
	}
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
	case !was.whole:
		return false
	case was.mode&fs.ModeSymlink != 0:
		return os.Symlink(was.text, path) == nil
	}
	return os.WriteFile(path, []byte(was.text), was.mode.Perm()) == nil && os.Chmod(path, was.mode.Perm()) == nil
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
