// Package access owns the rows of who may ask and how often: tokens, webhooks, quotas, answers
// kept under idempotency keys, and connections of WebSockets.
package access

import (
	"context"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

// Store is the access rows of a table.
type Store struct{ table *kv.Table }

// New returns the access rows of a table.
func New(table *kv.Table) *Store { return &Store{table} }

type tokenRow struct {
	kv.Key
	Kind      string      `dynamodbav:"kind"`
	Account   ids.Account `dynamodbav:"account"`
	User      string      `dynamodbav:"user"`
	Scopes    []string    `dynamodbav:"scopes"`
	Parent    string      `dynamodbav:"parent,omitempty"`
	CreatedAt int64       `dynamodbav:"created_at"`
	ExpiresAt int64       `dynamodbav:"expires_at,omitempty"`
	TTL       int64       `dynamodbav:"ttl,omitempty"` // cleans up; the comparison is on expires_at
}

func tokenKey(hash string) kv.Key { return kv.Key{PK: "TOKEN#" + hash, SK: "TOKEN"} }

var errNoToken = fault.New(fault.NotFound, "token.not_found")

func (row tokenRow) token(hash string) auth.Token {
	t := auth.Token{
		Hash: hash, Kind: auth.Kind(row.Kind), Account: row.Account, User: row.User, Parent: row.Parent,
		ExpiresAt: kv.Time(row.ExpiresAt), CreatedAt: kv.Time(row.CreatedAt),
	}
	for _, s := range row.Scopes {
		t.Scopes = append(t.Scopes, auth.Scope(s))
	}
	return t
}

// Token finds a token by the hash of its secret.
func (s *Store) Token(ctx context.Context, hash string) (auth.Token, error) {
	var row tokenRow
	err := s.table.Get(ctx, tokenKey(hash), &row, errNoToken)
	return row.token(hash), err
}

// TakeToken returns a token and removes it, so that of many callers one gets it.
func (s *Store) TakeToken(ctx context.Context, hash string) (auth.Token, error) {
	it, _, err := s.table.Try(ctx, kv.Delete(tokenKey(hash)))
	if err != nil {
		return auth.Token{}, err
	}
	if len(it) == 0 {
		return auth.Token{}, errNoToken
	}
	var row tokenRow
	err = kv.Decode(it, &row)
	return row.token(hash), err
}

// RenewToken moves the end of a token to a later time. A token that was removed, that ends
// later or that never ends is left alone, without an error.
func (s *Store) RenewToken(ctx context.Context, hash string, until time.Time) error {
	w := kv.Update(tokenKey(hash)).Set("expires_at", until).Set("ttl", cleanUp(until))
	_, _, err := s.table.Try(ctx, w.If(kv.Less("expires_at", until))) // false where there is no row, or no end
	return err
}

// cleanUp is when a token that ended may be deleted, in seconds.
func cleanUp(end time.Time) int64 { return end.Add(24 * time.Hour).Unix() }

// PutToken stores a token.
func (s *Store) PutToken(ctx context.Context, token auth.Token) error {
	row := tokenRow{
		Key: tokenKey(token.Hash), Kind: string(token.Kind), Account: token.Account, User: token.User,
		Parent: token.Parent, CreatedAt: kv.Millis(token.CreatedAt), ExpiresAt: kv.Millis(token.ExpiresAt),
	}
	for _, scope := range token.Scopes {
		row.Scopes = append(row.Scopes, string(scope))
	}
	if !token.ExpiresAt.IsZero() {
		row.TTL = cleanUp(token.ExpiresAt)
	}
	return s.table.Do(ctx, kv.Put(row))
}

// DeleteToken removes a token; deleting a missing token is no error.
func (s *Store) DeleteToken(ctx context.Context, hash string) error {
	return s.table.Do(ctx, kv.Delete(tokenKey(hash)))
}
