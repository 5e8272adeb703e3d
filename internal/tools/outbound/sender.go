package outbound

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/origin"
	"piloto/internal/ground/redact"
	"piloto/internal/tools/tool"
)

const (
	maxInformational = 8    // 1xx responses before a final one
	maxHeaderValue   = 1024 // bytes of a stored header
	userAgent        = tool.UserAgent
)

// keptHeaders lists the response headers that a result may hold.
var keptHeaders = []string{"Content-Type", "Location", "ETag", "Last-Modified", "Age", "Retry-After", "Link", "X-Request-Id"}

// headHeaders lists those of a HEAD, which is sent because of them.
var headHeaders = append([]string{"Content-Length"}, keptHeaders...)

// Sender sends the requests of steps.
type Sender struct {
	opts   Options
	reads  *http.Client // may keep connections, and repeat a request on a dead one
	writes *http.Client // sends each request once, on its own connection
	now    func() time.Time
	tokens *Tokens // nil: keys of the place "oauth" cannot be sent
}

// NewSender returns a Sender with the limits of opts.
func NewSender(opts Options, now func() time.Time) Sender {
	return Sender{opts: opts, reads: NewClient(opts), writes: newOnceClient(opts), now: now}
}

// With returns a Sender that also exchanges keys of the place "oauth" for tokens.
func (s Sender) With(tokens *Tokens) Sender {
	s.tokens = tokens
	return s
}

// Send sends a request and reads at most limit bytes of the response. The key is sent only to the origin that the
// request was built for.
//
// The error is ErrRequest for a request that must not be sent, ErrNotSent when no byte of it reached the server,
// and ErrLost when some bytes may have reached it and the outcome is unknown. When the status of an unsafe request
// arrived and its body was cut, Send returns an answer with Truncated set; for a read it returns ErrLost. For a key
// of the place "oauth" the error may also be ErrUnauthorized; a request whose token the server refuses is not
// repeated.
func (s Sender) Send(ctx context.Context, r tool.Request, keys tool.Keys, limit int64) (tool.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.timeout())
	defer cancel()
	keys, forget, err := s.exchangeKeys(ctx, keys)
	if err != nil {
		return tool.Answer{}, err
	}
	var handed atomic.Bool // a connection was handed to the request: bytes may follow
	req, err := request(watch(ctx, &handed), r, keys)
	if err != nil {
		return tool.Answer{}, err
	}
	secrets := keys.Secrets()
	failpoint.Here("outbound.request.before")
	res, err := s.client(r.Method).Do(req)
	failpoint.Here("outbound.request.after")
	if err != nil {
		return tool.Answer{}, failure(err, handed.Load(), secrets...)
	}
	defer func() { _ = res.Body.Close() }()
	if meaning.WantsKey(res.StatusCode) {
		forget()
	}
	if res.StatusCode < 200 { // 101: the connection is no longer HTTP
		return tool.Answer{}, failure(errProtocol, true, secrets...)
	}
	return s.read(r.Method, res, secrets, limit)
}

// exchangeKeys returns keys in the form that is sent, and the function to call when the server refuses them.
func (s Sender) exchangeKeys(ctx context.Context, keys tool.Keys) (sent tool.Keys, forget func(), err error) {
	forget = func() {}
	sent = slices.Clone(keys)
	for i, key := range keys {
		if key.Place.In != "oauth" || s.tokens == nil {
			continue
		}
		if sent[i], err = s.tokens.Exchange(ctx, key); err != nil {
			return nil, forget, err
		}
		ready := sent[i]
		forget = func() { s.tokens.Forget(key, ready.Secret) } // of one place there is one key
	}
	return sent, forget, nil
}

func (s Sender) client(method string) *http.Client {
	if tool.IsSafe(method) {
		return s.reads
	}
	return s.writes
}

// watch records when a connection is handed to the request, and ends a flood of informational responses.
func watch(ctx context.Context, handed *atomic.Bool) context.Context {
	informational := 0
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { handed.Store(true) },
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			if informational++; informational > maxInformational {
				return errProtocol
			}
			return nil
		},
	})
}

func request(ctx context.Context, r tool.Request, keys tool.Keys) (*http.Request, error) {
	target, err := url.Parse(r.URL)
	if err != nil || target.User != nil || target.Host == "" || !origin.Same(r.Origin, r.URL) {
		return nil, tool.ErrRequest.With("reason", "origin")
	}
	var body io.Reader
	if len(r.Body) > 0 {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return nil, tool.ErrRequest.With("reason", "form")
	}
	req.Header.Set("User-Agent", userAgent)
	for name, value := range r.Header {
		if strings.ContainsAny(name+value, "\r\n\x00") {
			return nil, tool.ErrRequest.With("reason", "header")
		}
		req.Header.Set(name, value)
	}
	return req, keys.Sign(req.Header, req.URL)
}

// read reads the body. It removes secrets that the server echoes, because results are shown, stored and given to
// models.
func (s Sender) read(method string, res *http.Response, secrets []string, limit int64) (tool.Answer, error) {
	longest := 0
	for _, secret := range secrets {
		longest = max(longest, len(secret))
	}
	margin := int64(3 * longest) // a key may be cut at the end of the read part: this many bytes there are never kept
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1+margin))
	if err != nil && tool.IsSafe(method) {
		return tool.Answer{}, failure(err, true, secrets...)
	}
	a := tool.Answer{Status: res.StatusCode, Headers: map[string]string{}, Bytes: len(body), Truncated: err != nil}
	a.Wait, a.Waits = meaning.Wait(res.Header.Get, s.now())
	a.Age = meaning.Age(res.Header.Get)
	if !res.Uncompressed && res.ContentLength > int64(len(body)) && method != http.MethodHead {
		a.Bytes = int(res.ContentLength)
	}
	more := int64(len(body)) > limit+margin
	body = redact.Known(body, secrets...)
	switch {
	case more:
		body = body[:max(0, int64(len(body))-margin)]
	case err != nil:
		body = trimBeginning(body, secrets)
	}
	if more || int64(len(body)) > limit {
		body, a.Truncated = body[:min(limit, int64(len(body)))], true
	}
	text, wide := fromUTF16(res.Header.Get("Content-Type"), body)
	if wide {
		if body = redact.Known(text, secrets...); a.Truncated {
			body = trimBeginning(body, secrets)
		}
	}
	text, cut := utf8Of(res.Header.Get("Content-Type"), body, limit)
	if wide && int64(len(text)) > limit {
		text, cut = bytes.ToValidUTF8(text[:limit], nil), true
	}
	a.Body, a.Truncated = text, a.Truncated || cut
	kept := keptHeaders
	if method == http.MethodHead {
		kept = headHeaders
	}
	for _, name := range kept {
		if value := string(redact.Known([]byte(res.Header.Get(name)), secrets...)); value != "" && isPrintable(value) {
			a.Headers[name] = value
		}
	}
	return a, nil
}

func isPrintable(value string) bool {
	return len(value) <= maxHeaderValue && utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// errProtocol means that a response is not complete HTTP.
var errProtocol = errors.New("the answer is not a complete HTTP response")
