package realtime

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"piloto/internal/ground/failpoint"
)

// How long a push may take, and how often it is tried.
const (
	notifyLimit = 1500 * time.Millisecond // of one Notify, whatever happens
	postLimit   = 600 * time.Millisecond  // of one try
	mostTries   = 4
	firstPause  = 40 * time.Millisecond

	// settling is how long a connection may not be reached yet: API Gateway opens
	// it after $connect was answered, and until then says that it is gone.
	settling = 10 * time.Second
)

// Hub tells an account's connections what happened.
type Hub struct {
	Connections Connections
	Poster      Poster
	Now         func() time.Time
	Log         *slog.Logger
}

// Notify implements Notifier. It returns once every connection was told, or its
// time is over; what the caller's request comes to does not end it.
func (h *Hub) Notify(ctx context.Context, account string, events ...Event) {
	if account == "" || len(events) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyLimit)
	defer cancel()
	at := h.Now()
	to, err := h.Connections.Connections(ctx, account)
	if err != nil {
		h.Log.WarnContext(ctx, "realtime.failed", "doing", "list", "error", err)
		return
	}
	if len(to) == 0 {
		return
	}
	pushes := h.pushes(ctx, events, at)
	var told sync.WaitGroup
	for _, c := range to {
		if c.Live(at) {
			told.Go(func() { h.tell(ctx, c, pushes) })
		}
	}
	told.Wait()
}

func (h *Hub) pushes(ctx context.Context, events []Event, at time.Time) []push {
	var list []push
	for _, e := range events {
		p, err := pushOf(e, at)
		if err != nil {
			h.Log.ErrorContext(ctx, "realtime.failed", "doing", "write", "error", err)
			continue
		}
		list = append(list, p)
	}
	return list
}

// tell sends pushes to one connection, in order. Their numbers are taken first,
// all at once: what does not arrive is a gap.
func (h *Hub) tell(ctx context.Context, c Connection, pushes []push) {
	next, err := h.take(ctx, c, pushes)
	if err != nil {
		if !errors.Is(err, ErrGone) {
			h.Log.WarnContext(ctx, "realtime.failed", "doing", "number", "error", err)
		}
		return
	}
	for _, p := range pushes {
		text := p.numbered(next)
		if !p.once {
			next++
		}
		err := h.post(ctx, c.ID, text, !p.once)
		if errors.Is(err, ErrGone) {
			h.gone(ctx, c)
			return
		}
		if err != nil {
			h.Log.WarnContext(ctx, "realtime.failed", "doing", "post", "type", p.Type, "error", err)
		}
	}
}

// take returns the first of as many numbers as the pushes need.
func (h *Hub) take(ctx context.Context, c Connection, pushes []push) (int64, error) {
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
	err := again(ctx, func() (err error) {
		failpoint.Here("realtime.number.before")
		last, err = h.Connections.Advance(ctx, c.Account, c.ID, n, h.Now())
		failpoint.Here("realtime.number.after")
		return err
	})
	return last - int64(n) + 1, err
}

// post sends one frame, again when it may help: at least once, that is.
func (h *Hub) post(ctx context.Context, id string, text []byte, insist bool) error {
	try := func() error {
		ctx, cancel := context.WithTimeout(ctx, postLimit)
		defer cancel()
		return h.Poster.Post(ctx, id, text)
	}
	if !insist {
		return try()
	}
	return again(ctx, try)
}

// again calls f until it succeeds, or it is no use, pausing a random moment that
// grows.
func again(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || errors.Is(err, ErrGone) || errors.Is(err, ErrRefused) || attempt == mostTries {
			return err
		}
		pause := time.NewTimer(firstPause + rand.N(firstPause<<attempt))
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
	}
}

// gone forgets a connection that is no more. One that is new may only not be
// there yet.
func (h *Hub) gone(ctx context.Context, c Connection) {
	if h.Now().Sub(c.ConnectedAt) < settling {
		return
	}
	if err := h.Connections.RemoveConnection(ctx, c.Account, c.ID); err != nil {
		h.Log.WarnContext(ctx, "realtime.failed", "doing", "remove", "error", err)
	}
}
