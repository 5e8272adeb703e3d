// Package disk stores the one data file of the one-process deployment: a bbolt
// database that both embedded engines share, each in buckets of its own.
//
// These rules hold:
//
//   - Update returns nil only after the write has reached the disk (fsync).
//   - Writers are serialised: every function given to Update sees all writes of
//     the functions before it, and nothing of functions that failed.
//   - Writers that arrive while a commit is under way share the next one. The
//     first of them leads: it runs every waiting function in one transaction and
//     commits once. No writer waits for others; a lone writer commits at once.
//   - A write that the disk refuses leaves nothing, returns ErrUnwritable at once,
//     and does not affect later writes.
//   - One function's error or panic never undoes, repeats in part or fails
//     another's write.
//   - One process at a time holds the file.
//   - Open returns a file only after it has read all of it and verified it: no
//     byte changed, no page missing, the newest commit present. No contents of the
//     file can make it panic, hang or fault.
//
// bbolt has checksums of its two root pages only. Every commit therefore also stores
// a sum over the digests of all keys, values and buckets (sum.go), and Open reads
// the pages itself, without bbolt and without a memory map, before bbolt does
// (page.go, verify.go).
//
// Two faults cannot be detected from the file alone: the file was replaced by an
// older copy of itself, or the disk lost its last write and kept all before. A page
// that is damaged while the file is open is detected at the next opening or backup,
// or when bbolt cannot read it.
package disk

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var (
	// ErrHeld reports that another process has the file open.
	ErrHeld = errors.New("data file is held by another process")
	// ErrClosed reports that the store was closed.
	ErrClosed = errors.New("data file is closed")
	// ErrDamaged reports that the contents of the file were changed.
	ErrDamaged = errors.New("data file is damaged")
	// ErrLastCommit reports that the newest commit of the file may be lost. It is ErrDamaged as
	// well; AcceptOlder returns to the previous commit.
	ErrLastCommit = fmt.Errorf("%w, and its newest commit may be lost", ErrDamaged)
	// ErrFormat reports that another version wrote the file.
	ErrFormat = errors.New("data file has the format")
	// ErrFailed reports that a commit failed and may or may not be on disk: the file must be opened
	// again.
	ErrFailed = errors.New("data file takes no more writes until it is opened anew")

	errNoRecord = fmt.Errorf("%w, or of a version from before files had a sum: it has none", ErrDamaged)
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
	leading bool    // a goroutine is running or about to run a group
	closed  bool
	broken  error         // the reason why the store accepts nothing any more
	failed  chan struct{} // closed when broken is set
	stuck   atomic.Bool   // bbolt's write lock is lost

	trouble trouble
}

// Open opens or creates the file at path with mode 0600, and reads all of it before it returns. It
// does not change a file that it refuses. It returns ErrHeld, at once, when another process has the
// file; ErrDamaged (or ErrLastCommit) when the contents were changed; ErrFormat when another
// version wrote it; otherwise the error of the file system.
func Open(path string, options ...Option) (*Store, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	db, err := openVerified(path, 0, false)
	if err != nil {
		return nil, explain(path, err)
	}
	sweep(filepath.Dir(path), unfinishedPrefix(path), false)
	return newStore(db, path, options), nil
}

// OpenReadOnly opens an existing file for reading, with the checks of Open, also from a read-only
// disk. Several processes may do this at once, while none writes: Open returns ErrHeld meanwhile,
// and OpenReadOnly returns it while a process writes. Update returns an error.
func OpenReadOnly(path string, options ...Option) (*Store, error) {
	db, err := openVerified(path, 0, true)
	if err != nil {
		return nil, explain(path, err)
	}
	return newStore(db, path, options), nil
}

func newStore(db *bolt.DB, path string, options []Option) *Store {
	// The note only improves the message of ErrHeld; the lock is on the file itself.
	_ = os.WriteFile(holderPath(path), []byte(strconv.Itoa(os.Getpid())), 0o600)
	s := &Store{db: db, path: path, failed: make(chan struct{}), trouble: trouble{log: slog.Default()}}
	for _, o := range options {
		o(s)
	}
	return s
}

// AcceptOlder repairs a file that Open refuses with ErrLastCommit: the file then has the contents
// of the previous commit. It does not change any other file, and returns an error with the reason.
func AcceptOlder(path string) error {
	if _, err := examine(path, 0); !errors.Is(err, ErrLastCommit) {
		if err == nil {
			err = errors.New("its newest commit is whole: there is nothing to accept")
		}
		return explain(path, err)
	}
	db, err := openVerified(path, 1, false)
	if err != nil {
		return explain(path, err)
	}
	return errors.Join(db.Update(func(tx *bolt.Tx) error { // writes the other root page
		r, err := readRecord(tx)
		if err != nil {
			return err
		}
		return writeRecord(tx, r.total)
	}), db.Close())
}

