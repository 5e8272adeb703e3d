package folder

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const toRead = os.O_RDONLY

// identify returns the identity of a file. Only an open file reports how many names it has.
func identify(info fs.FileInfo) (identity, uint64) {
	return identity{size: info.Size(), written: info.ModTime().UnixNano()}, 1
}

// names returns how many names an open file has.
func names(f *os.File, _ fs.FileInfo) (uint64, error) {
	var info syscall.ByHandleFileInformation
	err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info)
	return uint64(info.NumberOfLinks), err
}

// sharingViolation is the error of a file that another process has open and does not share.
const sharingViolation = syscall.Errno(32)

// claim opens a file that nobody else can open until it is closed, or returns errClaimed.
func claim(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const notShared = 0
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, notShared, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, errClaimed
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}

// syncFolder does nothing: Windows writes the entries of a folder with the file.
func syncFolder(*os.Root) error { return nil }

// hasStayed is true: this system does not report whether an open file lost the name by which it was opened.
func hasStayed(*os.Root, *os.File, string) bool { return true }
