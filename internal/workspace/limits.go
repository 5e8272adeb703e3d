package workspace

import "strconv"

// Limits bound the files of a workspace together. A member that is 0 stands for MaxFiles or MaxBytes.
type Limits struct {
	Files int
	Bytes int64
}

// Check returns ErrFull if so many files, or so many bytes in all, are over a limit.
func (l Limits) Check(files int, bytes int64) error {
	if l.Files == 0 {
		l.Files = MaxFiles
	}
	if l.Bytes == 0 {
		l.Bytes = MaxBytes
	}
	if files <= l.Files && bytes <= l.Bytes {
		return nil
	}
	return ErrFull.With("files", strconv.Itoa(files)).With("max", strconv.Itoa(l.Files)).
		With("mb", megabytes(bytes)).With("max_mb", megabytes(l.Bytes))
}

// CheckSize returns ErrTooLarge for a file of more than MaxFileBytes.
func CheckSize(name string, bytes int64) error {
	if bytes <= MaxFileBytes {
		return nil
	}
	return ErrTooLarge.With("name", Printable(name)).With("max_mb", megabytes(MaxFileBytes))
}

// megabytes rounds up, so that a size over a limit is not written as the limit.
func megabytes(bytes int64) string { return strconv.FormatInt((bytes+1<<20-1)>>20, 10) }
