package webui

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
)

// visit is one request: its user, language and time.
type visit struct {
	*http.Request
	tag locale.Tag
	who auth.Principal // zero when nobody is signed in
	now time.Time
}

// handler serves a visit or returns an error, which serve renders.
type handler func(w http.ResponseWriter, v visit) error

var errNotFound = fault.New(fault.NotFound, "page.not_found")

func notFound(http.ResponseWriter, visit) error { return errNotFound }

func requireUser(next handler) handler {
	return func(w http.ResponseWriter, v visit) error {
		if v.who.Account == "" {
			return auth.ErrRequired
		}
		return next(w, v)
	}
}

func (s *site) serve(h handler, fragment bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visit{Request: r, tag: language(r), now: s.Now()}
		v.who, _ = auth.FromContext(r.Context())
		if err := s.origin.Check(r); err != nil {
			s.fail(w, v, auth.ErrCrossOrigin.Because(err), fragment)
			return
		}
		if err := s.take(v); err != nil {
			s.fail(w, v, err, fragment)
			return
		}
		if err := h(w, v); err != nil {
			s.fail(w, v, err, fragment)
		}
	})
}

// checkRate refuses requests beyond the limit, including images and scripts.
func (s *site) checkRate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := rate.Exceeded(r.Context()); err != nil {
			s.fail(w, visit{Request: r, tag: language(r), now: s.Now()}, err, strings.HasPrefix(r.URL.Path, "/ui/"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// take counts a request that changes data, for its user or, when nobody is signed in, for its address.
func (s *site) take(v visit) error {
	if v.Method == http.MethodGet || v.Method == http.MethodHead || v.Pattern == textRoute {
		return nil
	}
	who := rate.Address(v.RemoteAddr)
	if v.who.Account != "" {
		who = rate.User(v.who.Account, v.who.User)
	}
	_, err := s.Meter.Take(v.Context(), rate.Writes, who, v.now)
	return err
}

const langCookie = "piloto_lang"

// language returns the one chosen on the page, else the browser's preference.
func language(r *http.Request) locale.Tag {
	if c, err := r.Cookie(langCookie); err == nil {
		return locale.Match(c.Value)
	}
	return locale.Match(r.Header.Get("Accept-Language"))
}

// failure is the data of the error templates.
type failure struct {
	Key   string // page.error.KEY and page.error.KEY.do
	After string // seconds until a retry; "": unknown
	Trace string
	Facts Facts
}

// fail renders an error as a page, or as a fragment.
func (s *site) fail(w http.ResponseWriter, v visit, err error, fragment bool) {
	f := failure{Trace: w.Header().Get("X-Trace-Id"), Facts: s.Facts}
	status := http.StatusInternalServerError
	switch fault.KindOf(err) {
	case fault.NotFound:
		f.Key, status = "not_found", http.StatusNotFound
	case fault.Unauthenticated:
		f.Key, status = "signed_out", http.StatusUnauthorized
	case fault.Forbidden:
		f.Key, status = "forbidden", http.StatusForbidden
	case fault.Invalid, fault.Malformed:
		f.Key, status = "not_found", http.StatusBadRequest
	case fault.Throttled:
		f.Key, f.After, status = "too_many", fault.Of(err).Args["retry_after"], http.StatusTooManyRequests
		w.Header().Set("Retry-After", f.After)
	case fault.Unavailable, fault.Upstream:
		f.Key, status = "unavailable", http.StatusServiceUnavailable
	default:
		f.Key = "internal"
	}
	if status >= http.StatusInternalServerError && s.Log != nil && !errors.Is(err, fault.ErrStorage) { // the store logs that itself
		s.Log.LogAttrs(v.Context(), slog.LevelError, "webui.failed",
			slog.String("path", v.URL.Path), slog.String("trace_id", f.Trace), slog.Any("error", err))
	}
	name := "error-page"
	if fragment {
		name = "error-fragment"
	}
	s.write(w, v, status, name, f)
}

// write renders a template completely before it sends the first byte, so that a failure never leaves half a page.
func (s *site) write(w http.ResponseWriter, v visit, status int, name string, data any) {
	var b bytes.Buffer
	if err := s.views.renderThemed(&b, v.tag, theme(v.Request), name, data); err != nil {
		if s.Log != nil {
			s.Log.LogAttrs(v.Context(), slog.LevelError, "webui.template", slog.Any("error", err))
		}
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Cookie, Accept-Language, Accept-Encoding")
	send(w, v.Request, status, b.Bytes(), func() []byte { return zipped(b.Bytes()) })
}

// html renders a template for use in another one.
func (s *site) html(tag locale.Tag, name string, data any) (render.HTML, error) {
	var b bytes.Buffer
	err := s.views.render(&b, tag, name, data)
	return render.HTML(b.String()), err //nolint:gosec // the template escaped it
}

// back returns the address of this site's page that sent the form, and never that of another site.
func back(r *http.Request) string { return backTo(r).String() }

func backTo(r *http.Request) *url.URL {
	to := &url.URL{Path: "/"}
	if ref, err := url.Parse(r.Referer()); err == nil && ref.Host == r.Host && ref.Path == "/" {
		to.RawQuery = ref.RawQuery
	}
	return to
}

// isMissing reports whether an error means that something does not exist.
func isMissing(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Kind == fault.NotFound
}
