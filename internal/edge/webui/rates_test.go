package webui

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/locale"
)

// TestSignInAttemptsAreCounted: wrong secrets count, by the form and by an address with a code; valid ones pass,
// however many there are; and a refusal has a time to retry.
func TestSignInAttemptsAreCounted(t *testing.T) {
	m := newMemory(at(noon))
	put := func(secret string, kind auth.Kind) {
		_ = m.PutToken(context.Background(), auth.Token{Hash: hashOf(secret), Kind: kind, Account: "acc", User: "ana", Scopes: ana.Scopes, ExpiresAt: noon.Add(time.Hour)})
	}
	put("tok", auth.KindToken)
	meter := &rate.Meter{Limits: rate.Limits{BadTokens: 4, Writes: 1000}, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}
	page := New(Deps{Tokens: m, Now: at(noon), Meter: meter, Log: slog.New(slog.DiscardHandler)})
	form := func(token, address, language string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/signin", strings.NewReader("token="+token))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Accept-Language", language)
		r.Header.Set("X-Forwarded-For", "203.0.113."+token)
		r.RemoteAddr = address
		rec := httptest.NewRecorder()
		page.ServeHTTP(rec, r)
		return rec
	}
	code := func(code string) int {
		r := httptest.NewRequest(http.MethodGet, "/signin?code="+code, nil)
		r.RemoteAddr = "192.0.2.1:7"
		rec := httptest.NewRecorder()
		page.ServeHTTP(rec, r)
		return rec.Code
	}
	for i, got := range []int{form("x", "192.0.2.1:1", "es").Code, code("y"), form("z", "192.0.2.1:2", "es").Code, code("tok")} {
		if got != http.StatusUnauthorized {
			t.Errorf("guess %d: %d", i, got)
		}
	}
	for language, says := range map[string][]string{"es": {"Demasiadas peticiones seguidas", "dentro de 15 s"}, "en": {"Too many requests in a row", "in 15 s"}} {
		w := form("x", "192.0.2.1:3", language)
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "15" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
		for _, said := range says {
			if !strings.Contains(w.Body.String(), said) {
				t.Errorf("%s does not say %q", w.Body, said)
			}
		}
	}
	if got := code("y"); got != http.StatusTooManyRequests {
		t.Errorf("a code: %d", got)
	}
	if got := form("tok", "192.0.2.1:4", "es").Code; got != http.StatusSeeOther {
		t.Errorf("a good token beside them: %d", got)
	}
	if got := form("x", "192.0.2.2:4", "es").Code; got != http.StatusUnauthorized {
		t.Errorf("a guess from elsewhere: %d", got)
	}
	for range 300 {
		code("y")
	}
	if got := form("tok", "192.0.2.1:4", "es").Code; got != http.StatusSeeOther {
		t.Errorf("a good token from an address that guesses without end: %d", got)
	}
}

// TestAForeignPageDoesNotBlockTheSignIn: another site's page can make a browser request any address with a code, as
// an image, any number of times.
func TestAForeignPageDoesNotBlockTheSignIn(t *testing.T) {
	m := newMemory(at(noon))
	_ = m.PutToken(context.Background(), auth.Token{Hash: hashOf("good"), Kind: auth.KindCode, Account: "acc", User: "ana", Scopes: ana.Scopes, ExpiresAt: noon.Add(time.Hour)})
	_ = m.PutToken(context.Background(), auth.Token{Hash: hashOf("other"), Kind: auth.KindCode, Account: "acc", User: "ana", Scopes: ana.Scopes, ExpiresAt: noon.Add(time.Hour)})
	meter := &rate.Meter{Limits: rate.Limits{BadTokens: 2}, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}
	page := New(Deps{Tokens: m, Now: at(noon), Meter: meter, Log: slog.New(slog.DiscardHandler)})
	code := func(code, site, mode, dest string) int {
		r := httptest.NewRequest(http.MethodGet, "/signin?code="+code, nil)
		r.Header.Set("Sec-Fetch-Site", site)
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.Header.Set("Sec-Fetch-Dest", dest)
		r.RemoteAddr = "192.0.2.1:7"
		rec := httptest.NewRecorder()
		page.ServeHTTP(rec, r)
		return rec.Code
	}
	last := 0
	for range 100 {
		last = code("guess", "cross-site", "no-cors", "image")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the hundredth guess of a page: %d", last)
	}
	if got := code("guess", "none", "navigate", "document"); got != http.StatusUnauthorized {
		t.Errorf("who visits the page and mistypes: %d", got)
	}
	if got := code("good", "cross-site", "navigate", "document"); got != http.StatusSeeOther {
		t.Errorf("who visits the page and follows the address: %d", got)
	}
	for _, site := range []string{"cross-site", "same-site"} {
		for range 100 {
			last = code("guess", site, "navigate", "document")
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("the hundredth address that a page (%s) opens: %d", site, last)
		}
	}
	if got := code("other", "none", "navigate", "document"); got != http.StatusSeeOther {
		t.Errorf("whose window a page navigates, and who pastes an address: %d", got)
	}
}

// TestRequestsBeyondTheLimitAreRefused: the page, its parts and its files, each with a time to retry.
func TestRequestsBeyondTheLimitAreRefused(t *testing.T) {
	why := rate.ErrTooMany.With("retry_after", "7")
	for _, path := range []string{"/", "/ui/chats", "/ui/new", "/assets/app.js", "/signin", "/nothing", "/ui/nothing"} {
		for _, tag := range locale.Tags() {
			w := newWorld(at(noon), Facts{})
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Accept-Language", string(tag))
			r = r.WithContext(rate.WithExceeded(auth.NewContext(r.Context(), ana), why))
			rec := httptest.NewRecorder()
			w.page.ServeHTTP(rec, r)
			body := rec.Body.String()
			if rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") != "7" || !strings.Contains(body, locale.Text(tag, "page.error.too_many.do", "after", "7")) {
				t.Errorf("%s: %d %s", path, rec.Code, body)
			}
			if whole := strings.Contains(body, "<html"); whole == strings.HasPrefix(path, "/ui/") {
				t.Errorf("%s: a whole page: %v", path, whole)
			}
		}
	}
}

// TestFormsAreCounted for the user, or for the address when nobody is signed in.
func TestFormsAreCounted(t *testing.T) {
	meter := &rate.Meter{Limits: rate.Limits{Writes: 2}, Own: rate.NewMemory(), Log: slog.New(slog.DiscardHandler)}
	page := New(Deps{Tokens: newMemory(at(noon)), Now: at(noon), Meter: meter})
	for i, c := range []struct {
		who     auth.Principal
		address string
		want    int
	}{
		{ana, "192.0.2.1:1", 303},
		{ana, "192.0.2.2:1", 303},
		{ana, "192.0.2.3:1", 429},
		{auth.Principal{}, "192.0.2.1:1", 303},
		{auth.Principal{}, "192.0.2.1:2", 303},
		{auth.Principal{}, "192.0.2.1:3", 429},
		{auth.Principal{}, "192.0.2.2:1", 303},
	} {
		r := httptest.NewRequest(http.MethodPost, "/ui/lang", strings.NewReader("lang=en"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.RemoteAddr = c.address
		if c.who.Account != "" {
			r = r.WithContext(auth.NewContext(r.Context(), c.who))
		}
		rec := httptest.NewRecorder()
		page.ServeHTTP(rec, r)
		if rec.Code != c.want {
			t.Errorf("%s: %d, want %d", fmt.Sprint(i), rec.Code, c.want)
		}
	}
}
