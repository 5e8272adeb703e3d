package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/access/replay"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
)

// Async answers a turn after its request, so that it may take longer than a route allows: the request is stored,
// Start has an AsyncServer serve it, and the client gets 202 with the address of the answer.
type Async struct {
	// Start has AsyncServer.Serve called with an account and the id of a turn, with retries until it succeeds.
	Start func(ctx context.Context, account ids.Account, id string) error
	// Wait is how long a request waits when it has no preference; zero: until its turn ends, in the same function.
	Wait time.Duration
	// Most is the longest wait of a request, because its route times out soon after.
	Most time.Duration
}

// Header fields of RFC 7240.
const (
	headerPrefer  = "Prefer"
	headerApplied = "Preference-Applied"
	headerTrace   = "X-Trace-Id"
	respondAsync  = "respond-async"
)

const (
	leastWait = time.Second // enough time to find the faults of a request
	firstPoll = 50 * time.Millisecond
	lastPoll  = 500 * time.Millisecond
	askAgain  = 2 // seconds
	turnsPath = "/api/turns/"
)

var (
	errTurn    = fault.New(fault.NotFound, "turn.not_found")
	errGivenUp = fault.New(fault.Unavailable, "turn.given_up")     // every attempt to serve it failed
	errBegin   = fault.New(fault.Unavailable, "turn.not_begun")    // it is unknown whether it is served
	errAgain   = errors.New("httpapi: its key is still another's") // that request's process may have died
)

// Working is the answer for a turn in progress, with the address of its result.
type Working struct {
	TurnID  string `json:"turn_id"`
	Status  string `json:"status" enum:"working"`
	Message string `json:"message" doc:"for a person"`
	Read    string `json:"read" doc:"GET it: 202 and this while the turn goes on, then the status and the body that the request would have been answered with; for 24 hours"`
}

// storedRequest is a request in the store.
type storedRequest struct {
	Principal auth.Principal `json:"principal"`
	Webhook   string         `json:"webhook,omitempty"` // webhook that signed it
	Delivery  string         `json:"delivery,omitempty"`
	Method    string         `json:"method"`
	URL       string         `json:"url"`
	Host      string         `json:"host"`
	Header    http.Header    `json:"header"`
	Body      []byte         `json:"body"`
}

// storedAnswer is an answer in the store.
type storedAnswer struct {
	User   string      `json:"user"`
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
}

// storedFields are the stored header fields of a request. The principal is stored separately, and no secret is
// stored.
var storedFields = []string{"Accept", "Accept-Language", "Content-Type", headerKey}

func asyncKey(id string) replay.Key { return replay.Key{Scope: "turn", Value: id} }

// describeLong adds the Prefer header and the 202 response to a turn's operation.
func describeLong(h huma.API, op *huma.Operation) {
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: headerPrefer, In: "header", Schema: &huma.Schema{Type: huma.TypeString, Examples: []any{"respond-async, wait=10"}},
		Description: "respond-async: to be answered 202 when the turn takes longer than wait=N seconds, with the address of its answer (RFC 7240)",
	})
	describeWorking(h, op)
}

func describeWorking(h huma.API, op *huma.Operation) {
	op.Responses["202"] = &huma.Response{
		Description: "The turn goes on; Location is where its answer will be",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[Working](h)}},
	}
}

// describeTurn adds the possible answers of a turn.
func describeTurn(h huma.API, op *huma.Operation) {
	describeWorking(h, op)
	op.Responses["200"].Content = map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{
		OneOf: []*huma.Schema{schemaOf[SendAnswer](h), schemaOf[OperatorAnswer](h), schemaOf[AgentAnswer](h)},
	}}}
}

// schemaOf returns a reference to the schema of T.
func schemaOf[T any](h huma.API) *huma.Schema {
	return h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

type ticketKey struct{}

// ticketOf returns the ticket of a turn that is served after its request.
func ticketOf(ctx context.Context) (ticket, bool) {
	t, ok := ctx.Value(ticketKey{}).(ticket)
	return t, ok
}

// preferredWait parses how long a client wants to wait before a 202. It is not ok when the client has no such
// preference.
func preferredWait(h http.Header) (wait time.Duration, ok bool) {
	for _, p := range strings.Split(strings.Join(h.Values(headerPrefer), ","), ",") {
		p, _, _ = strings.Cut(p, ";")
		name, value, _ := strings.Cut(p, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case respondAsync:
			ok = true
		case "wait":
			if n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 16); err == nil {
				wait = time.Duration(n) * time.Second
			}
		}
	}
	return wait, ok
}

// asyncWait reports whether a request is answered asynchronously, and how long it waits first. A request whose
// answer is stored under its key is answered at once.
func (c Config) asyncWait(to *route, r *http.Request) (time.Duration, bool) {
	l := c.Async
	if _, serving := ticketOf(r.Context()); l == nil || serving || !to.long || c.isAnswered(r.Context()) {
		return 0, false
	}
	wait, ok := preferredWait(r.Header)
	if !ok {
		return l.Wait, l.Wait > 0
	}
	return min(max(wait, leastWait), l.Most), true
}

// isAnswered reports whether there is an answer under the request's key.
func (c Config) isAnswered(ctx context.Context) bool {
	key, _ := replayKey(ctx)
	if key == (replay.Key{}) {
		return false
	}
	claim, err := c.Once.Lookup(ctx, caller(ctx).Account, key)
	return err == nil && claim.Done
}

