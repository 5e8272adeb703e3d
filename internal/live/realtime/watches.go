package realtime

import (
	"context"
	"sync"

	"piloto/internal/ground/ids"
)

// Watches wakes those who wait for the status of a run, in the process that changes it. Who waits
// reads the run again: a wake-up is a hint, and may be missing where another process changed the run.
type Watches struct {
	mu   sync.Mutex
	runs map[string]*watched // by account and id
}

type watched struct {
	changed chan struct{} // closed when the status changes
	status  any           // the last one notified; nil: none
	users   int
}

// Over returns a notifier that also wakes those who wait. A nil Watches wakes nobody.
func (w *Watches) Over(next Notifier) Notifier {
	if w == nil {
		return next
	}
	return waking{w, next}
}

type waking struct {
	*Watches
	Notifier
}

// Notify implements Notifier.
func (n waking) Notify(ctx context.Context, account ids.Account, events ...Event) {
	for _, e := range events {
		if e.RunID != "" {
			n.wake(string(account)+"/"+e.RunID, e.hint["status"])
		}
	}
	n.Notifier.Notify(ctx, account, events...)
}

func (w *Watches) wake(key string, status any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.runs[key]; at != nil && at.status != status {
		at.status = status
		close(at.changed)
		at.changed = make(chan struct{})
	}
}

// Watch begins to watch a run. next returns a channel that is closed when the status changes after
// its call; nil when w is nil. stop ends the watch.
func (w *Watches) Watch(account ids.Account, runID string) (next func() <-chan struct{}, stop func()) {
	if w == nil {
		return func() <-chan struct{} { return nil }, func() {}
	}
	key := string(account) + "/" + runID
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[string]*watched{}
	}
	at := w.runs[key]
	if at == nil {
		at = &watched{changed: make(chan struct{})}
		w.runs[key] = at
	}
	at.users++
	next = func() <-chan struct{} {
		w.mu.Lock()
		defer w.mu.Unlock()
		return at.changed
	}
	stop = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if at.users--; at.users == 0 {
			delete(w.runs, key)
		}
	}
	return next, stop
}
