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

// call is one function waiting to be committed.
type call struct {
	fn       func(*Tx) error
	err      error
	panicked any           // what fn panicked with
	failed   bool          // fn may have written before it failed: keep it out of the group
	done     bool          // answered; read after wake
	wake     chan struct{} // receives once: answered, or made the leader
}

// unwritten marks an error whose function has written nothing.
type unwritten struct{ error }

func (u unwritten) Unwrap() error { return u.error }

// Unwritten marks err, inside a function given to Update, as returned before
// anything was written: the group goes on without running its other functions
// again. Update returns err itself. Marking an error after a write would commit
// half of that write.
func Unwritten(err error) error {
	if err == nil {
		return nil
	}
	return unwritten{err}
}

// Update runs fn in a write transaction and returns when it is on disk. fn may
// share the transaction with other callers' functions, and may run more than
// once: it must have no effect but through tx, and set what it hands back to its
// caller anew each time.
//
// When fn returns an error or panics, nothing it wrote stays; the group is rolled
// back and the others run again, unless the error is marked Unwritten. A panic is
// raised again in the caller. fn must neither commit tx, call Update nor end its
// goroutine.
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
		if ofDamage(c.panicked) {
			return s.damaged(c.panicked)
		}
		panic(c.panicked)
	}
	var u unwritten
	if errors.As(c.err, &u) {
		return u.error
	}
	return closedAs(c.err)
}

// lead commits everything that waits, its own call first, wakes the callers and
// hands the lead to the first who arrived meanwhile.
//
// It yields once first: the callers that the last commit woke are often about to
// write again, and then come along. Nothing is waited for; where nobody else can
// run, the yield is nothing.
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
	_ = s.Unwritable() // those who write find out that there is room again
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.leading = false
		return
	}
	s.queue[0].wake <- struct{}{}
}

// commit runs the group in one transaction; each time a function fails that may
// have written, the transaction is rolled back and begins again without it.
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

// attempt is one transaction over the functions that have not failed. An error
// is of the transaction, and nothing of it was committed.
//
// bbolt asserts by panicking, and after that its write lock stays taken: such a
// store refuses whatever comes instead of hanging.
func (s *Store) attempt(group []*call) (again bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			again, err = false, s.damaged(p)
			s.fail(err)
			s.stuck.Store(true)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if err := s.usable(); err != nil { // since those who wait began to
		return false, err
	}
	begun, err := s.db.Begin(true)
	if err != nil {
		return false, err
	}
	tx, err := writing(begun)
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
		return false, errors.Join(s.uncommitted(id, err), ignoreClosed(begun.Rollback()))
	}
	return false, nil
}

// uncommitted says what a commit that failed has left. One that did not reach the
// root pages, as when the disk is full, changed nothing, and the next may succeed.
// Of any other nobody knows whether it is on disk, whatever can be read now.
func (s *Store) uncommitted(tx uint64, err error) error {
	both, readErr := s.roots()
	if readErr == nil && both.check() == nil && both.newest().tx == tx-1 {
		return s.refused(err)
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
