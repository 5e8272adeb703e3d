package s3

import (
	"fmt"
	"localaws/disk"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	maxObject = 64 << 20 // bytes
	maxKey    = 1024     // bytes
	maxPage   = 1000     // keys or versions of a page
)

// Engine holds the buckets of one data file. It is an http.Handler and safe for concurrent use.
type Engine struct {
	store    *disk.Store
	contents contents
	now      func() time.Time
	log      *slog.Logger

	sweeping sync.Mutex
	swept    time.Time // by sweeping
	held     int       // by sweeping: the number of callers that hold back expiry
}

// An Option changes how an Engine is opened.
type Option func(*Engine)

// WithClock sets the clock.
func WithClock(now func() time.Time) Option { return func(e *Engine) { e.now = now } }

// WithLogger sets the logger for failures.
func WithLogger(log *slog.Logger) Option { return func(e *Engine) { e.log = log } }

// Open opens the buckets of a data file, whose contents are in a folder of their own. It makes the folder,
// and removes the files in it that no version refers to. The caller closes the data file.
func Open(store *disk.Store, folder string, options ...Option) (*Engine, error) {
	e := &Engine{store: store, contents: contents(folder), now: time.Now, log: slog.New(slog.DiscardHandler)}
	for _, option := range options {
		option(e)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := disk.Owned(folder); err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	if err := e.store.Update(makeTables); err != nil {
		return nil, err
	}
	if err := e.expire(); err != nil {
		return nil, err
	}
	return e, e.removeUnused()
}

// removeUnused removes the contents that no version refers to.
func (e *Engine) removeUnused() error {
	used := map[string]bool{}
	err := e.store.View(func(tx *disk.Tx) error {
		return eachVersion(tx, func(_ string, v version) { used[v.Content] = true })
	})
	if err != nil {
		return err
	}
	return e.contents.keep(used)
}
