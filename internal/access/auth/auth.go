// Package auth authenticates requests: by tokens, sessions, codes, tickets and signed webhooks,
// each with a principal and its scopes. Tokens are opaque 256-bit secrets. Only their SHA-256 is
// stored. An unknown, expired or revoked token gets the same refusal.
package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// Errors of authentication.
var (
	ErrRequired    = fault.New(fault.Unauthenticated, "auth_required")
	ErrScope       = fault.New(fault.Forbidden, "auth.scope")
	ErrCrossOrigin = fault.New(fault.Forbidden, "auth.cross_origin")
	ErrUndecided   = fault.New(fault.Unavailable, "auth.undecided") // the store did not answer
)

// Scope is one permission of a token.
type Scope string

// The scopes. Admin includes chat. No scope includes billing, because the administrator of an
// account may not give it credit.
const (
	ScopeChat    Scope = "chat"    // converse, confirm, read the account's data
	ScopeAdmin   Scope = "admin"   // register servers, manage projects, assistants and keys
	ScopeBilling Scope = "billing" // move credit, and set prices
	ScopeApprove Scope = "approve" // approve steps that need a person other than the one who confirmed
)

// Scopes lists the scopes.
func Scopes() []Scope { return []Scope{ScopeChat, ScopeAdmin, ScopeBilling, ScopeApprove} }

// Principal is the authenticated caller: always one user of one account.
type Principal struct {
	Account ids.Account
	User    string
	Scopes  []Scope
	TokenID string // hash of the token used; ends a web session
}

// Allows reports whether the principal has a scope.
func (p Principal) Allows(scope Scope) bool {
	return slices.Contains(p.Scopes, scope) || scope == ScopeChat && slices.Contains(p.Scopes, ScopeAdmin)
}

// Kind is the use of a token.
type Kind string

// A token is used in a header, a session in the page's cookie, and a code once, to start a
// session.
const (
	KindToken   Kind = "token"
	KindSession Kind = "session"
	KindCode    Kind = "code"
)

// Token is one stored token.
type Token struct {
	Hash      string // lower-case hex SHA-256 of the secret
	Kind      Kind
	Account   ids.Account
	User      string
	Scopes    []Scope
	Parent    string    // of a session or a code: hash of the token it comes from, and ends with
	ExpiresAt time.Time // zero: never
	CreatedAt time.Time
}

// Store stores tokens by their hash. A missing token is fault.NotFound.
type Store interface {
	Token(ctx context.Context, hash string) (Token, error)
	// TakeToken returns and deletes a token, so that only one of several callers gets it.
	TakeToken(ctx context.Context, hash string) (Token, error)
	PutToken(ctx context.Context, t Token) error
	// RenewToken moves the expiry of a token to a later time. It leaves a token that was
	// deleted, that ends later or that never ends unchanged, without an error.
	RenewToken(ctx context.Context, hash string, until time.Time) error
	DeleteToken(ctx context.Context, hash string) error
}

// Authenticate returns the principal of a secret, when it is a valid token of one of the kinds.
// Every refusal is ErrRequired, so that it discloses nothing. A failure of the store has its own
// error. Authenticate renews a session.
func Authenticate(ctx context.Context, store Store, secret string, at time.Time, kinds ...Kind) (Principal, error) {
	if secret == "" || len(secret) > 512 {
		return Principal{}, ErrRequired
	}
	hash := ids.Hash(secret)
	t, err := store.Token(ctx, hash)
	if err != nil {
		return Principal{}, refusalOf(err)
	}
	p, err := t.principal(hash, at, kinds)
	if err != nil {
		return Principal{}, err
	}
	if err := t.checkParent(ctx, store, at); err != nil {
		return Principal{}, err
	}
	_ = t.renew(ctx, store, at) // a failed renewal must not prevent a read
	return p, nil
}

// checkParent refuses a token whose parent was revoked or has expired.
func (t Token) checkParent(ctx context.Context, store Store, at time.Time) error {
	if t.Parent == "" {
		return nil
	}
	parent, err := store.Token(ctx, t.Parent)
	if err != nil {
		return refusalOf(err)
	}
	_, err = parent.principal(t.Parent, at, []Kind{KindToken})
	return err
}

// SessionFor starts a web session with a token (which stays valid) or a one-time code (which is
// used up). It returns the session's secret. life is the session's life without use.
func SessionFor(ctx context.Context, store Store, secret string, kind Kind, at time.Time, life time.Duration) (string, error) {
	if secret == "" || len(secret) > 512 {
		return "", ErrRequired
	}
	hash := ids.Hash(secret)
	t, err := store.Token(ctx, hash)
	if err != nil {
		return "", refusalOf(err)
	}
	p, err := t.principal(hash, at, []Kind{kind})
	if err != nil {
		return "", err
	}
	if err := t.checkParent(ctx, store, at); err != nil {
		return "", err
	}
	parent := hash
	if kind == KindCode { // of several holders, only the one that takes it signs in
		if _, err := store.TakeToken(ctx, hash); err != nil {
			return "", refusalOf(err)
		}
		parent = t.Parent
	}
	session := ids.Secret()
	return session, store.PutToken(ctx, Token{
		Hash: ids.Hash(session), Kind: KindSession, Account: p.Account, User: p.User,
		Scopes: p.Scopes, Parent: parent, ExpiresAt: at.Add(life), CreatedAt: at,
	})
}

func (t Token) principal(hash string, at time.Time, kinds []Kind) (Principal, error) {
	same := subtle.ConstantTimeCompare([]byte(t.Hash), []byte(hash)) == 1
	live := t.end().IsZero() || at.Before(t.end())
	if !same || !live || !slices.Contains(kinds, t.Kind) {
		return Principal{}, ErrRequired
	}
	return Principal{Account: t.Account, User: t.User, Scopes: t.Scopes, TokenID: t.Hash}, nil
}

func refusalOf(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.NotFound {
		return ErrRequired
	}
	return err
}

type contextKey struct{}

// NewContext returns a context with the principal.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the context's principal, and false when there is none.
func FromContext(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(contextKey{}).(Principal)
	return p, ok && p.Account != ""
}
