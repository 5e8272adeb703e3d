package auth

import (
	"context"
	"time"

	"piloto/internal/ground/ids"
)

// KindTicket is the kind of a token that is used once, in a URL, because a browser cannot set a
// header when it opens a WebSocket.
const KindTicket Kind = "ticket"

// TicketLife is the life of a ticket.
const TicketLife = time.Minute

// NewTicket returns a ticket for the principal, and its expiry. Its parent is the principal's
// token or session, and a connection that it opens ends with the parent.
func NewTicket(ctx context.Context, store Store, p Principal, at time.Time) (string, time.Time, error) {
	secret, until := ids.Secret(), at.Add(TicketLife)
	return secret, until, store.PutToken(ctx, Token{
		Hash: ids.Hash(secret), Kind: KindTicket, Account: p.Account, User: p.User, Scopes: p.Scopes,
		Parent: p.TokenID, ExpiresAt: until, CreatedAt: at,
	})
}

// TakeTicket uses a ticket up and returns its principal; TokenID is the ticket's parent. Only
// one of several holders gets it. Every refusal is ErrRequired.
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

// ValidUntil returns the expiry of a token or a session by its hash (zero: valid until it is
// revoked). It returns ErrRequired when the token or its parent is not valid.
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

// earlier returns the earlier time; zero means no limit.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
