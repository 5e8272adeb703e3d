package realtime

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
)

// Bounds of a push.
const (
	notifyLimit = 1500 * time.Millisecond // of one Notify
	maxAttempts = 4
	firstPause  = 40 * time.Millisecond

	// openingTime is how long a new connection may be unreachable: API Gateway opens it after
	// the response to $connect, and until then reports that it is gone.
	openingTime = 10 * time.Second
)

// Hub pushes events to an account's connections.
type Hub struct {
	Connections Connections
	Poster      Poster
	Now         func() time.Time
	Log         *slog.Logger

	// Idle reports that nobody is connected. Then the connections are not read. Nil: the sockets are
	// in another process, so the connections are always read.
	Idle func() bool

	// Remember is how long the connections of an account are not read again for numbered pushes: a newer
	// connection, or its new chat, is unknown for as long. Zero: they are always read.
	Remember time.Duration

	// Limit is the longest time of one Notify; 1.5 s when zero. One attempt to push has two fifths of it.
	Limit time.Duration

	mu     sync.Mutex
	listed map[ids.Account]listing // by account
}

// listing is the connections of an account as they were at a time.
type listing struct {
	at   time.Time
	list []Connection
}

// mostListed bounds the accounts whose connections are remembered.
const mostListed = 1000

// connections returns an account's connections. They are remembered only for pushes with numbers, because the store
// gives no number to a connection that is over.
func (h *Hub) connections(ctx context.Context, account ids.Account, numbered bool) ([]Connection, error) {
	at := h.Now()
	h.mu.Lock()
	known, ok := h.listed[account]
	h.mu.Unlock()
	if ok && numbered && at.Sub(known.at) < h.Remember {
		return known.list, nil
	}
	list, err := h.Connections.Connections(ctx, account)
	if err != nil || h.Remember == 0 {
		return list, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listed == nil || len(h.listed) >= mostListed {
		h.listed = map[ids.Account]listing{}
	}
	h.listed[account] = listing{at, list}
	return list, nil
}

func (h *Hub) limit() time.Duration { return cmp.Or(h.Limit, notifyLimit) }

func (h *Hub) idle() bool { return h.Idle != nil && h.Idle() }

// Notify implements Notifier. It returns when every connection was served, or at its time limit.
// The cancellation of the caller's request does not end it.
func (h *Hub) Notify(ctx context.Context, account ids.Account, events ...Event) {
	if account == "" || len(events) == 0 || h.idle() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.limit())
	defer cancel()
	at := h.Now()
	to, err := h.connections(ctx, account, !slices.ContainsFunc(events, Event.isEphemeral))
	if err != nil {
		h.Log.WarnContext(ctx, "realtime.failed", "doing", "list", "error", err)
		return
	}
	if len(to) == 0 {
		return
	}
	pushes := map[string][]push{} // by the chat that a client has open
	var sending sync.WaitGroup
	for _, c := range to {
		if !c.Live(at) {
			continue
		}
		key := ""
		if c.Says {
			key = "chat " + c.ChatID
		}
		if _, made := pushes[key]; !made {
			pushes[key] = h.pushes(ctx, c.concerned(events), at)
		}
		own := pushes[key]
		sending.Go(func() { h.send(ctx, c, own) })
	}
	sending.Wait()
}

// concerned returns the events for a connection: those of the chat that it has open, and one "changed" event per other chat.
func (c Connection) concerned(events []Event) []Event {
	if !c.Says {
		return events
	}
	var list []Event
	listed := map[string]bool{c.ChatID: true, "": true}
	for _, e := range events {
		switch {
		case e.ChatID == "" || e.ChatID == c.ChatID:
			list = append(list, e)
		case !listed[e.ChatID] && !e.isEphemeral():
			list, listed[e.ChatID] = append(list, Changed(e.ChatID)), true
		}
	}
	return list
}

func (h *Hub) pushes(ctx context.Context, events []Event, at time.Time) []push {
	var list []push
	for _, e := range events {
		p, err := newPush(e, at)
		if err != nil {
			h.Log.ErrorContext(ctx, "realtime.failed", "doing", "write", "error", err)
			continue
		}
		list = append(list, p)
	}
	return list
}

// send sends pushes to one connection, in order. It takes all their numbers first, so that a
// lost push is a gap.
func (h *Hub) send(ctx context.Context, c Connection, pushes []push) {
	next, err := h.takeNumbers(ctx, c, pushes)
	if err != nil {
		if !errors.Is(err, ErrGone) {
			h.Log.WarnContext(ctx, "realtime.failed", "doing", "number", "error", err)
		}
		return
	}
	for _, p := range pushes {
		text := p.encode(next)
		if !p.once {
			next++
		}
		err := h.post(ctx, c.ID, text, !p.once)
		if errors.Is(err, ErrGone) {
			h.removeGone(ctx, c)
			return
		}
		if err != nil {
			h.Log.WarnContext(ctx, "realtime.failed", "doing", "post", "type", p.Type, "error", err)
		}
	}
}

// takeNumbers returns the first of as many numbers as the pushes need.
func (h *Hub) takeNumbers(ctx context.Context, c Connection, pushes []push) (int64, error) {
	n := 0
	for _, p := range pushes {
		if !p.once {
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	var last int64
	err := insistently(ctx, func() (err error) {
		failpoint.Here("realtime.number.before")
		last, err = h.Connections.Advance(ctx, c.Account, c.ID, n, h.Now())
		failpoint.Here("realtime.number.after")
		return err
	})
	return last - int64(n) + 1, err
}

// post sends one frame. With insist it retries, so that the frame arrives at least once.
func (h *Hub) post(ctx context.Context, id string, text []byte, insist bool) error {
	try := func() error {
		ctx, cancel := context.WithTimeout(ctx, h.limit()*2/5)
		defer cancel()
		return h.Poster.Post(ctx, id, text)
	}
	if !insist {
		return try()
	}
	return insistently(ctx, try)
}

// insistently calls f until it succeeds or a retry is useless. It pauses for a random time that grows.
func insistently(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || errors.Is(err, ErrGone) || errors.Is(err, ErrRefused) || attempt == maxAttempts {
			return err
		}
		if retry.Wait(ctx, firstPause+rand.N(firstPause<<attempt)) != nil {
			return err
		}
	}
}

// removeGone removes a connection that does not exist any more. A new connection may only not be
// open yet, and stays.
func (h *Hub) removeGone(ctx context.Context, c Connection) {
	if h.Now().Sub(c.ConnectedAt) < openingTime {
		return
	}
	if err := h.Connections.RemoveConnection(ctx, c.Account, c.ID); err != nil {
		h.Log.WarnContext(ctx, "realtime.failed", "doing", "remove", "error", err)
	}
}
