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
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/redact"
)

// TraceHeader carries the trace id, in and out.
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

// errPanic is what a client is told when a handler panicked.
var errPanic = fault.New(fault.Internal, "internal_error")

// Middleware gives every request a trace id (the incoming X-Trace-Id when it is
// a valid one), sets it on the answer, logs request.start and request.end with
// method, route, status and duration_ms, and turns a panic into what render
// writes for an internal error.
//
// The route is Request.Pattern, which the router below sets on the request it is
// given; the path itself is not logged, as it may hold anything.
//
// Requests that are refused for how often they come are counted, and logged together
// once a minute, because whoever sends them would decide how long the log is.
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

// refusals counts requests that were refused between two lines of the log.
type refusals struct {
	mu   sync.Mutex
	n    int
	told time.Time
}

// count counts one. It returns how many there were since it last did so, a minute ago or
// longer; 0: the next line will say.
func (m *refusals) count(at time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	if at.Sub(m.told) < time.Minute && !at.Before(m.told) {
		return 0
	}
	n := m.n
	m.n, m.told = 0, at
	return n
}

// method bounds what a client can write into a log line.
func method(m string) string {
	if len(m) > 16 {
		return m[:16] + "…"
	}
	return m
}

// response remembers the status.
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
