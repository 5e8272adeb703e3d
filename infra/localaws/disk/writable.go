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

// ErrUnwritable says that a write was refused and has left nothing: the disk is
// full, or takes none for another reason. The file is as it was, reads go on, and
// a later write may succeed.
var ErrUnwritable = errors.New("data file cannot be written now")

const (
	sayEvery = time.Minute     // how often it is said that a disk takes no writes
	tryEvery = 2 * time.Second // how often it is tried whether it does again
	room     = 1 << 20         // bytes that it must take for that
)

// trouble is what is known of a disk that takes no writes. A commit that succeeds
// does not end it: a full disk still takes those that need no more pages.
type trouble struct {
	found atomic.Bool // read without mu by those whom nothing troubles
	log   *slog.Logger

	mu      sync.Mutex
	err     error
	refused int // commits since it was said
	said    time.Time
	told    bool // that it takes none, and not that it does again
	tried   time.Time
}

// Option changes how a Store is opened.
type Option func(*Store)

// WithLogger sets where the store says that its disk takes no writes, once a
// minute, and that it does again. The default is slog.Default().
func WithLogger(log *slog.Logger) Option { return func(s *Store) { s.trouble.log = log } }

// refused notes a commit that changed nothing, and returns what its callers get.
func (s *Store) refused(cause error) error {
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
	if t.said.IsZero() || now.Sub(t.said) >= sayEvery || now.Before(t.said) {
		t.log.Error("disk.unwritable", "path", s.path, "error", cause, "refused", t.refused)
		t.said, t.told, t.refused = now, true, 0
	}
	return err
}

// Unwritable is why writes are refused, an ErrUnwritable, nil when nothing is known
// to be wrong. While something is it tries, now and then, whether there is room
// again: nothing has to be written for that to be found out.
func (s *Store) Unwritable() error {
	t := &s.trouble
	if !t.found.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.err != nil && (now.Sub(t.tried) >= tryEvery || now.Before(t.tried)) {
		t.tried = now
		if s.hasRoom() == nil {
			t.err = nil
			t.found.Store(false)
			if t.told {
				t.log.Info("disk.writable", "path", s.path)
			}
			t.told = false
		}
	}
	return t.err
}

// hasRoom writes beside the file as far as the file itself would have to grow. What
// it writes has no name, so that nothing is left of it.
func (s *Store) hasRoom() error {
	path, err := filepath.EvalSymlinks(s.path) // on the disk that the file is on
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), unfinished(path)+"*")
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
