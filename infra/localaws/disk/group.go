package disk

import (
	"errors"
	"fmt"
	"localaws/moment"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// call is one function that waits to be committed.
type call struct {
	fn       func(*Tx) error // nil: of Flush
	last     bool            // of Close: the log ends
	err      error
	panicked any           // value of the panic of fn
	done     bool          // has its result; read after wake
	wake     chan struct{} // receives once: has its result, or became the leader
}

// writer is the shared state of the writers. Its lock is held while a function runs, and not while the disk
// works: writes that nobody waits for run meanwhile.
type writer struct {
	mu     sync.Mutex
	work   *layer   // all writes since the last freeze
	frozen *layer   // is being written to the file; nil when no checkpoint runs
	synced *layer   // the part of work that has reached the disk
	ops    ops      // the part of work that has not
	undone []undone // the values that the running function has replaced
	log    *log     // nil: the file is alone
	at     position // of the log, or where it would begin
	logged int64    // bytes of the log before the newest segment, and of the records that Open read

	released int64 // parts of releaseAfter bytes of the log when pages were let go last

	syncing bool // a record is being written
	ended   bool // by Close
	freezes uint64
	done    chan struct{} // closed when the checkpoint that runs has ended
	flusher *time.Timer   // commits asynchronous writes
	spare   []byte
}

// view is a state that has reached the disk.
type view struct {
	newest, older *layer
	frozen        uint64   // number of freezes before it
	at            position // of the log
}

// publish shows readers the durable state; the caller holds mu, or is Open.
func (w *writer) publish(s *Store) {
	s.synced.Store(&view{w.synced, w.frozen, w.freezes, w.at})
}

// Update runs fn in a write transaction and returns when it is on disk. fn may share the commit with
// other callers' functions. It must have no effect outside of tx before Update returns.
//
// When fn returns an error or panics, its writes are dropped. A panic is raised again in the caller.
// fn must not call Update or end its goroutine.
func (s *Store) Update(fn func(tx *Tx) error) error {
	c := &call{fn: fn, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	if err := s.refusal(); err != nil {
		s.mu.Unlock()
		return err
	}
	s.join(c)
	return s.result(c)
}

// refusal returns why no write is taken; the caller holds mu.
func (s *Store) refusal() error {
	switch {
	case s.closed:
		return ErrClosed
	case s.broken != nil:
		return s.broken
	case s.readOnly:
		return bolterrors.ErrDatabaseReadOnly
	}
	return nil
}

// join waits until a call has its result. The caller holds mu, which join gives back.
func (s *Store) join(c *call) {
	s.queue = append(s.queue, c)
	follow := s.leading
	s.leading = true
	s.mu.Unlock()
	if follow {
		<-c.wake
	}
	if !c.done {
		s.lead()
	}
}

func (s *Store) result(c *call) error {
	if c.panicked != nil {
		if isDamage(c.panicked) {
			return damageError(s.path, c.panicked)
		}
		panic(c.panicked)
	}
	return closedError(c.err)
}

// UpdateAsync is Update, but returns when the write is in order, and before it is on disk. Functions
// given to Update later see it, and readers see it when it is on disk. It is there with the next
// commit, at the latest after flushAfter, and never without the writes before it: when a later Update
// or Flush has returned nil, it is on disk. A process that ends before that loses it.
func (s *Store) UpdateAsync(fn func(tx *Tx) error) error {
	s.mu.Lock()
	err := s.refusal()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	c := &call{fn: fn}
	if s.order(c) {
		return s.result(c)
	}
	return s.Update(fn)
}

// flushAfter bounds the time until an asynchronous write is on disk.
const flushAfter = 20 * time.Millisecond

// order runs a call that does not wait. It is false, and nothing was run, when such a call has to
// wait: the log does not exist, or is at its bound.
func (s *Store) order(c *call) bool {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.ended || s.w.log == nil || s.w.size() >= s.bounds.most || len(s.w.ops.b) >= s.bounds.record {
		return false
	}
	if err := s.run([]*call{c}); err != nil && c.panicked == nil {
		c.err = err
	}
	if len(s.w.ops.b) > 0 && s.w.flusher == nil {
		s.w.flusher = time.AfterFunc(flushAfter, func() { _ = s.Flush() })
	}
	return true
}

// Flush returns when every write that was ordered before is on disk.
func (s *Store) Flush() error {
	s.w.mu.Lock()
	clean := len(s.w.ops.b) == 0 && !s.w.syncing
	s.w.mu.Unlock()
	if clean {
		return s.brokenErr()
	}
	c := &call{wake: make(chan struct{}, 1)}
	s.mu.Lock()
	if err := s.refusal(); err != nil {
		s.mu.Unlock()
		return err
	}
	s.join(c)
	return s.result(c)
}

// lead commits all waiting calls, its own first, wakes the callers and passes the lead to the first
// call that arrived meanwhile.
//
// It yields once first: the callers of the last commit often write again at once, and then join
// this commit. It does not wait; when no other goroutine can run, the yield has no effect.
func (s *Store) lead() {
	runtime.Gosched()
	s.mu.Lock()
	group := s.queue
	s.queue = nil
	s.mu.Unlock()

	if err := s.commit(group); err != nil {
		for _, c := range group {
			if c.panicked == nil { // an error of its own may come from a write that is not kept
				c.err = err
			}
		}
	}
	for _, c := range group {
		c.done = true
		c.wake <- struct{}{}
	}
	_ = s.Unwritable() // writers notice in this way that there is room again
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.leading = false
		return
	}
	s.queue[0].wake <- struct{}{}
}

// commit runs the group and has it on disk. Its error concerns all of it, and nothing of it was
// committed.
func (s *Store) commit(group []*call) error {
	if slices.ContainsFunc(group, func(c *call) bool { return c.fn != nil }) { // ordered writes have room already
		if err := s.awaitRoom(); err != nil {
			return err
		}
	}
	s.w.mu.Lock()
	before := s.w.mark()
	err := s.run(group)
	tooLarge := len(s.w.ops.b) > s.bounds.record
	s.w.mu.Unlock()
	if err != nil {
		return err
	}
	if tooLarge {
		if err := s.endLog(); err != nil {
			s.w.mu.Lock()
			defer s.w.mu.Unlock()
			s.w.revert(before)
			return err
		}
		return nil
	}
	if err := s.sync(); err != nil {
		return err
	}
	if group[len(group)-1].last {
		return s.endLog()
	}
	s.freezeWhenLarge()
	s.w.release(s.db)
	return nil
}

// releaseAfter is the number of bytes of the log after which the pages of the file that were read meanwhile are let go.
const releaseAfter = 2 << 20

// release lets go of pages of the file now and then, so that what was read once is not a part of the process for ever. The
// caller leads.
func (w *writer) release(db *bolt.DB) {
	w.mu.Lock()
	part := w.size() / releaseAfter
	due := part != w.released
	w.released = part
	w.mu.Unlock()
	if due { // the transaction keeps the map where it is
		_ = db.View(func(tx *bolt.Tx) error { return releasePages(db.Info().Data, tx.Size()) })
	}
}

// run runs functions over the working layer, and makes room for their record. Its error concerns all
// of them, and undoes all of them. The caller holds w.mu.
func (s *Store) run(group []*call) error {
	before := s.w.mark()
	err := s.runAll(group)
	if err == nil && len(s.w.ops.b) <= s.bounds.record {
		err = s.makeRoom()
	}
	if err != nil {
		s.w.revert(before)
		return err
	}
	if len(s.w.ops.b) <= s.bounds.record { // else the group may still be undone
		clear(s.w.undone)
		s.w.undone = s.w.undone[:0]
	}
	return nil
}

// makeRoom makes room in the log for a record of all writes that are not synced.
func (s *Store) makeRoom() error {
	switch {
	case len(s.w.ops.b) == 0:
		return nil
	case s.w.log == nil:
		return s.beginLog()
	}
	if err := s.w.log.reserve(len(s.w.ops.b)); err != nil {
		return s.refuse(err)
	}
	return nil
}

// runAll runs functions. The writes of one that fails are undone at once, and only they.
func (s *Store) runAll(group []*call) (err error) {
	defer func() {
		if p := recover(); p != nil { // bbolt reports violated assertions by panics
			err = damageError(s.path, p)
			s.fail(err)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if err := s.brokenErr(); err != nil { // it may have failed since the calls began to wait
		return err
	}
	base, err := s.db.Begin(false)
	if err != nil {
		return err
	}
	defer func() { _ = base.Rollback() }()
	for _, c := range group {
		if c.fn != nil {
			s.w.run(c, base)
		}
	}
	return nil
}

// mark is a state of the writer to which it can return.
type mark struct {
	layer savepoint
	ops   ops
}

func (w *writer) mark() mark { return mark{w.work.savepoint(), w.ops} }

func (w *writer) revert(to mark) {
	w.work.revert(to.layer)
	w.ops = to.ops
}

// run runs one function.
func (w *writer) run(c *call, base *bolt.Tx) {
	before := w.mark()
	defer func() {
		if c.panicked = recover(); c.panicked != nil || c.err != nil {
			w.revert(before)
		}
	}()
	c.err = c.fn(&Tx{base: base, layers: [2]*layer{w.work, w.frozen}, ops: &w.ops})
}

// sync has all writes that were run on disk, and shows them to readers.
func (s *Store) sync() error {
	w := &s.w
	w.mu.Lock()
	changes, state := w.ops.b, w.work.copy()
	if w.flusher != nil {
		w.flusher.Stop()
		w.flusher = nil
	}
	if len(changes) == 0 {
		w.mu.Unlock()
		return nil
	}
	w.ops, w.spare, w.syncing = ops{b: w.spare[:0]}, nil, true
	first := w.log.take(len(changes))
	w.mu.Unlock()

	moment.Here("disk.commit.before")
	err := w.log.append(first, changes)
	moment.Here("disk.commit.after")

	w.mu.Lock()
	defer w.mu.Unlock()
	w.syncing = false
	if err != nil { // it may be on disk or not
		err = fmt.Errorf("%w: %s: %w", ErrFailed, s.path, err)
		s.fail(err)
		return err
	}
	if cap(changes) <= mostRoom {
		w.spare = changes
	}
	w.at, w.synced = w.log.at, state
	w.publish(s)
	return nil
}

// commitError returns the error of a commit to the file that failed. A commit that did not reach the
// root pages, as on a full disk, changed nothing, and the next may succeed. Any other commit may or
// may not be on disk, also when its data can be read now.
func (s *Store) commitError(before root, err error) error {
	both, readErr := rootsOf(s.path)
	if readErr == nil && both.check() == nil && both.newest().tx == before.tx {
		return s.refuse(err)
	}
	err = fmt.Errorf("%w: %s: %w", ErrFailed, s.path, errors.Join(err, readErr))
	s.fail(err)
	return err
}

func rootsOf(path string) (roots, error) {
	file, err := os.Open(path)
	if err != nil {
		return roots{}, err
	}
	defer func() { _ = file.Close() }()
	return readRoots(file)
}

func ignoreClosed(err error) error {
	if errors.Is(err, bolterrors.ErrTxClosed) {
		return nil
	}
	return err
}
