// Package folder keeps the files of a workspace in a folder of a person's machine. It owns that nothing outside of the
// folder is read or written, also when another process swaps files for links at the same time.
//
// Every segment of a name is inspected (Lstat), opened below the folder of the segment before (os.Root), and compared with
// the inspected one. So no link is followed, not even one that leads inside: it would be a second name of a file, and
// the rules for names would not hold. A file with two names (a hard link), a FIFO, a socket and a device are refused.
//
// A version is the SHA-256 of the content. Replaced and deleted versions are kept in a folder of their own (History).
// A version that a person replaces with another program is not kept.
//
// A list has no files of folders such as node_modules, and none that a .gitignore file names (package ignore), so that a
// repository with its downloads and its build is within the limits. Such files can be read and written by their names. A
// file over workspace.MaxFileBytes, one that this program may not read, and one whose name workspace.CheckName refuses
// are not in the list either.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"piloto/internal/workspace"
)

// Config describes a folder.
type Config struct {
	Root    string           // has the files
	History string           // keeps earlier versions of this folder; made if it is not there; never inside of Root
	Shown   workspace.Shown  // which files are neither hidden nor left out
	Limits  workspace.Limits // of the files that are listed
	Now     func() time.Time
}

// A Folder is a workspace.Store. Several processes can use one folder at the same time, if they give the same History.
type Folder struct {
	config Config
	root   *os.Root
	was    fs.FileInfo // of the root
	past   *history
	known  versions

	working *os.File // the claim of a job; nil: there is none
	writing sync.Mutex
	swept   time.Time // by writing
	claims  int       // by writing: how often it was locked
}

var _ workspace.Store = (*Folder)(nil)

// Open opens a folder. It returns ErrGone if there is none.
func Open(c Config) (*Folder, error) {
	path, err := filepath.Abs(c.Root)
	if err != nil {
		return nil, err
	}
	c.Root = path
	if c.History, err = filepath.Abs(c.History); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(c.Root)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, workspace.ErrDenied.With("name", workspace.Printable(c.Root)).Because(err)
	case err != nil:
		return nil, gone(c.Root).Because(err)
	}
	f := &Folder{config: c, root: root}
	if f.was, err = root.Stat("."); err == nil {
		err = f.openHistory()
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return f, nil
}

func (f *Folder) openHistory() error {
	inside, err := f.isInside(f.config.History)
	if err != nil {
		return err
	}
	if inside {
		return fmt.Errorf("the folder of earlier versions, %s, is inside of the workspace, %s", f.config.History, f.config.Root)
	}
	f.past, err = openHistory(f.config.History, f.config.Now)
	return err
}

// isInside reports whether a path, as far as it is there, is below the workspace.
func (f *Folder) isInside(path string) (bool, error) {
	real, err := filepath.EvalSymlinks(path)
	for errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		real, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return false, err
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return false, err
		}
		if os.SameFile(info, f.was) {
			return true, nil
		}
		if at == filepath.Dir(at) {
			return false, nil
		}
	}
}

// Close ends the use of the folder.
func (f *Folder) Close() error {
	errs := []error{f.root.Close(), f.past.Close()}
	if f.working != nil {
		errs = append(errs, f.working.Close())
	}
	return errors.Join(errs...)
}

// Claim makes this the only job that works on the folder, until Close or the end of the process. It returns ErrBusy
// while another one has it. Jobs share a folder only if they give the same History.
func (f *Folder) Claim() error {
	working, err := claim(filepath.Join(f.past.path, jobFile))
	if errors.Is(err, errClaimed) {
		return workspace.ErrBusy.With("name", workspace.Printable(f.config.Root))
	}
	if err != nil {
		return unwritable(f.config.History, err)
	}
	f.working = working
	return nil
}

// usable returns an error for a name that no operation uses, and if the folder is not where it was.
func (f *Folder) usable(ctx context.Context, name string) error {
	if err := f.config.Shown.Check(name); err != nil {
		return err
	}
	return f.there(ctx)
}

// there returns ErrGone if the folder is not where it was. An open folder that was removed lists as empty.
func (f *Folder) there(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := os.Stat(f.config.Root)
	if err != nil || !os.SameFile(info, f.was) {
		return gone(f.config.Root).Because(err)
	}
	return nil
}

// Stat returns the present version of a file.
func (f *Folder) Stat(ctx context.Context, name string) (workspace.File, error) {
	if err := f.usable(ctx, name); err != nil {
		return workspace.File{}, err
	}
	_, file, err := f.load(name, 0, 0)
	return file, err
}

// Read returns a part of a file, or of an earlier version.
func (f *Folder) Read(ctx context.Context, name, version string, from, n int64) ([]byte, workspace.File, error) {
	if err := f.usable(ctx, name); err != nil {
		return nil, workspace.File{}, err
	}
	content, file, err := f.load(name, from, n)
	if version == "" || err == nil && file.Version == version || err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return content, file, err
	}
	return f.past.read(name, version, from, n)
}

// Versions returns the present version and the earlier ones that are kept.
func (f *Folder) Versions(ctx context.Context, name string) ([]workspace.File, error) {
	if err := f.usable(ctx, name); err != nil {
		return nil, err
	}
	var all []workspace.File
	_, now, err := f.load(name, 0, 0)
	switch {
	case err == nil:
		all = append(all, now)
	case !errors.Is(err, workspace.ErrNotFound):
		return nil, err
	}
	kept, err := f.past.kept(name)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		if k.Version != now.Version {
			all = append(all, k.file(name))
		}
	}
	if len(all) == 0 {
		return nil, notFound(name)
	}
	return all[:min(len(all), workspace.MaxVersions)], nil
}
