package webui

import (
	"bytes"
	"context"
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
	req *http.Request
	tag locale.Tag
	who auth.Principal // zero when nobody is signed in
	now time.Time
}

// words returns how times and sizes are written in the visit's language, at its time.
func (v visit) words() words { return words{tag: v.tag, now: func() time.Time { return v.now }} }

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

// shows returns a handler that reads a view and writes it with a template.
func shows[T any](p printer, name string, read func(ctx context.Context, v visit) (T, error)) handler {
	return func(w http.ResponseWriter, v visit) error {
		data, err := read(v.req.Context(), v)
		if err != nil {
			return err
		}
		p.write(w, v, http.StatusOK, name, data)
		return nil
	}
}

// named returns a reader of the thing that {id} in the path names.
func named[T any](read func(ctx context.Context, v visit, id string) (T, error)) func(context.Context, visit) (T, error) {
	return func(ctx context.Context, v visit) (T, error) { return read(ctx, v, v.req.PathValue("id")) }
}

// gate checks requests before they are served: that they come from this origin, and that they are not too many.
type gate struct {
	print  printer
	origin *http.CrossOriginProtection
	meter  *rate.Meter
	now    func() time.Time
}

func (g gate) serve(h handler, fragment bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visit{req: r, tag: language(r), now: g.now()}
		v.who, _ = auth.FromContext(r.Context())
		if err := g.origin.Check(r); err != nil {
			g.print.fail(w, v, auth.ErrCrossOrigin.Because(err), fragment)
			return
		}
		if err := g.take(v); err != nil {
			g.print.fail(w, v, err, fragment)
			return
		}
		if err := h(w, v); err != nil {
			g.print.fail(w, v, err, fragment)
		}
	})
}

// checkRate refuses requests beyond the limit, including images and scripts.
func (g gate) checkRate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := rate.Exceeded(r.Context()); err != nil {
			g.print.fail(w, visit{req: r, tag: language(r), now: g.now()}, err, strings.HasPrefix(r.URL.Path, "/ui/"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// take counts a request that changes data, for its user or, when nobody is signed in, for its address.
func (g gate) take(v visit) error {
	if v.req.Method == http.MethodGet || v.req.Method == http.MethodHead || v.req.Pattern == textRoute {
		return nil
	}
	who := rate.Address(v.req.RemoteAddr)
	if v.who.Account != "" {
		who = rate.User(v.who.Account, v.who.User)
	}
	_, err := g.meter.Take(v.req.Context(), rate.Writes, who, v.now)
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

// printer writes views with the templates; log may be nil.
type printer struct {
	views views
	facts Facts
	log   *slog.Logger
}

// fail renders an error as a page, or as a fragment.
func (p printer) fail(w http.ResponseWriter, v visit, err error, fragment bool) {
	f := failure{Trace: w.Header().Get("X-Trace-Id"), Facts: p.facts}
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
	if status >= http.StatusInternalServerError && p.log != nil && !errors.Is(err, fault.ErrStorage) { // the store logs that itself
		p.log.LogAttrs(v.req.Context(), slog.LevelError, "webui.failed",
			slog.String("path", v.req.URL.Path), slog.String("trace_id", f.Trace), slog.Any("error", err))
	}
	name := "error-page"
	if fragment {
		name = "error-fragment"
	}
	p.write(w, v, status, name, f)
}

// write renders a template completely before it sends the first byte, so that a failure never leaves half a page.
func (p printer) write(w http.ResponseWriter, v visit, status int, name string, data any) {
	var b bytes.Buffer
	if err := p.views.renderThemed(&b, v.tag, theme(v.req), name, data); err != nil {
		if p.log != nil {
			p.log.LogAttrs(v.req.Context(), slog.LevelError, "webui.template", slog.Any("error", err))
		}
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Cookie, Accept-Language, Accept-Encoding")
	send(w, v.req, status, b.Bytes(), func() []byte { return zipped(b.Bytes()) })
}

// html renders a template for use in another one.
func (p printer) html(tag locale.Tag, name string, data any) (render.HTML, error) {
	var b bytes.Buffer
	err := p.views.render(&b, tag, name, data)
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
