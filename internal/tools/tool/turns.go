package tool

import (
	"context"
	"slices"
	"sync"
	"time"

	"piloto/internal/ground/fault"
)

// ErrBusy means that other discoveries did not end in time. No request was sent to the service. Args: retry_after
// (seconds).
var ErrBusy = fault.New(fault.Unavailable, "mcp.busy")

// Turns is a queue of discoveries. It lets a few run at once in a process, one per account; the others wait in the
// order of arrival. Reading a foreign document may take some hundred megabytes, so a limit on discoveries also
// limits the memory of the process. A Lambda function handles one request at a time in its own process, so no
// discovery waits there, and the table needs no lease: an account that asks for many discoveries uses the memory of
// many functions, not of one.
type Turns struct {
	Most    int           // that run at once
	Waiting int           // that may wait; more are refused immediately
	Wait    time.Duration // maximum time that one waits

	mu      sync.Mutex
	busy    map[string]bool // accounts whose discovery runs
	waiting []*waiter
}

type waiter struct {
	account string
	turn    chan struct{} // closed when it is its turn
}

// DiscoveryTurns returns the queue for one process.
func DiscoveryTurns() *Turns {
	return &Turns{Most: 4, Waiting: 32, Wait: 20 * time.Second}
}

// take waits for the turn of an account, and returns a function that ends it. It returns ErrBusy when the turn does
// not come in time, and the context's error when the caller left.
func (t *Turns) take(ctx context.Context, account string) (end func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	w, ok := t.enter(account)
	if !ok {
		return nil, t.refusal()
	}
	late := time.NewTimer(t.Wait)
	defer late.Stop()
	select {
	case <-w.turn:
	case <-late.C:
		err = t.refusal()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && t.leave(w) {
		return nil, err
	}
	return func() { t.end(account) }, nil
}

func (t *Turns) refusal() error {
	return ErrBusy.With("retry_after", "15")
}

// enter puts an account in the queue, and admits it when possible.
func (t *Turns) enter(account string) (*waiter, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) >= t.Waiting {
		return nil, false
	}
	w := &waiter{account, make(chan struct{})}
	t.waiting = append(t.waiting, w)
	t.admit()
	return w, true
}

// leave removes a waiter from the queue. It returns false when its turn came meanwhile.
func (t *Turns) leave(w *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting, w)
	if i < 0 {
		return false
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return true
}

func (t *Turns) end(account string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.busy, account)
	t.admit()
}

// admit starts turns in the order of the queue, as far as the limits allow.
func (t *Turns) admit() {
	if t.busy == nil {
		t.busy = map[string]bool{}
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(w *waiter) bool {
		if len(t.busy) >= t.Most || t.busy[w.account] {
			return false
		}
		t.busy[w.account] = true
		close(w.turn)
		return true
	})
}
