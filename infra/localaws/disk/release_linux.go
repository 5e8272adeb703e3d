package disk

import "syscall"

// releasePages takes mapped pages of a file out of the memory of the process. Who reads them again gets them from the cache
// of the operating system.
func releasePages(at uintptr, size int64) error {
	if _, _, no := syscall.Syscall(syscall.SYS_MADVISE, at, uintptr(size), syscall.MADV_DONTNEED); no != 0 {
		return no
	}
	return nil
}
