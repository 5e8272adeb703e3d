package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// Snapshot passes to fn the size in bytes of a consistent state at the time of the call, in one file
// without a log, and a function that writes that file once. Writers continue meanwhile. Pages are
// copied as they are on disk, so the copy must be verified.
func (s *Store) Snapshot(fn func(size int64, write func(io.Writer) error) error) error {
	if err := s.brokenErr(); err != nil {
		return err
	}
	if err := s.Flush(); err != nil && !errors.Is(err, ErrUnwritable) {
		return err
	}
	base, v, err := s.snapshot()
	if err != nil {
		return closedError(err)
	}
	defer func() { _ = base.Rollback() }()
	r, err := readRecord(base)
	if err != nil {
		return err
	}
	if r.log.alone && v.newest.isEmpty() && v.older == nil {
		return fn(base.Size(), func(w io.Writer) error { return writeFile(base, w) })
	}
	return s.merged(base, v, fn)
}

// writeFile writes the file of a read transaction.
func writeFile(base *bolt.Tx, w io.Writer) error {
	_, err := base.WriteTo(&rootSorter{to: w, tx: uint64(base.ID()), pageSize: base.DB().Info().PageSize})
	return err
}

// merged writes the layers into a copy of the file, and passes that one to fn. The copy is in a folder
// of its own beside the file, or among the temporary files when nothing can be written there.
func (s *Store) merged(base *bolt.Tx, v *view, fn func(size int64, write func(io.Writer) error) error) error {
	dir, err := (*os.File)(nil), os.ErrPermission
	if !s.readOnly {
		dir, err = TempFolder(filepath.Dir(s.path), unfinishedPrefix(s.path))
	}
	if err != nil {
		dir, err = TempFolder(os.TempDir(), unfinishedPrefix(s.path))
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	defer func() { _ = os.RemoveAll(dir.Name()) }()
	copied, err := os.OpenFile(filepath.Join(dir.Name(), filepath.Base(s.path)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = copied.Close() }()
	if err := writeFile(base, copied); err != nil {
		return err
	}
	if err := merge(copied.Name(), v); err != nil {
		return err
	}
	info, err := copied.Stat()
	if err != nil {
		return err
	}
	return fn(info.Size(), func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(copied, 0, info.Size()))
		return err
	})
}

// merge writes layers into the file at path, which is alone then.
func merge(path string, v *view) error {
	db, err := open(path, false)
	if err != nil {
		return err
	}
	db.NoSync = true // who passes it on syncs it there
	p := v.at
	p.segment++
	p.alone = true
	return errors.Join(commitLayers(db, p, v.older, v.newest), db.Close())
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

// Verify reads the whole file at path and its log, and returns the error of Open; it changes nothing.
func Verify(path string) error {
	db, at, err := openVerified(path, 0, true)
	if err != nil {
		return explain(path, err)
	}
	if _, err = segmentsOf(path).replay(at); err != nil {
		err = explain(path, err)
	}
	return errors.Join(err, db.Close())
}

// VerifyCopy is Verify for a file without a log within another file, to which nothing writes.
func VerifyCopy(file io.ReaderAt, size int64) error {
	_, r, err := verifyNewest(file, size, 0)
	if err == nil && !r.log.alone {
		err = fmt.Errorf("%w: it is a part: its log is missing", ErrDamaged)
	}
	return err
}
