//go:build unix

package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	bolterrors "go.etcd.io/bbolt/errors"
)

// TestFileIsReadOnReadOnlyDisk, also by several processes at once.
func TestFileIsReadOnReadOnlyDisk(t *testing.T) { runInChild(t, "read") }

// readOnly has a folder and a file that this process can only read, as any user.
func readOnly(path string) error {
	const nobody = 65534
	if err := os.Chdir(filepath.Dir(path)); err != nil { // the parent folders may belong to another user
		return err
	}
	path = filepath.Base(path)
	s, err := Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(s.Update(put("a", "1")), s.Close(), os.Chmod(path, 0o400), os.Chmod(".", 0o500)); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chown(path, nobody, nobody), os.Chown(".", nobody, nobody), syscall.Setuid(nobody)); err != nil {
			return err
		}
	}
	defer func() { _ = os.Chmod(".", 0o700) }()
	if _, err := Open(path); !errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("it can be written: %w", err)
	}
	one, err := OpenReadOnly(path)
	if err != nil {
		return err
	}
	two, err := OpenReadOnly(path)
	if err != nil {
		return err
	}
	if err := hasJust1(two); err != nil {
		return err
	}
	if err := one.Update(put("b", "1")); !errors.Is(err, bolterrors.ErrDatabaseReadOnly) {
		return fmt.Errorf("it was written: %w", err)
	}
	var copied bytes.Buffer
	if err := one.Snapshot(func(_ int64, write func(w io.Writer) error) error { return write(&copied) }); err != nil {
		return err
	}
	if err := VerifyCopy(bytes.NewReader(copied.Bytes()), int64(copied.Len())); err != nil {
		return err
	}
	return errors.Join(one.Close(), two.Close())
}

func hasJust1(s *Store) error {
	return s.View(func(tx *Tx) error {
		if v := tx.Bucket(bucket).Get([]byte("a")); string(v) != "1" {
			return fmt.Errorf("it has %q", v)
		}
		return nil
	})
}

// TestReadersAndWritersExcludeEachOther, and neither creates a file.
func TestReadersAndWritersExcludeEachOther(t *testing.T) {
	s, path := openTemp(t)
	if _, err := OpenReadOnly(path); !errors.Is(err, ErrHeld) {
		t.Errorf("somebody writes: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrHeld) {
		t.Errorf("somebody reads: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(path + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := os.Lstat(path + ".none"); err == nil {
		t.Error("it was made")
	}
}
