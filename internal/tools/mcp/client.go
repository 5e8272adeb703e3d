package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/internal/ground/failpoint"
	"piloto/internal/tools/tool"
)

// Client calls tools. It is safe for concurrent use; Close ends its sessions.
type Client struct {
	wire   *wire
	bearer Exchanger
	now    func() time.Time
	pool   *pool
}

// Defaults of Options.
const (
	defaultSessions = 64
	defaultIdle     = 5 * time.Minute
)

// NewClient returns a Client.
func NewClient(opts Options) *Client {
	return &Client{
		wire:   newWire(opts.HTTP, opts.Timeout),
		bearer: opts.Bearer,
		now:    opts.Now,
		pool:   newPool(cmp.Or(opts.Sessions, defaultSessions), cmp.Or(opts.Idle, defaultIdle), opts.Now),
	}
}

// Close ends every session, and returns when that is done. Calls that are under way
// are waited for.
func (c *Client) Close() error {
	c.pool.close()
	return nil
}

// CallTool makes one call, while the tool is still the approved one. It implements
// agent.Caller: an error says what became of the request (tool.ErrNotSent,
// tool.ErrLost), or that it was not made (tool.ErrToolChanged, tool.ErrRefusedUs,
// tool.ErrRequest). What the tool or its server says of a failure is an answer,
// Failed; so is a refusal by status (429, 503 with Retry-After, other 4xx), whose
// Status is that and not 200.
func (c *Client) CallTool(ctx context.Context, call tool.Call) (tool.Answer, error) {
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal(call.Arguments, &arguments); err != nil || arguments == nil || len(call.Arguments) > maxArguments {
		return tool.Answer{}, tool.ErrRequest.With("reason", "arguments")
	}
	since := c.now().Add(-call.Trust)
	s := c.pool.take(keyOf(call.Server, call.Key))
	defer c.pool.give(s)
	for attempt := 0; ; attempt++ {
		r, err := c.prepare(ctx, s, call, since)
		if err != nil {
			return tool.Answer{}, err
		}
		a, v := r.send(ctx, c.wire.timeout, call, arguments)
		c.pool.leave(s, r.on, v.lost)
		if v.forget {
			c.forget(call.Key, r.key)
		}
		if v.again && attempt == 0 && ctx.Err() == nil {
			since = c.now() // a server that forgot us may be another by now
			continue
		}
		return a, v.err
	}
}

// ready is what a call needs: an open session, the key as it is sent, and the tool
// as it is now.
type ready struct {
	on   *held
	key  *tool.Credential
	tool live
}

// prepare opens a session unless there is one, and lists the tools unless that was
// done since. Nothing of the call itself leaves. A session that was forgotten, or a
// token that is refused, is replaced once.
func (c *Client) prepare(ctx context.Context, s *slot, call tool.Call, since time.Time) (ready, error) {
	within, cancel := context.WithTimeout(ctx, c.wire.timeout)
	defer cancel()
	if s.shared() {
		if err := s.lock(within); err != nil {
			return ready{}, notSent(err)
		}
		defer s.unlock()
	}
	for attempt := 0; ; attempt++ {
		r, again, err := c.try(within, s, call, since)
		if again && attempt == 0 && within.Err() == nil {
			continue
		}
		if err != nil {
			return ready{}, notSent(err)
		}
		if r.tool.fingerprint == "" || r.tool.fingerprint != call.Fingerprint {
			c.pool.leave(s, r.on, false)
			return ready{}, tool.ErrToolChanged.With("tool", call.Tool)
		}
		return r, nil
	}
}

func (c *Client) try(ctx context.Context, s *slot, call tool.Call, since time.Time) (r ready, again bool, err error) {
	if r.key, err = exchanged(ctx, c.bearer, call.Key); err != nil {
		return r, false, err
	}
	r.on = c.pool.join(s)
	reused := r.on != nil
	if !reused {
		e := newErrand(call.Server.BaseURL, r.key)
		e.changed = func() { c.pool.stale(s) }
		opened, err := open(ctx, c.wire, call.Server.Transport, e)
		if err != nil {
			err = unavailable(ctx, e, err)
			return r, c.refused(err, call.Key, r.key), err
		}
		r.on = c.pool.keep(s, opened)
	}
	known, ok := c.pool.recall(s, call.Tool, since)
	if r.tool = known; ok && known.fingerprint == call.Fingerprint {
		return r, false, nil
	} // what was known of it can be older than its approval: that it is another is only believed of a list of now
	e := r.on.errand(r.key)
	at, changes := c.now(), c.pool.changes(s)
	l, err := r.on.list(ctx, e)
	if err != nil {
		x := e.last("")
		c.pool.leave(s, r.on, true)
		err = unavailable(ctx, e, err)
		return r, reused && (x == nil || x.forgotten()) || c.refused(err, call.Key, r.key), err
	}
	all := lives(call.Server.BaseURL, l)
	c.pool.learn(s, all, at, changes)
	r.tool = all[call.Tool]
	return r, false, nil
}

// lives are the tools of a listing as they are now, by name. Among them may be some
// that cannot be used: nobody approved those.
func lives(base string, l listing) map[string]live {
	ops, _ := operations(l, false)
	all := make(map[string]live, len(ops))
	for _, op := range ops {
		parameters, err := headerParameters(op.Body.Schema)
		if err == nil {
			all[op.Name] = live{tool.Fingerprint(base, op), parameters}
		}
	}
	return all
}

// exchanged is a key as it is sent.
func exchanged(ctx context.Context, by Exchanger, key *tool.Credential) (*tool.Credential, error) {
	if key == nil || by == nil {
		return key, nil
	}
	ready, err := by.Exchange(ctx, *key)
	if err != nil {
		return nil, err
	}
	return &ready, nil
}

