package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// identify returns the identity of a file, and how many names it has.
func identify(info fs.FileInfo) (identity, uint64) {
	id := identity{size: info.Size(), written: info.ModTime().UnixNano()}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return id, 1
	}
	id.device, id.number, id.changed = wide(s.Dev), s.Ino, s.Ctim.Nano()
	return id, wide(s.Nlink)
}

// hasStayed reports whether an open file had the name by which it was opened at every moment until now. While a file loses a name
// the system still leads there by it, and already counts one less. So a second name of a file could pass for its only one. A read
// of the folder waits for the end of that, and then the system knows that the name is gone; it is not given back to an open file.
func hasStayed(dir *os.Root, f *os.File, segment string) bool {
	d, err := dir.Open(".")
	if err != nil {
		return errors.Is(err, fs.ErrPermission) // of a folder that may be entered, and not read
	}
	defer func() { _ = d.Close() }()
	if _, err := d.Readdirnames(1); err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	c, err := f.SyscallConn()
	path := ""
	if err == nil {
		err = c.Control(func(fd uintptr) { path, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) }) // "" without a /proc
	}
	return err == nil && (!strings.HasSuffix(path, " (deleted)") || strings.HasSuffix(path, "/"+segment))
}
