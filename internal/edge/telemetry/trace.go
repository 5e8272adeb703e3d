package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"piloto/internal/access/rate"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/redact"
)

// TraceHeader is the header with the trace id of requests and responses.
const TraceHeader = "X-Trace-Id"

type traceKey struct{}

// WithTrace returns a context that carries a trace id.
func WithTrace(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, traceKey{}, id)
}

// Trace returns the context's trace id, or "".
func Trace(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}

// errPanic is the error that a client gets when a handler panicked.
var errPanic = fault.New(fault.Internal, "internal_error")

// Middleware gives every request a trace id (the incoming X-Trace-Id when it is
// valid), sets it on the response, logs request.start and request.end with method,
// route, status and duration_ms, and recovers a panic, for which render writes an
// internal error.
//
// The route is Request.Pattern, which the router sets on the request that it gets. The
// path is not logged, because it may contain anything.
//
// Requests that are refused because of a rate limit are counted, and logged together
// once a minute, because otherwise their sender would decide the size of the log.
func Middleware(log *slog.Logger, now func() time.Time, render func(http.ResponseWriter, *http.Request, error), next http.Handler) http.Handler {
	var many refusals
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(TraceHeader)
		if len(r.Header.Values(TraceHeader)) != 1 || !ids.ValidTrace(id) || redact.Text(id) != id {
			id = ids.NewTrace()
		}
		ctx := WithTrace(r.Context(), id)
		r = r.WithContext(ctx)
		w.Header().Set(TraceHeader, id)
		out := &response{ResponseWriter: w}
		began := now()
		exceeded := rate.Exceeded(ctx) != nil
		if !exceeded {
			log.InfoContext(ctx, "request.start", "method", method(r.Method))
		}
		defer func() {
			if p := recover(); p != nil {
				log.ErrorContext(ctx, "request.panic", "panic", p, "stack", string(debug.Stack()))
				if out.status == 0 {
					render(out, r, errPanic)
				}
			}
			if exceeded && out.status == http.StatusTooManyRequests {
				if n := many.count(began); n > 0 {
					log.InfoContext(ctx, "request.refused", "status", out.status, "requests", n)
				}
				return
			}
			log.InfoContext(ctx, "request.end", "method", method(r.Method), "route", r.Pattern,
				"status", cmp.Or(out.status, http.StatusOK), "duration_ms", now().Sub(began).Milliseconds())
		}()
		next.ServeHTTP(out, r)
	})
}

// refusals counts the requests that were refused since the last log line.
type refusals struct {
	mu       sync.Mutex
	n        int
	loggedAt time.Time
}

// count counts one request. Once a minute it returns the number since the last time; otherwise it returns 0.
func (m *refusals) count(at time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	if at.Sub(m.loggedAt) < time.Minute && !at.Before(m.loggedAt) {
		return 0
	}
	n := m.n
	m.n, m.loggedAt = 0, at
	return n
}

// method shortens a method, because a client chooses its length.
func method(m string) string {
	return clip.Bytes(m, 16)
}

// response records the status.
type response struct {
	http.ResponseWriter
	status int
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the writer below.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
