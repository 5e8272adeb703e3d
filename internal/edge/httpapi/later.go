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
)

// Later is how a turn is answered apart from the request that brought it, so that it may
// take longer than the route waits: the request is kept, Start has it served by Apart, and
// whoever brought it is told where its answer will be (202).
type Later struct {
	// Start has Apart.Serve called with an account and the id of a turn, until it is served.
	Start func(ctx context.Context, account, id string) error
	// Wait is how long a request waits that does not say; zero: as long as its turn takes, in
	// the function that it came to.
	Wait time.Duration
	// Most is how long a request may wait at most, because its route gives up soon after.
	Most time.Duration
}

// The fields of RFC 7240.
const (
	headerPrefer  = "Prefer"
	headerApplied = "Preference-Applied"
	headerTrace   = "X-Trace-Id"
	respondAsync  = "respond-async"
)

const (
	leastWait = time.Second // what is wrong with a request is known by then
	firstLook = 50 * time.Millisecond
	lastLook  = 500 * time.Millisecond
	askAgain  = 2 // seconds
	turnsPath = "/api/turns/"
)

var (
	errTurn    = fault.New(fault.NotFound, "turn.not_found")
	errGivenUp = fault.New(fault.Unavailable, "turn.given_up")     // nothing could serve it
	errBegin   = fault.New(fault.Unavailable, "turn.not_begun")    // it is not known whether it is served
	errAgain   = errors.New("httpapi: its key is still another's") // which may have died
)

// Working says that a turn goes on, and where its answer will be.
type Working struct {
	TurnID  string `json:"turn_id"`
	Status  string `json:"status" enum:"working"`
	Message string `json:"message" doc:"for a person"`
	Read    string `json:"read" doc:"GET it: 202 and this while the turn goes on, then the status and the body that the request would have been answered with; for 24 hours"`
}

// brought is a request as it is kept.
type brought struct {
	Principal auth.Principal `json:"principal"`
	Webhook   string         `json:"webhook,omitempty"` // that signed it
	Delivery  string         `json:"delivery,omitempty"`
	Method    string         `json:"method"`
	URL       string         `json:"url"`
	Host      string         `json:"host"`
	Header    http.Header    `json:"header"`
	Body      []byte         `json:"body"`
}

// told is an answer as it is kept.
type told struct {
	User   string      `json:"user"`
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
}

// keptFields are the fields of a request that say how it is served. Who is asking is known by
// then, and no secret is kept.
var keptFields = []string{"Accept", "Accept-Language", "Content-Type", headerKey}

func laterKey(id string) replay.Key { return replay.Key{Scope: "turn", Value: id} }

// describeLong says of a turn what its request may prefer, and how it is answered then.
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

// describeTurn says what a turn may have been answered.
func describeTurn(h huma.API, op *huma.Operation) {
	describeWorking(h, op)
	op.Responses["200"].Content = map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{
		OneOf: []*huma.Schema{schemaOf[SendAnswer](h), schemaOf[OperatorAnswer](h), schemaOf[AgentAnswer](h)},
	}}}
}

