package sandbox

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// A command may write the masked copy of a file. Its content is carried over to the file, with the secrets instead of their
// masks. The copy is a mount, so that it cannot be replaced, renamed or removed.

// carries reports whether the copy of a file is carried over.
func (c *Command) carries(name string) bool {
	_, masked := c.Masked[name]
	return masked && c.carrying.writes && !slices.ContainsFunc(c.held, func(folder string) bool { return isWithin(name, folder) })
}

// A carrying lists the files whose copies were written, by slashed names, and those of them that were not carried over.
type carrying struct {
	writes     bool // the command may write
	done, left []string
}

// carry carries over the changed copies, when all processes of the command are dead.
func (c *Command) carry(copies map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(c.Masked)) {
		info, err := os.Stat(copies[name])
		if err != nil || !c.carries(name) {
			continue
		}
		content := []byte(nil)
		if info.Size() <= maxKnownFile || info.Size() == int64(len(c.Masked[name])) {
			content, err = os.ReadFile(copies[name])
		}
		switch {
		case err == nil && bytes.Equal(content, c.Masked[name]):
		case err == nil && c.carryOne(name, content) == nil:
			c.carrying.done = append(c.carrying.done, name)
		default:
			c.carrying.left = append(c.carrying.left, name)
		}
	}
}

// carryOne writes a file as its copy was written. It has to be the file that was copied, with the same masks, and each mask one
// secret.
func (c *Command) carryOne(name string, content []byte) error {
	root, err := os.OpenRoot(c.Workspace)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	at := filepath.Join(c.Workspace, filepath.FromSlash(name))
	if real, err := filepath.EvalSymlinks(at); err != nil || real != at { // a folder above it was renamed
		return fs.ErrInvalid
	}
	was, err := root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	alone, _ := mask.Content(c.shown, name, was)
	safe := c.known.Copy(alone)
	whole, isPlain := mask.Filled(mask.Apart(alone, safe), content) // with its copies of the secrets of other lines and files
	whole, ok := mask.Restored(c.shown, name, mask.Apart(was, alone), whole)
	before, after := mask.Masks(safe), mask.Masks(content)
	slices.Sort(before)
	slices.Sort(after)
	if !isPlain || !ok || !bytes.Equal(safe, c.Masked[name]) || !slices.Equal(before, after) {
		return fs.ErrInvalid
	}
	if len(whole) > maxKnownFile || workspace.Binary(whole) { // it would get no copy any more
		return fs.ErrInvalid
	}
	return replace(root, filepath.FromSlash(name), whole)
}

// replace gives a file another content: all of it, or none.
func replace(root *os.Root, path string, content []byte) error {
	info, err := root.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o200 == 0 {
		return fs.ErrPermission
	}
	temporary := filepath.Join(filepath.Dir(path), workspace.Temporary+rand.Text())
	err = root.WriteFile(temporary, content, 0o600)
	if err == nil {
		err = root.Chmod(temporary, info.Mode().Perm())
	}
	if err == nil {
		err = root.Rename(temporary, path)
	}
	if err != nil {
		_ = root.Remove(temporary)
	}
	return err
}
