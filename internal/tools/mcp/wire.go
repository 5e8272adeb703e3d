package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"time"

	"piloto/internal/ground/meaning"
	"piloto/internal/ground/origin"
	"piloto/internal/tools/tool"
)

// Limits of every exchange, in bytes except the last.
const (
	maxAnswer        = 16 << 20
	maxRefusal       = 64 << 10 // of a response without an answer
	maxRequest       = 8 << 20
	maxSessionID     = 1 << 10
	maxInformational = 8 // 1xx responses before a final one
)

const (
	exchangeTime   = 30 * time.Second
	endSessionTime = 2 * time.Second // to notify a server that a session ends
	declineTime    = 5 * time.Second
	probeTime      = 5 * time.Second // to find out whether a server supports discovery
	eventStream    = "text/event-stream"
	userAgent      = tool.UserAgent
	sessionHeader  = "Mcp-Session-Id"
)

var (
	errForeign  = errors.New("the request would leave the server's origin")
	errRepeated = errors.New("a call is sent once")
	errTooLarge = errors.New("the answer is larger than what is read of one")
	errNoReply  = errors.New("the answer is not one to the request")
	errProtocol = errors.New("the answer is not a complete HTTP response")
)

// noAnswer is the error of a response that is no answer to the request: a word of package tool for its kind.
type noAnswer string

func (c noAnswer) Error() string { return "the response is no answer to the request: " + string(c) }

// Is lets it be errNoReply, too.
func (c noAnswer) Is(target error) bool { return target == errNoReply }

// wire sends the SDK's requests. The SDK never reaches the network itself: it gets a response that was read to its
// end here, as one plain JSON message, so that it can neither reconnect nor repeat a request. A broken stream is
// resumed here.
type wire struct {
	reads   http.RoundTripper // may keep connections
	calls   http.RoundTripper // each tools/call on its own connection: a failure before the connection is handed out means that nothing was sent
	timeout time.Duration
}

func newWire(client *http.Client, timeout time.Duration) *wire {
	w := &wire{reads: client.Transport, timeout: timeout}
	if w.timeout <= 0 {
		w.timeout = client.Timeout
	}
	if w.timeout <= 0 {
		w.timeout = exchangeTime
	}
	w.calls = w.reads
	if t, ok := w.reads.(*http.Transport); ok {
		w.calls = singleUse(t)
	}
	return w
}

