package auth

import (
	"context"
	"time"

	"piloto/internal/ground/ids"
)

// KindTicket is a token that is used once, in a URL where no header can be set:
// to open a socket.
const KindTicket Kind = "ticket"

// TicketLife is how long a ticket may be used.
const TicketLife = time.Minute

// NewTicket returns a ticket for who is asking, and when it ends. It comes from
// the token or session they asked with, and what is opened with it ends with that.
func NewTicket(ctx context.Context, store Store, p Principal, at time.Time) (string, time.Time, error) {
	secret, until := ids.Secret(), at.Add(TicketLife)
	return secret, until, store.PutToken(ctx, Token{
		Hash: ids.Hash(secret), Kind: KindTicket, Account: p.Account, User: p.User, Scopes: p.Scopes,
		Parent: p.TokenID, ExpiresAt: until, CreatedAt: at,
	})
}

// TakeTicket uses a ticket up and returns who it was made for; TokenID is then
// the token or session that it came from. Of many that hold it, one gets it.
// Every refusal is ErrRequired.
func TakeTicket(ctx context.Context, store Store, secret string, at time.Time) (Principal, error) {
	if secret == "" || len(secret) > 512 {
		return Principal{}, ErrRequired
	}
	hash := ids.Hash(secret)
	t, err := store.Token(ctx, hash)
	if err != nil {
		return Principal{}, refusalOf(err)
	}
	p, err := t.principal(hash, at, []Kind{KindTicket})
	if err != nil {
		return Principal{}, err
	}
	if _, err := ValidUntil(ctx, store, t.Parent, at); err != nil {
		return Principal{}, err
	}
	if _, err := store.TakeToken(ctx, hash); err != nil {
		return Principal{}, refusalOf(err)
	}
	p.TokenID = t.Parent
	return p, nil
}

// ValidUntil reports until when a token or a session is good (zero: until somebody
// revokes it), by its hash; ErrRequired when it is not, or what it came from is not.
func ValidUntil(ctx context.Context, store Store, hash string, at time.Time) (time.Time, error) {
	t, err := store.Token(ctx, hash)
	if err != nil {
		return time.Time{}, refusalOf(err)
	}
	if _, err := t.principal(hash, at, []Kind{KindToken, KindSession}); err != nil {
		return time.Time{}, err
	}
	if t.Parent == "" {
		return t.end(), nil
	}
	parent, err := store.Token(ctx, t.Parent)
	if err != nil {
		return time.Time{}, refusalOf(err)
	}
	if _, err := parent.principal(t.Parent, at, []Kind{KindToken}); err != nil {
		return time.Time{}, err
	}
	return earlier(t.end(), parent.end()), nil
}

// earlier is the earlier of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
