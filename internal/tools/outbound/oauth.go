package outbound

import (
	"bytes"
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

	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/redact"
	"piloto/internal/tools/tool"
)

// Limits of tokens.
const (
	maxTokens      = 256      // maximum number of cached tokens
	maxTokenAnswer = 64 << 10 // bytes
	maxToken       = 8 << 10
	tokenEarly     = 30 * time.Second // a token is renewed this long before it expires
	tokenDefault   = 5 * time.Minute  // the lifetime when the response names none
	tokenLongest   = 24 * time.Hour
)

// Tokens exchanges client ids and secrets for bearer tokens, by the client credentials grant of OAuth 2.1, and
// caches each until shortly before it expires. It is safe for concurrent use. For one credential it requests one
// token at a time.
type Tokens struct {
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	cached map[[sha256.Size]byte]*token // by a hash of the credential
}

// token is the cached token of one credential. A goroutine that requests it holds asking; the mutex of Tokens
// guards the other fields.
type token struct {
	asking chan struct{} // of capacity 1
	users  int
	bearer string
	until  time.Time
}

// NewTokens returns Tokens that are requested with the limits of opts.
func NewTokens(opts Options, now func() time.Time) *Tokens {
	return &Tokens{client: NewClient(opts), now: now, cached: map[[sha256.Size]byte]*token{}}
}

// Exchange returns a credential that can be sent: the bearer token for a credential in the place "oauth", and any
// other credential unchanged. It returns tool.ErrUnauthorized when the token endpoint refuses, and tool.ErrNotSent
// when there is no token for another reason. Args["token"] is the origin of the token endpoint, and Args["status"] its
// status. No error contains a secret.
func (t *Tokens) Exchange(ctx context.Context, key tool.Credential) (tool.Credential, error) {
	if key.Place.In != "oauth" {
		return key, nil
	}
	id := tokenID(key)
	held := t.acquire(id)
	defer t.release(id, held)
	if err := ctx.Err(); err != nil {
		return tool.Credential{}, failure(err, false, key.Secret)
	}
	select {
	case held.asking <- struct{}{}:
		defer func() { <-held.asking }()
	case <-ctx.Done():
		return tool.Credential{}, failure(ctx.Err(), false, key.Secret)
	}
	if bearer := t.validBearer(held); bearer != "" {
		return bearerCredential(bearer), nil
	}
	bearer, life, err := t.request(ctx, key)
	if err != nil {
		return tool.Credential{}, fault.Of(err).With("token", tool.RedirectOrigin(key.Place.TokenURL, key.Place.TokenURL))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	held.bearer, held.until = bearer, t.now().Add(life-tokenEarly)
	return bearerCredential(bearer), nil
}

// Forget drops a token of a credential after a server refused it, unless it was renewed meanwhile.
func (t *Tokens) Forget(key tool.Credential, refused string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held := t.cached[tokenID(key)]; held != nil && held.bearer == refused {
		held.bearer = ""
	}
}

func bearerCredential(bearer string) tool.Credential {
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

// acquire returns the token of a credential, and keeps it cached during its use.
func (t *Tokens) acquire(id [sha256.Size]byte) *token {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.cached[id]
	if held == nil {
		held = &token{asking: make(chan struct{}, 1)}
		t.makeRoom()
		t.cached[id] = held
	}
	held.users++
	return held
}

// makeRoom drops the expired tokens or, if none is expired, the one that expires next. Tokens in use stay.
func (t *Tokens) makeRoom() {
	if len(t.cached) < maxTokens {
		return
	}
	now := t.now()
	var next [sha256.Size]byte
	var oldest *token
	for id, held := range t.cached {
		switch {
		case held.users > 0:
		case !held.until.After(now):
			delete(t.cached, id)
		case oldest == nil || held.until.Before(oldest.until):
			next, oldest = id, held
		}
	}
	if len(t.cached) >= maxTokens && oldest != nil {
		delete(t.cached, next)
	}
}

func (t *Tokens) release(id [sha256.Size]byte, held *token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held.users--
	if held.users == 0 && held.bearer == "" && t.cached[id] == held {
		delete(t.cached, id)
	}
}

func (t *Tokens) validBearer(held *token) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held.bearer == "" || !t.now().Before(held.until) {
		return ""
	}
	return held.bearer
}

// request requests a token: with the client's secret in the header and, when the endpoint refuses that, in the
// form.
func (t *Tokens) request(ctx context.Context, key tool.Credential) (bearer string, life time.Duration, err error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if key.Place.Scope != "" {
		form.Set("scope", key.Place.Scope)
	}
	said, err := t.post(ctx, key, form, true)
	if err == nil && (meaning.WantsKey(said.status) || said.Error == "invalid_client") {
		form.Set("client_id", key.Place.Name)
		form.Set("client_secret", key.Secret)
		said, err = t.post(ctx, key, form, false)
	}
	if err != nil {
		return "", 0, err
	}
	status := strconv.Itoa(said.status)
	none := tool.ErrNotSent.With("reason", "token").With("status", status).Because(errNoToken)
	switch m := meaning.Of(said.status, said.waits); {
	case m == meaning.Refused && meaning.RefusesClient(said.status):
		return "", 0, tool.ErrUnauthorized.With("reason", "token").With("status", status).Because(said.refusal(key.Secret))
	case m != meaning.Done && said.waits:
		return "", 0, tool.WithWait(none, said.wait)
	case m != meaning.Done, !said.isUsable():
		return "", 0, none
	}
	return said.AccessToken, said.life(), nil
}

var errNoToken = errors.New("the token endpoint gave no token")

// tokenResponse is the response of a token endpoint.
type tokenResponse struct {
	AccessToken string          `json:"access_token"`
	TokenType   string          `json:"token_type"`
	ExpiresIn   json.RawMessage `json:"expires_in"`
	Error       string          `json:"error"`

	status int
	wait   time.Duration // that it asks for
	waits  bool          // it asks for one
}

func (g tokenResponse) isUsable() bool {
	bearer := g.TokenType == "" || strings.EqualFold(g.TokenType, "bearer")
	return bearer && g.AccessToken != "" && len(g.AccessToken) <= maxToken &&
		!strings.ContainsFunc(g.AccessToken, func(r rune) bool { return r <= 0x20 || r > 0x7e })
}

// life returns the lifetime of the token. Some endpoints write the number as a text.
func (g tokenResponse) life() time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(g.ExpiresIn), `"`), 64)
	if err != nil || seconds <= 0 {
		return tokenDefault
	}
	if seconds > tokenLongest.Seconds() {
		return tokenLongest
	}
	return time.Duration(seconds * float64(time.Second))
}