// singleUse returns a copy of a transport that opens a connection for each request, and speaks HTTP/1.1 on it. A
// plain clone would still offer HTTP/2 to servers.
func singleUse(t *http.Transport) *http.Transport {
	c := t.Clone()
	c.DisableKeepAlives = true
	c.ForceAttemptHTTP2 = false
	c.Protocols = new(http.Protocols)
	c.Protocols.SetHTTP1(true)
	c.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	if c.TLSClientConfig == nil {
		c.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.TLSClientConfig.NextProtos = []string{"http/1.1"}
	return c
}

// client returns the HTTP client of the SDK. It follows no redirect and keeps no cookie.
func (w *wire) client() *http.Client {
	return &http.Client{
		Transport:     w,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTrip implements http.RoundTripper. A request belongs to the exchanges in its context, and is sent only to
// their origin.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(req.Body, maxRequest+1))
		_ = req.Body.Close()
		if err != nil || len(body) > maxRequest {
			return nil, errTooLarge
		}
	}
	e := exchangesOf(req.Context())
	if e == nil || !origin.Same(e.base, req.URL.String()) || req.URL.User != nil {
		return nil, errForeign
	}
	switch req.Method {
	case http.MethodPost:
		return w.post(req, e, body)
	case http.MethodGet:
		return w.listen(req, e)
	}
	return w.endSession(req, e)
}

// post sends one message. The SDK gets only the data that it needs to continue; the exchange holds the full result.
func (w *wire) post(req *http.Request, e *exchanges, body []byte) (*http.Response, error) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	if m.Method == methodCancelled {
		return newResponse(req, http.StatusAccepted, nil, nil), nil // the SDK's own, which it sends when it can: cancel sends it
	}
	x, err := e.begin(m, req)
	if err != nil {
		return nil, err
	}
	ctx := req.Context()
	if x.patience == nil { // the patience of a call is in the context
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeoutOf(x.method))
		defer cancel()
	}
	out, err := w.outgoingRequest(watch(ctx, x), req, body, e)
	if err != nil {
		return nil, e.end(x, err)
	}
	by := w.reads
	if x.method == methodCall {
		by = w.calls
		e.call.write(out.Header)
	} else {
		allowRetry(out, body)
	}
	res, err := by.RoundTrip(out)
	if err != nil {
		return nil, e.end(x, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < 200 { // 101: the connection is no longer HTTP
		return nil, e.end(x, errProtocol)
	}
	x.status, x.header = res.StatusCode, res.Header
	if e.streamed || !m.isRequest() {
		said := refusal(res, x)
		return newResponse(req, res.StatusCode, res.Header, said), e.end(x, nil)
	}
	err = w.read(ctx, req, res, e, x)
	_ = e.end(x, err)
	return x.sdkResponse(req, err)
}

// timeoutOf returns the timeout of an exchange. A server that does not support discovery may not answer it at all;
// the older handshake then needs the rest of the time.
func (w *wire) timeoutOf(method string) time.Duration {
	if method == methodDiscover {
		return min(probeTime, w.timeout/2)
	}
	return w.timeout
}

// sdkResponse returns the response that the SDK gets: the full one of a handshake, and of other exchanges only
// whether there was an answer.
func (x *exchange) sdkResponse(req *http.Request, err error) (*http.Response, error) {
	switch x.method {
	case methodList, methodCall:
		return newResponse(req, http.StatusOK, x.header, x.placeholder()), nil
	}
	if reply := x.answer(); reply != nil {
		return newResponse(req, x.status, x.header, reply.sdkAnswer(x.id)), nil
	}
	if meaning.Of(x.status, false) == meaning.Done {
		if err == nil {
			err = errNoReply
		}
		return nil, err
	}
	return newResponse(req, x.status, x.header, nil), nil
}

// newResponse returns a response with a body that was read already.
func newResponse(req *http.Request, status int, header http.Header, body []byte) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	if id := header.Get(sessionHeader); id != "" && len(id) <= maxSessionID {
		h.Set(sessionHeader, id)
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// outgoingRequest returns the request in the form that is sent. Its body cannot be read again, so that net/http cannot
// repeat it; allowRetry makes an exception for requests without an effect.
func (w *wire) outgoingRequest(ctx context.Context, req *http.Request, body []byte, e *exchanges) (*http.Request, error) {
	out := req.Clone(ctx)
	out.Body, out.GetBody, out.ContentLength = nil, nil, 0
	if len(body) > 0 {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	out.Header.Set("User-Agent", userAgent)
	return out, e.sign(out)
}

// allowRetry lets net/http send a request again on a new connection when a kept one is dead.
func allowRetry(out *http.Request, body []byte) {
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Header["X-Idempotency-Key"] = []string{} // it marks the request for net/http as idempotent, and is not sent
}

// watch records when a connection is handed to the request: from then on bytes may have been sent. It also ends a
// flood of informational responses.
func watch(ctx context.Context, x *exchange) context.Context {
	informational := 0
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { x.handed.Store(true) },
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			if informational++; informational > maxInformational {
				return errProtocol
			}
			return nil
		},
	})
}

// endSession ends a session, with a short timeout.
func (w *wire) endSession(req *http.Request, e *exchanges) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), min(endSessionTime, w.timeout))
	defer cancel()
	out, err := w.outgoingRequest(ctx, req, nil, e)
	if err != nil {
		return nil, err
	}
	res, err := w.reads.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	return newResponse(req, res.StatusCode, nil, nil), nil
}

