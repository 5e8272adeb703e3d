package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/internal/auth"
	"piloto/internal/ident"
)

// The account of the one-process deployment.
const (
	defaultAccount = "default"
	defaultUser    = "local"
	codeLife       = 12 * time.Hour
)

// installToken makes the deployment's token the only one of its kind: the one
// that was set, or else one that is made once and kept in the data folder. It
// returns the token, and the file that holds it when it was not set.
func installToken(ctx context.Context, tokens auth.Store, folder, set string, at time.Time) (token, file string, err error) {
	token = strings.TrimSpace(set)
	if token == "" {
		file = filepath.Join(folder, "token")
		if token, err = keptToken(file); err != nil {
			return "", "", err
		}
	}
	if len(token) < 8 || len(token) > 512 {
		return "", "", errors.New("PILOTO_TOKEN must have 8 to 512 characters")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r < '!' || r > '~' }) { // no header carries another the same way
		return "", "", errors.New("PILOTO_TOKEN must be visible ASCII characters")
	}
	hash := ident.Hash(token)
	if err := replaceHash(ctx, tokens, filepath.Join(folder, "token.sha256"), hash); err != nil {
		return "", "", err
	}
	return token, file, tokens.PutToken(ctx, auth.Token{
		Hash: hash, Kind: auth.KindToken, Account: defaultAccount, User: defaultUser,
		Scopes: everything(), CreatedAt: at,
	})
}

func keptToken(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err == nil && strings.TrimSpace(string(text)) != "" {
		return strings.TrimSpace(string(text)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token := ident.Secret()
	return token, os.WriteFile(file, []byte(token+"\n"), 0o600)
}

// replaceHash revokes the token that was installed before, when it is another.
func replaceHash(ctx context.Context, tokens auth.Store, file, hash string) error {
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if old := strings.TrimSpace(string(before)); old != "" && old != hash {
		if err := tokens.DeleteToken(ctx, old); err != nil {
			return err
		}
	}
	return os.WriteFile(file, []byte(hash+"\n"), 0o600)
}

// signInURL returns a URL that signs in once, without the token, and no longer
// than the token is good for.
func signInURL(ctx context.Context, tokens auth.Store, token, origin string, at time.Time) (string, error) {
	code := ident.Secret()
	err := tokens.PutToken(ctx, auth.Token{
		Hash: ident.Hash(code), Kind: auth.KindCode, Account: defaultAccount, User: defaultUser, Parent: ident.Hash(token),
		Scopes: everything(), CreatedAt: at, ExpiresAt: at.Add(codeLife),
	})
	return fmt.Sprintf("%s/signin?code=%s", origin, code), err
}

// everything is what the owner of the machine may do.
func everything() []auth.Scope { return []auth.Scope{auth.ScopeAdmin, auth.ScopeBilling} }
