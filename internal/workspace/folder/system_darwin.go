package folder

import (
	"io/fs"
	"os"
	"syscall"
)

// identify returns the identity of a file, and how many names it has.
func identify(info fs.FileInfo) (identity, uint64) {
	id := identity{size: info.Size(), written: info.ModTime().UnixNano()}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return id, 1
	}
	id.device, id.number, id.changed = wide(s.Dev), s.Ino, s.Ctimespec.Nano()
	return id, wide(s.Nlink)
}

// hasStayed is true: this system does not report whether an open file lost the name by which it was opened.
func hasStayed(*os.Root, *os.File, string) bool { return true }
