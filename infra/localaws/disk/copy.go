package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// Snapshot passes to fn the size in bytes of a consistent state of the file at the time of the
// call, and a function that writes that state once. Writers continue meanwhile, and the file grows
// by the pages that they replace until fn returns. Pages are copied as they are on disk, so the
// copy must be verified.
func (s *Store) Snapshot(fn func(size int64, write func(io.Writer) error) error) error {
	if err := s.brokenErr(); err != nil {
		return err
	}
	return closedError(s.db.View(func(tx *bolt.Tx) error {
		return fn(tx.Size(), func(w io.Writer) error {
			_, err := tx.WriteTo(&rootSorter{to: w, tx: uint64(tx.ID()), pageSize: s.db.Info().PageSize})
			return err
		})
	}))
}

// rootSorter puts the two root pages that bbolt writes at the positions that a commit of their
// numbers uses. bbolt always writes the newer one first; the commit after the next would then
// overwrite it, and leave roots that are two commits apart.
type rootSorter struct {
	to       io.Writer
	tx       uint64
	pageSize int
	head     []byte
	through  bool
}

func (o *rootSorter) Write(b []byte) (int, error) {
	if o.through {
		return o.to.Write(b)
	}
	o.head = append(o.head, b...)
	if len(o.head) < 2*o.pageSize {
		return len(b), nil
	}
	o.through = true
	newer, older := o.head[:o.pageSize], o.head[o.pageSize:2*o.pageSize]
	if o.tx%2 == 1 {
		order.PutUint64(newer, 1) // the page number that each root contains
		order.PutUint64(older, 0)
		newer, older = older, newer
	}
	for _, part := range [][]byte{newer, older, o.head[2*o.pageSize:]} {
		if _, err := o.to.Write(part); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Backup writes a consistent copy of the file to path. It verifies the copy, and then replaces path
// whole or not at all. Writers continue meanwhile.
func (s *Store) Backup(path string) error {
	tmp, err := TempFile(filepath.Dir(path), unfinishedPrefix(path))
	if err != nil {
		return err
	}
	defer func() { _ = tmp.Close() }() // until then no other process removes it
	size := int64(0)
	err = s.Snapshot(func(n int64, write func(io.Writer) error) error { size = n; return write(tmp) })
	if err == nil {
		err = VerifyCopy(tmp, size)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

// Verify reads the whole file at path and returns the error of Open; it does not change the file.
func Verify(path string) error {
	if _, err := examine(path, 0); err != nil {
		return explain(path, err)
	}
	return nil
}

// VerifyCopy is Verify for a file within another file, to which nothing writes.
func VerifyCopy(file io.ReaderAt, size int64) error {
	_, err := verifyNewest(file, size, 0)
	return err
}