// openVerified opens a file in the state that was examined. When another process held it in
// between, the file is examined again.
func openVerified(path string, older uint64, readOnly bool) (*bolt.DB, error) {
	for {
		seen, err := examine(path, older)
		if err != nil {
			return nil, err
		}
		db, err := open(path, readOnly)
		if err != nil {
			return nil, err
		}
		newest := uint64(0)
		err = db.View(func(tx *bolt.Tx) error { newest = uint64(tx.ID()); return nil })
		if err == nil && newest == seen.tx {
			return db, nil
		}
		if err := errors.Join(err, db.Close()); err != nil {
			return nil, err
		}
	}
}

// examine verifies the file at path under a lock that excludes writers. older accepts a file of one
// root, whose contents may be that much newer.
func examine(path string, older uint64) (state root, err error) {
	if info, err := os.Stat(path); err != nil {
		return root{}, err
	} else if info.Size() == 0 {
		return root{}, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	lock, err := open(path, true) // reads only the first two pages
	if err != nil {
		return root{}, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	file, err := os.Open(path)
	if err != nil {
		return root{}, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return root{}, err
	}
	return verifyNewest(file, info.Size(), older)
}

// verifyNewest verifies a file in its newest state.
func verifyNewest(file io.ReaderAt, size int64, older uint64) (root, error) {
	both, err := readRoots(file)
	if err != nil {
		return root{}, err
	}
	if err := both.check(); err != nil && (older == 0 || !errors.Is(err, ErrLastCommit)) {
		return root{}, err
	}
	state := both.newest()
	return state, verify(file, size, state, older)
}

// create creates the file when there is none: whole, or not at all.
func create(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), unfinishedPrefix(path)+"*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	if err := tmp.Close(); err != nil {
		return err
	}
	db, err := open(tmp.Name(), false)
	if err != nil {
		return err
	}
	err = errors.Join(db.Update(func(tx *bolt.Tx) error { return writeRecord(tx, contentSum{}) }), db.Close())
	if err != nil {
		return err
	}
	// Another process may do the same: the first one gets the name, and removes the files of the
	// others.
	if err := os.Link(tmp.Name(), path); err != nil {
		if _, missing := os.Lstat(path); missing != nil {
			return err
		}
	}
	return syncFolder(filepath.Dir(path))
}

// unfinishedPrefix returns the prefix of the names of unfinished files.
func unfinishedPrefix(path string) string { return "." + filepath.Base(path) + ".new-" }

// open converts bbolt's panics on a damaged file into errors.
func open(path string, readOnly bool) (db *bolt.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", bolterrors.ErrInvalid, p)
		}
	}()
	options := &bolt.Options{
		Timeout:      time.Millisecond, // shorter than one retry: returns at once
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
		ReadOnly:     readOnly,
	}
	if !readOnly {
		options.InitialMmapSize = initialMap
	}
	return bolt.Open(path, 0o600, options)
}

func explain(path string, err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		who := "another process, which may just be reading it for a backup"
		if pid, readErr := os.ReadFile(holderPath(path)); readErr == nil {
			who = "process " + strings.TrimSpace(string(pid))
		}
		return fmt.Errorf("%w: %s is open in %s; stop it, or use another data folder", ErrHeld, path, who)
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrFormat):
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch),
		strings.Contains(err.Error(), "file size too small"): // bbolt has no error value for it
		return fmt.Errorf("%s: %w: %w; nothing was changed", path, ErrDamaged, err)
	default:
		return fmt.Errorf("open %s: %w", path, err)
	}
}

func holderPath(path string) string { return path + ".pid" }

// View runs fn over a consistent snapshot: all of every committed group, none of a group under way.
// Values that fn reads from tx are valid only until it returns. fn must not call Update. A damaged
// page is ErrDamaged.
func (s *Store) View(fn func(tx *Tx) error) (err error) {
	if err := s.brokenErr(); err != nil {
		return err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if !isDamage(p) {
				panic(p)
			}
			err = s.damageError(p)
		}
	}()
	return closedError(s.db.View(func(tx *bolt.Tx) error { return fn(&Tx{tx: tx}) }))
}

func (s *Store) brokenErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// isDamage reports whether a panic comes from damaged contents: from bbolt, or from the memory map,
// when the file was cut short or could not be read.
func isDamage(p any) bool {
	if fault, ok := p.(interface{ Addr() uintptr }); ok {
		return fault.Addr() != 0
	}
	text, ok := p.(string)
	return ok && strings.HasPrefix(text, "assertion failed: ")
}

func (s *Store) damageError(p any) error {
	return fmt.Errorf("%w: %s: %v; stop, and restore it from a backup", ErrDamaged, s.path, p)
}

// Failed is closed when the store accepts nothing any more; Err returns the reason.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err returns the reason why the store accepts nothing any more; nil while it works.
func (s *Store) Err() error { return s.brokenErr() }

// fail makes the store refuse all later calls.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
		close(s.failed)
	}
}

// Close waits for the commit and the readers under way and releases the file. A second call has no
// effect.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	_ = os.Remove(holderPath(s.path))
	if s.stuck.Load() { // the end of the process releases the file
		return s.brokenErr()
	}
	return s.db.Close()
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func closedError(err error) error {
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }
