// Package replay makes requests idempotent: a request that is repeated under the same key has
// its effect once, and gets the first answer again, byte for byte.
//
// Invariants:
//
//   - Of concurrent requests with one key, one is served; the others get ErrBusy, or its answer.
//   - An answer is returned only after it is stored. An answer that cannot be stored is an error,
//     and nothing was acknowledged.
//   - A key belongs to one account and one scope. The same key of another account does not affect
//     it, and does not see its answer.
//   - A process that serves a request holds a lease of the key, renews it meanwhile, and is
//     stopped when it loses it. After the end of a lease (the process died) the next request takes
//     the key over. It gets the ticket of the first, so that effects with the ticket as their key
//     happen once. The same holds after an error.
//   - A begun request is stored whole until it has been served: its client may disconnect, and its
//     server may die.
//   - Times are compared, when a row is read and in every condition: an expired row counts as
//     missing, whether or not it was deleted.
//
// An answer of more than MaxAnswer bytes is refused by design: it would not fit into an item of
// the table with the other attributes, and a pointer to another object could be lost.
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

// MaxAnswer bounds an answer, in bytes.
const MaxAnswer = 300 << 10

// Errors of a request.
var (
	// ErrBusy: the first request with the key is still being served. Args["retry_after"] has the
	// seconds until the next attempt.
	ErrBusy = fault.New(fault.Conflict, "request.in_progress")
	// ErrReused: the key was used for another request.
	ErrReused = fault.New(fault.Invalid, "request.key_reused")
	// ErrAnswerLost: the request was served, and the answer could not be stored.
	ErrAnswerLost = fault.New(fault.Unavailable, "request.answer_lost")
	// ErrNothingDone is returned with an answer by a request without effects: the answer is
	// returned but not stored, and the request may be repeated.
	ErrNothingDone = errors.New("replay: nothing was done")
	// ErrTooLarge: the answer is over MaxAnswer.
	ErrTooLarge = fault.New(fault.Internal, "request.answer_too_large")
)

// Key identifies a request in its account. Value is the client's idempotency key, and Scope its
// namespace.
type Key struct {
	Scope string
	Value string
}

// hash returns the storage key. Different keys have different hashes.
func (k Key) hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(k.Scope), k.Scope, k.Value))
	return hex.EncodeToString(sum[:])
}

// Ticket is shared by all attempts at one request: the idempotency key of its effects, and the
// time of the first attempt.
type Ticket struct {
	ID string // a ULID
	At time.Time
}

// Claim is the stored state of a request: its lease or its answer.
type Claim struct {
	Account     ids.Account
	Key         string // hex SHA-256
	Fingerprint string // of the request
	Ticket      Ticket
	Holder      string    // ID of the serving attempt; each attempt has its own
	Until       time.Time // end of the lease; zero: the attempt failed, and no process serves it
	ExpiresAt   time.Time // the claim counts as missing from then on
	Done        bool
	Answer      []byte // set when done
	Request     []byte // of a begun request, until it is done
}

// Store stores claims. Each method is one conditional write, except Replay.
type Store interface {
	// ClaimReplay stores c when there is no claim under its key that expires after at. It
	// returns the stored claim: c, or the other one.
	ClaimReplay(ctx context.Context, c Claim, at time.Time) (Claim, error)
	// TakeReplay replaces a claim by c while holder has it and it is not done, and reports
	// whether it did.
	TakeReplay(ctx context.Context, c Claim, holder string) (bool, error)
	// FinishReplay stores c as done with its answer, while the stored claim has c's ticket and
	// is not done. It returns the stored claim, or the zero Claim when there is none.
	FinishReplay(ctx context.Context, c Claim) (Claim, error)
	// FreeReplay ends the lease of c, if c's holder still has it.
	FreeReplay(ctx context.Context, c Claim) error
	// Replay returns the claim under a key. It returns ErrUnknown.
	Replay(ctx context.Context, account ids.Account, key string) (Claim, error)
}

// Once serves each request once.
type Once struct {
	Store Store
	NewID func(at time.Time) string // ULIDs
	Now   func() time.Time
	Log   *slog.Logger

	// AloneSince is the start time of the process when it is the only server: an older holder of
	// a claim is dead. Zero means that other processes may serve.
	AloneSince time.Time
}

const (
	answerLife    = 24 * time.Hour
	leaseLife     = 15 * time.Second // without renewal; several times the duration of a write with retries
	renewals      = 3                // renewals within one lease
	storeTime     = 5 * time.Second  // timeout for storing the outcome, also after the client disconnected
	maxAttempts   = 4                // at a claim that other processes change
	maxRetryAfter = 5 * time.Second  // for a client; most requests end before their lease
)

// Do serves the request with a key by f, or returns its stored answer; replayed reports the
// latter. fingerprint is equal for equal requests and differs for others (a digest of method,
// address and body). Do returns ErrBusy, ErrReused, ErrAnswerLost, ErrTooLarge, the store's
// error, or f's error. After an error of f the key is free at once for another attempt, of the
// same request or of another.
func (o *Once) Do(
	ctx context.Context, account ids.Account, key Key, fingerprint string,
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
	kept = true // or the outcome of the write is unknown
	return o.finish(ctx, c)
}

// errLost is the cause when another process has taken the key over.
var errLost = errors.New("replay: the lease is lost")

// renew renews the lease of c until done is called. It returns the context for serving, which is
// cancelled when the lease is lost.
func (o *Once) renew(ctx context.Context, c Claim) (serving context.Context, done func()) {
	serving, cancel := context.WithCancelCause(ctx)
	tick := time.NewTicker(leaseLife / renewals)
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
			next.Until = o.Now().Add(leaseLife)
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
	return serving, func() { // after its return there is no further renewal
		tick.Stop()
		close(over)
		<-ended
		cancel(nil)
	}
}

// renewLease writes a claim that the caller holds again, with a later end.
func (o *Once) renewLease(ctx context.Context, c Claim) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	return o.Store.TakeReplay(ctx, c, c.Holder)
}

// claim returns a claim that is done, or one that the caller holds.
func (o *Once) claim(ctx context.Context, account ids.Account, key, fingerprint string) (Claim, error) {
	wait := time.Duration(0)
	for range maxAttempts {
		at := o.Now()
		mine := Claim{
			Account: account, Key: key, Fingerprint: fingerprint, Ticket: Ticket{ID: o.NewID(at), At: at},
			Holder: o.NewID(at), Until: at.Add(leaseLife), ExpiresAt: at.Add(answerLife),
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
		wait = leaseLife
	}
	return Claim{}, busy(wait)
}

// takeOver replaces another holder's claim. When the response was lost and the store client
// retried, the claim may already be the caller's, so takeOver checks that as well.
func (o *Once) takeOver(ctx context.Context, mine Claim, holder string) (bool, error) {
	taken, err := o.Store.TakeReplay(ctx, mine, holder)
	if err != nil || taken {
		return taken, err
	}
	return o.Store.TakeReplay(ctx, mine, mine.Holder)
}

// finish stores an answer. When two attempts served one ticket (the lease of the first had
// ended), both return the answer that was stored first.
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
	return nil, false, busy(leaseLife)
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

// isGone reports whether a holder is older than the process, when that is the only server.
func (o *Once) isGone(holder string) bool {
	return !o.AloneSince.IsZero() && holder < ids.First(o.AloneSince)
}
