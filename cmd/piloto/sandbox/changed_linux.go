package sandbox

import (
	"encoding/binary"
	"io/fs"
	"syscall"
	"time"
)

// changedSince reports whether a file was changed since a time. A program can set another time of its content.
func changedSince(info fs.FileInfo, since time.Time) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || !time.Unix(stat.Ctim.Unix()).Before(since.Add(-tick))
}

// statOf returns the times and numbers of a file as an index of git has them.
func statOf(info fs.FileInfo) (stat [entryStat]byte, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat, false
	}
	for i, n := range []int64{
		int64(s.Ctim.Sec), int64(s.Ctim.Nsec), int64(s.Mtim.Sec), int64(s.Mtim.Nsec), //nolint:unconvert // they have 32 bits on some machines
		int64(s.Dev), int64(s.Ino), int64(s.Mode), int64(s.Uid), int64(s.Gid), s.Size, //nolint:gosec // git keeps 32 bits
	} {
		binary.BigEndian.PutUint32(stat[4*i:], uint32(n)) //nolint:gosec // as above
	}
	return stat, true
}
