package webui

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// signInView is the sign-in page; Key is the text for the failure of the last attempt.
type signInView struct {
	Facts Facts
	Key   string
	Again string // address of a link from another site, whose request has no session cookie
	In    bool   // the browser is signed in already
}

// signing signs people in and out. drop stops the pushes to the connections of a session, by its hash; nil: there are none.
type signing struct {
	print  printer
	tokens auth.Store
	meter  *rate.Meter
	drop   func(ctx context.Context, account ids.Account, session string) error
}

func (s signing) page(w http.ResponseWriter, v visit, status int, key string) {
	view := signInView{Facts: s.print.facts, Key: key, In: v.who.Account != ""}
	if key == codeUsed && !view.In { // a link in a message has no session cookie, even of who is signed in
		view.Again = "/"
	}
	if v.req.URL.Path == "/" && v.req.URL.RawQuery != "" {
		view.Again = (&url.URL{Path: "/", RawQuery: v.req.URL.RawQuery}).String()
	}
	s.print.write(w, v, status, "signin", view)
}

// codeUsed is the text for a one-time code that does not sign in.
const codeUsed = "page.signin.code_used"

// entered is the parameter of the page that comes after signing in. Its value is the query of the page to go on to.
const entered = "in"

// goOn goes on to the page that the person wanted. Without a session it says that the browser did not keep the cookie
// or, after a link on another site, did not send it yet; then the link of the page is enough.
func (s signing) goOn(w http.ResponseWriter, v visit) error {
	to := (&url.URL{Path: "/", RawQuery: v.req.URL.Query().Get(entered)}).String()
	if v.who.Account != "" {
		http.Redirect(w, v.req, to, http.StatusSeeOther)
		return nil
	}
	s.print.write(w, v, http.StatusUnauthorized, "signin", signInView{Facts: s.print.facts, Key: "page.signin.no_cookie", Again: to})
	return nil
}

// useCode signs in with the one-time code in an address.
func (s signing) useCode(w http.ResponseWriter, v visit) error {
	code := v.req.URL.Query().Get("code")
	if v.req.Method == http.MethodHead { // a preview's HEAD request must not use the code
		return nil
	}
	if code == "" && v.req.URL.Query().Has(entered) {
		return s.goOn(w, v)
	}
	if code == "" {
		http.Redirect(w, v.req, "/", http.StatusSeeOther)
		return nil
	}
	if err := s.exchange(v, func() error {
		_, err := auth.Authenticate(v.req.Context(), s.tokens, code, v.now, auth.KindCode)
		return err
	}); err != nil {
		// Signing in would consume any token with this hash, not only a code.
		return s.showRefusal(w, v, err, codeUsed)
	}
	return s.signIn(w, v, code, auth.KindCode, codeUsed)
}

// exchange calls f, which exchanges a secret, and counts a bad secret for the address. Those that other pages make
// the browser send are counted separately, because a malicious page must not block a person who mistypes.
func (s signing) exchange(v visit, exchange func() error) error {
	from := rate.Address(v.req.RemoteAddr)
	switch {
	case auth.FromAnotherPage(v.req.Header, v.req.Host):
		from = from.Pages()
	case auth.ByLink(v.req.Header):
		from = from.Links()
	}
	err := exchange()
	if err != nil && fault.KindOf(err) == fault.Unauthenticated {
		if many := s.meter.Bad(v.req.Context(), from, v.now); many != nil {
			return many
		}
	}
	return err
}

// useToken signs in with the token in the form.
func (s signing) useToken(w http.ResponseWriter, v visit) error {
	v.req.Body = http.MaxBytesReader(w, v.req.Body, 8<<10)
	return s.signIn(w, v, strings.TrimSpace(v.req.PostFormValue("token")), auth.KindToken, "page.signin.refused")
}

func (s signing) signIn(w http.ResponseWriter, v visit, secret string, kind auth.Kind, refused string) error {
	var session string
	err := s.exchange(v, func() (err error) {
		session, err = auth.SessionFor(v.req.Context(), s.tokens, secret, kind, v.now, auth.SessionIdle)
		return err
	})
	if err != nil {
		return s.showRefusal(w, v, err, refused)
	}
	setSession(w, v.req, session, int(auth.SessionLife/time.Second))
	query := ""
	if kind == auth.KindToken {
		query = backTo(v.req).RawQuery // the page of a link that was followed without a session
	}
	http.Redirect(w, v.req, "/signin?"+url.Values{entered: {query}}.Encode(), http.StatusSeeOther)
	return nil
}

// showRefusal shows the form with the reason of the refusal. It returns an error of the store.
func (s signing) showRefusal(w http.ResponseWriter, v visit, err error, why string) error {
	if fault.KindOf(err) != fault.Unauthenticated {
		return err
	}
	s.page(w, v, http.StatusUnauthorized, why)
	return nil
}

// signOut ends the sessions of all session cookies. It deletes only sessions: a token in a cookie is kept.
func (s signing) signOut(w http.ResponseWriter, v visit) error {
	for _, name := range []string{auth.SecureCookie, auth.SessionCookie(false, v.req.Host)} {
		for _, c := range v.req.CookiesNamed(name) {
			if err := s.endSession(v.req.Context(), ids.Hash(c.Value)); err != nil && !isMissing(err) {
				return err
			}
		}
	}
	setSession(w, v.req, "", -1)
	http.Redirect(w, v.req, "/", http.StatusSeeOther)
	return nil
}

// endSession deletes a session, and stops the pushes to its connections.
func (s signing) endSession(ctx context.Context, hash string) error {
	t, err := s.tokens.Token(ctx, hash)
	if err != nil || t.Kind != auth.KindSession {
		return err
	}
	if err := s.tokens.DeleteToken(ctx, hash); err != nil || s.drop == nil {
		return err
	}
	return s.drop(ctx, t.Account, hash)
}

func setSession(w http.ResponseWriter, r *http.Request, secret string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie(r), Value: secret, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure(r),
	})
}

// sessionCookie returns the name of the session cookie.
func sessionCookie(r *http.Request) string { return auth.SessionCookie(secure(r), r.Host) }

// secure reports whether the browser uses https, here or at a proxy.
func secure(r *http.Request) bool {
	return r.TLS != nil || r.URL.Scheme == "https" || auth.ByTLS(r.Header.Get("X-Forwarded-Proto"))
}
