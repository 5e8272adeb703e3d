package step

import (
	"context"
	"sync"
)

// runLocks serializes the writes of the steps of one run within one process. They all write the
// run's next event, so concurrent writers would fail and retry. The locks only save work: the
// conditions of the writes protect the run, because other steps may execute in other processes.
type runLocks struct {
	mu    sync.Mutex
	locks map[string]*runLock
}

type runLock struct {
	slot  chan struct{} // full while the lock is held
	users int           // number of users of the lock, its holder included
}

// lock acquires the lock of a run. It returns the function that releases it, or the context's
// error.
func (t *runLocks) lock(ctx context.Context, runID string) (func(), error) {
	t.mu.Lock()
	if t.locks == nil {
		t.locks = map[string]*runLock{}
	}
	l := t.locks[runID]
	if l == nil {
		l = &runLock{slot: make(chan struct{}, 1)}
		t.locks[runID] = l
	}
	l.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(t.locks, runID)
		}
	}
	select {
	case l.slot <- struct{}{}:
		return func() { <-l.slot; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
