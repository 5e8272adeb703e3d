package tool

import (
	"context"
	"slices"
	"sync"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// ErrBusy means that other discoveries did not end in time. No request was sent to the service. Args: retry_after
// (seconds).
var ErrBusy = fault.New(fault.Unavailable, "mcp.busy")

// Queue is a queue of discoveries. It lets a few run at once in a process, one per account; the others wait in the
// order of arrival. Reading a foreign document may take some hundred megabytes, so a limit on discoveries also
// limits the memory of the process. A Lambda function handles one request at a time in its own process, so no
// discovery waits there, and the table needs no lease: an account that asks for many discoveries uses the memory of
// many functions, not of one.
type Queue struct {
	Most    int           // that run at once
	Waiting int           // that may wait; more are refused immediately
	Wait    time.Duration // maximum time that one waits

	mu      sync.Mutex
	busy    map[ids.Account]bool // accounts whose discovery runs
	waiting []*waiter
}

type waiter struct {
	account ids.Account
	start   chan struct{} // closed when the discovery may start
}

// NewQueue returns the queue for one process.
func NewQueue() *Queue {
	return &Queue{Most: 4, Waiting: 32, Wait: 20 * time.Second}
}

// take waits until a discovery of an account may start, and returns a function that ends it. It returns ErrBusy when
// the wait is too long, and the context's error when the caller left.
func (q *Queue) take(ctx context.Context, account ids.Account) (end func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	w, ok := q.enter(account)
	if !ok {
		return nil, q.refusal()
	}
	late := time.NewTimer(q.Wait)
	defer late.Stop()
	select {
	case <-w.start:
	case <-late.C:
		err = q.refusal()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && q.leave(w) {
		return nil, err
	}
	return func() { q.end(account) }, nil
}

func (q *Queue) refusal() error {
	return ErrBusy.With("retry_after", "15")
}

// enter puts an account in the queue, and admits it when possible.
func (q *Queue) enter(account ids.Account) (*waiter, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= q.Waiting {
		return nil, false
	}
	w := &waiter{account, make(chan struct{})}
	q.waiting = append(q.waiting, w)
	q.admit()
	return w, true
}

// leave removes a waiter from the queue. It returns false when it was admitted meanwhile.
func (q *Queue) leave(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

func (q *Queue) end(account ids.Account) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, account)
	q.admit()
}

// admit starts discoveries in the order of the queue, as far as the limits allow.
func (q *Queue) admit() {
	if q.busy == nil {
		q.busy = map[ids.Account]bool{}
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiter) bool {
		if len(q.busy) >= q.Most || q.busy[w.account] {
			return false
		}
		q.busy[w.account] = true
		close(w.start)
		return true
	})
}
