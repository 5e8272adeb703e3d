package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/meaning"
	"piloto/internal/tools/tool"
)

// Client calls tools. It is safe for concurrent use; Close ends its sessions.
type Client struct {
	wire     *wire
	bearer   Exchanger
	now      func() time.Time
	pool     *pool
	patience time.Duration // of a call
	calls    atomic.Int64  // the tokens of their progress
}

// Defaults of Options.
const (
	defaultSessions = 64
	defaultIdle     = 5 * time.Minute
)

// NewClient returns a Client.
func NewClient(opts Options) *Client {
	w := newWire(opts.HTTP, opts.Timeout)
	w.timeout = min(w.timeout, tool.PrepareTime)
	return &Client{
		wire:     w,
		patience: cmp.Or(opts.Patience, w.timeout),
		bearer:   opts.Bearer,
		now:      opts.Now,
		pool:     newPool(cmp.Or(opts.Sessions, defaultSessions), cmp.Or(opts.Idle, defaultIdle), opts.Now),
	}
}

// Close waits for the calls in progress, closes every session, and returns when all are closed.
func (c *Client) Close() error {
	c.pool.close()
	return nil
}

// CallTool sends one call, if the tool is still the approved one. It implements tool.Caller. An error says whether
// the request may have reached the server (tool.ErrNotSent, tool.ErrLost), or that it was not sent
// (tool.ErrToolChanged, tool.ErrUnauthorized, tool.ErrSignIn, tool.ErrRequest). A failure that the tool or its server reports is an
// answer with Failed set. So is an error of JSON-RPC, which has a Code, and an answer by status alone; their Status is
// that of HTTP, and package meaning says their meaning.
//
// A call on a session that the server does not know any more is sent once more, on a new one. If that cannot be, the
// first answer stays, because the call was sent.
func (c *Client) CallTool(ctx context.Context, call tool.Call) (tool.Answer, error) {
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal(call.Arguments, &arguments); err != nil || arguments == nil || len(call.Arguments) > maxArguments {
		return tool.Answer{}, tool.ErrRequest.With("reason", "arguments")
	}
	began := c.now()
	since := began.Add(-call.Trust)
	s := c.pool.acquire(keyOf(call.Server, call.Keys))
	defer c.pool.release(s)
	first, v := c.attempt(ctx, s, call, arguments, began, since)
	if !v.again || ctx.Err() != nil {
		return first, v.err
	}
	sent := v.err == nil
	a, v := c.attempt(ctx, s, call, arguments, began, c.now()) // a server that forgot the session may have changed its tools
	if sent && (errors.Is(v.err, tool.ErrNotSent) || errors.Is(v.err, tool.ErrToolChanged)) {
		return first, nil
	}
	return a, v.err
}

// attempt prepares a call and sends it once.
func (c *Client) attempt(ctx context.Context, s *slot, call tool.Call, arguments map[string]json.RawMessage, began, since time.Time) (tool.Answer, outcome) {
	r, err := c.prepare(ctx, s, call, since)
	if err != nil {
		return tool.Answer{}, outcome{err: err}
	}
	within, stop := c.newPatience(ctx, call, began)
	defer stop()
	a, v := r.send(within, c.now, call, arguments)
	if x := v.unanswered; x != nil && within.Err() != nil {
		c.wire.cancel(r.on.exchanges(r.keys), x)
	}
	c.pool.leaveSession(s, r.on, v.lost)
	if v.forget {
		c.forget(call.Keys, r.keys)
	}
	return a, v
}

// preparedCall holds everything that a call needs: an open session, the keys in the form that is sent, and the
// current definition of the tool.
type preparedCall struct {
	on   *sharedSession
	keys tool.Keys
	tool liveTool
}

// prepare opens a session unless there is one, and lists the tools unless they were listed since that time. It
// sends no part of the call itself. A forgotten session, or a refused token, is replaced once.
func (c *Client) prepare(ctx context.Context, s *slot, call tool.Call, since time.Time) (preparedCall, error) {
	within, cancel := context.WithTimeout(ctx, c.wire.timeout)
	defer cancel()
	if s.isShared() {
		if err := s.lock(within); err != nil {
			return preparedCall{}, notSentError(err)
		}
		defer s.unlock()
	}
	for attempt := 0; ; attempt++ {
		r, again, err := c.try(within, s, call, since)
		if again && attempt == 0 && within.Err() == nil {
			continue
		}
		if err != nil {
			return preparedCall{}, notSentError(err)
		}
		if r.tool.fingerprint == "" || r.tool.fingerprint != call.Fingerprint {
			c.pool.leaveSession(s, r.on, false)
			return preparedCall{}, tool.ErrToolChanged.With("tool", call.Tool)
		}
		return r, nil
	}
}

