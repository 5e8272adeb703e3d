//go:build linux || darwin

package folder

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// toRead opens without waiting: a FIFO has no writer yet, and a device may never answer.
const toRead = os.O_RDONLY | syscall.O_NONBLOCK

// wide makes one type of the numbers that systems keep in different ones.
func wide[N int32 | uint16 | uint32 | uint64](n N) uint64 { return uint64(n) }

// names returns how many names an open file has.
func names(_ *os.File, info fs.FileInfo) (uint64, error) {
	_, n := identify(info)
	return n, nil
}

// claim locks a file until it is closed, or returns errClaimed. The lock ends with its process.
func claim(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errClaimed
	}
	return nil, err
}

// syncFolder makes the entries of a folder durable.
func syncFolder(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}
