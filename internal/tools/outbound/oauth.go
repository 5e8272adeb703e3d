package outbound

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"piloto/internal/ground/redact"
	"piloto/internal/tools/tool"
)

// Limits of tokens.
const (
	maxTokens      = 256      // that are kept
	maxTokenAnswer = 64 << 10 // bytes
	maxToken       = 8 << 10
	tokenEarly     = 30 * time.Second // before a token expires another is asked for
	tokenDefault   = 5 * time.Minute  // where its lifetime is not said
	tokenLongest   = 24 * time.Hour
)

// Tokens makes bearer tokens of clients' ids and secrets, by the client
// credentials of OAuth 2.1, and keeps each until shortly before it expires. It is
// safe for concurrent use, and asks for one token at a time.
type Tokens struct {
	client *http.Client
	now    func() time.Time

	mu   sync.Mutex
	held map[[sha256.Size]byte]*token // by a hash of the credential
}

// token is what one credential gave. Whoever asks for it holds asking; the rest is
// guarded by the mutex of Tokens.
type token struct {
	asking chan struct{} // of capacity 1
	users  int
	bearer string
	until  time.Time
}

// NewTokens returns Tokens that are asked for as opts allow.
func NewTokens(opts Options, now func() time.Time) *Tokens {
	return &Tokens{client: NewClient(opts), now: now, held: map[[sha256.Size]byte]*token{}}
}

