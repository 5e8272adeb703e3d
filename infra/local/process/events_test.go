package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"piloto/internal/edge/gateway"
)

// eventAPI returns the API of a deployment whose functions run in this process, but are called with
// events like functions in processes of their own.
func eventAPI(p *Process) http.Handler {
	tasks := map[string]gateway.Function{}
	for id, h := range p.functions.http {
		tasks[id] = gateway.NewFunction(gateway.Edge{}.Handler(h))
	}
	for id, f := range p.functions.tasks {
		tasks[id] = f
	}
	other := *p
	other.functions = &functions{template: p.template, now: p.functions.now, log: p.log, tasks: tasks, timeouts: p.functions.timeouts}
	return other.gateway()
}

// oddRequest is one request as it is on the wire after its first line.
type oddRequest struct {
	name    string
	line    string
	headers []string
	body    string
	differs string // why the two responses may differ, and where
	begins  string // start of both responses; empty: not checked
}

var oddRequests = []oddRequest{
	{name: "a chat", line: "POST /api/chats", body: `{}`, headers: []string{"Content-Type: application/json"}},
	{name: "a chat that is not there", line: "GET /api/chats/01HZZZZZZZZZZZZZZZZZZZZZZZ"},
	{name: "no route", line: "GET /api/nothing"},
	{name: "no method of a route", line: "DELETE /api/send"},
	{name: "a method of one's own", line: "BREW /api/chats"},
	{name: "head", line: "HEAD /health"},
	{name: "head of a page", line: "HEAD /"},
	{name: "health", line: "GET /health"},
	{name: "a page for nobody", line: "GET /", headers: []string{"Authorization: "}},
	{name: "another language", line: "GET /nothing", headers: []string{"Accept-Language: en-GB, en;q=0.8"}},
	{name: "an asset", line: "GET /assets/piloto.css"},
	{name: "an asset, compressed", line: "GET /assets/piloto.css", headers: []string{"Accept-Encoding: gzip"}},
	{name: "a binary asset", line: "GET /assets/favicon.ico"},
	{name: "no token", line: "GET /api/chats", headers: []string{"Authorization: "}},
	{name: "a wrong token", line: "GET /api/chats", headers: []string{"Authorization: Bearer wrong-token-0000"}},
	{name: "two tokens", line: "GET /api/chats", headers: []string{"Authorization: Bearer " + testToken, "Authorization: Bearer " + testToken}},
	{name: "cookies", line: "GET /api/chats", headers: []string{"Authorization: ", "Cookie: a=1; __Host-piloto_session=none", "Cookie: b=2"}},
	{name: "a cookie from another page", line: "POST /api/chats", headers: []string{"Authorization: ", "Cookie: __Host-piloto_session=none", "Origin: http://evil.example"}, body: "{}"},
	{name: "a header that stands twice", line: "GET /api/chats", headers: []string{"Accept: text/html", "Accept: application/json"}},
	{name: "a query that stands twice", line: "GET /api/chats?limit=1&limit=2"},
	{name: "a query of letters", line: "GET /api/chats?limit=x"},
	{name: "a query with signs", line: "GET /api/chats?cursor=a%2Bb%26c+d%20%C3%B1"},
	{name: "a query that is not encoded", line: "GET /api/chats?cursor=%zz&limit=2"},
	{name: "a query alone", line: "GET /api/chats?"},
	{name: "an encoded letter", line: "GET /api/%63hats", differs: "the HTTP API decodes the path"},
	{name: "an encoded hash", line: "GET /api/chats/a%23b"},
	{name: "an encoded question", line: "GET /api/chats/a%3Fb"},
	{name: "a space", line: "GET /api/chats/a%20b"},
	{name: "another alphabet", line: "GET /api/chats/%E6%97%A5%E6%9C%AC"},
	{name: "no UTF-8 in the path", line: "GET /api/chats/%FF", begins: "HTTP/1.1 400"},
	{name: "no UTF-8 in the name of a session", line: "DELETE /memory/a%ff%fe", begins: "HTTP/1.1 400"},
	{name: "no UTF-8 in the path of a page", line: "GET /ui/chats/%c0%af", begins: "HTTP/1.1 400"},
	{name: "no UTF-8 in a query", line: "GET /api/chats?cursor=%ff", begins: "HTTP/1.1 400"},
	{name: "no UTF-8 in the name of a query", line: "GET /?%ff=1", begins: "HTTP/1.1 400"},
	{name: "no UTF-8 in a path that nobody serves", line: "GET /nothing/%ff", begins: "HTTP/1.1 400"},
	{name: "the sign of what was lost", line: "GET /memory/%EF%BF%BD", begins: "HTTP/1.1 400"},
	{name: "an encoded slash", line: "GET /api/chats/a%2Fb"},
	{name: "a session with a slash", line: "GET /memory/whatsapp%2F51999"},
	{name: "an encoded percent", line: "GET /api/chats/a%2541"},
	{name: "a session with a percent", line: "GET /memory/x%2525y"},
	{name: "other signs", line: "GET /api/chats/a;b,c:d@e=f&g+h"},
	{name: "a step of a run with a slash", line: "GET /api/runs/a%2Fb/steps/c%2Fd/result"},
	{name: "dots", line: "GET /api/../api/chats"},
	{name: "an empty segment", line: "GET /api//chats"},
	{name: "a slash at the end", line: "GET /api/chats/"},
	{name: "unicode", line: "POST /api/send", headers: []string{"Content-Type: application/json; charset=utf-8"}, body: `{"chat_id":"ñandú 日本 \ud83d\ude80","message":"¿?"}`},
	{name: "no UTF-8", line: "POST /api/send", headers: []string{"Content-Type: application/json"}, body: "{\"message\":\"\xff\xfe\"}"},
	{name: "a NUL", line: "POST /api/send", headers: []string{"Content-Type: application/json"}, body: "{\"message\":\"\x00\"}"},
	{name: "bytes", line: "POST /api/send", headers: []string{"Content-Type: application/octet-stream"}, body: "\x00\x01\x02"},
	{name: "no content type", line: "POST /api/send", body: `{"message":"Hola"}`},
	{name: "a form", line: "POST /signin", headers: []string{"Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin"}, body: "token=wrong%20token"},
	{name: "a form that signs in", line: "POST /signin", headers: []string{"Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin"}, body: "token=" + testToken},
	{name: "compressed", line: "POST /api/send", headers: []string{"Content-Type: application/json", "Content-Encoding: gzip"}, body: "{}"},
	{name: "a trace", line: "GET /api/chats/none", headers: []string{"X-Trace-Id: 0123456789abcdef0123456789abcdef"}},
	{name: "another host", line: "GET /", headers: []string{"Host: piloto.example:8443"}},
	{name: "a proxy with TLS", line: "POST /api/realtime", headers: []string{"Content-Type: application/json", "X-Forwarded-Proto: https"}, body: "{}"},
	{name: "a proxy", line: "GET /api/chats/none", headers: []string{"X-Forwarded-For: 10.1.2.3", "X-Forwarded-Proto: http"}},
}

