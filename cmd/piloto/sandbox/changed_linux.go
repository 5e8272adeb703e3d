package sandbox

import (
	"io/fs"
	"syscall"
	"time"
)

// changedSince reports whether a file was changed since a time. A program can set another time of its content.
func changedSince(info fs.FileInfo, since time.Time) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || !time.Unix(stat.Ctim.Unix()).Before(since.Add(-tick))
}