// refused drops a token that a server does not take, and reports whether there may
// be another.
func (c *Client) refused(err error, key, sent *tool.Credential) bool {
	return errors.Is(err, tool.ErrRefusedUs) && c.forget(key, sent)
}

func (c *Client) forget(key, sent *tool.Credential) bool { return forget(c.bearer, key, sent) }

func forget(by Exchanger, key, sent *tool.Credential) bool {
	if by == nil || key == nil || sent == nil || key.Place.In != "oauth" {
		return false
	}
	by.Forget(*key, *sent)
	return true
}

// verdict is what becomes of a call after it was sent, or was not.
type verdict struct {
	err    error
	lost   bool // the session is of no more use
	again  bool // the server forgot the session, and never saw the call as one
	forget bool // the token is refused
}

// send makes the call, once.
func (r ready) send(ctx context.Context, timeout time.Duration, call tool.Call, arguments map[string]json.RawMessage) (tool.Answer, verdict) {
	parameters, err := headerValues(r.tool.parameters, arguments)
	if err != nil {
		return tool.Answer{}, verdict{err: err}
	}
	e := r.on.errand(r.key)
	e.call = &effect{idempotency: call.Idempotency, traceID: call.TraceID, parameters: parameters}
	params := &mcp.CallToolParams{Name: call.Tool, Arguments: call.Arguments}
	if call.Idempotency != "" {
		params.Meta = mcp.Meta{idempotencyMeta: call.Idempotency}
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	failpoint.Here("mcp.call.before")
	_, err = r.on.sdk.CallTool(e.in(within), params)
	failpoint.Here("mcp.call.after")
	return e.judge(within, call.Limit, err)
}

// maxArguments is how large the arguments of a call may be, in bytes.
const maxArguments = maxRequest / 2

const idempotencyMeta = "piloto/idempotency-key"

// judge says what became of the errand's tools/call. err is what the SDK says.
func (e *errand) judge(ctx context.Context, limit int64, err error) (tool.Answer, verdict) {
	x := e.last(methodCall)
	if x == nil { // the session broke before
		if ctx.Err() != nil {
			return tool.Answer{}, verdict{err: notSent(ctx.Err())}
		}
		return tool.Answer{}, verdict{err: tool.ErrNotSent.With("reason", reason(err)).Because(e.clean(err)), lost: true, again: true}
	}
	retry := x.header.Get("Retry-After")
	reply := x.answer()
	switch status := x.status; {
	case errors.Is(x.err, tool.ErrRequest):
		return tool.Answer{}, verdict{err: errKey}
	case status == 0 && !x.handed.Load():
		return tool.Answer{}, verdict{err: tool.ErrNotSent.With("reason", reason(x.err)).Because(e.clean(x.err))}
	case status == 0 && reply == nil:
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return tool.Answer{}, verdict{err: tool.ErrRefusedUs.With("status", strconv.Itoa(status)), lost: true, forget: true}
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && retry != "":
		return e.refusedBy(x, limit), verdict{}
	case reply != nil:
		if a, ok := answerOf(reply, limit, e.secret()); ok {
			return a, verdict{}
		}
	case x.forgotten(), e.streamed && status == http.StatusNotFound:
		return tool.Answer{}, verdict{err: tool.ErrNotSent.With("reason", "session"), lost: true, again: true}
	case status >= 300 && status < 500:
		return e.refusedBy(x, limit), verdict{}
	}
	return tool.Answer{}, verdict{err: e.lostBy(ctx, x, err), lost: true}
}

// lostBy says why there is no answer to what was handed to the network.
func (e *errand) lostBy(ctx context.Context, x *exchange, err error) error {
	cause := x.err
	switch {
	case x.status >= 500:
		return tool.ErrLost.With("reason", "status").With("status", strconv.Itoa(x.status))
	case cause == nil && ctx.Err() != nil:
		cause = ctx.Err()
	case cause == nil && err != nil && !errors.Is(err, mcp.ErrConnectionClosed):
		cause = err
	case cause == nil:
		cause = errNoReply
	}
	return tool.ErrLost.With("reason", reason(cause)).Because(e.clean(cause))
}

// forgotten reports whether the server says that it does not know the session, so
// that it never read the request as one: 404, or an error of the transport that
// answers no request.
func (x *exchange) forgotten() bool {
	return x.session && (x.status == http.StatusNotFound || x.status == http.StatusBadRequest && x.unaddressed) && x.answer() == nil
}

// refusedBy is the answer of a server that refused by status alone. Of where a redirect
// leads it has the host.
func (e *errand) refusedBy(x *exchange, limit int64) tool.Answer {
	a := tool.Answer{Status: x.status, Failed: true, Headers: map[string]string{}}
	retry, to := x.header.Get("Retry-After"), tool.LeadsTo(e.base, x.header.Get("Location"))
	if retryAfter().MatchString(retry) && known(retry, e.secret()) == retry {
		a.Headers["Retry-After"] = retry
	}
	if to != "" && known(to, e.secret()) == to {
		a.Headers["Location"] = to
	}
	fit(&a, map[string]any{"error": map[string]any{"code": x.status, "message": http.StatusText(x.status)}}, limit)
	return a
}

// retryAfter is a number of seconds or a date, as far as it matters here.
var retryAfter = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9A-Za-z,: +-]{1,40}$`)
})

// notSent is what a failure before the call means for it.
func notSent(err error) error {
	switch {
	case errors.Is(err, tool.ErrRefusedUs), errors.Is(err, tool.ErrRequest), errors.Is(err, tool.ErrToolChanged), errors.Is(err, tool.ErrNotSent):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return tool.ErrNotSent.With("reason", reason(err)).Because(err)
	}
	return tool.ErrNotSent.With("reason", causeOf(err)).Because(err)
}
