package replay

import (
	"context"
	"errors"

	"piloto/internal/ground/ids"
)

// ErrUnknown is the error for a key under which no request was begun, or whose claim has
// expired.
var ErrUnknown = errors.New("replay: nothing is known of it")

var errBegunTwice = errors.New("replay: a ticket was begun twice")

// Begin stores a request, so that another process can serve it with Serve. A ticket is begun
// once.
func (o *Once) Begin(ctx context.Context, account ids.Account, key Key, t Ticket, request []byte) error {
	c := Claim{
		Account: account, Key: key.hash(), Ticket: t, Holder: t.ID, Until: t.At.Add(leaseLife), ExpiresAt: t.At.Add(answerLife),
		Request: request,
	}
	there, err := o.Store.ClaimReplay(ctx, c, t.At)
	if err == nil && there.Holder != c.Holder {
		err = errBegunTwice
	}
	return err
}

// isBegun reports whether Begin stored the claim and no process serves it yet.
func (c Claim) isBegun() bool { return c.Holder == c.Ticket.ID && c.Request != nil }

// Lookup returns the claim of a begun request. It returns ErrUnknown.
func (o *Once) Lookup(ctx context.Context, account ids.Account, key Key) (Claim, error) {
	c, err := o.Store.Replay(ctx, account, key.hash())
	if err == nil && !o.Now().Before(c.ExpiresAt) {
		err = ErrUnknown
	}
	return c, err
}

// Serve serves a begun request by f, and stores the answer of f. An answered request stays
// unchanged. It returns ErrUnknown, ErrBusy while another process serves the request, and the
// errors of Do. It may be called again after these.
func (o *Once) Serve(
	ctx context.Context, account ids.Account, key Key, f func(ctx context.Context, request []byte, t Ticket) ([]byte, error),
) error {
	c, err := o.Lookup(ctx, account, key)
	if err != nil || c.Done {
		return err
	}
	_, _, err = o.Do(ctx, account, key, c.Fingerprint, func(ctx context.Context, t Ticket) ([]byte, error) {
		return f(ctx, c.Request, t)
	})
	return err
}
