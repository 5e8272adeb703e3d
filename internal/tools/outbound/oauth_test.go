package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

// issuer is a token endpoint that issues token-1, token-2, … to client "app".
type issuer struct {
	*httptest.Server
	asked  atomic.Int32
	given  atomic.Int32
	form   bool   // accepts the secret in the form only
	answer string // %d is the number of the token
	status int
	scope  atomic.Value
}

func serveTokens(t *testing.T, i *issuer) *issuer {
	t.Helper()
	if i.answer == "" {
		i.answer = `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`
	}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		_ = r.ParseForm()
		i.scope.Store(r.PostForm.Get("scope"))
		id, pass, basic := r.BasicAuth()
		known := basic && !i.form && id == "app" && pass == "s3cr3t-k3y%2Fwith%2Bodd%3Dchars" ||
			!basic && i.form && r.PostForm.Get("client_id") == "app" && r.PostForm.Get("client_secret") == secret
		switch {
		case i.status != 0:
			w.WriteHeader(i.status)
			_, _ = io.WriteString(w, i.answer)
		case r.Method != "POST" || r.PostForm.Get("grant_type") != "client_credentials" || !known:
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
		case strings.Contains(i.answer, "%d"):
			_, _ = fmt.Fprintf(w, i.answer, i.given.Add(1))
		default:
			_, _ = io.WriteString(w, i.answer)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) key() tool.Credential {
	return tool.Credential{Place: tool.KeyPlace{In: "oauth", Name: "app", TokenURL: i.URL + "/token", Scope: "tools:call"}, Secret: secret}
}

// clock is a clock that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func tokens() (*Tokens, *clock) {
	c := &clock{at: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
	return NewTokens(Options{AllowLoopback: true, Timeout: 2 * time.Second}, c.now), c
}

func bearer(t *testing.T, from *Tokens, key tool.Credential) string {
	t.Helper()
	got, err := from.Exchange(t.Context(), key)
	if err != nil || got.Place != (tool.KeyPlace{In: "bearer"}) {
		t.Fatalf("%+v %v", got.Place, err)
	}
	return got.Secret
}

func TestTokenIsCachedUntilShortlyBeforeExpiry(t *testing.T) {
	for _, form := range []bool{false, true} {
		i := serveTokens(t, &issuer{form: form})
		from, clock := tokens()
		for _, step := range []struct {
			pass time.Duration
			want string
		}{{0, "token-1"}, {3569 * time.Second, "token-1"}, {time.Second, "token-2"}, {time.Minute, "token-2"}} {
			clock.pass(step.pass)
			if got := bearer(t, from, i.key()); got != step.want {
				t.Errorf("form %v, %v later: %s, want %s", form, step.pass, got, step.want)
			}
		}
		if got := i.scope.Load(); got != "tools:call" {
			t.Errorf("scope %v", got)
		}
	}
}

func TestRefusedTokenIsReplacedOnce(t *testing.T) {
	i := serveTokens(t, &issuer{})
	from, _ := tokens()
	first := bearerCredential(bearer(t, from, i.key()))
	from.Forget(i.key(), first.Secret)
	if got := bearer(t, from, i.key()); got != "token-2" {
		t.Errorf("%s after the first was refused", got)
	}
	from.Forget(i.key(), first.Secret) // a late caller forgets the old token
	if got := bearer(t, from, i.key()); got != "token-2" {
		t.Errorf("%s: a late refusal of an old token dropped the new one", got)
	}
}

func TestTokenLifetimeFormats(t *testing.T) {
	for written, want := range map[string]time.Duration{
		`"600"`: 10 * time.Minute, `600.5`: 600500 * time.Millisecond, `1e99`: tokenLongest, `-1`: tokenDefault, `0`: tokenDefault, `null`: tokenDefault, `"x"`: tokenDefault, ``: tokenDefault, `20`: 20 * time.Second,
	} {
		if got := (tokenResponse{ExpiresIn: []byte(written)}).life(); got != want {
			t.Errorf("%s: %v, want %v", written, got, want)
		}
	}
}

func TestConcurrentExchangesRequestOneToken(t *testing.T) {
	i := serveTokens(t, &issuer{})
	from, _ := tokens()
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 50 {
		wg.Go(func() {
			<-start
			if got, err := from.Exchange(t.Context(), i.key()); err != nil || got.Secret != "token-1" {
				t.Errorf("%s %v", got.Secret, err)
			}
		})
	}
	close(start)
	wg.Wait()
	if n := i.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestExchangeReturnsReasonOfFailure(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	cases := []struct {
		name string
		i    *issuer
		want *fault.Error
	}{
		{"refused", &issuer{status: 401, answer: `{"error":"invalid_client"}`}, tool.ErrUnauthorized},
		{"bad scope", &issuer{status: 400, answer: `{"error":"invalid_scope"}`}, tool.ErrUnauthorized},
		{"echo", &issuer{status: 400, answer: `{"error":"` + secret + `"}`}, tool.ErrUnauthorized},
		{"redirect", &issuer{status: 307}, tool.ErrNotSent},
		{"another redirect", &issuer{status: 302}, tool.ErrNotSent},
		{"no such address", &issuer{status: 404, answer: `{"error":"nope"}`}, tool.ErrNotSent},
		{"no such method", &issuer{status: 405}, tool.ErrNotSent},
		{"a conflict", &issuer{status: 409}, tool.ErrNotSent},
		{"not built", &issuer{status: 501}, tool.ErrNotSent},
		{"busy", &issuer{status: 429}, tool.ErrNotSent},
		{"down", &issuer{status: 503}, tool.ErrNotSent},
		{"page", &issuer{answer: `<html>`}, tool.ErrNotSent},
		{"empty", &issuer{answer: `{}`}, tool.ErrNotSent},
		{"mac", &issuer{answer: `{"access_token":"x","token_type":"mac"}`}, tool.ErrNotSent},
		{"split header", &issuer{answer: `{"access_token":"x\r\nHost: y"}`}, tool.ErrNotSent},
		{"huge", &issuer{answer: `{"access_token":"` + strings.Repeat("x", 1<<20) + `"}`}, tool.ErrNotSent},
	}
	for _, c := range cases {
		i := serveTokens(t, c.i)
		from, _ := tokens()
		_, err := from.Exchange(t.Context(), i.key())
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if len(from.cached) != 0 {
			t.Errorf("%s: a failure is kept", c.name)
		}
	}
	from, _ := tokens()
	away := tool.Credential{Place: tool.KeyPlace{In: "oauth", Name: "app", TokenURL: closed.URL}, Secret: secret}
	if _, err := from.Exchange(t.Context(), away); !errors.Is(err, tool.ErrNotSent) || fault.Of(err).Args["reason"] != "refused" {
		t.Errorf("away: %v", err)
	}
	guarded := NewTokens(Options{}, time.Now)
	if _, err := guarded.Exchange(t.Context(), serveTokens(t, &issuer{}).key()); !errors.Is(err, tool.ErrNotSent) || fault.Of(err).Args["reason"] != "target" {
		t.Errorf("private address: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := from.Exchange(gone, away); !errors.Is(err, context.Canceled) || !errors.Is(err, tool.ErrNotSent) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestTokenCacheIsLimited(t *testing.T) {
	i := serveTokens(t, &issuer{})
	from, _ := tokens()
	for n := range maxTokens + 20 {
		key := i.key()
		key.Place.Scope = fmt.Sprint(n)
		bearer(t, from, key)
	}
	if n := len(from.cached); n > maxTokens {
		t.Errorf("%d tokens are kept", n)
	}
}

func TestSendExchangesAKeyForItsToken(t *testing.T) {
	i := serveTokens(t, &issuer{})
	from, _ := tokens()
	var refuse atomic.Bool
	var seen atomic.Value
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"))
		if refuse.Load() {
			w.WriteHeader(401)
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	defer api.Close()
	s := sender(2 * time.Second).With(from)
	key := i.key()
	send := func(want string, status int) {
		t.Helper()
		a, err := s.Send(t.Context(), to(api.URL, "POST"), tool.Keys{key}, 1000)
		if err != nil || a.Status != status || seen.Load() != "Bearer "+want || strings.Contains(string(a.Body), want) {
			t.Errorf("%+v %v: sent %v, want %s", a, err, seen.Load(), want)
		}
	}
	send("token-1", 200)
	refuse.Store(true)
	send("token-1", 401) // returned as it is, and not repeated
	refuse.Store(false)
	send("token-2", 200)
	i.status = 401
	from.Forget(key, "token-2")
	if _, err := s.Send(t.Context(), to(api.URL, "GET"), tool.Keys{key}, 10); !errors.Is(err, tool.ErrUnauthorized) {
		t.Errorf("%v, want refused", err)
	}
	if _, err := sender(time.Second).Send(t.Context(), to(api.URL, "GET"), tool.Keys{key}, 10); !errors.Is(err, tool.ErrRequest) {
		t.Errorf("without tokens: %v, want ErrRequest", err)
	}
}

func TestExchangeReturnsOtherKeysUnchanged(t *testing.T) {
	from, _ := tokens()
	key := tool.Credential{Place: tool.KeyPlace{In: "header", Name: "X-Key"}, Secret: secret}
	if got, err := from.Exchange(t.Context(), key); err != nil || got != key {
		t.Errorf("%+v %v", got, err)
	}
}

// A token endpoint that asks for a pause is asked again after it, and not a few times in between.
func TestBusyTokenEndpointNamesItsPause(t *testing.T) {
	for _, c := range []struct {
		status int
		after  string
		want   time.Duration
		asked  bool
	}{{429, "90", 90 * time.Second, true}, {503, "2", 2 * time.Second, true}, {429, "", 0, false}, {500, "soon", 0, false}, {429, "99999", tool.MostWait, true}} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.after)
			w.WriteHeader(c.status)
		}))
		t.Cleanup(s.Close)
		from, _ := tokens()
		_, err := from.Exchange(t.Context(), tool.Credential{Place: tool.KeyPlace{In: "oauth", Name: "app", TokenURL: s.URL}, Secret: secret})
		if wait, asked := tool.WaitOf(err); !errors.Is(err, tool.ErrNotSent) || wait != c.want || asked != c.asked {
			t.Errorf("%d %q: %v, %s %t", c.status, c.after, err, wait, asked)
		}
	}
}
