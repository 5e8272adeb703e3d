package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"localaws/disk"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// The account of the one-process deployment.
const (
	defaultAccount = "default"
	defaultUser    = "local"
	codeLife       = 12 * time.Hour // of a code that is printed
	openedLife     = time.Minute    // of a code that a browser is started with: other users can list its arguments
)

// installedFile stores the hash of the installed token. The word "kept" follows when the token came
// from the token file.
const installedFile = "token.sha256"

// tokenFile holds the token that was made.
const tokenFile = "token"

// TokenFile holds the token of the owner, and TokenNote says which token was installed.
const (
	TokenFile = tokenFile
	TokenNote = installedFile
)

// KeyFiles are the names of the files of a data folder with permissions and signing keys.
var KeyFiles = []string{tokenFile, installedFile, receiptKeyFile, demoKeyFile}

// installToken makes the deployment's token the only one of its kind: the configured token, or a
// token that is made once and kept in the data folder. It returns the token, and the token file
// unless the token was configured.
func installToken(ctx context.Context, tokens auth.Store, folder, set string, at time.Time) (token, file string, err error) {
	made, where := false, "PILOTO_TOKEN"
	if token = set; token == "" {
		file = filepath.Join(folder, tokenFile)
		where = file
		token, made, err = readToken(file)
	}
	if err == nil {
		err = checkToken(where, token)
	}
	if err != nil {
		return "", "", err
	}
	now := installedToken{ids.Hash(token), file != ""}
	note := filepath.Join(folder, installedFile)
	before, err := readInstalled(note)
	if err != nil {
		return "", "", err
	}
	if before.kept && now.kept && !made && before.hash != now.hash {
		return "", "", refusal("token.other", "file", file, "note", note)
	}
	if before.hash != "" && before.hash != now.hash {
		if err := tokens.DeleteToken(ctx, before.hash); err != nil {
			return "", "", err
		}
	}
	if before != now {
		if err := writeAtomically(note, now.String()+"\n"); err != nil {
			return "", "", err
		}
	}
	if made { // written last: a note without a token file makes a new token
		if err := writeAtomically(file, token+"\n"); err != nil {
			return "", "", err
		}
	}
	return token, file, tokens.PutToken(ctx, auth.Token{
		Hash: now.hash, Kind: auth.KindToken, Account: defaultAccount, User: defaultUser,
		Scopes: ownerScopes(), CreatedAt: at,
	})
}

// The requirements of a configured token, so that nobody can guess it.
const (
	leastToken   = 24 // characters
	mostToken    = 512
	leastVariety = 8 // distinct characters
)

// checkToken refuses a token that can be guessed, or that cannot be sent in a header.
func checkToken(where, token string) error {
	different := map[rune]bool{}
	for _, r := range token {
		different[r] = true
	}
	switch {
	case strings.TrimSpace(token) != token:
		return refusal("token.blanks", "where", where)
	case strings.ContainsFunc(token, func(r rune) bool { return r < '!' || r > '~' }): // other characters are not safe in a header
		return refusal("token.characters", "where", where)
	case len(token) < leastToken || len(token) > mostToken:
		return refusal("token.length", "where", where, "n", strconv.Itoa(len(token)), "least", strconv.Itoa(leastToken), "most", strconv.Itoa(mostToken))
	case len(different) < leastVariety:
		return refusal("token.variety", "where", where, "n", strconv.Itoa(len(different)), "least", strconv.Itoa(leastVariety))
	}
	return nil
}

// readToken returns the token of a file, or a new token that the caller must write. It refuses a
// file that others can read, because the token gives full access. The file may be a link; then the
// mode of its target counts.
func readToken(file string) (token string, made bool, err error) {
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
		return "", false, refusal("token.empty", "file", file)
	}
	return token, false, nil
}

// installedToken describes the token that was installed last.
type installedToken struct {
	hash string
	kept bool
}

func (i installedToken) String() string {
	if i.kept {
		return i.hash + " kept"
	}
	return i.hash
}

// readInstalled reads the installed token; it is empty before the first start.
func readInstalled(note string) (i installedToken, err error) {
	text, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}
	if err != nil {
		return i, err
	}
	i.hash, i.kept = strings.CutSuffix(strings.TrimSuffix(string(text), "\n"), " kept")
	if raw, err := hex.DecodeString(i.hash); err != nil || len(raw) != sha256.Size {
		return installedToken{}, refusal("token.note", "file", note)
	}
	return i, nil
}

// unfinishedMark is part of the names of unfinished files.
const unfinishedMark = ".new-"

// removeUnfinished removes the unfinished files of a killed process. The caller must hold the data
// file.
func removeUnfinished(folder string) error {
	entries, err := os.ReadDir(folder)
	errs := []error{err}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, ".control-") || name[0] == '.' && strings.Contains(name, unfinishedMark) {
			errs = append(errs, os.RemoveAll(filepath.Join(folder, name)))
		}
	}
	return errors.Join(errs...)
}

// writeAtomically writes a small file whole or not at all, and flushes it to disk.
func writeAtomically(file, text string) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+unfinishedMark) // with mode 0600
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

// signInURL returns a URL for one sign-in within life, without the token. It is valid no longer than the token.
func (p *Process) signInURL(ctx context.Context, token string, life time.Duration) (string, error) {
	at := p.Clock()
	code := ids.Secret()
	err := p.Stores.Access.PutToken(ctx, auth.Token{
		Hash: ids.Hash(code), Kind: auth.KindCode, Account: defaultAccount, User: defaultUser, Parent: ids.Hash(token),
		Scopes: ownerScopes(), CreatedAt: at, ExpiresAt: at.Add(life),
	})
	return p.origin + "/signin?code=" + code, err
}

// ownerScopes returns the scopes of the owner of the machine.
func ownerScopes() []auth.Scope { return []auth.Scope{auth.ScopeAdmin, auth.ScopeBilling} }
