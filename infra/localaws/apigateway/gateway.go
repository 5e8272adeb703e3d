// Package apigateway replaces API Gateway's HTTP API in front of functions in their deployed form.
// A request becomes an event of payload format 2.0, the result of the function becomes the
// response, and an authorizer with simple responses identifies the caller.
//
// These rules hold, as on AWS:
//
//   - An event has everything that was sent, in the form of the HTTP API: header
//     names in lower case, repeated values joined with commas, cookies separately,
//     the path decoded and the query not.
//   - A function that failed, or returned an invalid answer, is 500 without details;
//     one that takes longer than the API waits is 503, and continues.
//   - A request is refused when its authorizer fails or does not answer, or when the
//     request lacks an identity source.
//
// Where the documentation of AWS is silent or contradictory, this package chooses the behaviour
// that loses nothing: a body with a text type that is not UTF-8 is passed as base64.
package apigateway

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// The limits of the HTTP API and of the functions behind it.
const (
	MaxBody  = 10 << 20         // size of a request, in bytes
	MaxEvent = 6 << 20          // size of a function's input, and of its result
	Wait     = 30 * time.Second // for a function
	AuthWait = 10 * time.Second // for the authorizer
)

// Invoke calls a function with an event and returns its answer. An error means that it failed, or
// could not be called; the client gets no details.
type Invoke func(ctx context.Context, function string, event []byte) ([]byte, error)

// Route is the target of a request.
type Route struct {
	Key      string // "GET /api/chats/{id}", or "$default"
	Path     string // of the key: "/api/chats/{id}"; "$default" has no parameters
	Function string
	Open     bool // without the authorizer
}

// Authorizer is a function that identifies callers, with simple responses.
type Authorizer struct {
	Function string
	// Sources are the identity sources: $request.header.NAME, $request.querystring.NAME,
	// $context.NAME or $stageVariables.NAME. A request without one of them is 401, and the function
	// is not called.
	Sources []string
	// Life is the time for which an answer is valid for the same sources; 0: for one request. With
	// $context.routeKey among the sources, each route has an answer of its own.
	Life time.Duration
}

// Options describe the API that the gateway replaces.
type Options struct {
	Account    string
	Region     string
	API        string            // its id
	Stage      string            // empty: $default
	Variables  map[string]string // of the stage
	Route      func(method, escapedPath string) (Route, bool)
	Authorizer *Authorizer // nil: every route is open
	Invoke     Invoke
	Trace      func(ctx context.Context, trace string) context.Context // trace id of an invocation
	NewTrace   func(time.Time) string                                  // X-Amzn-Trace-Id of a request that has none
	Now        func() time.Time
	Log        *slog.Logger
}

// Gateway is one HTTP API.
type Gateway struct {
	options Options

	mu    sync.Mutex
	known map[string]verdict // answers of the authorizer, by the sources
}

// New returns a gateway.
func New(o Options) *Gateway {
	if o.Stage == "" {
		o.Stage = defaultStage
	}
	return &Gateway{options: o, known: map[string]verdict{}}
}

const defaultStage = "$default"

// ServeHTTP serves a request. It waits for the function until the context of r ends, and does not
// stop the function then.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := newID()
	w.Header().Set("Apigw-Requestid", id)
	route, ok := g.options.Route(r.Method, r.URL.EscapedPath())
	if !ok {
		refuse(w, http.StatusNotFound)
		return
	}
	if r.ContentLength > MaxBody {
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			refuse(w, http.StatusRequestEntityTooLarge)
			return
		}
		refuse(w, http.StatusBadRequest)
		return
	}
	e := g.event(r, route, id, body)
	ctx := g.options.Trace(r.Context(), e.Headers[traceHeader])
	if g.options.Authorizer != nil && !route.Open {
		authContext, status := g.authorize(ctx, e, r.Method)
		if status != 0 {
			refuse(w, status)
			return
		}
		e.Context.Authorizer = &authorizerContext{Lambda: authContext}
	}
	g.integrate(ctx, w, r, route, e)
}

// integrate calls the route's function and writes its answer.
func (g *Gateway) integrate(ctx context.Context, w http.ResponseWriter, r *http.Request, route Route, e *event) {
	raw, err := json.Marshal(e)
	if err != nil { // strings can always be encoded
		panic("apigateway: " + err.Error())
	}
	if len(raw) > MaxEvent {
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	waits, cancel := context.WithTimeout(ctx, Wait)
	defer cancel()
	out, err := g.options.Invoke(waits, route.Function, raw)
	if err != nil {
		g.options.Log.ErrorContext(ctx, "apigateway.failed", "route", route.Key, "request_id", e.Context.RequestID, "error", err)
		if errors.Is(waits.Err(), context.DeadlineExceeded) {
			refuse(w, http.StatusServiceUnavailable)
			return
		}
		refuse(w, http.StatusInternalServerError)
		return
	}
	a, err := readAnswer(out)
	if err != nil {
		g.options.Log.ErrorContext(ctx, "apigateway.malformed", "route", route.Key, "request_id", e.Context.RequestID, "error", err)
		refuse(w, http.StatusInternalServerError)
		return
	}
	a.write(w, r.Method)
}

// refuse responds with the gateway's own error.
func refuse(w http.ResponseWriter, status int) {
	text := http.StatusText(status)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"message":"` + text + `"}`))
}

// newID returns an id in the format of API Gateway.
func newID() string {
	var b [11]byte
	_, _ = rand.Read(b[:]) // never fails: it aborts the program instead
	return base64.URLEncoding.EncodeToString(b[:])
}
