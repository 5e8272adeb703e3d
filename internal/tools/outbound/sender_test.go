package outbound

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/tools/tool"
)

const secret = "s3cr3t-k3y/with+odd=chars"

// raw is a TCP server that reads one request per connection and sends configured bytes. It counts connections and
// requests.
type raw struct {
	url                   string
	connections, requests atomic.Int32
	last                  atomic.Value // the request as it arrived
}

func serveRaw(t *testing.T, answer func(net.Conn)) *raw {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := &raw{url: "http://" + l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.connections.Add(1)
			go r.talk(c, answer)
		}
	}()
	return r
}

func (r *raw) talk(c net.Conn, answer func(net.Conn)) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(req.Body)
		var head bytes.Buffer
		_ = req.Header.Write(&head)
		r.last.Store(req.Method + " " + req.RequestURI + "\n" + head.String() + "\n" + string(body))
		r.requests.Add(1)
		answer(c)
		if req.Close {
			return
		}
	}
}

func say(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, text) }
}

func sender(timeout time.Duration) Sender {
	return NewSender(Options{AllowLoopback: true, Timeout: timeout}, time.Now)
}

func to(url, method string) tool.Request {
	return tool.Request{Origin: url, Method: method, URL: url + "/x?a=1", Header: map[string]string{"Accept": "application/json"}}
}

func TestSendReturnsStatusHeadersAndBody(t *testing.T) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		r := serveRaw(t, say("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nSet-Cookie: a=b\r\nX-Secret: 1\r\nEtag: \"v\"\r\nRetry-After: 5\r\nLink: "+strings.Repeat("l", 2000)+"\r\nContent-Length: 9\r\n\r\n{\"id\":12}"))
		req := to(r.url, method)
		req.Body = []byte(`{"n":1}`)
		a, err := sender(2*time.Second).Send(t.Context(), req, nil, 1<<20)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if a.Status != 201 || string(a.Body) != `{"id":12}` || a.Bytes != 9 || a.Truncated {
			t.Errorf("%s: %+v", method, a)
		}
		if want := "map[Content-Type:application/json ETag:\"v\" Retry-After:5]"; fmt.Sprint(a.Headers) != want {
			t.Errorf("%s: headers %v, want %s", method, a.Headers, want)
		}
		got, _ := r.last.Load().(string)
		if !strings.HasPrefix(got, method+" /x?a=1\n") || !strings.HasSuffix(got, "\n\n{\"n\":1}") {
			t.Errorf("%s: arrived as %q", method, got)
		}
	}
}

// TestEveryPauseReachesTheCaller: in each form that package meaning reads, whichever headers are kept of the response.
func TestEveryPauseReachesTheCaller(t *testing.T) {
	slow := time.Now().Add(-time.Hour).UTC()
	for name, c := range map[string]struct {
		headers string
		want    time.Duration
		asks    bool
	}{
		"seconds":                {"Retry-After: 9\r\n", 9 * time.Second, true},
		"milliseconds":           {"Retry-After-Ms: 9500\r\n", 9500 * time.Millisecond, true},
		"both":                   {"retry-after-ms: 250\r\nretry-after: 9\r\n", 250 * time.Millisecond, true},
		"a date of a slow clock": {"Date: " + slow.Format(http.TimeFormat) + "\r\nRetry-After: " + slow.Add(9*time.Second).Format(http.TimeFormat) + "\r\n", 9 * time.Second, true},
		"none":                   {"", 0, false},
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			for _, status := range []int{425, 429, 503, 529} {
				r := serveRaw(t, say("HTTP/1.1 "+strconv.Itoa(status)+" X\r\n"+c.headers+"Content-Length: 0\r\n\r\n"))
				a, err := sender(2*time.Second).Send(t.Context(), to(r.url, method), nil, 100)
				m, wait := a.Meaning()
				if err != nil || a.Status != status || wait != c.want || (m == meaning.Later) != (c.asks || status < 500) {
					t.Errorf("%s of %s %d: %v after %s, %v", name, method, status, m, wait, err)
				}
			}
		}
	}
}

