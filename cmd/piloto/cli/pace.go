package cli

import (
	"context"
	"time"
)

// The times between two looks at a job or a run.
const (
	followPause = 250 * time.Millisecond
	mostPause   = 2 * time.Second
)

// pace is how long a command waits between two looks: longer while nothing happens, so that several commands of one person stay below what
// they may ask in a minute. The zero pace begins with followPause.
type pace struct{ pause time.Duration }

// moved says that something happened.
func (p *pace) moved() { p.pause = 0 }

// wait waits until the next look, or until the context ends.
func (p *pace) wait(ctx context.Context) error { return wait(ctx, p.next()) }

// next returns how long it is until the next look.
func (p *pace) next() time.Duration {
	pause := max(p.pause, followPause)
	p.pause = min(pause*8/5, mostPause)
	return pause
}

// wait waits for a time, or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
