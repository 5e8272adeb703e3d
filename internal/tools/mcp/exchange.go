package mcp

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"piloto/internal/tools/tool"
)

// exchanges records the HTTP exchanges of one task with one server: the address, the keys, and the exchanges
// themselves. It travels in the context, past the SDK.
type exchanges struct {
	base      string
	keys      tool.Keys    // in the form that is sent
	exchanged bool         // a key is a token that OAuth gave
	call      *callHeaders // the one tools/call that may be sent; nil: none
	patience  *patience    // of that call
	streamed  bool         // answers arrive on one stream (TransportSSE)
	stream    *exchanges   // the exchanges that opened that stream, when they are others
	changed   func()       // called when the server notifies that its tools changed

	mu    sync.Mutex
	all   []*exchange
	spent bool // the tools/call was used
}

// exchange is one request and its response. reply is the message that answers it, with any status.
type exchange struct {
	method      string
	id          string
	session     bool // the request named a session
	handed      atomic.Bool
	status      int // 0: there was no response
	header      http.Header
	unaddressed bool // refused with an error that answers no request: before the server read the request
	err         error
	patience    *patience     // of a tools/call
	of          *http.Request // the SDK's request of a tools/call

	mu    sync.Mutex
	reply *message
}

// answer returns the message that answers the exchange, or nil.
func (x *exchange) answer() *message {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.reply
}

// offer stores the message if it answers the exchange, and reports whether it does.
func (x *exchange) offer(m message) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.reply != nil || !m.isAnswerTo(x.id) {
		return false
	}
	x.reply = &m
	return true
}

type exchangesKey struct{}

func (e *exchanges) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangesKey{}, e)
}

func exchangesOf(ctx context.Context) *exchanges {
	e, _ := ctx.Value(exchangesKey{}).(*exchanges)
	return e
}

// newExchanges returns an empty record for a server.
func newExchanges(base string, keys tool.Keys) *exchanges {
	return &exchanges{base: base, keys: keys}
}

// begin records a new exchange. It refuses a second tools/call, because that would repeat an effect.
func (e *exchanges) begin(m message, req *http.Request) (*exchange, error) {
	x := &exchange{method: m.Method, session: req.Header.Get(sessionHeader) != ""}
	if m.isRequest() {
		x.id = string(m.ID)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if m.Method == methodCall {
		if e.call == nil || e.spent {
			return nil, errRepeated
		}
		e.spent = true
		x.patience, x.of = e.patience, req
	}
	e.all = append(e.all, x)
	if e.stream != nil {
		e.stream.await(x)
	}
	return x, nil
}

// await registers an exchange of another record, whose answer arrives on the stream that this one opened.
func (e *exchanges) await(x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, x)
}

// end records the error of an exchange, and returns it.
func (e *exchanges) end(x *exchange, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	x.err = err
	return err
}

// last returns the last exchange of a method, or of any method for ""; nil when there is none.
func (e *exchanges) last(method string) *exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.all) - 1; i >= 0; i-- {
		if x := e.all[i]; method == "" || x.method == method {
			return x
		}
	}
	return nil
}

// deliver stores a message of the stream in the exchange that it answers, and returns that exchange; nil when it
// answers none.
func (e *exchanges) deliver(m message) *exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.all {
		if x.offer(m) {
			return x
		}
	}
	return nil
}

// forget drops all exchanges, because the record lives as long as the session that it opened.
func (e *exchanges) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = nil
}

// note handles the notifications of a server: a change of the tool list, and progress of a call.
func (e *exchanges) note(m message) {
	switch {
	case m.Method == methodChanged && e.changed != nil:
		e.changed()
	case m.Method == methodProgress:
		e.mu.Lock()
		all := slices.Clone(e.all) // who hears may ask for more time, and wait for it
		e.mu.Unlock()
		for _, x := range all {
			x.patience.hear(m)
		}
	}
}

// sign adds the keys to a request, at their places.
func (e *exchanges) sign(req *http.Request) error { return e.keys.Sign(req.Header, req.URL) }

const (
	idempotencyHeader = "Idempotency-Key"
	traceHeader       = "X-Trace-Id"
	parameterHeader   = "Mcp-Param-"
	parameterSince    = "2026-07-28" // the protocol version from which parameters are repeated as headers, and a call ends with its connection
)

// callHeaders holds the values that a tools/call carries in its headers.
type callHeaders struct {
	idempotency string
	traceID     string
	parameters  map[string]string
}

func (f *callHeaders) write(h http.Header) {
	if f.idempotency != "" {
		h.Set(idempotencyHeader, f.idempotency)
	}
	if f.traceID != "" {
		h.Set(traceHeader, f.traceID)
	}
	if h.Get("Mcp-Protocol-Version") >= parameterSince {
		for name, value := range f.parameters {
			h.Set(parameterHeader+name, value)
		}
	}
}
