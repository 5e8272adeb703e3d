package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"localaws/disk"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// The account of the one-process deployment.
const (
	defaultAccount = "default"
	defaultUser    = "local"
	codeLife       = 12 * time.Hour
)

// installedFile says which token was installed: its hash, and "kept" when it was
// the one of the token file.
const installedFile = "token.sha256"

// installToken makes the deployment's token the only one of its kind: the one
// that was set, or else one that is made once and kept in the data folder. It
// returns the token, and the file that holds it when it was not set.
func installToken(ctx context.Context, tokens auth.Store, folder, set string, at time.Time) (token, file string, err error) {
	made, where := false, "PILOTO_TOKEN"
	if token = set; token == "" {
		file = filepath.Join(folder, "token")
		where = file
		token, made, err = keptToken(file)
	}
	if err == nil {
		err = checkToken(where, token)
	}
	if err != nil {
		return "", "", err
	}
	now := installed{ids.Hash(token), file != ""}
	note := filepath.Join(folder, installedFile)
	before, err := readInstalled(note)
	if err != nil {
		return "", "", err
	}
	if before.kept && now.kept && !made && before.hash != now.hash {
		return "", "", fmt.Errorf("%s does not hold the token that was installed, as %s has it: one of them is damaged; put both back from a backup, or remove %s to have another token made", file, note, file)
	}
	if before.hash != "" && before.hash != now.hash {
		if err := tokens.DeleteToken(ctx, before.hash); err != nil {
			return "", "", err
		}
	}
	if before != now {
		if err := writeWhole(note, now.String()+"\n"); err != nil {
			return "", "", err
		}
	}
	if made { // last: a note without the file has another made
		if err := writeWhole(file, token+"\n"); err != nil {
			return "", "", err
		}
	}
	return token, file, tokens.PutToken(ctx, auth.Token{
		Hash: now.hash, Kind: auth.KindToken, Account: defaultAccount, User: defaultUser,
		Scopes: everything(), CreatedAt: at,
	})
}

// What a chosen token must have, so that nobody guesses it.
const (
	leastToken   = 24 // characters
	mostToken    = 512
	leastVariety = 8 // different ones
)

// checkToken refuses a token that can be guessed, or that cannot stand in a header.
func checkToken(where, token string) error {
	different := map[rune]bool{}
	for _, r := range token {
		different[r] = true
	}
	const mend = "; openssl rand -hex 24 makes one, and without PILOTO_TOKEN one is made and kept"
	switch {
	case strings.TrimSpace(token) != token:
		return fmt.Errorf("%s has blanks or a line end around it: take them away", where)
	case strings.ContainsFunc(token, func(r rune) bool { return r < '!' || r > '~' }): // no header carries another the same way
		return fmt.Errorf("%s must be visible ASCII characters, without blanks%s", where, mend)
	case len(token) < leastToken || len(token) > mostToken:
		return fmt.Errorf("%s has %d characters, and must have %d to %d: who guesses it may do everything%s", where, len(token), leastToken, mostToken, mend)
	case len(different) < leastVariety:
		return fmt.Errorf("%s repeats the same %d characters, and must have %d different ones%s", where, len(different), leastVariety, mend)
	}
	return nil
}

// keptToken returns the token in a file, or else a new one, which is to be written. A file that
// others may read is refused, because whoever has the token may do everything. It may be a
// link: then the file counts to which it leads.
func keptToken(file string) (token string, made bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return ids.Secret(), true, nil
	}
	if err != nil {
		return "", false, err
	}
	whole, err := filepath.EvalSymlinks(file)
	if err == nil {
		err = disk.Private(whole)
	}
	if err != nil {
		return "", false, err
	}
	if token = strings.TrimSpace(string(text)); token == "" {
		return "", false, fmt.Errorf("%s is damaged: it is empty; put it back from a backup, or remove it to have another token made", file)
	}
	return token, false, nil
}

// installed is the token that was installed last.
type installed struct {
	hash string
	kept bool
}

func (i installed) String() string {
	if i.kept {
		return i.hash + " kept"
	}
	return i.hash
}

// readInstalled reads what was installed; there is nothing before the first start.
func readInstalled(note string) (i installed, err error) {
	text, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}
	if err != nil {
		return i, err
	}
	i.hash, i.kept = strings.CutSuffix(strings.TrimSuffix(string(text), "\n"), " kept")
	if raw, err := hex.DecodeString(i.hash); err != nil || len(raw) != sha256.Size {
		return installed{}, fmt.Errorf("%s is damaged: it says which token was installed; put it back from a backup, or remove it", note)
	}
	return i, nil
}

// unfinished ends the names of files that are not in their place yet.
const unfinished = ".new-"

// sweep removes what a killed process left unfinished; the data file must be held.
func sweep(folder string) error {
	entries, err := os.ReadDir(folder)
	errs := []error{err}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, ".control-") || name[0] == '.' && strings.Contains(name, unfinished) {
			errs = append(errs, os.RemoveAll(filepath.Join(folder, name)))
		}
	}
	return errors.Join(errs...)
}

// writeWhole puts a small file in its place, whole or not at all, and flushes it.
func writeWhole(file, text string) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+unfinished) // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(text)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(file))
}

// signInURL returns a URL that signs in once, without the token, and no longer
// than the token is good for.
func signInURL(ctx context.Context, tokens auth.Store, token, origin string, at time.Time) (string, error) {
	code := ids.Secret()
	err := tokens.PutToken(ctx, auth.Token{
		Hash: ids.Hash(code), Kind: auth.KindCode, Account: defaultAccount, User: defaultUser, Parent: ids.Hash(token),
		Scopes: everything(), CreatedAt: at, ExpiresAt: at.Add(codeLife),
	})
	return fmt.Sprintf("%s/signin?code=%s", origin, code), err
}

// everything is what the owner of the machine may do.
func everything() []auth.Scope { return []auth.Scope{auth.ScopeAdmin, auth.ScopeBilling} }
