// Package apigateway owns what stands in for API Gateway's HTTP API in front of
// functions that run as they are deployed: a request becomes an event of payload
// format 2.0, what the function returns becomes the answer, and an authorizer with
// simple responses says who is asking.
//
// What must stay true, as it is there:
//
//   - An event says all that was sent, in the form that the HTTP API gives it: names
//     of headers in small letters, what stands twice joined with commas, cookies by
//     themselves, the path decoded and the query not.
//   - A function that failed, or answered what is no answer, is 500 and nothing of it
//     is told; one that takes longer than the API waits is 503, and goes on.
//   - Nobody passes an authorizer that failed, that does not answer, or that is asked
//     for nothing: the request lacks what it is to judge.
//
// Where AWS does not say what it does, or says different things, this does what loses
// nothing: a body that claims to be text and is not UTF-8 travels as base64.
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
	MaxBody  = 10 << 20         // of a request, in bytes
	MaxEvent = 6 << 20          // of what a function is called with, and of what it returns
	Wait     = 30 * time.Second // for a function
	AuthWait = 10 * time.Second // for the authorizer
)

// Invoke calls a function with an event and returns what it answered. An error says
// that it failed, or could not be called; who waits is told neither.
type Invoke func(ctx context.Context, function string, event []byte) ([]byte, error)

// Route is where a request goes.
type Route struct {
	Key      string // "GET /api/chats/{id}", or "$default"
	Path     string // of the key: "/api/chats/{id}"; "$default" has no parameters
	Function string
	Open     bool // the authorizer is not asked
}

// Authorizer is a function that says who is asking, with simple responses.
type Authorizer struct {
	Function string
	// Sources are what it judges by: $request.header.NAME, $request.querystring.NAME,
	// $context.NAME or $stageVariables.NAME. A request without one of them is 401, and
	// the function is not asked.
	Sources []string
	// Life is how long an answer is good for whoever has the same sources; 0: for one
	// request. To keep one for each route, $context.routeKey is one of the sources.
	Life time.Duration
}

// Options say what the gateway stands in for.
type Options struct {
	Account    string
	Region     string
	API        string            // its id
	Stage      string            // empty: $default
	Variables  map[string]string // of the stage
	Route      func(method, escapedPath string) (Route, bool)
	Authorizer *Authorizer // nil: every route is open
	Invoke     Invoke
	Trace      func(ctx context.Context, trace string) context.Context // of an invocation
	NewTrace   func(time.Time) string                                  // X-Amzn-Trace-Id of a request that has none
	Now        func() time.Time
	Log        *slog.Logger
}

// Gateway is one HTTP API.
type Gateway struct {
	options Options

	mu    sync.Mutex
	known map[string]verdict // of the authorizer, by the sources
}

// New returns a gateway.
func New(o Options) *Gateway {
	if o.Stage == "" {
		o.Stage = defaultStage
	}
	return &Gateway{options: o, known: map[string]verdict{}}
}

const defaultStage = "$default"

// ServeHTTP answers a request. A function is waited for as long as r's context lasts,
// and not stopped when that ends.
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
		said, status := g.authorize(ctx, e, r.Method)
		if status != 0 {
			refuse(w, status)
			return
		}
		e.Context.Authorizer = &authorized{Lambda: said}
	}
	g.integrate(ctx, w, r, route, e)
}

// integrate calls the route's function and writes what it answered.
func (g *Gateway) integrate(ctx context.Context, w http.ResponseWriter, r *http.Request, route Route, e *event) {
	raw, err := json.Marshal(e)
	if err != nil { // strings can be written
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

// refuse answers in the gateway's own words.
func refuse(w http.ResponseWriter, status int) {
	text := http.StatusText(status)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"message":"` + text + `"}`))
}

// newID returns an id as API Gateway makes them.
func newID() string {
	var b [11]byte
	_, _ = rand.Read(b[:]) // never fails: it aborts the program instead
	return base64.URLEncoding.EncodeToString(b[:])
}
