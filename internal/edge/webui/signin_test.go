package webui

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

func TestSigningIn(t *testing.T) {
	w := newWorld(at(noon), Facts{Local: true})
	put := func(secret string, kind auth.Kind, until time.Time) {
		_ = w.PutToken(context.Background(), auth.Token{Hash: hashOf(secret), Kind: kind, Account: "acc", User: "ana", Scopes: ana.Scopes, ExpiresAt: until})
	}
	put("tok", auth.KindToken, time.Time{})
	put("code", auth.KindCode, noon.Add(time.Minute))
	put("late", auth.KindCode, noon)
	post := func(path, body string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		rec := httptest.NewRecorder()
		w.page.ServeHTTP(rec, r)
		return rec
	}
	session := func(r *httptest.ResponseRecorder) *http.Cookie {
		for _, c := range r.Result().Cookies() {
			if c.Name == "piloto_session_80" && !c.Secure || c.Name == "__Host-piloto_session" && c.Secure && c.Path == "/" && c.Domain == "" {
				return c
			}
		}
		return nil
	}

	in := post("/signin", "token=+tok+")
	c := session(in)
	if in.Code != http.StatusSeeOther || in.Header().Get("Location") != "/signin?in=" || c == nil {
		t.Fatalf("%d %s", in.Code, in.Header())
	}
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge != 7*24*3600 || c.Secure || c.Value == "tok" {
		t.Errorf("cookie %v", c)
	}
	if c := session(post("/signin", "token=tok", "X-Forwarded-Proto", "https")); c == nil || !c.Secure {
		t.Errorf("over https: %v", c)
	}
	for _, body := range []string{"token=", "token=nope", "token=code", "token=" + c.Value, "", "token=" + strings.Repeat("x", 600)} {
		if r := post("/signin", body); r.Code != http.StatusUnauthorized || session(r) != nil || !strings.Contains(r.Body.String(), "no es válido") {
			t.Errorf("%.20q: %d", body, r.Code)
		}
	}
	for _, evil := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "", "Origin", "null"}} {
		for _, path := range []string{"/signin", "/signout", "/ui/lang"} {
			if r := post(path, "token=tok", evil...); r.Code != http.StatusForbidden || session(r) != nil {
				t.Errorf("%s from %v: %d", path, evil, r.Code)
			}
		}
	}

	w.page.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodHead, "/signin?code=code", nil))
	once := get(t, w.page, "/signin?code=code")
	if once.Code != http.StatusSeeOther || session(once) == nil {
		t.Errorf("%d", once.Code)
	}
	for _, code := range []string{"code", "late", "tok", "nope"} {
		if r := get(t, w.page, "/signin?code="+code); r.Code != http.StatusUnauthorized || session(r) != nil || !strings.Contains(r.Body.String(), "ya se usó") || !strings.Contains(r.Body.String(), `name="token"`) {
			t.Errorf("code %s: %d", code, r.Code)
		}
	}

	var parted []string
	w.page = New(Deps{Tokens: w.memory, Now: at(noon), DropConnections: func(_ context.Context, account ids.Account, session string) error {
		if _, err := w.Token(context.Background(), session); err == nil {
			t.Error("its connections are looked for before the session is deleted")
		}
		parted = append(parted, string(account)+" "+session)
		return nil
	}})
	out := post("/signout", "", "Cookie", "piloto_session_80=tok; piloto_session_80="+c.Value+"; piloto_session_80=nope")
	if gone := session(out); out.Code != http.StatusSeeOther || gone == nil || gone.MaxAge >= 0 {
		t.Errorf("%d %v", out.Code, gone)
	}
	if _, err := w.Token(context.Background(), hashOf(c.Value)); err == nil {
		t.Error("the session is still there")
	}
	if want := []string{"acc " + hashOf(c.Value)}; !slices.Equal(parted, want) {
		t.Errorf("parted from %v, want %v", parted, want)
	}
	post("/signout", "", "Cookie", "piloto_session_80="+"tok")
	if _, err := w.Token(context.Background(), hashOf("tok")); err != nil {
		t.Error("signing out with a token in the cookie deleted the token")
	}
}

func TestLanguageIsStoredAndRedirectsToThisSite(t *testing.T) {
	w, _, _ := furnishedWorld(t)
	for referer, want := range map[string]string{
		"http://example.com/?chat=c1": "/?chat=c1", "https://evil.example/?chat=c1": "/", "http://example.com/signin?code=x": "/",
		"": "/", "http://example.com//evil.example": "/",
	} {
		r := httptest.NewRequest(http.MethodPost, "/ui/lang", strings.NewReader(url.Values{"lang": {"en"}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Referer", referer)
		rec := httptest.NewRecorder()
		w.page.ServeHTTP(rec, r)
		if rec.Code != http.StatusSeeOther || rec.Header().Get("Location") != want || !strings.Contains(rec.Header().Get("Set-Cookie"), "piloto_lang=en") {
			t.Errorf("from %q: %d %v", referer, rec.Code, rec.Header())
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Language", "es")
	r.AddCookie(&http.Cookie{Name: "piloto_lang", Value: "en"})
	rec := httptest.NewRecorder()
	w.page.ServeHTTP(rec, r)
	if !strings.Contains(rec.Body.String(), `<html lang="en">`) {
		t.Error("the choice is forgotten")
	}
}

// TestAUsedCodeLeadsOn: who is signed in goes on to the page, and who may be is offered the way.
func TestAUsedCodeLeadsOn(t *testing.T) {
	for _, c := range []struct{ lang, in, again string }{
		{"es", "Ya has entrado en este navegador.", "Si ya has entrado, sigue aquí."},
		{"en", "You are signed in already in this browser.", "If you are already signed in, continue here."},
	} {
		w := newWorld(at(noon), Facts{Local: true})
		for _, signedIn := range []bool{true, false} {
			r := httptest.NewRequest(http.MethodGet, "/signin?code=used", http.NoBody)
			r.Header.Set("Accept-Language", c.lang)
			if signedIn {
				r = r.WithContext(auth.NewContext(r.Context(), ana))
			}
			rec := httptest.NewRecorder()
			w.page.ServeHTTP(rec, r)
			body := rec.Body.String()
			button := strings.Contains(body, `<a class="button primary wide" href="/">`)
			if rec.Code != http.StatusUnauthorized || strings.Contains(body, c.in) != signedIn || button != signedIn || strings.Contains(body, `<a href="/">`+c.again) == signedIn {
				t.Errorf("%s, signed in: %v: %d %s", c.lang, signedIn, rec.Code, body)
			}
		}
	}
}
