// Package replay owns that a request which is sent again under the same key has
// its effect once, and is answered as it was the first time, byte for byte.
//
// What must stay true:
//
//   - Of many requests with one key at once, one is served; the others are told
//     that it is, or get its answer.
//   - An answer is given only once it is stored. What cannot be stored is a
//     failure, and nothing was acknowledged.
//   - A key is its account's, and of one scope there: what another account sends
//     under the same key neither sees nor disturbs it.
//   - Whoever serves a request holds the key by a lease, renews it while they serve,
//     and are stopped when they lost it. A lease that is over (the process died) is
//     taken over by the next request; it is given the ticket of the first, so that
//     effects which are keyed by the ticket happen once. So it is when serving failed.
//   - A request that was begun is kept, whole, until somebody has served it: who brought
//     it may leave, and who serves it may die.
//   - Times are compared, when a row is read and in every condition: a row that is
//     past its time is not there, whether or not it was cleaned up.
//
// An answer of more than MaxAnswer bytes is refused, by design: it would not fit
// into an item of the table beside the rest, and a pointer to it would be one more
// thing that can be lost.
package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// MaxAnswer is how long an answer may be, in bytes.
const MaxAnswer = 300 << 10

// What a caller may notice.
var (
	// ErrBusy: the first request with the key is still being served. Args["retry_after"]
	// is in how many seconds to ask again.
	ErrBusy = fault.New(fault.Conflict, "request.in_progress")
	// ErrReused: the key was used for something else.
	ErrReused = fault.New(fault.Invalid, "request.key_reused")
	// ErrUnkept: it was served, and the answer could not be stored.
	ErrAnswerLost = fault.New(fault.Unavailable, "request.answer_lost")
	// ErrNothingDone is what serving a request returns beside an answer that nothing was
	// done for: it is given, and the request may be sent again.
	ErrNothingDone = errors.New("replay: nothing was done")
	// ErrTooLarge: the answer is over MaxAnswer.
	ErrTooLarge = fault.New(fault.Internal, "request.answer_too_large")
)

// Key names a request in its account: Value is the sender's own word, and Scope
// says whose word it is and for what.
type Key struct {
	Scope string
	Value string
}

// hash is the key as it is stored. No two keys share one.
func (k Key) hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(k.Scope), k.Scope, k.Value))
	return hex.EncodeToString(sum[:])
}

// Ticket is what all attempts at one request have in common: what the effects of
// it are keyed by, and when it first came.
type Ticket struct {
	ID string // a ULID
	At time.Time
}

// Claim is who serves a request, or what it was answered.
type Claim struct {
	Account     string
	Key         string // hex SHA-256
	Fingerprint string // of the request
	Ticket      Ticket
	Holder      string    // who serves it: another at each attempt
	Until       time.Time // the end of the lease; zero: it failed, and nobody serves it
	ExpiresAt   time.Time // it is forgotten from then on
	Done        bool
	Answer      []byte // once it is done
	Request     []byte // that was begun, until it is done
}

// Store keeps claims. Every verb is one conditional write.
type Store interface {
	// ClaimReplay stores c when there is no claim under its key that expires after
	// at, and returns what is there now: c, or the other one.
	ClaimReplay(ctx context.Context, c Claim, at time.Time) (Claim, error)
	// TakeReplay stores c over one that is still held by holder and not done, and
	// reports whether it did.
	TakeReplay(ctx context.Context, c Claim, holder string) (bool, error)
	// FinishReplay makes c done with its answer, while the claim there has c's
	// ticket and is not done, and returns what is there now: the zero Claim for
	// nothing.
	FinishReplay(ctx context.Context, c Claim) (Claim, error)
	// FreeReplay ends the lease of c, if c's holder still has it.
	FreeReplay(ctx context.Context, c Claim) error
	// Replay returns the claim under a key. It returns ErrUnknown.
	Replay(ctx context.Context, account, key string) (Claim, error)
}

// Once serves each request once.
type Once struct {
	Store Store
	NewID func(at time.Time) string // ULIDs
	Now   func() time.Time
	Log   *slog.Logger
	Life  time.Duration // how long an answer is remembered; 24 h when zero
	Lease time.Duration // how long a key is held by who does not renew it; 15 s when zero

	// AloneSince says that nobody else has served requests since then: who held a claim
	// before is gone. Zero: others may.
	AloneSince time.Time
}

const (
	defaultLife   = 24 * time.Hour
	defaultLease  = 15 * time.Second // a few times what a write may take that is tried again
	renewals      = 3                // of a lease, before it is over
	storeTime     = 5 * time.Second  // to note how it ended, whoever has left meanwhile
	maxAttempts   = 4                // at a claim that others move
	maxRetryAfter = 5 * time.Second  // that a sender is told; most are served sooner than their lease
)

