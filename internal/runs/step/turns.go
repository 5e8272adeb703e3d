package step

import (
	"context"
	"sync"
)

// turns lets the steps of one run take turns at writing when they are executed
// by one process: they all write the run's next event, so that side by side all
// but one would write in vain and try again. It only saves work. What keeps a
// run whole are the conditions of the writes, since neighbours may as well be
// executed elsewhere.
type turns struct {
	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	turn    chan struct{} // full while somebody has the turn
	waiting int           // those who hold the line, the one at its turn included
}

// take waits for a turn at a run. It returns what gives the turn back, or the
// context's error.
func (t *turns) take(ctx context.Context, runID string) (func(), error) {
	t.mu.Lock()
	if t.lines == nil {
		t.lines = map[string]*line{}
	}
	l := t.lines[runID]
	if l == nil {
		l = &line{turn: make(chan struct{}, 1)}
		t.lines[runID] = l
	}
	l.waiting++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			delete(t.lines, runID)
		}
	}
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
