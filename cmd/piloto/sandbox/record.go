package sandbox

import (
	"bytes"
	"encoding/gob"
	"os"
	"path/filepath"

	"piloto/cmd/piloto/private"
)

// record is the state of a Guard, as it is kept in a file.
type record struct {
	Roots, Written, Folders []string
	Files                   map[string]content
}

// Keep writes the guard into a file, so that Kept can find control files that a command left after this process was
// killed. The folder of the file is made when there is none.
func (g *Guard) Keep(path string) error {
	r := record{Roots: g.before.roots, Written: g.before.written, Files: g.before.files}
	for folder := range g.before.folders {
		r.Folders = append(r.Folders, folder)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(r); err != nil {
		return err
	}
	return private.Write(path, text.Bytes())
}

// Kept returns the guard that was kept in a file, fs.ErrNotExist, or ErrRecord. It takes a git folder with the same path
// for the former one, because its control files are compared.
func Kept(path string) (*Guard, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var r record
	if err := gob.NewDecoder(file).Decode(&r); err != nil || len(r.Roots) == 0 {
		return nil, ErrRecord.With("path", path).Because(err)
	}
	before := (&obeyed{roots: r.Roots, written: r.Written}).empty()
	if r.Files != nil {
		before.files = r.Files
	}
	for _, folder := range r.Folders {
		if info, err := os.Lstat(folder); err == nil {
			before.folders[folder] = info
		}
	}
	return &Guard{before}, nil
}
