package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// others is the mode bits of all but the owner.
const others = fs.FileMode(0o077)

// OpenError reports a file or a folder that others than its owner can reach, or a file that is no plain one.
type OpenError struct {
	Path   string
	Mode   fs.FileMode // its permissions
	Folder bool
	Plain  bool // false for a directory, a link or a device
}

// Error implements error.
func (e *OpenError) Error() string {
	switch {
	case e.Folder:
		return fmt.Sprintf("%s has mode %04o, so that others may put files of theirs in it; run `chmod 700 %s`", e.Path, e.Mode, e.Path)
	case !e.Plain:
		return e.Path + " is not a plain file"
	}
	return fmt.Sprintf("%s has mode %04o, so that others may reach what is in it: another program wrote it (git, an archive), or changed its mode. "+
		"If you did not write it yourself, put your own back, or remove it. If you did, run `chmod 600 %s`, and replace the keys in it if anyone else uses this machine",
		e.Path, e.Mode, e.Path)
}

// Private returns the reason why a file cannot hold a secret: it is not a plain file, or others
// than its owner can read it. It returns fs.ErrNotExist when there is no file.
func Private(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &OpenError{Path: path, Mode: info.Mode().Perm()}
	}
	if open := info.Mode().Perm() & others; open != 0 && runtime.GOOS != "windows" { // Windows has no such bits
		return &OpenError{Path: path, Mode: info.Mode().Perm(), Plain: true}
	}
	return nil
}

// Owned returns the reason why a folder cannot hold private files: others than its owner can
// replace them.
func Owned(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if open := info.Mode().Perm() & 0o022; open != 0 && runtime.GOOS != "windows" {
		return &OpenError{Path: folder, Mode: info.Mode().Perm(), Folder: true}
	}
	return nil
}

// OwnFolder creates a folder for a data file. It refuses an existing folder when others can change
// its files, or read the data file.
func OwnFolder(folder, file string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := Owned(folder); err != nil {
		return err
	}
	data, err := filepath.EvalSymlinks(filepath.Join(folder, file))
	if err == nil {
		err = Private(data)
	}
	if errors.Is(err, fs.ErrNotExist) { // the first start makes it
		return nil
	}
	return err
}