// Do serves the request with a key by f, or returns what it was answered before;
// replayed says which. fingerprint is the same for the same request and differs
// for any other (a digest of its method, address and body). It returns ErrBusy,
// ErrReused, ErrUnkept, ErrTooLarge, the store's error, or f's; after f's the key
// is free for another attempt at once, of the same request or of another.
func (o *Once) Do(
	ctx context.Context, account string, key Key, fingerprint string,
	f func(ctx context.Context, t Ticket) ([]byte, error),
) (answer []byte, replayed bool, err error) {
	c, err := o.claim(ctx, account, key.hash(), fingerprint)
	if err != nil {
		return nil, false, err
	}
	if c.Done {
		return c.Answer, true, nil
	}
	kept := false
	defer func() { // also when f panics
		if !kept {
			o.free(ctx, c)
		}
	}()
	serving, renewed := o.renew(ctx, c)
	func() {
		defer renewed() // also when f panics
		c.Answer, err = f(serving, c.Ticket)
	}()
	switch {
	case errors.Is(err, ErrNothingDone):
		return c.Answer, false, nil
	case err != nil:
		return nil, false, err
	}
	if len(c.Answer) > MaxAnswer {
		return nil, false, ErrTooLarge.Because(fmt.Errorf("replay: an answer of %d bytes", len(c.Answer)))
	}
	kept = true // or nobody knows
	return o.finish(ctx, c)
}

// errLost is why a request is not served on: its key is another's.
var errLost = errors.New("replay: the lease is lost")

// renew returns the context of who serves a request. It ends when the lease of c is lost,
// which is renewed until done is called.
func (o *Once) renew(ctx context.Context, c Claim) (serving context.Context, done func()) {
	serving, cancel := context.WithCancelCause(ctx)
	tick := time.NewTicker(o.lease() / renewals)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			next := c
			next.Until = o.Now().Add(o.lease())
			held, err := o.renewLease(ctx, next)
			switch {
			case err == nil && held:
				c = next
			case err == nil || !o.Now().Before(c.Until):
				cancel(errLost)
				return
			}
		}
	}()
	return serving, func() { // nothing is renewed any more when it returns
		tick.Stop()
		close(over)
		<-ended
		cancel(nil)
	}
}

// renewLease takes a claim that is the caller's once more.
func (o *Once) renewLease(ctx context.Context, c Claim) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	return o.Store.TakeReplay(ctx, c, c.Holder)
}

// claim returns a claim that is done, or one that is the caller's to serve.
func (o *Once) claim(ctx context.Context, account, key, fingerprint string) (Claim, error) {
	wait := time.Duration(0)
	for range maxAttempts {
		at := o.Now()
		mine := Claim{
			Account: account, Key: key, Fingerprint: fingerprint, Ticket: Ticket{ID: o.NewID(at), At: at},
			Holder: o.NewID(at), Until: at.Add(o.lease()), ExpiresAt: at.Add(o.life()),
		}
		failpoint.Here("replay.claim.before")
		there, err := o.Store.ClaimReplay(ctx, mine, at)
		failpoint.Here("replay.claim.after")
		if err != nil {
			return Claim{}, err
		}
		failed := !there.Done && there.Until.IsZero()
		switch {
		case there.Holder == mine.Holder:
			return there, nil
		case there.Fingerprint != fingerprint && !failed:
			return Claim{}, ErrReused
		case there.Done:
			return there, nil
		case at.Before(there.Until) && !o.isGone(there.Holder) && !there.isBegun():
			return Claim{}, busy(there.Until.Sub(at))
		}
		if there.Fingerprint == fingerprint {
			mine.Ticket, mine.Request = there.Ticket, there.Request
		}
		taken, err := o.takeOver(ctx, mine, there.Holder)
		if err != nil {
			return Claim{}, err
		}
		if taken {
			o.Log.InfoContext(ctx, "replay.taken_over", "ticket", mine.Ticket.ID, "failed", failed)
			return mine, nil
		}
		wait = o.lease()
	}
	return Claim{}, busy(wait)
}

// takeOver takes a claim over. When the answer to that was lost, and asking again
// finds the claim taken, it may have been taken by the caller.
func (o *Once) takeOver(ctx context.Context, mine Claim, holder string) (bool, error) {
	taken, err := o.Store.TakeReplay(ctx, mine, holder)
	if err != nil || taken {
		return taken, err
	}
	return o.Store.TakeReplay(ctx, mine, mine.Holder)
}

// finish stores an answer. Of two that served one ticket (the lease of the first
// was over), the answer that is stored first is everybody's.
func (o *Once) finish(ctx context.Context, c Claim) ([]byte, bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	c.Request = nil
	failpoint.Here("replay.finish.before")
	there, err := o.Store.FinishReplay(ctx, c)
	failpoint.Here("replay.finish.after")
	switch {
	case err != nil:
		return nil, false, ErrAnswerLost.Because(err)
	case there.Done && there.Ticket.ID == c.Ticket.ID:
		return there.Answer, there.Holder != c.Holder, nil
	}
	return nil, false, busy(o.lease())
}

func (o *Once) free(ctx context.Context, c Claim) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if err := o.Store.FreeReplay(ctx, c); err != nil { // its lease ends by itself
		o.Log.WarnContext(ctx, "replay.not_freed", "ticket", c.Ticket.ID, "error", err)
	}
}

func busy(left time.Duration) error {
	seconds := (min(left, maxRetryAfter) + time.Second - 1) / time.Second
	return ErrBusy.With("retry_after", strconv.Itoa(int(max(1, seconds))))
}

// isGone reports a holder of before the only process that serves began.
func (o *Once) isGone(holder string) bool {
	return !o.AloneSince.IsZero() && holder < ids.First(o.AloneSince)
}

func (o *Once) life() time.Duration {
	if o.Life > 0 {
		return o.Life
	}
	return defaultLife
}

func (o *Once) lease() time.Duration {
	if o.Lease > 0 {
		return o.Lease
	}
	return defaultLease
}
