package auth

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/internal/ground/ids"
)

// validName matches the names of accounts and users. They contain no separator, so that no key
// of the table can be read as another's.
var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`) })

// Errors of a token that cannot be made.
var (
	ErrTokenName   = errors.New("an account or user has 1 to 64 letters, digits, dots, @, - or _")
	ErrTokenScopes = errors.New("there are no such scopes")
	ErrTokenLife   = errors.New("its life would be over")
)

// NewToken returns a token for a user of an account, with scopes, valid from a time for a life; 0 means without
// expiry. Its errors are those of a token that cannot be made.
func NewToken(secret string, account ids.Account, user string, scopes []string, at time.Time, life time.Duration) (Token, error) {
	t := Token{Hash: ids.Hash(secret), Kind: KindToken, Account: account, User: user, CreatedAt: at}
	if !validName().MatchString(string(account)) || !validName().MatchString(user) {
		return Token{}, ErrTokenName
	}
	for _, text := range scopes {
		scope := Scope(strings.TrimSpace(text))
		if !slices.Contains(Scopes(), scope) {
			return Token{}, ErrTokenScopes
		}
		if !slices.Contains(t.Scopes, scope) {
			t.Scopes = append(t.Scopes, scope)
		}
	}
	switch {
	case life < 0:
		return Token{}, ErrTokenLife
	case life > 0:
		t.ExpiresAt = at.Add(life)
	}
	return t, nil
}

// ScopesText explains the scopes for the operator.
const ScopesText = "chat; admin, which includes it; billing, which moves credit; approve, of steps that need somebody else; " +
	"or several, separated by commas"
