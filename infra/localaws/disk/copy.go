package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// Snapshot hands fn a consistent state of the file, as of the moment when it is
// called: its size in bytes, and what writes it, once. Writers go on meanwhile,
// and the file grows by what they replace until fn returns. Pages are copied as
// they are on disk: what was written is to be verified.
func (s *Store) Snapshot(fn func(size int64, write func(io.Writer) error) error) error {
	if err := s.usable(); err != nil {
		return err
	}
	return closedAs(s.db.View(func(tx *bolt.Tx) error {
		return fn(tx.Size(), func(w io.Writer) error {
			_, err := tx.WriteTo(&inOrder{to: w, tx: uint64(tx.ID()), pageSize: s.db.Info().PageSize})
			return err
		})
	}))
}

// inOrder puts the two root pages that bbolt writes into the places where a
// commit of their numbers would have put them. bbolt writes the newer one first
// always; the commit after the next would then overwrite it, and leave roots that
// are two commits apart.
type inOrder struct {
	to       io.Writer
	tx       uint64
	pageSize int
	head     []byte
	through  bool
}

func (o *inOrder) Write(b []byte) (int, error) {
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
		order.PutUint64(newer, 1) // what each says of where it is
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

// Backup writes a consistent copy of the file to path, which it replaces whole
// or not at all, and only after it has verified it. Writers go on meanwhile.
func (s *Store) Backup(path string) error {
	tmp, err := TempFile(filepath.Dir(path), unfinished(path))
	if err != nil {
		return err
	}
	defer func() { _ = tmp.Close() }() // until then it is nobody else's to remove
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

// Verify reads all of the file at path and returns what Open would refuse it
// with; it leaves it as it is.
func Verify(path string) error {
	if _, err := examine(path, 0); err != nil {
		return explain(path, err)
	}
	return nil
}

// VerifyCopy is Verify for a file within another, which nobody writes to.
func VerifyCopy(file io.ReaderAt, size int64) error {
	_, err := sound(file, size, 0)
	return err
}
