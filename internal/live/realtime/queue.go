package realtime

import (
	"context"
	"sync"

	"piloto/internal/ground/ids"
)

// Queue sends the events of commits in the background, so that neither a commit nor an answer waits for a client.
// The events of an account that come while others are sent are sent together after them, in their order. They wait
// at most as long as one Notify of the hub takes.
type Queue struct {
	Hub *Hub

	mu      sync.Mutex
	waiting map[ids.Account][]Event // by account; an account whose events are being sent has an entry
	idle    chan struct{}           // closed when nothing is being sent; nil: nothing was sent yet
}

// Notify implements Notifier. It returns at once.
func (q *Queue) Notify(ctx context.Context, account ids.Account, events ...Event) {
	if account == "" || len(events) == 0 || q.Hub.idle() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, sending := q.waiting[account]
	if q.waiting == nil {
		q.waiting = map[ids.Account][]Event{}
	}
	if len(q.waiting) == 0 {
		q.idle = make(chan struct{})
	}
	q.waiting[account] = append(waiting, events...)
	if !sending {
		go q.send(context.WithoutCancel(ctx), account)
	}
}

// send sends the events of an account until none waits.
func (q *Queue) send(ctx context.Context, account ids.Account) {
	for events := q.take(account); len(events) > 0; events = q.take(account) {
		q.Hub.Notify(ctx, account, events...)
	}
}

// take returns the events of an account that wait. When none does, the account's sending ends.
func (q *Queue) take(account ids.Account) []Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.waiting[account]
	if len(events) > 0 {
		q.waiting[account] = nil
		return events
	}
	delete(q.waiting, account)
	if len(q.waiting) == 0 {
		close(q.idle)
	}
	return nil
}

// Watched reports whether a client is connected to an account; see Hub.Watched.
func (q *Queue) Watched(ctx context.Context, account ids.Account) bool {
	return q.Hub.Watched(ctx, account)
}

// Flush waits until all earlier notifications are sent, or until ctx ends. An invocation that is about to end calls
// it, because its process may be frozen then.
func (q *Queue) Flush(ctx context.Context) {
	if q == nil {
		return
	}
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
