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
//   - A write that the disk refuses leaves nothing, is answered at once with
//     ErrUnwritable, and hinders no later one.
//   - One function's error or panic never undoes, repeats in part or fails
//     another's write.
//   - One process at a time holds the file.
//   - Open hands out a file only after it has read all of it, and found what was
//     written: no byte changed, no page missing, the newest commit there. Nothing
//     that it reads can make it panic, hang or fault.
//
// bbolt has checksums of its two root pages alone. Every commit therefore keeps,
// beside what it writes, a sum over the digests of all keys, values and buckets
// (sum.go), and Open reads the pages itself, without bbolt and without a memory
// map, before bbolt does (page.go, verify.go).
//
// What nobody can tell from the file alone: that a whole file was replaced by an
// older copy of itself, or that a disk lost its last write and kept all before.
// A page that rots while the file is open is found when it is next opened or
// backed up, or when a page is hit that bbolt cannot read.
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
	// ErrHeld says that another process has the file open.
	ErrHeld = errors.New("data file is held by another process")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("data file is closed")
	// ErrDamaged says that the file is not what was written.
	ErrDamaged = errors.New("data file is damaged")
	// ErrLastCommit says that the newest commit of the file may be gone. It is
	// ErrDamaged as well; AcceptOlder goes on from the commit before.
	ErrLastCommit = fmt.Errorf("%w, and its newest commit may be lost", ErrDamaged)
	// ErrFormat says that another version wrote the file.
	ErrFormat = errors.New("data file has the format")
	// ErrFailed says that a commit failed so that nobody knows whether it is on
	// disk: the file must be opened anew.
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
	leading bool    // some goroutine is running or about to run a group
	closed  bool
	broken  error         // why nothing is taken any more
	failed  chan struct{} // closed when it is
	stuck   atomic.Bool   // bbolt's write lock will not be given back

	trouble trouble
}

// Open opens or creates the file at path with mode 0600, and reads all of it
// before it returns. It changes nothing in a file that it refuses: ErrHeld, at
// once, when another process has it; ErrDamaged when it is not what was written,
// ErrLastCommit among these; ErrFormat when another version wrote it; otherwise
// the error of the file system.
func Open(path string, options ...Option) (*Store, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	db, err := openVerified(path, 0, false)
	if err != nil {
		return nil, explain(path, err)
	}
	sweep(filepath.Dir(path), unfinished(path), false)
	return opened(db, path, options), nil
}

// OpenReadOnly opens a file that is there to be read, as Open does, from a disk that
// may take no writes. Several may at once, and nobody writes meanwhile: Open answers
// ErrHeld, as this does while another process writes. Update is an error.
func OpenReadOnly(path string, options ...Option) (*Store, error) {
	db, err := openVerified(path, 0, true)
	if err != nil {
		return nil, explain(path, err)
	}
	return opened(db, path, options), nil
}

func opened(db *bolt.DB, path string, options []Option) *Store {
	// The note only makes the message of ErrHeld better; the lock is the file's own.
	_ = os.WriteFile(holderPath(path), []byte(strconv.Itoa(os.Getpid())), 0o600)
	s := &Store{db: db, path: path, failed: make(chan struct{}), trouble: trouble{log: slog.Default()}}
	for _, o := range options {
		o(s)
	}
	return s
}

// AcceptOlder makes a file that Open refuses as ErrLastCommit one that it opens,
// with what was written up to the commit before. Any other file it leaves as it
// is, with an error that says why.
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
	return errors.Join(db.Update(func(tx *bolt.Tx) error { // which writes the other root page
		r, err := readRecord(tx)
		if err != nil {
			return err
		}
		return writeRecord(tx, r.total)
	}), db.Close())
}

// openVerified opens a file as it was examined. Another process may
// have it for a moment between the two, and then it is examined again.
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

// examine verifies the file at path under a lock that keeps writers out. older
// accepts a file of one root, whose content may say that it is that much newer.
func examine(path string, older uint64) (state root, err error) {
	if info, err := os.Stat(path); err != nil {
		return root{}, err
	} else if info.Size() == 0 {
		return root{}, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	lock, err := open(path, true) // which looks at no more than the two first pages
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
	return sound(file, info.Size(), older)
}

// sound verifies a file in its newest state.
func sound(file io.ReaderAt, size int64, older uint64) (root, error) {
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

// create makes the file when there is none: whole, or not at all.
func create(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), unfinished(path)+"*") // with mode 0600
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
	err = errors.Join(db.Update(func(tx *bolt.Tx) error { return writeRecord(tx, tally{}) }), db.Close())
	if err != nil {
		return err
	}
	// Another process may be doing the same: the first has the name, and has removed
	// what the others made.
	if err := os.Link(tmp.Name(), path); err != nil {
		if _, missing := os.Lstat(path); missing != nil {
			return err
		}
	}
	return syncFolder(filepath.Dir(path))
}

// unfinished is how the names of files begin that are not in their place yet.
func unfinished(path string) string { return "." + filepath.Base(path) + ".new-" }

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
		strings.Contains(err.Error(), "file size too small"): // bbolt has no value for it
		return fmt.Errorf("%s: %w: %w; nothing was changed", path, ErrDamaged, err)
	default:
		return fmt.Errorf("open %s: %w", path, err)
	}
}

func holderPath(path string) string { return path + ".pid" }

// View runs fn over a consistent snapshot: all of every committed group, none of
// a group under way. What fn reads from tx is only valid until it returns. fn
// must not call Update. A page that turns out to be damaged is ErrDamaged.
func (s *Store) View(fn func(tx *Tx) error) (err error) {
	if err := s.usable(); err != nil {
		return err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if !ofDamage(p) {
				panic(p)
			}
			err = s.damaged(p)
		}
	}()
	return closedAs(s.db.View(func(tx *bolt.Tx) error { return fn(&Tx{tx: tx}) }))
}

func (s *Store) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// ofDamage reports whether a panic is over what was read: bbolt's own, or of the
// memory map, when the file was cut or could not be read.
func ofDamage(p any) bool {
	if fault, ok := p.(interface{ Addr() uintptr }); ok {
		return fault.Addr() != 0
	}
	text, ok := p.(string)
	return ok && strings.HasPrefix(text, "assertion failed: ")
}

func (s *Store) damaged(p any) error {
	return fmt.Errorf("%w: %s: %v; stop, and restore it from a backup", ErrDamaged, s.path, p)
}

// Failed is closed when the store takes nothing any more; Err says why.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err is why the store takes nothing any more, nil as long as it does.
func (s *Store) Err() error { return s.usable() }

// fail makes the store refuse whatever comes.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
		close(s.failed)
	}
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
	if s.stuck.Load() { // the file is let go of when the process ends
		return s.usable()
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

func closedAs(err error) error {
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// Path is where the file is.
func (s *Store) Path() string { return s.path }
