//go:build unix

package reach

import (
	"io/fs"
	"syscall"
)

// inode returns the number of a file in its file system.
func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
