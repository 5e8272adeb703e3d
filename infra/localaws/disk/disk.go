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
// (checkpoint.go). Open reads what is in the log and not in the file (log.go).
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
	"io"
	"localaws/moment"
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
	db       *bolt.DB
	path     string
	files    logFolder
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
	synced  atomic.Pointer[view] // what readers see
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
		defaultBounds.checkpoint = 64 << 10
	}
}

// hooks let a test stop the store around the writes to the bbolt file.
type hooks struct {
	inline       bool // checkpoints run within the commit that begins them
	beforeCommit func()
	afterCommit  func()
}

// Open opens or creates the file at path with mode 0600, and reads all of it and of its log before
// it returns. It does not change files that it refuses. It returns ErrHeld, at once, when another
// process has the file; ErrDamaged (or ErrLastCommit) when the contents were changed; ErrFormat when
// another version wrote it; otherwise the error of the file system.
func Open(path string, options ...Option) (*Store, error) {
	s := newStore(path, options)
	if err := s.create(); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	var at position
	var err error
	if s.db, at, err = openVerified(path, 0, false); err != nil {
		return nil, explain(path, err)
	}
	sweep(filepath.Dir(path), unfinishedPrefix(path), false)
	sweep(filepath.Dir(path), unfinishedPrefix(path), true)
	r, err := replay(s.files, path, at)
	if err == nil {
		s.w.log, err = r.reopen(s.files, path)
	}
	if err != nil {
		return nil, errors.Join(explain(path, err), s.db.Close())
	}
	s.begin(r)
	s.removeSegments(r.old)
	return s, nil
}

// OpenReadOnly opens an existing file for reading, with the checks of Open, also from a read-only
// disk. It reads the log into memory, and changes nothing. Several processes may do this at once,
// while none writes: Open returns ErrHeld meanwhile, and OpenReadOnly returns it while a process
// writes. Update returns an error.
func OpenReadOnly(path string, options ...Option) (*Store, error) {
	s := newStore(path, options)
	s.readOnly = true
	var at position
	var err error
	if s.db, at, err = openVerified(path, 0, true); err != nil {
		return nil, explain(path, err)
	}
	r, err := replay(s.files, path, at)
	if err != nil {
		return nil, errors.Join(explain(path, err), s.db.Close())
	}
	s.begin(r)
	return s, nil
}

func newStore(path string, options []Option) *Store {
	s := &Store{
		path: path, files: folder(filepath.Dir(path)), bounds: defaultBounds,
		failed: make(chan struct{}), trouble: trouble{log: slog.Default()},
	}
	for _, o := range options {
		o(s)
	}
	return s
}

// begin takes over what the log has.
func (s *Store) begin(r *replayed) {
	// The note only improves the message of ErrHeld; the lock is on the file itself.
	_ = os.WriteFile(holderPath(s.path), []byte(strconv.Itoa(os.Getpid())), 0o600)
	s.w.at, s.w.work, s.w.logged = r.at, r.changes, r.bytes
	if s.w.log != nil {
		s.w.logged -= s.w.log.used()
	}
	s.w.work.undo = &s.w.undone
	s.w.synced = s.w.work.copy()
	s.w.publish(s)
}

// AcceptOlder repairs a file that Open refuses with ErrLastCommit. When the newest root page of the
// file is damaged, it returns to the other one, and to what the log has since: nothing is lost. When
// the last record of the log is damaged, it drops that record. It returns an error with the reason
// when it cannot repair the file.
func AcceptOlder(path string) error {
	older := uint64(0)
	if _, err := examine(path, 0); errors.Is(err, ErrLastCommit) {
		older = 1
	} else if err != nil {
		return explain(path, err)
	}
	db, at, err := openVerified(path, older, false)
	if err != nil {
		return explain(path, err)
	}
	files := folder(filepath.Dir(path))
	r, err := replay(files, path, at)
	switch {
	case errors.Is(err, ErrLastCommit):
		r.torn = true
		var l *log
		if l, err = r.reopen(files, path); err == nil {
			err = l.file.Close()
		}
	case err == nil && older == 0:
		err = errors.New("its newest commit is whole: there is nothing to accept")
	}
	if err == nil && older > 0 {
		err = commitLayers(db, at) // writes the other root page
	}
	if err != nil {
		err = explain(path, err)
	}
	return errors.Join(err, db.Close())
}

// openVerified opens a file in the state that was examined, and returns its position in the log.
// When another process held it in between, the file is examined again.
func openVerified(path string, older uint64, readOnly bool) (*bolt.DB, position, error) {
	for {
		seen, err := examine(path, older)
		if err != nil {
			return nil, position{}, err
		}
		db, err := open(path, readOnly)
		if err != nil {
			return nil, position{}, err
		}
		newest, r := uint64(0), record{}
		err = db.View(func(tx *bolt.Tx) (err error) {
			newest = uint64(tx.ID())
			r, err = readRecord(tx)
			return err
		})
		if err == nil && newest == seen.tx {
			return db, r.log, nil
		}
		if err := errors.Join(err, db.Close()); err != nil {
			return nil, position{}, err
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
	state, _, err = verifyNewest(file, info.Size(), older)
	return state, err
}

// verifyNewest verifies a file in its newest state.
func verifyNewest(file io.ReaderAt, size int64, older uint64) (state root, r record, err error) {
	both, err := readRoots(file)
	if err != nil {
		return root{}, record{}, err
	}
	if err := both.check(); err != nil && (older == 0 || !errors.Is(err, ErrLastCommit)) {
		return root{}, record{}, err
	}
	state = both.newest()
	r, err = verify(file, size, state, older)
	return state, r, err
}

// create creates the file when there is none: whole, or not at all.
func (s *Store) create() error {
	path := s.path
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	left, err := segmentNumbers(s.files, path)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%w: it is missing, and its log %s is there; nothing was changed", ErrDamaged, segmentName(path, left[0]))
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
	err = errors.Join(db.Update(func(tx *bolt.Tx) error {
		return writeRecord(tx, contentSum{}, position{store: newStoreID(), segment: 1, alone: true})
	}), db.Close())
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
	}
	_ = os.Remove(holderPath(s.path))
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