// TestTheAgeOfAnAnswerReachesTheCaller: also from a header that is not kept.
func TestTheAgeOfAnAnswerReachesTheCaller(t *testing.T) {
	r := serveRaw(t, say("HTTP/1.1 200 OK\r\nX-Cache: HIT\r\nContent-Length: 0\r\n\r\n"))
	if a, err := sender(2*time.Second).Send(t.Context(), to(r.url, "GET"), nil, 100); err != nil || a.Age == 0 {
		t.Errorf("%+v %v", a, err)
	}
}

// TestHeadHasHeadersAndNoBody: its length is what the resource has, and nothing of it was read.
func TestHeadHasHeadersAndNoBody(t *testing.T) {
	r := serveRaw(t, say("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nEtag: \"v\"\r\nLast-Modified: Mon, 02 Mar 2026 09:00:00 GMT\r\nSet-Cookie: a=b\r\nContent-Length: 731\r\n\r\n"))
	a, err := sender(2*time.Second).Send(t.Context(), to(r.url, "HEAD"), nil, 1<<20)
	want := "map[Content-Length:731 Content-Type:text/plain ETag:\"v\" Last-Modified:Mon, 02 Mar 2026 09:00:00 GMT]"
	if err != nil || a.Status != 200 || len(a.Body) != 0 || a.Bytes != 0 || a.Truncated || fmt.Sprint(a.Headers) != want {
		t.Errorf("%v, %+v", err, a)
	}
}

// TestSendDecodesOlderCharset: a person reads the text that the service wrote.
func TestSendDecodesOlderCharset(t *testing.T) {
	wide := func(text string) string { // UTF-16, little end first
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune(text)) {
			b.WriteString(string([]byte{byte(unit), byte(unit >> 8)}))
		}
		return b.String()
	}
	for name, c := range map[string]struct{ kind, body, want string }{
		"latin 1":             {"application/json; charset=ISO-8859-1", "{\"ciudad\":\"M\xe1laga\"}", `{"ciudad":"Málaga"}`},
		"as Windows means it": {"text/csv;charset=latin1", "5 \x80;\x93s\xed\x94", "5 €;“sí”"},
		"latin 9":             {"text/plain; charset=iso-8859-15", "5 \xa4", "5 €"},
		"what it is not":      {"text/plain; charset=iso-8859-1", "Málaga", "Málaga"},
		"another":             {"text/plain; charset=shift_jis", "\x82\xa0", "\x82\xa0"},
		"none":                {"text/plain", "M\xe1laga", "M\xe1laga"},
		"broken":              {"text/plain; charset", "M\xe1laga", "M\xe1laga"},
		"cut":                 {"text/plain; charset=latin1", strings.Repeat("\xe1", 15), "ááááá"},
		"a mark":              {"application/json", "\ufeff{\"a\":1}", `{"a":1}`},
		"UTF-16":              {"application/json", "\xff\xfe" + wide(`{"a":"ñ😀"}`), `{"a":"ñ😀"}`},
		"UTF-16, high first":  {"application/json", "\xfe\xff\x00{\x00}", `{}`},
		"UTF-16 by its type":  {"text/xml; charset=UTF-16LE", wide("<á/>"), "<á/>"},
		"a secret in UTF-16":  {"text/plain", "\xff\xfe" + wide("a "+secret+" b"), "a [redacted] b"},
		"an image":            {"image/x", "\xff\xfea\x00", "\xff\xfea\x00"},
		"without the secret":  {"text/plain; charset=latin1", "\xe1" + secret, "á[redacted]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveRaw(t, say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", c.kind, len(c.body), c.body)))
			limit := int64(100)
			if name == "cut" {
				limit = 11
			}
			a, err := sender(time.Second).Send(t.Context(), tool.Request{Method: "GET", Origin: s.url, URL: s.url + "/x"}, tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}, limit)
			if err != nil || string(a.Body) != c.want || a.Truncated != (name == "cut") {
				t.Errorf("%q truncated %v, %v; want %q", a.Body, a.Truncated, err, c.want)
			}
		})
	}
}

