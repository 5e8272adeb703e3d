package folder

import (
	"errors"
	"io/fs"
	"syscall"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
)

// errClaimed means that another process writes.
var errClaimed = errors.New("folder: another process writes")

func about(f *fault.Error, name string) *fault.Error {
	return f.With("name", workspace.Printable(name))
}

func gone(name string) *fault.Error     { return about(workspace.ErrGone, name) }
func notFound(name string) *fault.Error { return about(workspace.ErrNotFound, name) }
func moved(name string) *fault.Error    { return about(workspace.ErrMoved, name) }
func special(name string) *fault.Error  { return about(workspace.ErrSpecial, name) }

// unreadable returns the fault of a file or a folder that could not be read.
func unreadable(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return notFound(name)
	case errors.Is(err, fs.ErrPermission):
		return about(workspace.ErrDenied, name).Because(err)
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		return special(name).Because(err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return notFound(name)
	}
	return err
}

// unwritable returns the fault of a failed write.
func unwritable(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return about(workspace.ErrDenied, name).Because(err)
	case errors.Is(err, fs.ErrNotExist):
		return moved(name).Because(err)
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return special(name).Because(err)
	}
	return fault.ErrStorage.Because(err)
}
