package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// TempFile makes a file in folder with mode 0600 whose name is prefix and some digits.
// It is this process's until it is closed. Files of such a name that are nobody's are
// removed first: a process that was killed has left them. prefix must be of a kind
// that nobody gives to files of their own.
func TempFile(folder, prefix string) (*os.File, error) {
	return temporary(folder, prefix, false, func() (*os.File, error) { return os.CreateTemp(folder, prefix+"*") })
}

// TempFolder is TempFile for a folder, with mode 0700.
func TempFolder(folder, prefix string) (*os.File, error) {
	return temporary(folder, prefix, true, func() (*os.File, error) {
		name, err := os.MkdirTemp(folder, prefix+"*")
		if err != nil {
			return nil, err
		}
		return os.Open(name)
	})
}

func temporary(folder, prefix string, folders bool, create func() (*os.File, error)) (*os.File, error) {
	sweep(folder, prefix, folders)
	for {
		made, err := create()
		if err != nil {
			return nil, err
		}
		if Claim(made) == nil && hasName(made) {
			return made, nil
		}
		if !canClaim { // nobody can, so nobody removes it
			return made, nil
		}
		_ = made.Close() // another swept it in the moment before it was claimed
	}
}

// sweep removes what has such a name and is nobody's.
func sweep(folder, prefix string, folders bool) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		digits, begins := strings.CutPrefix(e.Name(), prefix)
		if !begins || digits == "" || strings.Trim(digits, "0123456789") != "" || e.IsDir() != folders || !folders && !e.Type().IsRegular() {
			continue
		}
		removeDead(filepath.Join(folder, e.Name()))
	}
}

// removeDead removes a file or a folder that nobody has claimed.
func removeDead(name string) {
	left, err := os.Open(name)
	if err != nil {
		return
	}
	defer func() { _ = left.Close() }()
	if Claim(left) == nil && hasName(left) {
		_ = os.RemoveAll(name)
	}
}

// hasName reports whether an open file is still what its name leads to.
func hasName(f *os.File) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(here, there)
}

// ErrClaimed says that another has claimed a file or a folder.
var ErrClaimed = errors.New("another process is at it")

// Claim makes an open file or folder this holder's until it is closed or the process
// ends: ErrClaimed when it is another's. It keeps nobody away who does not claim.
func Claim(f *os.File) error {
	if err := lock(f); err != nil {
		return &fs.PathError{Op: "claim", Path: f.Name(), Err: err}
	}
	return nil
}