func TestSendPutsKeyInItsPlace(t *testing.T) {
	cases := []struct {
		place tool.KeyPlace
		want  string
	}{
		{tool.KeyPlace{In: "bearer"}, "Authorization: Bearer " + secret + "\r\n"},
		{tool.KeyPlace{In: "header", Name: "X-Api-Key"}, "X-Api-Key: " + secret + "\r\n"},
		{tool.KeyPlace{In: "header", Name: "Authorization"}, "Authorization: " + secret + "\r\n"},
		{tool.KeyPlace{In: "query", Name: "api key"}, "GET /x?a=1&api+key=s3cr3t-k3y%2Fwith%2Bodd%3Dchars\n"},
	}
	for _, c := range cases {
		r := serveRaw(t, say("HTTP/1.1 204 No Content\r\n\r\n"))
		if _, err := sender(2*time.Second).Send(t.Context(), to(r.url, "GET"), tool.Keys{{Place: c.place, Secret: secret}}, 10); err != nil {
			t.Fatal(err)
		}
		if got, _ := r.last.Load().(string); !strings.Contains(got, c.want) || strings.Contains(got, "Referer") {
			t.Errorf("%+v: arrived as %q", c.place, got)
		}
	}
}

func TestSendRefusesToLeaveTheOrigin(t *testing.T) {
	r := serveRaw(t, say("HTTP/1.1 204 No Content\r\n\r\n"))
	key := tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}
	for _, change := range []func(*tool.Request){
		func(q *tool.Request) { q.Origin = "http://other.example" },
		func(q *tool.Request) { q.Origin = "" },
		func(q *tool.Request) { q.Origin = strings.Replace(q.Origin, "http:", "https:", 1) },
		func(q *tool.Request) { q.URL = strings.Replace(q.URL, "127.0.0.1", "localhost", 1) },
		func(q *tool.Request) { q.URL = strings.Replace(q.URL, "://", "://user@", 1) },
		func(q *tool.Request) { q.URL = "/x" },
		func(q *tool.Request) { q.Header["X-A"] = "b\r\nX-C: d" },
		func(q *tool.Request) { q.Method = "GET /y" },
	} {
		req := to(r.url, "GET")
		change(&req)
		if _, err := sender(time.Second).Send(t.Context(), req, key, 10); !errors.Is(err, tool.ErrRequest) {
			t.Errorf("%+v: %v, want ErrRequest", req, err)
		}
	}
	bad := tool.Keys{{Place: tool.KeyPlace{In: "header", Name: "X"}, Secret: "a\r\nb: c"}}
	if _, err := sender(time.Second).Send(t.Context(), to(r.url, "GET"), bad, 10); !errors.Is(err, tool.ErrRequest) {
		t.Errorf("%v, want ErrRequest", err)
	}
	if r.requests.Load() != 0 {
		t.Errorf("%d requests arrived", r.requests.Load())
	}
}

