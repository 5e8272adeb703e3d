// Package disk stores the one data file of the one-process deployment: a bbolt
// database that both embedded engines share, each in buckets of its own.
//
// These rules hold:
//
//   - Update returns nil only after the write has reached the disk (fsync).
//   - Writers are serialised: every function given to Update sees all writes of
//     the functions before it, and nothing of functions that failed.
//   - Writers that arrive while a commit is under way share the next one. The
//     first of them leads: it runs every waiting function and commits once. No
//     writer waits for others; a lone writer commits at once.
//   - A write that the disk refuses leaves nothing, returns ErrUnwritable at once,
//     and does not affect later writes.
//   - One function's error or panic never undoes, repeats or fails another's write.
//   - One process at a time holds the file.
//   - Open returns a file only after it has read all of it and verified it: no
//     byte changed, no page missing, the newest commit present. No contents of the
//     file can make it panic, hang or fault.
//
// A commit is one record at the end of a log, and one fsync of it (wal.go, log.go).
// Readers see the commits that are not in the bbolt file as layers in memory in
// front of it (layer.go, tx.go), and only after they have reached the disk. When
// the log has grown, a checkpoint writes the layer into the bbolt file, in one
// transaction with the position in the log, and removes the old part of the log
// (checkpoint.go). Open replays the commits that are only in the log (log.go).
// Close leaves the file alone, without a log.
//
// UpdateAsync puts a write in order and does not wait for the disk: it is there
// with the next commit that somebody waits for. No write is there without all
// writes before it.
//
// bbolt has checksums of its two root pages only. Every checkpoint therefore also stores
// a sum over the digests of all keys, values and buckets (sum.go), and Open reads
// the pages itself, without bbolt and without a memory map, before bbolt does
// (page.go, verify.go).
//
// Three faults cannot be detected from the files alone: they were replaced by an
// older copy of themselves; the disk lost its last writes and kept all before; the
// log was cut at the end of a record. A page that is damaged while the file is open
// is detected at the next opening or backup, or when bbolt cannot read it.
package disk

import (
	"errors"
	"fmt"
	"localaws/moment"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// HeldError is ErrHeld of one file.
type HeldError struct {
	Path string
	PID  string // of the process that has it open; "" when only a backup reads it
}

// Error implements error.
func (e *HeldError) Error() string {
	who := "another process, which may just be reading it for a backup"
	if e.PID != "" {
		who = "process " + e.PID
	}
	return fmt.Sprintf("%v: %s is open in %s; stop it, or use another data folder", ErrHeld, e.Path, who)
}

// Is makes it ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld } //nolint:errorlint // errors.Is unwraps, and this compares

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
	// ErrNewestIsWhole reports that AcceptOlder has nothing to do.
	ErrNewestIsWhole = errors.New("its newest commit is whole: there is nothing to accept")
	// ErrFormat reports that another version wrote the file.
	ErrFormat = errors.New("data file has the format")
	// ErrFailed reports that a commit failed and may or may not be on disk: the file must be opened
	// again.
	ErrFailed = errors.New("data file takes no more writes until it is opened anew")

	errNoRecord = fmt.Errorf("%w: it has no sum", ErrDamaged)
)

// initialMap is the address space mapped at first, in bytes. It is reserved, not
// used: growing the map later has to wait for readers, so it starts wide.
const initialMap = 256 << 20

// Store is one open data file. It is safe for concurrent use.
type Store struct {
	db       *bolt.DB
	path     string
	segments segmentFiles
	readOnly bool
	bounds   bounds

	mu      sync.Mutex
	queue   []*call // waiting for the next commit, in order of arrival
	leading bool    // a goroutine is running or about to run a group
	closed  bool
	broken  error         // the reason why the store accepts nothing any more
	failed  chan struct{} // closed when broken is set
	stuck   atomic.Bool   // bbolt's write lock is lost

	w       writer
	synced  atomic.Pointer[view] // the state that readers see
	trouble trouble
	hooks   hooks
}

// bounds are sizes of the log in bytes.
type bounds struct {
	checkpoint int64 // a checkpoint begins
	most       int64 // writers wait for the checkpoint
	record     int   // changes of more bytes are not written to the log, but to the file
}

var defaultBounds = bounds{checkpoint: 16 << 20, most: 64 << 20, record: 16 << 20}

func init() {
	if moment.On { // crash tests write little, and die at checkpoints, too
		defaultBounds.checkpoint = 16 << 10
	}
}

// hooks let a test stop the store around the writes to the bbolt file.
type hooks struct {
	inline       bool // checkpoints run within the commit that begins them
	beforeCommit func()
	afterCommit  func()
}

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
			err = damageError(s.path, p)
		}
	}()
	base, v, err := s.snapshot()
	if err != nil {
		return closedError(err)
	}
	defer func() { _ = base.Rollback() }()
	return fn(newReadTx(base, v.newest, v.older))
}

// snapshot begins a read transaction of the file that fits to the layers: when a layer was frozen in
// between, the file may have more than the layers of before.
func (s *Store) snapshot() (*bolt.Tx, *view, error) {
	for {
		v := s.synced.Load()
		base, err := s.db.Begin(false)
		if err != nil {
			return nil, nil, err
		}
		if s.synced.Load().frozen == v.frozen {
			return base, v, nil
		}
		if err := base.Rollback(); err != nil {
			return nil, nil, err
		}
	}
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

func damageError(path string, p any) error {
	return fmt.Errorf("%w: %s: %v; stop, and restore it from a backup", ErrDamaged, path, p)
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

// Close waits for the commit and the readers under way, writes everything to the file, removes the
// log and releases the file. When the disk has no room for that, the log stays, and the next Open
// reads it. A second call has no effect.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	if !s.readOnly {
		s.finish()
		_ = os.Remove(holderPath(s.path))
	}
	if s.stuck.Load() { // the end of the process releases the file
		return s.brokenErr()
	}
	err := s.db.Close()
	if s.w.log != nil {
		err = errors.Join(err, s.w.log.file.Close())
	}
	return err
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

// Commits returns the number of commits that readers see, since the file was made. Writes that share a
// commit count once.
func (s *Store) Commits() uint64 { return s.synced.Load().at.number }

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }
