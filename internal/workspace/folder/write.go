package folder

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"piloto/internal/workspace"
)

// Write makes a file or replaces its content. After a crash the file has the old or the new content.
//
// The version is compared twice: before the work, and directly before the new content gets the name. Processes that use
// the same History wait for each other, so that of two writers with one version exactly one wins. Another program, such
// as an editor, does not wait: its write between the second comparison and the rename is lost.
func (f *Folder) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	if err := f.usable(ctx, name); err != nil {
		return workspace.File{}, err
	}
	if err := workspace.CheckSize(name, int64(len(content))); err != nil {
		return workspace.File{}, err
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return workspace.File{}, err
	}
	defer unlock()
	old, now, err := f.present(name, version)
	if err != nil {
		return workspace.File{}, err
	}
	if version == "" || int64(len(content)) > now.Size {
		if err := f.hasRoom(ctx, name, now, int64(len(content))); err != nil {
			return workspace.File{}, err
		}
	}
	if version != "" {
		if err := f.past.add(now, old); err != nil {
			return workspace.File{}, err
		}
	}
	dir, segment, stay, err := f.makeParent(name)
	if err != nil {
		f.removeEmpty(name, stay)
		return workspace.File{}, err
	}
	defer f.leave(dir)
	at, err := f.replace(dir, segment, name, content, version)
	if err != nil {
		f.removeEmpty(name, stay)
		return workspace.File{}, err
	}
	return workspace.File{Name: name, Size: int64(len(content)), Version: workspace.Sum(content), At: at}, nil
}

// Delete removes a file, and the folders that are empty without it.
func (f *Folder) Delete(ctx context.Context, name, version string) error {
	if err := f.usable(ctx, name); err != nil {
		return err
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := f.Stat(ctx, name); err != nil {
		return err
	}
	old, now, err := f.present(name, version)
	if err != nil {
		return err
	}
	if err := f.past.add(now, old); err != nil {
		return err
	}
	dir, segment, err := f.parent(name)
	if err != nil {
		return err
	}
	defer f.leave(dir)
	if err := f.compare(dir, segment, name, version); err != nil {
		return err
	}
	if err := dir.Remove(segment); err != nil {
		return unwritable(name, err)
	}
	if err := syncFolder(dir); err != nil {
		return unwritable(name, err)
	}
	f.removeEmpty(name, 0)
	return nil
}

// lock waits until no other writer is at work, in this process and in others. Once a day, and after many writes, it
// cleans up.
func (f *Folder) lock(ctx context.Context) (unlock func(), err error) {
	f.writing.Lock()
	claimed, err := f.past.lock(ctx)
	if err != nil {
		f.writing.Unlock()
		return nil, err
	}
	unlock = func() {
		_ = claimed.Close()
		f.writing.Unlock()
	}
	const day, often = 24 * time.Hour, 50 // a job that changes one large file again and again leaves a content each time
	f.claims++
	if now := f.config.Now(); now.Sub(f.swept) > day || f.claims%often == 0 {
		_ = f.past.sweep(ctx) // the next write removes the rest
		f.swept = now
	}
	return unlock, nil
}

// present returns a file with its content, if it has the version; nothing if there is no such file and the version is
// "". Otherwise the error is ErrMoved.
func (f *Folder) present(name, version string) ([]byte, workspace.File, error) {
	content, file, err := f.load(name, 0, workspace.MaxFileBytes)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return nil, workspace.File{}, err
	}
	if file.Version != version {
		return nil, workspace.File{}, moved(name)
	}
	return content, file, nil
}

// hasRoom returns an error if a file cannot be made beside the others, or has no room with so many bytes.
func (f *Folder) hasRoom(ctx context.Context, name string, now workspace.File, size int64) error {
	w, err := f.walk(ctx, func(dir *os.Root, segment string) { _ = dir.Remove(segment) })
	if err != nil {
		return err
	}
	files := len(w.files)
	if now.Version == "" {
		files++
		for _, other := range w.files {
			if err := workspace.CheckNew(name, other.name); err != nil {
				return err
			}
		}
	}
	return f.fits(files, w.bytes-now.Size+size)
}

// makeParent opens the folder of a file, and makes it if it is not there. stay is how many of its folders were there.
// The caller calls leave.
func (f *Folder) makeParent(name string) (dir *os.Root, segment string, stay int, err error) {
	dir = f.root
	segments := strings.Split(name, "/")
	last := len(segments) - 1
	for i, segment := range segments[:last] {
		if _, err = dir.Lstat(segment); err == nil && stay == i {
			stay++
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = dir.Mkdir(segment, 0o777)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			f.leave(dir)
			return nil, "", stay, unwritable(name, err)
		}
		next, err := enter(dir, segment, name)
		f.leave(dir)
		if err != nil {
			return nil, "", stay, ifMissing(err, special(name))
		}
		dir = next
	}
	return dir, segments[last], stay, nil
}

// ifMissing replaces ErrNotFound.
func ifMissing(err, instead error) error {
	if errors.Is(err, workspace.ErrNotFound) {
		return instead
	}
	return err
}

// replace gives a name to a new content, if the file still has the version. It returns when the content was written.
func (f *Folder) replace(dir *os.Root, segment, name string, content []byte, version string) (time.Time, error) {
	mode := fs.FileMode(0o666)
	if version != "" {
		is, err := dir.Lstat(segment)
		if err != nil {
			return time.Time{}, moved(name)
		}
		if mode = is.Mode().Perm(); mode&0o200 == 0 {
			return time.Time{}, about(workspace.ErrDenied, name) // a person made it read-only
		}
	}
	temporary := workspace.Temporary + rand.Text()
	at, err := writeNew(dir, temporary, content, mode)
	if err != nil {
		_ = dir.Remove(temporary)
		return at, unwritable(name, err)
	}
	if err := f.compare(dir, segment, name, version); err != nil {
		_ = dir.Remove(temporary)
		return at, err
	}
	if err := dir.Rename(temporary, segment); err != nil {
		_ = dir.Remove(temporary)
		return at, unwritable(name, err)
	}
	if err := syncFolder(dir); err != nil {
		return at, unwritable(name, err)
	}
	return at, nil
}

// writeNew makes a file with a content that is on the disk, and returns when it was written.
func writeNew(dir *os.Root, segment string, content []byte, mode fs.FileMode) (time.Time, error) {
	file, err := dir.OpenFile(segment, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = file.Close() }()
	if mode != 0o666 {
		_ = file.Chmod(mode) // also the bits that the process leaves out of new files; some file systems have no modes
	}
	if _, err := file.Write(content); err != nil {
		return time.Time{}, err
	}
	if err := file.Sync(); err != nil {
		return time.Time{}, err
	}
	info, err := file.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime().UTC(), file.Close()
}

// compare returns ErrMoved if a file does not have the version any more; "" means that there is no such file.
func (f *Folder) compare(dir *os.Root, segment, name, version string) error {
	if version == "" {
		switch is, err := dir.Lstat(segment); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil && !is.Mode().IsRegular():
			return special(name)
		}
		return moved(name)
	}
	_, file, err := f.loadFrom(dir, segment, name, 0, 0)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return err
	}
	if file.Version != version {
		return moved(name)
	}
	return nil
}