func TestSendDistinguishesSentFromNotSent(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request arrived without a verified certificate") }))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	silent := func(net.Conn) { <-t.Context().Done() }
	reset := func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() }
	hangUp := func(c net.Conn) { _ = c.Close() }
	cases := []struct {
		name   string
		url    string
		opts   Options
		want   *fault.Error
		reason string
	}{
		{"refused", closed.URL, Options{AllowLoopback: true}, tool.ErrNotSent, "refused"},
		{"guarded", closed.URL, Options{}, tool.ErrNotSent, "target"},
		{"unknown name", "http://nowhere.invalid", Options{Resolver: (&fakeDNS{}).serve(t)}, tool.ErrNotSent, "dns"},
		{"certificate", secure.URL, Options{AllowLoopback: true}, tool.ErrNotSent, "tls"},
		{"plain text on TLS", strings.Replace(serveRaw(t, hangUp).url, "http:", "https:", 1), Options{AllowLoopback: true, Timeout: time.Second}, tool.ErrNotSent, ""},
		{"no answer", serveRaw(t, silent).url, Options{AllowLoopback: true, Timeout: 2 * time.Second}, tool.ErrLost, "timeout"},
		{"reset", serveRaw(t, reset).url, Options{AllowLoopback: true}, tool.ErrLost, ""},
		{"hung up", serveRaw(t, hangUp).url, Options{AllowLoopback: true}, tool.ErrLost, ""},
		{"half a status line", serveRaw(t, func(c net.Conn) { say("HTTP/1.1 20")(c); _ = c.Close() }).url, Options{AllowLoopback: true}, tool.ErrLost, ""},
		{"half the headers", serveRaw(t, func(c net.Conn) { say("HTTP/1.1 200 OK\r\nContent-Le")(c); _ = c.Close() }).url, Options{AllowLoopback: true}, tool.ErrLost, ""},
		{"not HTTP", serveRaw(t, func(c net.Conn) { say("SSH-2.0-x\r\n")(c); _ = c.Close() }).url, Options{AllowLoopback: true}, tool.ErrLost, ""},
		{"upgrade", serveRaw(t, say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")).url, Options{AllowLoopback: true, Timeout: time.Second}, tool.ErrLost, ""},
	}
	key := tool.Keys{{Place: tool.KeyPlace{In: "query", Name: "k"}, Secret: secret}}
	for _, c := range cases {
		for _, method := range []string{"GET", "POST"} {
			_, err := NewSender(c.opts, time.Now).Send(t.Context(), to(c.url, method), key, 100)
			if !errors.Is(err, c.want) {
				t.Errorf("%s %s: %v, want %s", method, c.name, err, c.want.Code)
				continue
			}
			if got := fault.Of(err).Args["reason"]; c.reason != "" && got != c.reason {
				t.Errorf("%s %s: reason %s (%v), want %s", method, c.name, got, err, c.reason)
			}
			for _, form := range []string{secret, "s3cr3t", "/x?a=1"} {
				if strings.Contains(fmt.Sprintf("%v %+v", err, err), form) {
					t.Errorf("%s %s: the error tells %q: %v", method, c.name, form, err)
				}
			}
		}
	}
}

func TestSendEndsWithContext(t *testing.T) {
	arrived := make(chan struct{})
	r := serveRaw(t, func(net.Conn) { close(arrived); <-t.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := sender(10*time.Second).Send(ctx, to(r.url, "POST"), nil, 10); !errors.Is(err, tool.ErrLost) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want lost and cancelled", err)
	}
	done, stop := context.WithCancel(t.Context())
	stop()
	if _, err := sender(time.Second).Send(done, to(r.url, "POST"), nil, 10); !errors.Is(err, tool.ErrNotSent) {
		t.Errorf("%v, want not sent", err)
	}
}

// TestUnsafeRequestsArriveOnce: net/http repeats a request on a kept connection that is dead, and treats an
// Idempotency-Key as permission.
func TestUnsafeRequestsArriveOnce(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		var n atomic.Int32
		r := serveRaw(t, func(c net.Conn) {
			if n.Add(1)%2 == 1 {
				say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")(c)
				return
			}
			_ = c.Close() // the server applies the request, and does not respond
		})
		s := sender(2 * time.Second)
		for i := range 6 {
			req := to(r.url, method)
			req.Header["Idempotency-Key"] = "k"
			req.Body = []byte("{}")
			_, err := s.Send(t.Context(), req, nil, 10)
			if i%2 == 0 && err != nil || i%2 == 1 && !errors.Is(err, tool.ErrLost) {
				t.Errorf("%s %d: %v", method, i, err)
			}
		}
		if got := r.requests.Load(); got != 6 || r.connections.Load() != 6 {
			t.Errorf("%s: %d requests on %d connections arrived, want 6 on 6", method, got, r.connections.Load())
		}
	}
}

func TestReadsKeepTheirConnection(t *testing.T) {
	r := serveRaw(t, say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	s := sender(2 * time.Second)
	for range 5 {
		if _, err := s.Send(t.Context(), to(r.url, "GET"), nil, 10); err != nil {
			t.Fatal(err)
		}
	}
	if r.connections.Load() != 1 {
		t.Errorf("%d connections for 5 reads, want 1", r.connections.Load())
	}
}
