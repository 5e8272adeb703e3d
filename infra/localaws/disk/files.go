package disk

import (
	"io"
	"os"
)

// logFile is one file of the log. Its methods have the meaning of those of os.File.
type logFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	// Sync returns after everything that was written has reached the disk.
	Sync() error
}

// logFolder does the file operations of the log. A test replaces it by a disk that forgets
// unsynced writes.
type logFolder interface {
	// Names returns the names of all files.
	Names() ([]string, error)
	// Create makes an empty file with mode 0600 that did not exist.
	Create(name string) (logFile, error)
	Open(name string, readOnly bool) (logFile, error)
	Remove(name string) error
	// Sync returns after the names of created files have reached the disk.
	Sync() error
}

// folder is a logFolder of the operating system.
type folder string

func (f folder) Names() (names []string, err error) {
	entries, err := os.ReadDir(string(f))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (f folder) path(name string) string { return string(f) + string(os.PathSeparator) + name }

func (f folder) Create(name string) (logFile, error) {
	file, err := os.OpenFile(f.path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return plainFile{file}, nil
}

func (f folder) Open(name string, readOnly bool) (logFile, error) {
	flag := os.O_RDWR
	if readOnly {
		flag = os.O_RDONLY
	}
	file, err := os.OpenFile(f.path(name), flag, 0)
	if err != nil {
		return nil, err
	}
	return plainFile{file}, nil
}

func (f folder) Remove(name string) error { return os.Remove(f.path(name)) }

func (f folder) Sync() error { return syncFolder(string(f)) }

// plainFile is a logFile of the operating system.
type plainFile struct{ *os.File }

func (f plainFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f plainFile) Sync() error { return SyncData(f.File) }