// read finds the answer to an exchange in a response.
func (w *wire) read(ctx context.Context, req *http.Request, res *http.Response, e *exchanges, x *exchange) error {
	if meaning.Of(res.StatusCode, false) != meaning.Done {
		refusal(res, x)
		return nil
	}
	body := &limitedReader{of: res.Body, left: maxAnswer}
	if mediaType(res.Header) == eventStream {
		return w.readEvents(ctx, req, body, e, x)
	}
	media := res.Header.Get("Content-Type")
	if mediaType(res.Header) != "application/json" {
		var beginning []byte
		if !meaning.Page(media, nil) {
			beginning, _ = io.ReadAll(io.LimitReader(body, maxRefusal))
		}
		return x.came(media, beginning)
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	for _, m := range messages(raw) {
		e.note(m)
		if x.offer(m) {
			return nil
		}
	}
	return x.came(media, raw)
}

// came returns the kind of a response that holds no answer to the exchange.
func (x *exchange) came(contentType string, raw []byte) noAnswer {
	switch {
	case meaning.Page(contentType, raw):
		return tool.CamePage
	case len(bytes.TrimSpace(raw)) == 0:
		return tool.CameNothing
	}
	for _, m := range messages(raw) {
		if c := x.cameIn(m); c != "" {
			return c
		}
	}
	return tool.CameOther
}

// cameIn returns the kind of a message that is an answer, but none to the exchange; "" for any other message.
func (x *exchange) cameIn(m message) noAnswer {
	switch {
	case m.Method != "" || m.Error == nil && len(m.Result) == 0 && m.hasNoID():
		return ""
	case m.isOf(x.id):
		return tool.CameResult
	}
	return tool.CameAnother
}

// readEvents reads a stream until it contains the answer, and resumes it when it breaks off. Other messages are
// declined or dropped. The limits cover all resumed streams together.
func (w *wire) readEvents(ctx context.Context, req *http.Request, body *limitedReader, e *exchanges, x *exchange) error {
	asked := 0
	var came noAnswer
	s := events{retry: usualRetry, each: func(name string, data []byte) {
		for _, m := range messages(data) {
			e.note(m)
			switch {
			case x.offer(m):
			case m.isRequest() && asked < maxAsked:
				asked++
				w.decline(ctx, req, e, m)
			default:
				came = cmp.Or(came, x.cameIn(m))
			}
		}
	}}
	last := io.NopCloser(body) // the caller closes the first body
	defer func() { _ = last.Close() }()
	for range maxResumed {
		err := s.read(body, func() bool { return x.answer() != nil })
		if errors.Is(err, errNoReply) && came != "" {
			return came
		}
		if err == nil || errors.Is(err, errTooLarge) || s.id == "" {
			return err
		}
		rest, wrong := w.resume(ctx, req, e, x, &s)
		if wrong != nil {
			return err
		}
		_ = last.Close()
		last, body.of = rest, rest
	}
	return errNoReply
}

// maxAsked limits how many requests of a server are declined during one exchange.
const maxAsked = 16

// decline answers a request of the server: a ping with an empty result, any other with an error. Failures to
// deliver the answer are ignored.
func (w *wire) decline(ctx context.Context, of *http.Request, e *exchanges, m message) {
	w.aside(ctx, of, e, m.declineReply(), declineTime)
}

// cancel notifies the server that nobody waits for the answer to a call any more, so that it may stop. Since 2026-07-28 the
// end of the call's own connection says so. The call stays in doubt after any answer of the server.
func (w *wire) cancel(e *exchanges, x *exchange) {
	if x.of.Header.Get("Mcp-Protocol-Version") >= parameterSince {
		return
	}
	const reason = `,"reason":"no answer in time"}}`
	text := []byte(`{"jsonrpc":"2.0","method":"` + methodCancelled + `","params":{"requestId":` + x.id + reason)
	w.aside(context.WithoutCancel(x.of.Context()), x.of, e, text, endSessionTime)
}

// aside posts a message that belongs to a request in progress, and to which no answer is awaited.
func (w *wire) aside(ctx context.Context, of *http.Request, e *exchanges, text []byte, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, min(within, w.timeout))
	defer cancel()
	req := of.Clone(ctx)
	req.Header.Del("Mcp-Method") // they belong to the request in progress
	req.Header.Del("Mcp-Name")
	out, err := w.outgoingRequest(ctx, req, text, e)
	if err != nil {
		return
	}
	if res, err := w.reads.RoundTrip(out); err == nil {
		_ = res.Body.Close()
	}
}

// refusal reads the JSON-RPC error in a response without an answer. The error may name the request, or none.
func refusal(res *http.Response, x *exchange) []byte {
	if meaning.Of(res.StatusCode, false) == meaning.Done {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	if err != nil || mediaType(res.Header) != "application/json" {
		return nil
	}
	for _, m := range messages(raw) {
		if m.Error == nil {
			continue
		}
		x.offer(m)
		x.unaddressed = x.unaddressed || m.hasNoID()
		return m.raw
	}
	return nil
}

func mediaType(h http.Header) string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// limitedReader ends with errTooLarge.
type limitedReader struct {
	of   io.Reader
	left int64
}

func (b *limitedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.of.Read(p)
	b.left -= int64(n)
	return n, err
}