// Exchange returns a credential that can be sent: the bearer token of one in the
// place "oauth", and any other as it is. It returns tool.ErrRefusedUs when the
// token endpoint refuses, and tool.ErrNotSent when there is no token for another
// reason. No error holds a secret.
func (t *Tokens) Exchange(ctx context.Context, key tool.Credential) (tool.Credential, error) {
	if key.Place.In != "oauth" {
		return key, nil
	}
	id := tokenID(key)
	held := t.take(id)
	defer t.give(id, held)
	if err := ctx.Err(); err != nil {
		return tool.Credential{}, failure(err, false, key.Secret)
	}
	select {
	case held.asking <- struct{}{}:
		defer func() { <-held.asking }()
	case <-ctx.Done():
		return tool.Credential{}, failure(ctx.Err(), false, key.Secret)
	}
	if bearer := t.valid(held); bearer != "" {
		return sendable(bearer), nil
	}
	bearer, life, err := t.ask(ctx, key)
	if err != nil {
		return tool.Credential{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	held.bearer, held.until = bearer, t.now().Add(life-tokenEarly)
	return sendable(bearer), nil
}

// Forget drops the token of a credential that a server refused, unless there is
// another by now.
func (t *Tokens) Forget(key, refused tool.Credential) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held := t.held[tokenID(key)]; held != nil && held.bearer == refused.Secret {
		held.bearer = ""
	}
}

func sendable(bearer string) tool.Credential {
	return tool.Credential{Place: tool.KeyPlace{In: "bearer"}, Secret: bearer}
}

func tokenID(key tool.Credential) (id [sha256.Size]byte) {
	h := sha256.New()
	for _, part := range []string{key.Place.Name, key.Place.TokenURL, key.Place.Scope, key.Secret} {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	h.Sum(id[:0])
	return id
}

// take returns the token of a credential, and keeps it while it is used.
func (t *Tokens) take(id [sha256.Size]byte) *token {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.held[id]
	if held == nil {
		held = &token{asking: make(chan struct{}, 1)}
		t.makeRoom()
		t.held[id] = held
	}
	held.users++
	return held
}

// makeRoom forgets the tokens that are over or, if none is, the one that is next
// to be. Those that are asked for stay.
func (t *Tokens) makeRoom() {
	if len(t.held) < maxTokens {
		return
	}
	now := t.now()
	var next [sha256.Size]byte
	var oldest *token
	for id, held := range t.held {
		switch {
		case held.users > 0:
		case !held.until.After(now):
			delete(t.held, id)
		case oldest == nil || held.until.Before(oldest.until):
			next, oldest = id, held
		}
	}
	if len(t.held) >= maxTokens && oldest != nil {
		delete(t.held, next)
	}
}

func (t *Tokens) give(id [sha256.Size]byte, held *token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held.users--
	if held.users == 0 && held.bearer == "" && t.held[id] == held {
		delete(t.held, id)
	}
}

func (t *Tokens) valid(held *token) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held.bearer == "" || !t.now().Before(held.until) {
		return ""
	}
	return held.bearer
}

// ask asks for a token: with the client's secret in the header and, by those who do
// not take that, in the form.
func (t *Tokens) ask(ctx context.Context, key tool.Credential) (bearer string, life time.Duration, err error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if key.Place.Scope != "" {
		form.Set("scope", key.Place.Scope)
	}
	status, said, err := t.post(ctx, key, form, true)
	if err == nil && (status == http.StatusUnauthorized || said.Error == "invalid_client") {
		form.Set("client_id", key.Place.Name)
		form.Set("client_secret", key.Secret)
		status, said, err = t.post(ctx, key, form, false)
	}
	switch {
	case err != nil:
		return "", 0, err
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests:
		return "", 0, tool.ErrRefusedUs.With("reason", "token").With("status", strconv.Itoa(status)).Because(said.refusal(key.Secret))
	case status != http.StatusOK && status != http.StatusCreated, !said.usable():
		return "", 0, tool.ErrNotSent.With("reason", "token").With("status", strconv.Itoa(status)).Because(errNoToken)
	}
	return said.AccessToken, said.life(), nil
}

var errNoToken = errors.New("the token endpoint gave no token")

// granted is what a token endpoint says.
type granted struct {
	AccessToken string          `json:"access_token"`
	TokenType   string          `json:"token_type"`
	ExpiresIn   json.RawMessage `json:"expires_in"`
	Error       string          `json:"error"`
}

func (g granted) usable() bool {
	bearer := g.TokenType == "" || strings.EqualFold(g.TokenType, "bearer")
	return bearer && g.AccessToken != "" && len(g.AccessToken) <= maxToken &&
		!strings.ContainsFunc(g.AccessToken, func(r rune) bool { return r <= 0x20 || r > 0x7e })
}

// life is how long the token is good for. Some write the number as a text.
func (g granted) life() time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(g.ExpiresIn), `"`), 64)
	if err != nil || seconds <= 0 {
		return tokenDefault
	}
	if seconds > tokenLongest.Seconds() {
		return tokenLongest
	}
	return time.Duration(seconds * float64(time.Second))
}

// refusal is the endpoint's own code for why it refuses.
func (g granted) refusal(secret string) error {
	code := cmp.Or(g.Error, "no reason given")
	if len(code) > 100 || !printable(code) {
		code = "an unreadable reason"
	}
	return errors.New(redact.Text(string(redact.Known([]byte(code), secret))))
}

// post makes one request to the token endpoint. Its error is tool.ErrNotSent: what
// the token is for did not leave.
func (t *Tokens) post(ctx context.Context, key tool.Credential, form url.Values, basic bool) (int, granted, error) {
	var handed atomic.Bool
	req, err := http.NewRequestWithContext(watch(ctx, &handed), http.MethodPost, key.Place.TokenURL, strings.NewReader(form.Encode()))
	if err != nil || req.URL.User != nil {
		return 0, granted{}, errKey
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	if basic {
		req.SetBasicAuth(url.QueryEscape(key.Place.Name), url.QueryEscape(key.Secret))
	}
	res, err := t.client.Do(req)
	if err != nil {
		return 0, granted{}, failure(err, false, key.Secret)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxTokenAnswer))
	if err != nil {
		return 0, granted{}, failure(err, false, key.Secret)
	}
	var said granted
	if err := json.Unmarshal(body, &said); err != nil {
		said = granted{}
	}
	return res.StatusCode, said, nil
}