// TestEventsGiveSameAnswers sends each request with and without events. The responses are equal,
// except where the table says otherwise.
func TestEventsGiveSameAnswers(t *testing.T) {
	p, _, _, _ := deploy(t, Settings{Demo: true, Parameters: Unlimited()})
	direct, events := httptest.NewServer(p.functions), httptest.NewServer(eventAPI(p))
	t.Cleanup(direct.Close)
	t.Cleanup(events.Close)
	for _, a := range oddRequests {
		t.Run(a.name, func(t *testing.T) {
			want, got := a.ask(t, direct), a.ask(t, events)
			if (want == got) != (a.differs == "") || !strings.HasPrefix(got, a.begins) {
				t.Errorf("directly\n%s\nthrough events\n%s\n(%s)", want, got, a.differs)
			}
		})
	}
}

// variableText matches the parts in which two responses to one request differ: ids, times and
// secrets.
var variableText = regexp.MustCompile(`01[0-9A-HJKMNP-TV-Z]{24}|20\d\d-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{32}|piloto_session(_[0-9]+)?=[^;]+|ticket(=|":")[\w-]+|"now":\d+|nonce[-=]"?[^"' ]+|127\.0\.0\.1:\d+`)

// variableHeaders matches headers that change each time; a time may have more or fewer digits.
var variableHeaders = regexp.MustCompile(`(?m)^(Date|Content-Length|Apigw-Requestid|X-Trace-Id): .*\r\n`)

// ask sends the request, and returns the response without its variable parts.
func (a oddRequest) ask(t *testing.T, s *httptest.Server) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s HTTP/1.1\r\nConnection: close\r\n", a.line)
	head := strings.Join(a.headers, "\r\n")
	if !strings.Contains(head, "Host: ") {
		b.WriteString("Host: piloto.example\r\n")
	}
	if !strings.Contains(head, "Authorization:") {
		b.WriteString("Authorization: Bearer " + testToken + "\r\n")
	}
	for _, h := range a.headers {
		if !strings.HasSuffix(h, ": ") {
			b.WriteString(h + "\r\n")
		}
	}
	if a.body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(a.body))
	}
	b.WriteString("\r\n" + a.body)
	if _, err := conn.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return variableText.ReplaceAllString(variableHeaders.ReplaceAllString(string(answer), ""), "…")
}
