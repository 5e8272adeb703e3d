package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// TempFile creates a file in folder with mode 0600 whose name is prefix and some digits. This
// process holds it until it is closed. Before that, TempFile removes files with such names that no
// process holds, because a killed process has left them. prefix must be one that people do not use
// for their own files.
func TempFile(folder, prefix string) (*os.File, error) {
	return createTemp(folder, prefix, false, func() (*os.File, error) { return os.CreateTemp(folder, prefix+"*") })
}

// TempFolder is TempFile for a folder, with mode 0700.
func TempFolder(folder, prefix string) (*os.File, error) {
	return createTemp(folder, prefix, true, func() (*os.File, error) {
		name, err := os.MkdirTemp(folder, prefix+"*")
		if err != nil {
			return nil, err
		}
		return os.Open(name)
	})
}

func createTemp(folder, prefix string, folders bool, create func() (*os.File, error)) (*os.File, error) {
	sweep(folder, prefix, folders)
	for {
		made, err := create()
		if err != nil {
			return nil, err
		}
		if Claim(made) == nil && hasName(made) {
			return made, nil
		}
		if !canClaim { // without locks no process removes it
			return made, nil
		}
		_ = made.Close() // another process removed it before it was claimed
	}
}

// sweep removes files or folders with such names that no process holds.
func sweep(folder, prefix string, folders bool) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		digits, begins := strings.CutPrefix(e.Name(), prefix)
		if !begins || digits == "" || strings.Trim(digits, "0123456789") != "" || e.IsDir() != folders || !folders && !e.Type().IsRegular() {
			continue
		}
		removeUnclaimed(filepath.Join(folder, e.Name()))
	}
}

// removeUnclaimed removes a file or a folder that no process has claimed.
func removeUnclaimed(name string) {
	left, err := os.Open(name)
	if err != nil {
		return
	}
	defer func() { _ = left.Close() }()
	if Claim(left) == nil && hasName(left) {
		_ = os.RemoveAll(name)
	}
}

// hasName reports whether the name of an open file still refers to that file.
func hasName(f *os.File) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(here, there)
}

// ErrClaimed reports that another process has claimed a file or a folder.
var ErrClaimed = errors.New("another process is at it")

// Claim locks an open file or folder until it is closed or the process ends; ErrClaimed when
// another holder has it. The lock affects only processes that call Claim.
func Claim(f *os.File) error {
	if err := lock(f); err != nil {
		return &fs.PathError{Op: "claim", Path: f.Name(), Err: err}
	}
	return nil
}
