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

// signInView is the sign-in page; Key names the sentence that says why the last
// attempt failed.
type signInView struct {
	Facts Facts
	Key   string
	Again string // the address that a link led to, from another site: the session is not sent along
}

func (s *site) signInPage(w http.ResponseWriter, v visit, status int, key string) {
	view := signInView{Facts: s.Facts, Key: key}
	if v.URL.Path == "/" && v.URL.RawQuery != "" {
		view.Again = (&url.URL{Path: "/", RawQuery: v.URL.RawQuery}).String()
	}
	s.write(w, v, status, "signin", view)
}

// useCode signs in by the one-time code of a ready-made address.
func (s *site) useCode(w http.ResponseWriter, v visit) error {
	code := v.URL.Query().Get("code")
	if v.Method == http.MethodHead { // a look ahead, by a preview for one, uses nothing up
		return nil
	}
	if code == "" {
		http.Redirect(w, v.Request, "/", http.StatusSeeOther)
		return nil
	}
	if err := s.look(v, func() error {
		_, err := auth.Authenticate(v.Context(), s.Tokens, code, v.now, auth.KindCode)
		return err
	}); err != nil {
		// Taking it would use up whatever it is, a token among others.
		return s.refused(w, v, err, "page.signin.code_used")
	}
	return s.signIn(w, v, code, auth.KindCode, "page.signin.code_used")
}

// look has a secret exchanged for what it is good for. It counts a bad one; of those that other
// pages have a browser send, apart, because a page that is visited must not change what a person
// is told who mistypes.
func (s *site) look(v visit, exchange func() error) error {
	from := rate.Address(v.RemoteAddr)
	switch {
	case auth.FromAnotherPage(v.Header, v.Host):
		from = from.Pages()
	case auth.ByLink(v.Header):
		from = from.Links()
	}
	err := exchange()
	if err != nil && fault.KindOf(err) == fault.Unauthenticated {
		if many := s.Meter.Bad(v.Context(), from, v.now); many != nil {
			return many
		}
	}
	return err
}

// useToken signs in by the token typed into the form.
func (s *site) useToken(w http.ResponseWriter, v visit) error {
	v.Body = http.MaxBytesReader(w, v.Body, 8<<10)
	return s.signIn(w, v, strings.TrimSpace(v.PostFormValue("token")), auth.KindToken, "page.signin.refused")
}

func (s *site) signIn(w http.ResponseWriter, v visit, secret string, kind auth.Kind, refused string) error {
	var session string
	err := s.look(v, func() (err error) {
		session, err = auth.SessionFor(v.Context(), s.Tokens, secret, kind, v.now, auth.SessionIdle)
		return err
	})
	if err != nil {
		return s.refused(w, v, err, refused)
	}
	s.setSession(w, v.Request, session, int(auth.SessionLife/time.Second))
	to := "/"
	if kind == auth.KindToken {
		to = back(v.Request) // where a link led before there was a session
	}
	http.Redirect(w, v.Request, to, http.StatusSeeOther)
	return nil
}

// refused shows the form again, saying why; a store that cannot answer is an error.
func (s *site) refused(w http.ResponseWriter, v visit, err error, why string) error {
	if fault.KindOf(err) != fault.Unauthenticated {
		return err
	}
	s.signInPage(w, v, http.StatusUnauthorized, why)
	return nil
}

// signOut ends the sessions of the cookies, by whichever the person came. Only sessions
// are deleted: a token that found its way into a cookie stays what it is.
func (s *site) signOut(w http.ResponseWriter, v visit) error {
	for _, name := range []string{auth.SecureCookie, auth.SessionCookie(false, v.Host)} {
		for _, c := range v.CookiesNamed(name) {
			if err := s.endSession(v.Context(), ids.Hash(c.Value)); err != nil && !isMissing(err) {
				return err
			}
		}
	}
	s.setSession(w, v.Request, "", -1)
	http.Redirect(w, v.Request, "/", http.StatusSeeOther)
	return nil
}

// endSession deletes a session, and then has nothing more pushed to whom it let connect.
func (s *site) endSession(ctx context.Context, hash string) error {
	t, err := s.Tokens.Token(ctx, hash)
	if err != nil || t.Kind != auth.KindSession {
		return err
	}
	if err := s.Tokens.DeleteToken(ctx, hash); err != nil || s.Part == nil {
		return err
	}
	return s.Part(ctx, t.Account, hash)
}

func (s *site) setSession(w http.ResponseWriter, r *http.Request, secret string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie(r), Value: secret, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure(r),
	})
}

// sessionCookie is the name of the cookie of a session.
func sessionCookie(r *http.Request) string { return auth.SessionCookie(secure(r), r.Host) }

// secure reports whether the person's browser came over https, here or at the
// proxy in front of us.
func secure(r *http.Request) bool {
	return r.TLS != nil || r.URL.Scheme == "https" || auth.ByTLS(r.Header.Get("X-Forwarded-Proto"))
}
