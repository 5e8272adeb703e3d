package replay

import (
	"context"
	"errors"
)

// ErrUnknown is a key under which nothing was begun, or it is forgotten by now.
var ErrUnknown = errors.New("replay: nothing is known of it")

var errBegunTwice = errors.New("replay: a ticket was begun twice")

// Begin keeps a request for whoever is to serve it, with Serve, apart from who brought it.
// A ticket is begun once.
func (o *Once) Begin(ctx context.Context, account string, key Key, t Ticket, request []byte) error {
	c := Claim{
		Account: account, Key: key.hash(), Ticket: t, Holder: t.ID, Until: t.At.Add(o.lease()), ExpiresAt: t.At.Add(o.life()),
		Request: request,
	}
	there, err := o.Store.ClaimReplay(ctx, c, t.At)
	if err == nil && there.Holder != c.Holder {
		err = errBegunTwice
	}
	return err
}

// isBegun reports a claim of Begin's, which nobody serves yet.
func (c Claim) isBegun() bool { return c.Holder == c.Ticket.ID && c.Request != nil }

// Lookup returns what became of a request that was begun. It returns ErrUnknown.
func (o *Once) Lookup(ctx context.Context, account string, key Key) (Claim, error) {
	c, err := o.Store.Replay(ctx, account, key.hash())
	if err == nil && !o.Now().Before(c.ExpiresAt) {
		err = ErrUnknown
	}
	return c, err
}

// Serve serves a request that was begun, by f, and keeps what f answers; one that was
// answered is left as it is. It returns ErrUnknown, ErrBusy while another serves it, and what
// Do returns; after these it may be called again.
func (o *Once) Serve(
	ctx context.Context, account string, key Key, f func(ctx context.Context, request []byte, t Ticket) ([]byte, error),
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
