package mcp

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"piloto/internal/tools/tool"
)

// errand is what requests are sent for: to which server, with which key, and what
// became of them. It travels in the context, past the SDK.
type errand struct {
	base     string
	key      *tool.Credential // ready to be sent
	call     *effect          // the one tools/call that may be made; nil: none
	streamed bool             // answers come on one stream (TransportSSE)
	stream   *errand          // the one that opened that stream, where it is another
	changed  func()           // the server says that its tools are others now

	mu        sync.Mutex
	exchanges []*exchange
	spent     bool // the tools/call was taken up
}

// exchange is one request and what came back. reply is the message that answers
// it, whatever the status was.
type exchange struct {
	method      string
	id          string
	session     bool // it named a session
	handed      atomic.Bool
	status      int // 0: none came
	header      http.Header
	unaddressed bool // refused with an error that answers nothing in particular: before it was read as a request
	err         error

	mu    sync.Mutex
	reply *message
}

// answer returns the message that answers the exchange, nil while there is none.
func (x *exchange) answer() *message {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.reply
}

// offer gives the exchange a message, and reports whether that answers it.
func (x *exchange) offer(m message) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.reply != nil || !m.answers(x.id) {
		return false
	}
	x.reply = &m
	return true
}

type errandKey struct{}

func (e *errand) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, errandKey{}, e)
}

func errandOf(ctx context.Context) *errand {
	e, _ := ctx.Value(errandKey{}).(*errand)
	return e
}

// newErrand returns an errand to a server.
func newErrand(base string, key *tool.Credential) *errand {
	return &errand{base: base, key: key}
}

// begin notes an exchange. A second tools/call is refused: whoever wants one would
// repeat an effect.
func (e *errand) begin(m message, req *http.Request) (*exchange, error) {
	x := &exchange{method: m.Method, session: req.Header.Get(sessionHeader) != ""}
	if m.asks() {
		x.id = string(m.ID)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if m.Method == methodCall {
		if e.call == nil || e.spent {
			return nil, errRepeated
		}
		e.spent = true
	}
	e.exchanges = append(e.exchanges, x)
	if e.stream != nil {
		e.stream.await(x)
	}
	return x, nil
}

// await has the stream that this errand opened answer an exchange of another.
func (e *errand) await(x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exchanges = append(e.exchanges, x)
}

// end notes how an exchange ended, and returns err.
func (e *errand) end(x *exchange, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	x.err = err
	return err
}

// last returns the last exchange of a method, "" for any; nil when there was none.
func (e *errand) last(method string) *exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.exchanges) - 1; i >= 0; i-- {
		if x := e.exchanges[i]; method == "" || x.method == method {
			return x
		}
	}
	return nil
}

// deliver gives a message of the stream to the exchange that it answers, and
// returns that one; nil when it answers none.
func (e *errand) deliver(m message) *exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.exchanges {
		if x.offer(m) {
			return x
		}
	}
	return nil
}

// forget drops what is no longer asked for, since an errand lives as long as the
// session it opened.
func (e *errand) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exchanges = nil
}

// note acts on what else a server says: of its notifications, one matters.
func (e *errand) note(m message) {
	if m.Method == methodChanged && e.changed != nil {
		e.changed()
	}
}

// sign puts the key where it belongs.
func (e *errand) sign(req *http.Request) error {
	if e.key == nil {
		return nil
	}
	place, secret := e.key.Place, e.key.Secret
	if strings.ContainsAny(secret+place.Name, "\r\n\x00") {
		return errKey
	}
	switch place.In {
	case "bearer":
		req.Header.Set("Authorization", "Bearer "+secret)
	case "header":
		req.Header.Set(place.Name, secret)
	case "query":
		pair := url.QueryEscape(place.Name) + "=" + url.QueryEscape(secret)
		if req.URL.RawQuery != "" {
			pair = "&" + pair
		}
		req.URL.RawQuery += pair
	default:
		return errKey
	}
	return nil
}

// errKey is the reason a request is not sent: its key could split a header, or has
// no place.
var errKey = tool.ErrRequest.With("reason", "key").Because(tool.ErrKey)

const (
	idempotencyHeader = "Idempotency-Key"
	traceHeader       = "X-Trace-Id"
	parameterHeader   = "Mcp-Param-"
	parameterSince    = "2026-07-28" // the version from which parameters are repeated as headers
)

// effect is what a tools/call carries beside its message.
type effect struct {
	idempotency string
	traceID     string
	parameters  map[string]string
}

func (f *effect) write(h http.Header) {
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
