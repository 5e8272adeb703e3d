package disk

import (
	"errors"
	"os"
	"syscall"
)

// SyncData is File.Sync without the times of the file, which nothing reads.
func SyncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