// refusal returns the endpoint's own error code.
func (g tokenResponse) refusal(secret string) error {
	code := cmp.Or(g.Error, "no reason given")
	if len(code) > 100 || !isPrintable(code) {
		code = "an unreadable reason"
	}
	return errors.New(redact.Text(string(redact.Known([]byte(code), secret))))
}

// post sends one request to the token endpoint. Its error is tool.ErrNotSent, because the request that needs the
// token was not sent.
func (t *Tokens) post(ctx context.Context, key tool.Credential, form url.Values, basic bool) (tokenResponse, error) {
	var handed atomic.Bool
	req, err := http.NewRequestWithContext(watch(ctx, &handed), http.MethodPost, key.Place.TokenURL, strings.NewReader(form.Encode()))
	if err != nil || req.URL.User != nil {
		return tokenResponse{}, tool.ErrUnusableKey
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	if basic {
		req.SetBasicAuth(url.QueryEscape(key.Place.Name), url.QueryEscape(key.Secret))
	}
	res, err := t.client.Do(req)
	if err != nil {
		return tokenResponse{}, failure(err, false, key.Secret)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxTokenAnswer))
	if err != nil {
		return tokenResponse{}, failure(err, false, key.Secret)
	}
	var said tokenResponse
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &said); err != nil {
		said = tokenResponse{}
	}
	said.status = res.StatusCode
	said.wait, said.waits = meaning.Wait(res.Header.Get, t.now())
	return said, nil
}
