package runs

import (
	"context"
	"time"
)

// The pauses between two reads of a job or a run.
const (
	FollowPause = 250 * time.Millisecond
	mostPause   = 2 * time.Second
)

// Pace is the pause of a command between two reads: longer while nothing happens, so that several commands of one person
// stay below the limit of requests in a minute. The zero Pace begins with FollowPause.
type Pace struct{ pause time.Duration }

// Moved says that something happened.
func (p *Pace) Moved() { p.pause = 0 }

// Wait waits until the next read, or until the context ends.
func (p *Pace) Wait(ctx context.Context) error { return Wait(ctx, p.Next()) }

// Next returns the pause before the next read.
func (p *Pace) Next() time.Duration {
	pause := max(p.pause, FollowPause)
	p.pause = min(pause*8/5, mostPause)
	return pause
}

// Wait waits for a time, or until the context ends.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