func (c *Client) try(ctx context.Context, s *slot, call tool.Call, since time.Time) (r preparedCall, again bool, err error) {
	if r.keys, err = exchangeKeys(ctx, c.bearer, call.Keys); err != nil {
		return r, false, err
	}
	r.on = c.pool.joinSession(s)
	reused := r.on != nil
	if !reused {
		e := newExchanges(call.Server.BaseURL, r.keys)
		e.exchanged = call.Keys.Exchanged()
		e.changed = func() { c.pool.noteChange(s) }
		opened, err := open(ctx, c.wire, call.Server.Transport, e)
		if err != nil {
			err = unavailable(ctx, e, err)
			return r, c.dropRefusedToken(err, call.Keys, r.keys), err
		}
		r.on = c.pool.addSession(s, opened)
	}
	known, ok := c.pool.knownTool(s, call.Tool, since)
	if r.tool = known; ok && known.fingerprint == call.Fingerprint {
		return r, false, nil
	} // a cached definition can be older than its approval: only a new listing proves that a tool changed
	e := r.on.exchanges(r.keys)
	at, changes := c.now(), c.pool.changes(s)
	l, err := r.on.list(ctx, e)
	if err != nil {
		x := e.last("")
		c.pool.leaveSession(s, r.on, true)
		err = unavailable(ctx, e, err)
		return r, reused && (x == nil || x.sessionUnknown()) || c.dropRefusedToken(err, call.Keys, r.keys), err
	}
	all := liveTools(call.Server.BaseURL, l)
	c.pool.storeListing(s, all, at, changes)
	r.tool = all[call.Tool]
	return r, false, nil
}

// liveTools returns the current tools of a listing, by name. Some of them may be unusable: those were never
// approved.
func liveTools(base string, l listing) map[string]liveTool {
	ops, _ := operations(l, false)
	all := make(map[string]liveTool, len(ops))
	for _, op := range ops {
		parameters, err := headerParameters(op.Body.Schema)
		if err == nil {
			all[op.Name] = liveTool{tool.Fingerprint(base, op), parameters}
		}
	}
	return all
}

// exchangeKeys returns keys in the form that is sent.
func exchangeKeys(ctx context.Context, by Exchanger, keys tool.Keys) (tool.Keys, error) {
	if by == nil {
		return keys, nil
	}
	sent := slices.Clone(keys)
	for i, key := range keys {
		var err error
		if sent[i], err = by.Exchange(ctx, key); err != nil {
			return nil, err
		}
	}
	return sent, nil
}

// dropRefusedToken drops a token that a server refused, and reports whether there may be a new one.
func (c *Client) dropRefusedToken(err error, keys, sent tool.Keys) bool {
	return errors.Is(err, tool.ErrUnauthorized) && c.forget(keys, sent)
}

func (c *Client) forget(keys, sent tool.Keys) bool { return forget(c.bearer, keys, sent) }

// forget drops the token that was sent for a key of the place "oauth", and reports whether there was one.
func forget(by Exchanger, keys, sent tool.Keys) bool {
	if by == nil || len(keys) != len(sent) {
		return false
	}
	at := slices.IndexFunc(keys, func(key tool.Credential) bool { return key.Place.In == "oauth" })
	if at < 0 {
		return false
	}
	by.Forget(keys[at], sent[at].Secret)
	return true
}

// outcome describes the end of a call.
type outcome struct {
	err    error
	lost   bool // the session cannot be used again
	again  bool // the session broke before the call, or its server does not know it any more
	forget bool // the token is refused

	unanswered *exchange // a call that was handed to the network, and has no answer
}

// send sends the call once.
func (r preparedCall) send(ctx *patience, now func() time.Time, call tool.Call, arguments map[string]json.RawMessage) (tool.Answer, outcome) {
	parameters, err := headerValues(r.tool.parameters, arguments)
	if err != nil {
		return tool.Answer{}, outcome{err: err}
	}
	e := r.on.exchanges(r.keys)
	e.call = &callHeaders{idempotency: call.Idempotency, traceID: call.TraceID, parameters: parameters}
	e.patience = ctx
	params := &mcp.CallToolParams{Name: call.Tool, Arguments: call.Arguments, Meta: mcp.Meta{"progressToken": ctx.token}}
	if call.Idempotency != "" {
		params.Meta[idempotencyMeta] = call.Idempotency
	}
	failpoint.Here("mcp.call.before")
	_, err = r.on.sdk.CallTool(e.in(ctx), params)
	failpoint.Here("mcp.call.after")
	return e.judge(ctx, call.Limit, now(), err)
}

// maxArguments is the maximum size of a call's arguments in bytes.
const maxArguments = maxRequest / 2

