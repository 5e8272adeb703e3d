// Package auth owns who is asking: tokens, the principal behind one, and what
// its scopes allow. Tokens are opaque 256-bit secrets; only their SHA-256 is
// stored, and a token that is unknown, expired or revoked is refused alike.
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

// What a caller may notice.
var (
	ErrRequired    = fault.New(fault.Unauthenticated, "auth_required")
	ErrScope       = fault.New(fault.Forbidden, "auth.scope")
	ErrCrossOrigin = fault.New(fault.Forbidden, "auth.cross_origin")
	ErrUndecided   = fault.New(fault.Unavailable, "auth.undecided") // the store could not say
)

// Scope is one thing a token may do.
type Scope string

// The scopes. Admin includes chat, and nothing includes billing: who manages an
// account does not, by that, give it credit.
const (
	ScopeChat    Scope = "chat"    // converse, confirm, read what the account holds
	ScopeAdmin   Scope = "admin"   // register servers, manage projects, assistants and keys
	ScopeBilling Scope = "billing" // move credit, and set what things cost
	ScopeApprove Scope = "approve" // approve steps that need somebody other than whoever confirmed
)

// Scopes lists them.
func Scopes() []Scope { return []Scope{ScopeChat, ScopeAdmin, ScopeBilling, ScopeApprove} }

// Principal is who is asking: always one user of one account.
type Principal struct {
	Account string
	User    string
	Scopes  []Scope
	TokenID string // the hash of the token used: to end a web session
}

// Allows reports whether the principal may do what scope names.
func (p Principal) Allows(scope Scope) bool {
	return slices.Contains(p.Scopes, scope) || scope == ScopeChat && slices.Contains(p.Scopes, ScopeAdmin)
}

// Kind says where a token may be used.
type Kind string

// A token is used in a header, a session in the page's cookie, and a code once,
// to begin a session.
const (
	KindToken   Kind = "token"
	KindSession Kind = "session"
	KindCode    Kind = "code"
)

// Token is what is stored of one.
type Token struct {
	Hash      string // lower-case hex SHA-256 of the secret
	Kind      Kind
	Account   string
	User      string
	Scopes    []Scope
	Parent    string    // of a session or a code: the hash of the token it comes from, and ends with
	ExpiresAt time.Time // zero: never
	CreatedAt time.Time
}

// Store finds tokens by their hash. A missing one is fault.NotFound.
type Store interface {
	Token(ctx context.Context, hash string) (Token, error)
	// TakeToken returns the token and removes it, so that of many callers one gets it.
	TakeToken(ctx context.Context, hash string) (Token, error)
	PutToken(ctx context.Context, t Token) error
	// RenewToken moves the end of a token to a later time. A token that was removed, that ends
	// later or that never ends is left alone, without an error.
	RenewToken(ctx context.Context, hash string, until time.Time) error
	DeleteToken(ctx context.Context, hash string) error
}

// Authenticate returns who holds secret, when it is a live token of one of the
// kinds. Every refusal is ErrRequired, so that nothing can be learned from it;
// a store that cannot answer is its own error. It keeps a session that is used.
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
	_ = t.renew(ctx, store, at) // a store that takes no writes keeps nobody from reading
	return p, nil
}

// checkParent refuses what comes from a token that was revoked or has expired.
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

// SessionFor exchanges a secret for a web session: a token (which stays) or a
// one-time code (which is used up). It returns the session's secret; life is how long the
// session lasts when it is not used.
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
	if kind == KindCode { // of many that hold it, the one that takes it signs in
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

// NewContext returns a context that carries who is asking.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns who is asking, and false when nobody was identified.
func FromContext(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(contextKey{}).(Principal)
	return p, ok && p.Account != ""
}
