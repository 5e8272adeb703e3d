// Package client owns the requests of the command line to a deployment. Bodies and answers are the types of the
// handlers themselves (internal/edge/httpapi), so that both sides are one definition.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/visible"
)

// The limits of one request. A turn may work for minutes: it is answered 202 then, and its answer is read afterwards.
const (
	connectTimeout = 10 * time.Second
	requestTimeout = 2 * time.Minute
	maxAnswer      = 64 << 20 // bytes, of a file or an export
	maxJSON        = 16 << 20 // bytes: a Lambda answers at most 6 MB
	maxValues      = 1 << 20  // of a JSON answer: each takes up to a hundred times its bytes
	attempts       = 3
	mostWait       = time.Minute // a longer pause is left to the person
)

// A Client sends requests to one deployment as one person.
type Client struct {
	Origin string // https://piloto.example.org, without a slash at its end
	Token  string
	Lang   string // of sentences in answers: es or en
	Live   string // wss://host of its socket where login stored another one than its own; ""

	http    *http.Client
	silence time.Duration // without a byte of an answer ends a request, which is sent once; 0: it has the limits of any request
}

// A Target is the origin of a deployment, and the token of a person there; "" without one.
type Target struct{ Origin, Token string }

// New returns a client; lang is es or en. It keeps no cookies and follows no redirect: the token must not go anywhere else.
func New(to Target, lang string) *Client {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		HTTP2: &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence},
	}
	return &Client{Origin: to.Origin, Token: to.Token, Lang: lang, http: &http.Client{
		Transport: transport, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// A Problem is a refusal (RFC 9457), as the deployment words it.
type Problem struct {
	Status int           `json:"status"`
	Code   string        `json:"code"`
	Title  string        `json:"title"`
	Detail any           `json:"detail"`
	Action string        `json:"action"`
	Errors []fault.Field `json:"errors"`

	Sent int           `json:"-"` // how often the request was sent: the answers before may be lost
	Wait time.Duration `json:"-"` // the pause that it asks for; 0: none
}

// Error returns the sentence of the problem, the wrong fields, and the next action, each on a line of its own, with every
// character visible.
func (p *Problem) Error() string {
	text, _ := p.Detail.(string)
	if text == "" {
		text = p.Title
	}
	if text == "" {
		text = fmt.Sprintf("HTTP %d", p.Status)
	}
	text = visible.Line(text)
	for _, e := range p.Errors {
		place := make([]string, len(e.Loc))
		for i, part := range e.Loc {
			place[i] = fmt.Sprint(part)
		}
		text += "\n  " + visible.Line(strings.Join(place, ".")+": "+e.Msg)
	}
	if p.Action != "" {
		text += "\n" + visible.Line(p.Action)
	}
	return text
}

// Came is the kind of an answer that is not of Piloto.
type Came string

// The kinds of other answers.
const (
	CameNothing  Came = "nothing"  // no answer, or a part of one
	CamePage     Came = "page"     // for people: of a sign-in, or a gateway
	CameRedirect Came = "redirect" // to another address
	CameStatus   Came = "status"   // an error that is none of Piloto's
	CameEmpty    Came = "empty"
	CameID       Came = "id"    // JSON of Piloto with an identifier or a digest that none can have
	CameOther    Came = "other" // anything else
)

// An UnreachableError means that no answer of the deployment came.
type UnreachableError struct {
	Origin string
	Came   Came
	Status int           // of the other answer; 0: there was none
	Wait   time.Duration // the pause that it asks for; 0: none
	Cause  error         // for the developer

	sent bool // there was a connection: the request may have arrived
}

// Error returns the address and the cause.
func (e *UnreachableError) Error() string { return fmt.Sprintf("%s: %v", e.Origin, e.Cause) }

// Is reports whether the refusal is a fault of the domain: it has the same code.
func (p *Problem) Is(target error) bool {
	f, ok := target.(*fault.Error)
	return ok && f.Code == p.Code
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// A DoubtError means that a request with an effect may have been done: its last answer is ambiguous, or it refuses a
// repetition, and the answer before it was lost.
type DoubtError struct {
	Path  string // of the request
	Cause error  // the last answer: an UnreachableError, or a Problem
}

// Error returns the cause.
func (e *DoubtError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *DoubtError) Unwrap() error { return e.Cause }

// A Call is one request.
type Call struct {
	Method string
	Path   string // with escaped segments: see Path
	Query  url.Values
	Body   any    // sent as JSON; nil: none
	Bytes  []byte // sent as they are, instead of Body
	Header http.Header
	Key    string // Idempotency-Key: with it, a request that was lost is sent again
	Repeat bool   // it is sent again without a key: it has a condition, and Problem.Sent counts
}

// Path joins segments, each escaped.
func Path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// Get reads a T.
func Get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	return Send[T](ctx, c, Call{Method: http.MethodGet, Path: path, Query: query})
}

// Post sends a body, and reads a T.
func Post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return Send[T](ctx, c, Call{Method: http.MethodPost, Path: path, Body: body})
}

// PostOnce does the same under a key, so that a request whose answer was lost is sent again and served once.
func PostOnce[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return Send[T](ctx, c, Call{Method: http.MethodPost, Path: path, Body: body, Key: ids.Secret()})
}

// Send sends a call, and reads its answer into a T.
func Send[T any](ctx context.Context, c *Client, call Call) (out T, err error) {
	raw, err := c.Raw(ctx, call, "application/json")
	if err != nil {
		return out, err
	}
	if text := strings.TrimSpace(string(raw)); text == "" || text == "null" || text == "{}" {
		return out, c.Strange(call, CameEmpty, errors.New("the answer is empty, and not one of Piloto"))
	}
	if len(raw) > maxJSON || countValues(raw) > maxValues {
		return out, c.Strange(call, CameOther, fmt.Errorf("the answer has more than %d MB, or more than %d values", maxJSON>>20, maxValues))
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, c.Strange(call, CameOther, fmt.Errorf("the answer is no JSON of Piloto: %w", err))
	}
	if err := checkIDs(reflect.ValueOf(&out)); err != nil {
		var none T
		return none, c.Strange(call, CameID, err)
	}
	return out, nil
}

// Strange returns the error of an answer to a call that is none of Piloto's, although its status says that it was done.
func (c *Client) Strange(call Call, came Came, cause error) error {
	return call.doubted(&UnreachableError{Origin: c.Origin, Came: came, Cause: cause}, true)
}

// Raw sends a call, and returns the bytes of its answer. It polls for the answer of a turn that takes long. A call that
// is safe to repeat is sent again when the answer was lost, or when the deployment asks for it.
func (c *Client) Raw(ctx context.Context, call Call, accept string) ([]byte, error) {
	got, err := c.answer(ctx, call, accept)
	if err != nil {
		return nil, err
	}
	return got.body, nil
}

// answer does the same, and returns the whole answer.
func (c *Client) answer(ctx context.Context, call Call, accept string) (*answer, error) {
	body := call.Bytes
	if call.Body != nil {
		var err error
		if body, err = json.Marshal(call.Body); err != nil {
			return nil, err
		}
	}
	asked, acted, reading, most := call, false, false, attempts
	if c.silence > 0 {
		most = 1
	}
	for n := 1; ; n++ {
		answer, err := c.once(ctx, call, body, accept)
		acted = acted || mayHaveActed(answer, err)
		var wait time.Duration
		switch {
		case err == nil && answer.working() != "":
			call, body, n, wait = Call{Method: http.MethodGet, Path: answer.working()}, nil, 0, answer.after(time.Second)
			reading = true
		case err == nil && answer.done() && answer.isPage(accept):
			return nil, c.Strange(asked, CamePage, errors.New("it answered with a page, and not as Piloto does"))
		case err == nil && answer.done():
			return answer, nil
		case err == nil && (!answer.again() || n == most || !call.repeatable()):
			err = answer.refused(c.Origin, n, acted && asked.acts())
			return nil, asked.doubted(err, acted && !(reading && isOfTurn(err)))
		case err == nil:
			wait = answer.after(time.Duration(n) * time.Second)
		case ctx.Err() != nil || n == most || !call.repeatable():
			return nil, asked.doubted(err, acted)
		default:
			wait = time.Duration(n) * 200 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return nil, asked.doubted(c.lost(ctx, ctx.Err(), false), acted)
		case <-time.After(wait):
		}
	}
}

// repeatable reports whether a call has the same effect when it is sent twice.
func (call Call) repeatable() bool {
	return call.Method == http.MethodGet || call.Key != "" || call.Repeat
}

// acts reports whether a call changes something.
func (call Call) acts() bool { return call.Method != http.MethodGet && call.Method != http.MethodHead }

// doubted returns an error of a call as a DoubtError, if the call has an effect and may have been done.
func (call Call) doubted(err error, acted bool) error {
	if acted && call.acts() {
		return &DoubtError{Path: call.Path, Cause: err}
	}
	return err
}

// mayHaveActed reports whether a request that got this answer, or none, may have been done. A redirect is never the
// deployment's: another server may have passed the request on.
func mayHaveActed(a *answer, err error) bool {
	if err != nil {
		e, ok := errors.AsType[*UnreachableError](err)
		return ok && e.sent
	}
	_, waits := meaning.Wait(a.header.Get, time.Now())
	m := meaning.Of(a.status, waits)
	return a.second || m == meaning.Done || m == meaning.Unknown || meaning.Redirects(a.status)
}

// isOfTurn reports whether the refusal that was polled for is the turn's own: nothing was done. A refusal of the poll,
// for its key or its address, says nothing about the end of the turn.
func isOfTurn(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && meaning.Of(p.Status, true) == meaning.Refused && !meaning.WantsKey(p.Status) && !meaning.Missing(p.Status)
}

// media returns the media type of the body.
func (call Call) media() string {
	if call.Bytes != nil {
		return "application/octet-stream"
	}
	return "application/json"
}

func (c *Client) once(ctx context.Context, call Call, body []byte, accept string) (*answer, error) {
	address := c.Origin + call.Path
	if len(call.Query) > 0 {
		address += "?" + call.Query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, address, bytes.NewReader(body))
	if err != nil {
		return nil, &UnreachableError{Origin: c.Origin, Came: CameNothing, Cause: err}
	}
	heard, limited, end := c.limit(ctx)
	defer end()
	var connections atomic.Int32 // the transport itself repeats a call with a key, when the server closed an idle connection
	request = request.WithContext(httptrace.WithClientTrace(limited, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connections.Add(1) },
	}))
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Language", c.Lang)
	if body != nil {
		request.Header.Set("Content-Type", call.media())
	}
	for name, values := range call.Header {
		request.Header[name] = values
	}
	if call.Key != "" {
		request.Header.Set("Idempotency-Key", call.Key)
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	lost := func(err error) error {
		c.http.CloseIdleConnections() // they may be as dead
		if ctx.Err() == nil && limited.Err() != nil {
			err = errSilent
		}
		return c.lost(ctx, err, connections.Load() > 0)
	}
	got, err := c.http.Do(request)
	if err != nil {
		return nil, lost(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(heard(got.Body), maxAnswer+1))
	if err != nil {
		return nil, lost(err)
	}
	if len(text) > maxAnswer {
		return nil, &UnreachableError{Origin: c.Origin, Came: CameOther, Cause: fmt.Errorf("the answer has more than %d MB", maxAnswer>>20), sent: true}
	}
	return &answer{got.StatusCode, got.Header, text, connections.Load() > 1}, nil
}

// lost returns the error of a request without an answer. It does not repeat the address, which may hold a secret. sent
// says whether there was a connection.
func (c *Client) lost(ctx context.Context, err error, sent bool) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return &UnreachableError{Origin: c.Origin, Came: CameNothing, Cause: err, sent: sent}
}

// Health returns the health of a deployment. The time is that of its clock; zero when the answer has none.
func (c *Client) Health(ctx context.Context) (h httpapi.Health, at time.Time, err error) {
	answer, err := c.once(ctx, Call{Method: http.MethodGet, Path: "/health"}, nil, "application/json")
	if err != nil {
		return h, at, err
	}
	if answer.status != http.StatusOK && answer.status != http.StatusServiceUnavailable || json.Unmarshal(answer.body, &h) != nil || h.Status == "" {
		return h, at, answer.problem(c.Origin, false)
	}
	at, _ = http.ParseTime(answer.header.Get("Date"))
	return h, at, nil
}