// schemaOf refers to the schema of a T.
func schemaOf[T any](h huma.API) *huma.Schema {
	return h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

type ticketKey struct{}

// ticketOf is that of a turn which is answered apart from its request.
func ticketOf(ctx context.Context) (ticket, bool) {
	t, ok := ctx.Value(ticketKey{}).(ticket)
	return t, ok
}

// preferred reads how long a client wants to wait for an answer before it is told where that
// will be; not ok: it says nothing of that.
func preferred(h http.Header) (wait time.Duration, ok bool) {
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

// apart reports whether a request is answered apart, and how long it waits. One that was
// answered under its key is answered again at once.
func (c Config) apart(to *route, r *http.Request) (time.Duration, bool) {
	l := c.Later
	if _, serving := ticketOf(r.Context()); l == nil || serving || !to.long || c.answered(r.Context()) {
		return 0, false
	}
	wait, ok := preferred(r.Header)
	if !ok {
		return l.Wait, l.Wait > 0
	}
	return min(max(wait, leastWait), l.Most), true
}

// answered reports a request that was answered under its key, or whose key is none.
func (c Config) answered(ctx context.Context) bool {
	key, _, err := replayKey(ctx)
	if err != nil || key == (replay.Key{}) {
		return err != nil
	}
	claim, err := c.Once.Lookup(ctx, caller(ctx).Account, key)
	return err == nil && claim.Done
}

// answerApart has a request served apart from it, and answers it when that comes in time.
func (c Config) answerApart(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	var id string
	var got told
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

// begin keeps a request, and has it served.
func (c Config) begin(r *http.Request) (id string, err error) {
	s, _ := r.Context().Value(sentKey{}).(sent)
	d, _ := r.Context().Value(deliveryKey{}).(delivery)
	b := brought{
		Principal: caller(r.Context()), Webhook: d.webhook, Delivery: d.id,
		Method: r.Method, URL: r.URL.RequestURI(), Host: r.Host, Header: http.Header{}, Body: s.body,
	}
	for _, name := range keptFields {
		if values := r.Header.Values(name); len(values) > 0 {
			b.Header[name] = values
		}
	}
	b.Header.Set("Accept-Language", string(askedFrom(r.Context()).lang)) // the cookie's word, too
	b.Header.Set(headerTrace, c.Trace(r.Context()))
	raw, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	at := c.Now()
	t := ticket{ID: c.NewID(at), At: at}
	if c.ArrivedAt != nil {
		if came := c.ArrivedAt(r.Context()); !came.IsZero() && came.Before(at) {
			t.At = came
		}
	}
	account := b.Principal.Account
	if err := c.Once.Begin(r.Context(), account, laterKey(t.ID), t, raw); err != nil {
		return "", err
	}
	if err := c.Later.Start(r.Context(), account, t.ID); err != nil {
		return "", errBegin.Because(err)
	}
	return t.ID, nil
}

// await waits for what a turn of the caller is answered; false: it goes on.
func (c Config) await(ctx context.Context, id string, wait time.Duration) (told, bool, error) {
	over := time.After(wait)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		got, done, err := c.look(ctx, id)
		if done || err != nil {
			return got, done, err
		}
		select {
		case <-ctx.Done():
			return told{}, false, ctx.Err()
		case <-over:
			return told{}, false, nil
		case <-time.After(pause):
		}
	}
}

// look reads what a turn of the caller was answered.
func (c Config) look(ctx context.Context, id string) (got told, done bool, err error) {
	if !ids.Valid(id) {
		return told{}, false, errTurn
	}
	claim, err := c.Once.Lookup(ctx, caller(ctx).Account, laterKey(id))
	if errors.Is(err, replay.ErrUnknown) {
		err = errTurn
	}
	if err != nil {
		return told{}, false, err
	}
	user := ""
	if claim.Done {
		err = json.Unmarshal(claim.Answer, &got)
		user = got.User
	} else {
		var b brought
		err = json.Unmarshal(claim.Request, &b)
		user = b.Principal.User
	}
	if err == nil && user != caller(ctx).User {
		err = errTurn
	}
	return got, claim.Done, err
}

// working is what is told of a turn that goes on.
func (c Config) working(ctx context.Context, id string) told {
	read := turnsPath + id
	body, err := json.Marshal(Working{TurnID: id, Status: "working", Message: locale.Text(askedFrom(ctx).lang, "turn.working"), Read: read})
	if err != nil { // only strings are in it
		panic(err)
	}
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Location", read)
	h.Set(headerAfter, strconv.Itoa(askAgain))
	return told{Status: http.StatusAccepted, Header: h, Body: string(body) + "\n"}
}

// write answers with what is kept. Fields that this request has its own of are left to it.
func (t told) write(h http.Header, status func(int), body io.Writer) {
	for name, values := range t.Header {
		if name != headerTrace {
			h[name] = values
		}
	}
	status(t.Status)
	_, _ = io.WriteString(body, t.Body)
}

// ofTurn is a turn that goes on, or did.
type ofTurn struct {
	ID     string `path:"id"`
	Prefer string `header:"Prefer" doc:"wait=N: to wait up to N seconds for the answer (RFC 7240)"`
}

// readTurn answers as the request that brought a turn would have been.
func (c Config) readTurn(ctx context.Context, in *ofTurn) (*huma.StreamResponse, error) {
	wait, _ := preferred(http.Header{headerPrefer: {in.Prefer}})
	if c.Later != nil {
		wait = min(wait, c.Later.Most)
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
