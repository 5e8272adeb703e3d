package tool

import (
	"context"
	"errors"
	"sync"
	"time"

	"piloto/internal/ground/fault"
)

// Absent is a server that could not be asked when it was registered, and of which nothing
// is known yet.
type Absent struct {
	Account string
	ID      string
	Looks   int    // so far
	Seen    string // what PutOffServer compares
}

// Looking for absent servers. One that is never found is looked for less and less often; one
// that hangs keeps no other waiting for long.
const (
	mostLooked = 9 // at a time; what is left is due at the next
	atOnce     = 3
	lookTime   = 7 * time.Second
	firstPause = time.Minute
	dayPause   = 10 * time.Minute // at most, for about a day
	longPause  = time.Hour        // then
	dayLooks   = 150
)

// Look looks for servers that were registered while they could not be asked, and returns
// how many it found: they are refreshed as by Refresh. That one is still away is no error.
func (r Registry) Look(ctx context.Context, now func() time.Time) (found int, err error) {
	list, err := r.Store.Absent(ctx, now(), mostLooked)
	r.Turns = nil // these have a bound of their own
	problems := []error{err}
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan Absent)
	for range atOnce {
		all.Go(func() {
			for a := range next {
				is, err := r.look(ctx, a, now())
				mu.Lock()
				if problems = append(problems, err); is {
					found++
				}
				mu.Unlock()
			}
		})
	}
	for _, a := range list {
		if ctx.Err() == nil {
			next <- a
		}
	}
	close(next)
	all.Wait()
	return found, errors.Join(problems...)
}

// pauseAfter is how long nobody looks for a server that was looked for so often.
func pauseAfter(looks int) time.Duration {
	if looks >= dayLooks {
		return longPause
	}
	return min(firstPause<<min(looks, 10), dayPause)
}

// look looks for one, which is put off first: whatever becomes of it, another is not kept
// from being looked for.
func (r Registry) look(ctx context.Context, a Absent, at time.Time) (found bool, err error) {
	err = r.Store.PutOffServer(ctx, a, at.Add(pauseAfter(a.Looks)))
	if errors.Is(err, ErrServerMoved) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	_, _, _, err = r.Refresh(ctx, a.Account, a.ID, at)
	switch {
	case err == nil:
		return true, nil
	case fault.KindOf(err) == fault.Internal && ctx.Err() == nil:
		return false, err
	}
	return false, nil // it is still away, or is no server that can be used
}