const idempotencyMeta = "piloto/idempotency-key"

// judge returns the result of tools/call. err is the error of the SDK.
func (e *exchanges) judge(ctx context.Context, limit int64, now time.Time, err error) (tool.Answer, outcome) {
	x := e.last(methodCall)
	if x == nil { // the session broke before the call
		if ctx.Err() != nil {
			return tool.Answer{}, outcome{err: notSentError(ctx.Err())}
		}
		return tool.Answer{}, outcome{err: tool.ErrNotSent.With("reason", reason(err)).Because(e.clean(err)), lost: true, again: true}
	}
	wait, waits := meaning.Wait(x.header.Get, now)
	a, v := e.judgeCall(ctx, x, limit, waits, err)
	a.Wait, a.Waits = wait, waits
	if x.sessionUnknown() || e.streamed && meaning.Missing(x.status) {
		v.lost, v.again = true, true
	}
	return a, v
}

func (e *exchanges) judgeCall(ctx context.Context, x *exchange, limit int64, waits bool, err error) (tool.Answer, outcome) {
	reply := x.answer()
	switch status := x.status; {
	case errors.Is(x.err, tool.ErrRequest):
		return tool.Answer{}, outcome{err: tool.ErrUnusableKey}
	case status == 0 && !x.handed.Load():
		return tool.Answer{}, outcome{err: tool.ErrNotSent.With("reason", reason(x.err)).Because(e.clean(x.err))}
	case status == 0 && reply == nil:
	case meaning.WantsKey(status):
		return tool.Answer{}, outcome{err: e.unauthorized(x), lost: true, forget: true}
	case meaning.Moved(status) && meaning.SignsIn(status, e.base, x.header.Get("Location")): // after any other redirect the call may have been applied
		return tool.Answer{}, outcome{err: tool.ErrSignIn.With("status", strconv.Itoa(status)), lost: true}
	case meaning.Of(status, waits) == meaning.Later:
		return e.refusalAnswer(x, limit), outcome{}
	case reply != nil:
		if a, ok := answerOf(reply, limit, e.keys.Secrets()...); ok {
			if a.Code != "" && status > 0 && meaning.Of(status, waits) != meaning.Done {
				a.Status = status
			}
			return a, outcome{lost: meaning.Errs(status)}
		}
	case status > 0 && meaning.Of(status, waits) != meaning.Done: // whether it was done, the caller knows by the status
		return e.refusalAnswer(x, limit), outcome{lost: meaning.Errs(status)}
	}
	return tool.Answer{}, outcome{err: e.lostError(ctx, x, err), lost: true, unanswered: x}
}

// lostError returns the reason why there is no answer to a request that was handed to the network.
func (e *exchanges) lostError(ctx context.Context, x *exchange, err error) error {
	cause := x.err
	switch {
	case cause == nil && ctx.Err() != nil:
		cause = ctx.Err()
	case cause == nil && x.answer() != nil:
		cause = noAnswer(tool.CameResult)
	case cause == nil && err != nil && !errors.Is(err, mcp.ErrConnectionClosed):
		cause = err
	case cause == nil:
		cause = errNoReply
	}
	lost := tool.ErrLost.With("reason", reason(cause))
	var came noAnswer
	if errors.As(cause, &came) {
		lost = tool.WithCame(lost, string(came))
	}
	return lost.Because(e.clean(cause))
}

// sessionUnknown reports whether the server answered that it does not know the session. It answers 404 or 410, which
// asks for a new one with any body, or an error of the transport that belongs to no request.
func (x *exchange) sessionUnknown() bool {
	return x.session && (meaning.Missing(x.status) || x.status == http.StatusBadRequest && x.unaddressed)
}

// refusalAnswer returns the answer of a server that answered by status alone. Of a redirect it contains only the
// origin.
func (e *exchanges) refusalAnswer(x *exchange, limit int64) tool.Answer {
	a := tool.Answer{Status: x.status, Failed: true, Headers: map[string]string{}}
	to := tool.RedirectOrigin(e.base, x.header.Get("Location"))
	if to != "" && redactSecrets(to, e.keys.Secrets()) == to {
		a.Headers["Location"] = to
	}
	fitBody(&a, map[string]any{"error": map[string]any{"code": x.status, "message": http.StatusText(x.status)}}, limit)
	return a
}

// notSentError turns a failure before the call into an error of the call.
func notSentError(err error) error {
	switch {
	case isUnauthorized(err), errors.Is(err, tool.ErrRequest), errors.Is(err, tool.ErrToolChanged), errors.Is(err, tool.ErrNotSent):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return tool.ErrNotSent.With("reason", reason(err)).Because(err)
	}
	return tool.ErrNotSent.With("reason", causeOf(err)).Because(err)
}
