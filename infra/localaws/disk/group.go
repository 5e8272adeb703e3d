package disk

import (
	"errors"
	"fmt"
	"localaws/moment"
	"os"
	"runtime"
	"runtime/debug"

	bolterrors "go.etcd.io/bbolt/errors"
)

// call is one function that waits to be committed.
type call struct {
	fn       func(*Tx) error
	err      error
	panicked any           // value of the panic of fn
	failed   bool          // fn may have written before it failed: keep it out of the group
	done     bool          // has its result; read after wake
	wake     chan struct{} // receives once: has its result, or became the leader
}

// unwritten marks an error whose function has written nothing.
type unwritten struct{ error }

func (u unwritten) Unwrap() error { return u.error }

// Unwritten marks err, inside a function given to Update, as returned before anything was written:
// the group continues without running its other functions again. Update returns err itself. An
// error after a write must not be marked, because half of that write would be committed.
func Unwritten(err error) error {
	if err == nil {
		return nil
	}
	return unwritten{err}
}

// Update runs fn in a write transaction and returns when it is on disk. fn may share the
// transaction with other callers' functions, and may run more than once: it must have no effect
// outside of tx, and must set its results again in each run.
//
// When fn returns an error or panics, its writes are dropped: the group is rolled back and the
// others run again, unless the error is marked Unwritten. A panic is raised again in the caller. fn
// must not commit tx, call Update or end its goroutine.
func (s *Store) Update(fn func(tx *Tx) error) error {
	c := &call{fn: fn, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	if err := s.broken; err != nil {
		s.mu.Unlock()
		return err
	}
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
	if c.panicked != nil {
		if isDamage(c.panicked) {
			return s.damageError(c.panicked)
		}
		panic(c.panicked)
	}
	var u unwritten
	if errors.As(c.err, &u) {
		return u.error
	}
	return closedError(c.err)
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

	s.commit(group)

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

// commit runs the group in one transaction. Each time a function fails that may have written, the
// transaction is rolled back and begins again without it.
func (s *Store) commit(group []*call) {
	for {
		again, err := s.attempt(group)
		if again {
			continue
		}
		if err != nil {
			for _, c := range group {
				if !c.failed {
					c.err = err
				}
			}
		}
		return
	}
}

// attempt runs one transaction over the functions that have not failed. Its error concerns the
// transaction, and nothing of it was committed.
//
// bbolt reports violated assertions by panics, and its write lock then stays taken: such a store
// refuses all later calls and does not hang.
func (s *Store) attempt(group []*call) (again bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			again, err = false, s.damageError(p)
			s.fail(err)
			s.stuck.Store(true)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if err := s.brokenErr(); err != nil { // it may have failed since the calls began to wait
		return false, err
	}
	begun, err := s.db.Begin(true)
	if err != nil {
		return false, err
	}
	tx, err := newWriteTx(begun)
	if err != nil {
		return false, errors.Join(err, begun.Rollback())
	}
	wrote := false
	for _, c := range group {
		if c.failed {
			continue
		}
		c.run(tx)
		if c.failed {
			if err := begun.Rollback(); err != nil {
				return false, err
			}
			return true, nil
		}
		wrote = wrote || c.err == nil
	}
	if !wrote {
		return false, begun.Rollback()
	}
	id := uint64(begun.ID())
	err = writeRecord(begun, tx.total)
	if err == nil {
		moment.Here("disk.commit.before")
		err = begun.Commit()
		moment.Here("disk.commit.after")
	}
	if err != nil {
		return false, errors.Join(s.commitError(id, err), ignoreClosed(begun.Rollback()))
	}
	return false, nil
}

// commitError returns the error of a commit that failed. A commit that did not reach the root
// pages, as on a full disk, changed nothing, and the next may succeed. Any other commit may or may
// not be on disk, also when its data can be read now.
func (s *Store) commitError(tx uint64, err error) error {
	both, readErr := s.roots()
	if readErr == nil && both.check() == nil && both.newest().tx == tx-1 {
		return s.refuse(err)
	}
	err = fmt.Errorf("%w: %s: %w", ErrFailed, s.path, errors.Join(err, readErr))
	s.fail(err)
	return err
}

func (s *Store) roots() (roots, error) {
	file, err := os.Open(s.path)
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

func (c *call) run(tx *Tx) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked, c.failed = p, true
		}
	}()
	c.err = c.fn(tx)
	var u unwritten
	c.failed = c.err != nil && !errors.As(c.err, &u)
}
