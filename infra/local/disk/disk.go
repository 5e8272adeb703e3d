// Package disk owns the one data file of the one-process deployment: a bbolt
// database that both embedded engines share, each in buckets of its own.
//
// What must stay true:
//
//   - Update returns nil only after the write has reached the disk (fsync).
//   - Writers are serialised: every function given to Update sees all writes of
//     the functions before it, and nothing of functions that failed.
//   - Writers that arrive while a commit is under way share the next one. The
//     first of them leads: it runs every waiting function in one transaction and
//     commits once. Nobody waits for company; a lone writer commits at once.
//   - One function's error or panic never undoes, repeats in part or fails
//     another's write.
//   - One process at a time holds the file.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var (
	// ErrHeld says that another process has the file open.
	ErrHeld = errors.New("data file is held by another process")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("data file is closed")
	// ErrDamaged says that the file is not a whole database.
	ErrDamaged = errors.New("data file is damaged")
)

// initialMap is the address space mapped at first, in bytes. It is reserved, not
// used: growing the map later has to wait for readers, so it starts wide.
const initialMap = 256 << 20

// Store is one open data file. It is safe for concurrent use.
type Store struct {
	db   *bolt.DB
	path string

	mu      sync.Mutex
	queue   []*call // waiting for the next commit, in order of arrival
	leading bool    // some goroutine is running or about to run a group
	closed  bool
	broken  error // why no more writes are taken
}

// Open opens or creates the file at path with mode 0600. It returns at once:
// ErrHeld when another process has it, ErrDamaged when it is cut short or is not
// a database, otherwise the error of the file system.
func Open(path string) (*Store, error) {
	info, err := os.Stat(path)
	fresh := errors.Is(err, os.ErrNotExist)
	if err == nil && info.Size() > 0 {
		if err := whole(path); err != nil {
			return nil, explain(path, err)
		}
	}
	db, err := open(path, false)
	if err != nil {
		return nil, explain(path, err)
	}
	if fresh {
		if err := syncFolder(filepath.Dir(path)); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	// The note only makes the message of ErrHeld better; the lock is the file's own.
	_ = os.WriteFile(holderPath(path), []byte(strconv.Itoa(os.Getpid())), 0o600)
	return &Store{db: db, path: path}, nil
}

// open turns bbolt's panics over a mangled file into errors.
func open(path string, readOnly bool) (db *bolt.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", bolterrors.ErrInvalid, p)
		}
	}()
	options := &bolt.Options{
		Timeout:      time.Millisecond, // shorter than one retry: answers at once
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
		ReadOnly:     readOnly,
	}
	if !readOnly {
		options.InitialMmapSize = initialMap
	}
	return bolt.Open(path, 0o600, options)
}

// whole refuses a file that is shorter than its own last page: reading beyond
// its end through the memory map would kill the process. Opened for reading
// only, bbolt looks at nothing but the two first pages.
func whole(path string) error {
	db, err := open(path, true)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return db.View(func(tx *bolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: it has %d bytes of at least %d", bolterrors.ErrInvalid, info.Size(), tx.Size())
		}
		return nil
	})
}

func explain(path string, err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		who := "unknown"
		if pid, readErr := os.ReadFile(holderPath(path)); readErr == nil {
			who = strings.TrimSpace(string(pid))
		}
		return fmt.Errorf("%w: %s is open in process %s; stop it, or use another data folder", ErrHeld, path, who)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch),
		strings.Contains(err.Error(), "file size too small"): // bbolt has no value for it
		return fmt.Errorf("%w: %s: %w; restore it from a backup", ErrDamaged, path, err)
	default:
		return fmt.Errorf("open %s: %w", path, err)
	}
}

func holderPath(path string) string { return path + ".pid" }

// View runs fn over a consistent snapshot: all of every committed group, none of
// a group under way. What fn reads from tx is only valid until it returns. fn
// must not call Update. A page that turns out to be damaged is ErrDamaged.
func (s *Store) View(fn func(tx *Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if !asserted(p) {
				panic(p)
			}
			err = s.damaged(p)
		}
	}()
	return closedAs(s.db.View(func(tx *bolt.Tx) error { return fn(&Tx{tx}) }))
}

// asserted reports whether a panic is bbolt's own over what it read.
func asserted(p any) bool {
	text, ok := p.(string)
	return ok && strings.HasPrefix(text, "assertion failed: ")
}

func (s *Store) damaged(p any) error {
	return fmt.Errorf("%w: %s: %v; stop, and restore it from a backup", ErrDamaged, s.path, p)
}

// Backup writes a consistent copy of the file to path, which it replaces whole
// or not at all. Writers go on meanwhile.
func (s *Store) Backup(path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".backup-*")
	if err != nil {
		return err
	}
	err = s.View(func(tx *Tx) error {
		_, err := tx.tx.WriteTo(tmp)
		return err
	})
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

// Close waits for the commit and the readers under way and releases the file.
// Closing twice is harmless.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	_ = os.Remove(holderPath(s.path))
	return s.db.Close()
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func closedAs(err error) error {
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// Path is where the file is.
func (s *Store) Path() string { return s.path }