// answerAsync starts a turn, waits for it, and answers with its result or with 202.
func (c Config) answerAsync(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	var id string
	var got storedAnswer
	done := false
	err := c.take(r.Context(), rate.Turns)
	if err == nil {
		id, err = c.begin(r)
	}
	if err == nil {
		got, done, err = c.await(r.Context(), id, wait)
	}
	switch {
	case err != nil:
		c.render(w, r, err)
	case done:
		got.write(w.Header(), w.WriteHeader, w)
	default:
		w.Header().Set(headerApplied, respondAsync)
		c.working(r.Context(), id).write(w.Header(), w.WriteHeader, w)
	}
}

// begin stores a request and starts its turn.
func (c Config) begin(r *http.Request) (id string, err error) {
	s, _ := r.Context().Value(identityKey{}).(requestIdentity)
	d, _ := r.Context().Value(deliveryKey{}).(delivery)
	b := storedRequest{
		Principal: caller(r.Context()), Webhook: d.webhook, Delivery: d.id,
		Method: r.Method, URL: r.URL.RequestURI(), Host: r.Host, Header: http.Header{}, Body: s.body,
	}
	for _, name := range storedFields {
		if values := r.Header.Values(name); len(values) > 0 {
			b.Header[name] = values
		}
	}
	at := c.Now()
	t := ticket{ID: c.NewID(at), At: at}
	if c.ArrivedAt != nil {
		if came := c.ArrivedAt(r.Context()); !came.IsZero() && came.Before(at) {
			t.At = came
		}
	}
	return t.ID, c.serveLater(r.Context(), b, t)
}

// serveLater stores a request, and starts to have it served by an AsyncServer.
func (c Config) serveLater(ctx context.Context, b storedRequest, t ticket) error {
	b.Header.Set("Accept-Language", string(requestInfoFrom(ctx).lang)) // includes the choice of the cookie
	b.Header.Set(headerTrace, c.Trace(ctx))
	raw, err := json.Marshal(b)
	if err != nil {
		return err
	}
	account := b.Principal.Account
	if err := c.Once.Begin(ctx, account, asyncKey(t.ID), t, raw); err != nil {
		return err
	}
	if err := c.Async.Start(ctx, account, t.ID); err != nil {
		return errBegin.Because(err)
	}
	return nil
}

// await waits for the answer of a turn of the caller; false: the turn is still in progress.
func (c Config) await(ctx context.Context, id string, wait time.Duration) (storedAnswer, bool, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		got, done, err := c.poll(ctx, id)
		if done || err != nil {
			return got, done, err
		}
		if retry.Wait(waiting, pause) != nil {
			return storedAnswer{}, false, ctx.Err()
		}
	}
}

// poll reads the answer of a turn of the caller.
func (c Config) poll(ctx context.Context, id string) (got storedAnswer, done bool, err error) {
	if !ids.Valid(id) {
		return storedAnswer{}, false, errTurn
	}
	claim, err := c.Once.Lookup(ctx, caller(ctx).Account, asyncKey(id))
	if errors.Is(err, replay.ErrUnknown) {
		err = errTurn
	}
	if err != nil {
		return storedAnswer{}, false, err
	}
	user := ""
	if claim.Done {
		err = json.Unmarshal(claim.Answer, &got)
		user = got.User
	} else {
		var b storedRequest
		err = json.Unmarshal(claim.Request, &b)
		user = b.Principal.User
	}
	if err == nil && user != caller(ctx).User {
		err = errTurn
	}
	return got, claim.Done, err
}

// working returns the 202 response for a turn in progress.
func (c Config) working(ctx context.Context, id string) storedAnswer {
	read := turnsPath + id
	body, err := json.Marshal(Working{TurnID: id, Status: "working", Message: locale.Text(requestInfoFrom(ctx).lang, "turn.working"), Read: read})
	if err != nil { // it contains only strings
		panic(err)
	}
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Location", read)
	h.Set(headerAfter, strconv.Itoa(askAgain))
	return storedAnswer{Status: http.StatusAccepted, Header: h, Body: string(body) + "\n"}
}

// write sends the stored answer. The trace id of this request is not overwritten.
func (t storedAnswer) write(h http.Header, status func(int), body io.Writer) {
	for name, values := range t.Header {
		if name != headerTrace {
			h[name] = values
		}
	}
	status(t.Status)
	_, _ = io.WriteString(body, t.Body)
}

// turnInput is the input of the route that reads a turn.
type turnInput struct {
	ID     string `path:"id"`
	Prefer string `header:"Prefer" doc:"wait=N: to wait up to N seconds for the answer (RFC 7240)"`
}

// readTurn answers with the response that the turn's own request would have got.
func (c Config) readTurn(ctx context.Context, in *turnInput) (*huma.StreamResponse, error) {
	wait, _ := preferredWait(http.Header{headerPrefer: {in.Prefer}})
	if c.Async != nil {
		wait = min(wait, c.Async.Most)
	}
	got, done, err := c.await(ctx, in.ID, wait)
	if err != nil {
		return nil, err
	}
	if !done {
		got = c.working(ctx, in.ID)
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		h := http.Header{}
		got.write(h, func(int) {}, io.Discard)
		for name, values := range h {
			for _, v := range values {
				out.SetHeader(name, v)
			}
		}
		out.SetStatus(got.Status)
		_, _ = io.WriteString(out.BodyWriter(), got.Body)
	}}, nil
}
