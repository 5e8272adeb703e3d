package folder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/workspace"
)

// tries is how often an entry is inspected and opened again, because another process replaced it between the two.
const tries = 20

// inspected is called between the two. A test replaces things there.
var inspected = func() {}

// parent opens the folder of a file. It returns the last segment of the name too. The caller calls leave.
func (f *Folder) parent(name string) (*os.Root, string, error) {
	dir := f.root
	segments := strings.Split(name, "/")
	for _, segment := range segments[:len(segments)-1] {
		next, err := enter(dir, segment, name)
		f.leave(dir)
		if err != nil {
			return nil, "", err
		}
		dir = next
	}
	return dir, segments[len(segments)-1], nil
}

// leave closes a folder, except that of the workspace.
func (f *Folder) leave(dir *os.Root) {
	if dir != f.root {
		_ = dir.Close()
	}
}

// enter opens a folder in a folder. It returns ErrSpecial for a link, also if a process makes the folder a link at the
// same time.
func enter(dir *os.Root, segment, name string) (*os.Root, error) {
	for range tries {
		seen, err := dir.Lstat(segment)
		switch {
		case err != nil:
			return nil, unreadable(name, err)
		case seen.Mode().IsRegular():
			return nil, notFound(name)
		case !seen.IsDir():
			return nil, special(name)
		}
		if is, err := isExact(dir, segment, seen); err != nil || !is {
			return nil, errors.Join(err, notFound(name))
		}
		inspected()
		next, err := dir.OpenRoot(segment + "/.") // so that only a folder is opened: a FIFO would make it wait
		if err != nil && !wasReplaced(err) {
			return nil, unreadable(name, err)
		}
		if err != nil {
			continue
		}
		if is, err := next.Stat("."); err == nil && os.SameFile(seen, is) {
			return next, nil
		}
		_ = next.Close()
	}
	return nil, special(name)
}

// opened is a plain file that is open.
type opened struct {
	*os.File
	info fs.FileInfo
}

// open opens a plain file of a folder. It returns ErrSpecial for anything else, also if a process replaces the file by
// something else at the same time.
func open(dir *os.Root, segment, name string) (opened, error) {
	for range tries {
		seen, err := dir.Lstat(segment)
		switch {
		case err != nil:
			return opened{}, unreadable(name, err)
		case seen.IsDir():
			return opened{}, notFound(name)
		case !isPlain(seen):
			return opened{}, special(name)
		}
		if is, err := isExact(dir, segment, seen); err != nil || !is {
			return opened{}, errors.Join(err, notFound(name))
		}
		inspected()
		f, err := dir.OpenFile(segment, toRead, 0)
		if err != nil && !wasReplaced(err) {
			return opened{}, unreadable(name, err)
		}
		if err != nil {
			continue
		}
		is, err := f.Stat()
		if err == nil && isPlain(is) && os.SameFile(seen, is) {
			n, err := names(f, is)
			if err != nil || n > 1 {
				_ = f.Close()
				return opened{}, special(name).Because(err)
			}
			// A file that has just lost this name, because it was a second one, has one name by now: another.
			if now, err := dir.Lstat(segment); err == nil && isPlain(now) && os.SameFile(now, is) && hasStayed(dir, f, segment) {
				return opened{f, is}, nil
			}
		}
		_ = f.Close()
	}
	return opened{}, special(name)
}

// wasReplaced reports whether something that was there could not be opened because another thing has its name now. An
// error of os.Root about a link that leads out has no number.
func wasReplaced(err error) bool {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return true
	}
	return errors.Is(err, fs.ErrNotExist) || slices.Contains([]syscall.Errno{syscall.ELOOP, syscall.ENOTDIR, syscall.ENXIO}, number)
}

// isPlain reports whether a file is a plain one with one name.
func isPlain(info fs.FileInfo) bool {
	_, names := identify(info)
	return info.Mode().IsRegular() && names <= 1 // a file that was just replaced has no name
}

// isExact reports whether a folder has an entry of exactly this name. A system that ignores upper and lower case, or
// has short names such as "GIT~1", opens an entry by other names too. Such a name could pass for one that is not hidden.
func isExact(dir *os.Root, segment string, info fs.FileInfo) (bool, error) {
	if !strings.Contains(segment, "~") {
		other, err := dir.Lstat(swapCase(segment))
		if err != nil || !os.SameFile(info, other) {
			return true, nil
		}
		if swapCase(segment) == segment {
			return true, nil
		}
	}
	d, err := dir.Open(".")
	if err != nil {
		return false, err
	}
	defer func() { _ = d.Close() }()
	entries, err := d.Readdirnames(-1)
	return slices.ContainsFunc(entries, func(e string) bool { return norm.NFC.String(e) == segment }), err
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

// load reads at most n bytes of a file, and returns the version that they are of.
func (f *Folder) load(name string, from, n int64) ([]byte, workspace.File, error) {
	dir, segment, err := f.parent(name)
	if err != nil {
		return nil, workspace.File{}, err
	}
	defer f.leave(dir)
	return f.loadFrom(dir, segment, name, from, n)
}

func (f *Folder) loadFrom(dir *os.Root, segment, name string, from, n int64) ([]byte, workspace.File, error) {
	o, err := open(dir, segment, name)
	if err != nil {
		return nil, workspace.File{}, err
	}
	defer func() { _ = o.Close() }()
	for range tries { // a writer may change the file while it is read
		if err := workspace.CheckSize(name, o.info.Size()); err != nil {
			return nil, workspace.File{}, err
		}
		content, version, err := f.contents(o, name, from, n)
		if err != nil {
			return nil, workspace.File{}, unreadable(name, err)
		}
		is, err := o.Stat()
		if err != nil {
			return nil, workspace.File{}, unreadable(name, err)
		}
		was, _ := identify(o.info)
		if now, _ := identify(is); now == was {
			return content, workspace.File{Name: name, Size: is.Size(), Version: version, At: is.ModTime().UTC()}, nil
		}
		o.info = is
	}
	return nil, workspace.File{}, moved(name)
}

// contents reads a part of a file, and the whole of it if its version is not known.
func (f *Folder) contents(o opened, name string, from, n int64) ([]byte, string, error) {
	id, _ := identify(o.info)
	if version, ok := f.known.of(name, id); ok {
		from = min(max(from, 0), id.size)
		content := make([]byte, min(max(n, 0), id.size-from))
		got, err := o.ReadAt(content, from)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return content[:got], version, err
	}
	k := known{id: id, at: f.config.Now()}
	whole := make([]byte, id.size+1) // one more, so that a file that grows is noticed
	got, err := o.ReadAt(whole, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	whole = whole[:got]
	k.version = workspace.Sum(whole)
	if int64(got) == id.size {
		f.known.add(name, k)
	}
	return workspace.Part(whole, from, n), k.version, nil
}

// removeEmpty removes the folders of a file that are empty, except the first ones.
func (f *Folder) removeEmpty(name string, stay int) {
	for folder := path.Dir(name); folder != "." && strings.Count(folder, "/") >= stay; folder = path.Dir(folder) {
		if !f.removeFolder(folder) {
			return
		}
	}
}

// removeFolder removes a folder, if it is empty.
func (f *Folder) removeFolder(name string) bool {
	dir, segment, err := f.parent(name)
	if err != nil {
		return false
	}
	defer f.leave(dir)
	info, err := dir.Lstat(segment)
	return err == nil && info.IsDir() && dir.Remove(segment) == nil
}
