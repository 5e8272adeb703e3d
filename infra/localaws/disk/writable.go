package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// ErrUnwritable reports that a write was refused and left nothing: the disk is full, or accepts no
// writes for another reason. The file is unchanged, reads succeed, and a later write may succeed.
var ErrUnwritable = errors.New("data file cannot be written now")

const (
	logInterval   = time.Minute     // interval of the log lines
	checkInterval = 2 * time.Second // interval of the checks whether writes succeed again
	room          = 1 << 20         // bytes that a check writes
)

// trouble is the state of a disk that accepts no writes. A successful commit does not end it: a
// full disk still accepts commits that need no more pages.
type trouble struct {
	found atomic.Bool // read without mu on the normal path
	log   *slog.Logger

	mu       sync.Mutex
	err      error
	refused  int // refused commits since the last log line
	loggedAt time.Time
	logged   bool // the last log line reported the start, and not the end
	tried    time.Time
}

// Option changes how a Store is opened.
type Option func(*Store)

// WithLogger sets the logger. It logs once a minute that the disk accepts no writes, and once that
// it does again. The default is slog.Default().
func WithLogger(log *slog.Logger) Option { return func(s *Store) { s.trouble.log = log } }

// refuse records a commit that changed nothing, and returns the error for its callers.
func (s *Store) refuse(cause error) error {
	err := fmt.Errorf("%w: %s: %w", ErrUnwritable, s.path, cause)
	t := &s.trouble
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.err == nil {
		t.tried = now
	}
	t.err = err
	t.found.Store(true)
	t.refused++
	if t.loggedAt.IsZero() || now.Sub(t.loggedAt) >= logInterval || now.Before(t.loggedAt) {
		t.log.Error("disk.unwritable", "path", s.path, "error", cause, "refused", t.refused)
		t.loggedAt, t.logged, t.refused = now, true, 0
	}
	return err
}

// Unwritable returns the reason why writes are refused, an ErrUnwritable; nil when no fault is
// known. After a fault it checks at intervals whether there is room again, so that no write is
// needed to notice that.
func (s *Store) Unwritable() error {
	t := &s.trouble
	if !t.found.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.err != nil && (now.Sub(t.tried) >= checkInterval || now.Before(t.tried)) {
		t.tried = now
		if hasRoom(s.path) == nil {
			t.err = nil
			t.found.Store(false)
			if t.logged {
				t.log.Info("disk.writable", "path", s.path)
			}
			t.logged = false
		}
	}
	return t.err
}

// hasRoom writes beside the file as many bytes as the file itself would have to grow. Its file has
// no name, so that nothing is left over.
func hasRoom(path string) error {
	path, err := filepath.EvalSymlinks(path) // on the disk of the file
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), unfinishedPrefix(path)+"*")
	if err != nil {
		return err
	}
	defer func() { _ = tmp.Close() }()
	if err := os.Remove(tmp.Name()); err != nil {
		return err
	}
	if _, err := tmp.WriteAt(make([]byte, room), info.Size()); err != nil {
		return err
	}
	return tmp.Sync()
}
