package disk

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Open opens or creates the file at path with mode 0600, and reads all of it and of its log before
// it returns. It does not change files that it refuses. It returns ErrHeld, at once, when another
// process has the file; ErrDamaged (or ErrLastCommit) when the contents were changed; ErrFormat when
// another version wrote it; otherwise the error of the file system.
func Open(path string, options ...Option) (*Store, error) {
	s := newStore(path, options)
	if err := createFile(s.segments); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	var at position
	var err error
	if s.db, at, err = openVerified(path, 0, false); err != nil {
		return nil, explain(path, err)
	}
	sweep(filepath.Dir(path), unfinishedPrefix(path), false)
	sweep(filepath.Dir(path), unfinishedPrefix(path), true)
	r, err := s.segments.replay(at)
	if err == nil {
		s.w.log, err = r.reopen(s.segments)
	}
	if err != nil {
		return nil, errors.Join(explain(path, err), s.db.Close())
	}
	s.begin(r)
	s.segments.remove(r.old)
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
	r, err := s.segments.replay(at)
	if err != nil {
		return nil, errors.Join(explain(path, err), s.db.Close())
	}
	s.begin(r)
	return s, nil
}

func newStore(path string, options []Option) *Store {
	s := &Store{
		path: path, segments: segmentsOf(path), bounds: defaultBounds,
		failed: make(chan struct{}), trouble: trouble{log: slog.Default()},
	}
	for _, o := range options {
		o(s)
	}
	return s
}

// begin loads the commits of the log.
func (s *Store) begin(r *replayed) {
	if !s.readOnly { // the note only improves the message of ErrHeld; the lock is on the file itself
		_ = os.WriteFile(holderPath(s.path), []byte(strconv.Itoa(os.Getpid())), 0o600)
	}
	s.w.at, s.w.work, s.w.logged = r.at, r.changes, r.bytes
	if s.w.log != nil {
		s.w.logged -= s.w.log.used()
	}
	s.w.work.undo = &s.w.undone
	s.w.synced = s.w.work.copy()
	s.w.publish(s)
}

// AcceptOlder repairs a file that Open refuses with ErrLastCommit. When the newest root page of the
// file is damaged, it returns to the other one, and replays the log since then: nothing is lost. When
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
	segments := segmentsOf(path)
	r, err := segments.replay(at)
	switch {
	case errors.Is(err, ErrLastCommit):
		r.torn = true
		var l *log
		if l, err = r.reopen(segments); err == nil {
			err = l.file.Close()
		}
	case err == nil && older == 0:
		err = ErrNewestIsWhole
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

// createFile creates the data file when there is none: whole, or not at all.
func createFile(segments segmentFiles) error {
	path := segments.path
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	left, err := segments.numbers()
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%w: it is missing, and its log %s is there; nothing was changed", ErrDamaged, segments.name(left[0]))
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
		held := &HeldError{Path: path}
		if pid, readErr := os.ReadFile(holderPath(path)); readErr == nil {
			held.PID = strings.TrimSpace(string(pid))
		}
		return held
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
