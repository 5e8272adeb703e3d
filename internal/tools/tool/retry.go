package tool

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
)

// Absent is a server that could not be reached when it was registered. Nothing was discovered on it yet.
type Absent struct {
	Account ids.Account
	ID      string
	Tries   int    // attempts so far
	Seen    string // the version that PutOffServer compares
}

// Limits of the search for absent servers. The pauses between attempts grow, and a server that hangs delays the
// others only a little.
const (
	maxPerSweep  = 9 // per sweep; the rest is due at the next sweep
	maxAtOnce    = 3
	retryTimeout = 7 * time.Second
	firstPause   = time.Minute
	dayPause     = 10 * time.Minute // the longest pause, for about a day
	longPause    = time.Hour        // the pause after that
	dayAttempts  = 150
)

// Retry tries to discover the servers that could not be reached when they were registered, and returns how many it
// found. A found server is refreshed as by Refresh. A server that is still unreachable is no error.
func (r Registry) Retry(ctx context.Context, now func() time.Time, log *slog.Logger) (found int, err error) {
	r.Queue = nil // these have a limit of their own
	var known atomic.Int32
	absent := sweep.List[Absent]{Name: "services", Due: r.Store.Absent, Most: maxPerSweep, AtOnce: maxAtOnce, Each: retryTimeout + time.Second, Now: now, Log: log, Do: func(ctx context.Context, a Absent) error {
		is, err := r.retry(ctx, a, now())
		if is {
			known.Add(1)
		}
		return err
	}}
	_, err = absent.Sweep(ctx)
	return int(known.Load()), err
}

// pauseAfter returns the pause after a number of failed attempts.
func pauseAfter(attempts int) time.Duration {
	if attempts >= dayAttempts {
		return longPause
	}
	return min(firstPause<<min(attempts, 10), dayPause)
}

// retry tries to discover one server. It first writes when the next attempt is due, so that one process tries at a time.
func (r Registry) retry(ctx context.Context, a Absent, at time.Time) (found bool, err error) {
	err = r.Store.PutOffServer(ctx, a, at.Add(pauseAfter(a.Tries)))
	if errors.Is(err, ErrServerMoved) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, retryTimeout)
	defer cancel()
	_, _, _, err = r.Refresh(ctx, a.Account, a.ID, at)
	switch {
	case err == nil:
		return true, nil
	case fault.KindOf(err) == fault.Internal && ctx.Err() == nil:
		return false, err
	}
	return false, nil // it is still unreachable, or is no usable server
}
