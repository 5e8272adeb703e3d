// Package retry owns how to wait before a next attempt. Do repeats a write that another writer
// prevented, after a random pause that doubles, so that writers of one row take turns however many they are.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"piloto/internal/ground/fault"
)

// attempts bounds Do, against writers that keep winning.
const attempts = 64

// Do calls f until it returns anything but fault.ErrMoved, at most 64 times. f reads again
// the values that it writes about. Do returns the last error of f, or that of ctx. After the last attempt that is a
// GaveUp, so that a Do around this one does not begin 64 more.
func Do(ctx context.Context, f func() error) error {
	var err error
	for attempt := range attempts {
		if err = f(); !errors.Is(err, fault.ErrMoved) {
			return err
		}
		if waitErr := Wait(ctx, Pause(attempt)); waitErr != nil {
			return waitErr
		}
	}
	return GaveUp{err}
}

// GaveUp is the error of a loop that used up its attempts. It is reported as its cause (fault.Of), and is not
// fault.ErrMoved: a caller does not try again.
type GaveUp struct{ Cause error }

// Error implements error.
func (g GaveUp) Error() string { return "after the last attempt: " + g.Cause.Error() }

// As implements errors.As.
func (g GaveUp) As(target any) bool { return errors.As(g.Cause, target) }

// Pause returns how long to wait after an attempt, counted from 0: a random time below 4 ms at first, below twice as
// much after each attempt, and below 256 ms from the seventh on.
func Pause(attempt int) time.Duration {
	return rand.N(4 * time.Millisecond << min(attempt, 6))
}

// Wait waits for d, or until ctx ends; then it returns the error of ctx.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
