package step

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// runLocks serializes the writes of the steps of one run within one process, because each writes the
// run's next event. The holder of the lock also writes, in the same transaction, the waiting changes
// of the same invocation.
// The locks only save work: the conditions of the writes protect the run, because other steps may
// execute in other processes.
type runLocks struct {
	mu    sync.Mutex
	locks map[string]*runLock
}

type runLock struct {
	slot    chan struct{} // full while the lock is held
	users   int           // number of users of the lock, its holder included
	waiting []*change     // that no holder took along yet
}

// change is a pending write of one effect. The holder of the lock sets over, and then after or err.
type change struct {
	of     *latest                            // the run of its invocation
	decide func(plan.Run) ([]run.Move, error) // the moves, which depend on the state of the run

	over  bool
	after *plan.Run // the run after the write; nil: nothing was written
	err   error
}

// moves calls decide. A panic is an error of this change, because another effect may be the caller.
func (c *change) moves(r plan.Run) (moves []run.Move, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a step panicked: %v", cause)
		}
	}()
	return c.decide(r)
}

// end ends the change.
func (c *change) end(after *plan.Run, err error) { c.over, c.after, c.err = true, after, err }

// lock acquires the lock of a run for a change. Unless the change is then over, it returns the changes
// to write, this one first. It also returns the function that releases the lock, or the context's error.
func (t *runLocks) lock(ctx context.Context, runID string, c *change) ([]*change, func(), error) {
	l := t.enter(runID, c)
	select {
	case l.slot <- struct{}{}:
	case <-ctx.Done():
		if t.withdraw(l, c) {
			t.leave(runID, l)
			return nil, nil, ctx.Err()
		}
		l.slot <- struct{}{} // the holder is writing the change, and its result is then known
	}
	return t.take(l, c), func() { <-l.slot; t.leave(runID, l) }, nil
}

func (t *runLocks) enter(runID string, c *change) *runLock {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locks == nil {
		t.locks = map[string]*runLock{}
	}
	l := t.locks[runID]
	if l == nil {
		l = &runLock{slot: make(chan struct{}, 1)}
		t.locks[runID] = l
	}
	l.users++
	l.waiting = append(l.waiting, c)
	return l
}

// withdraw takes back a change that waits. It returns false when a holder took the change along.
func (t *runLocks) withdraw(l *runLock, c *change) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(l.waiting, c)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return i >= 0
}

func (t *runLocks) leave(runID string, l *runLock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(t.locks, runID)
	}
}

// take returns the changes that the holder of a lock writes: its own, and others that wait.
func (t *runLocks) take(l *runLock, own *change) []*change {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.over {
		return nil
	}
	taken := []*change{own}
	l.waiting = slices.DeleteFunc(l.waiting, func(w *change) bool {
		takes := w != own && w.of == own.of && len(taken) < sideBySide
		if takes {
			taken = append(taken, w)
		}
		return takes || w == own
	})
	return taken
}
