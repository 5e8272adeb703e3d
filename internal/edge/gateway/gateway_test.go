package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// event reads a recorded event.
func event(t *testing.T, name string) events.APIGatewayV2HTTPRequest {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRequestArrivesAsItWasSent(t *testing.T) {
	var got *http.Request
	var body []byte
	serve := Edge{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	if _, err := serve(t.Context(), event(t, "post.json")); err != nil {
		t.Fatal(err)
	}
	p, _ := auth.FromContext(got.Context())
	for what, pair := range map[string][2]string{
		"method":  {got.Method, "POST"},
		"uri":     {got.RequestURI, "/api/chats/a%2Fb/messages?cursor=a%2Bb&x=1&x=2"},
		"path":    {got.URL.EscapedPath(), "/api/chats/a%2Fb/messages"},
		"query":   {fmt.Sprint(got.URL.Query()["x"]), "[1 2]"},
		"host":    {got.Host, "api.example.org"},
		"in map":  {got.Header.Get("Host"), ""},
		"remote":  {got.RemoteAddr, "203.0.113.7:0"},
		"list":    {got.Header.Get("Accept"), "text/html,application/json"},
		"cookie":  {fmt.Sprint(got.Cookies()), "[piloto_session=abc piloto_lang=en]"},
		"length":  {fmt.Sprint(got.ContentLength), "15"},
		"body":    {string(body), `{"message":"ñ"}` + ""},
		"account": {string(p.Account) + " " + p.User + " " + p.TokenID + " " + fmt.Sprint(p.Scopes), "default ana f00d [chat admin]"},
		"trace":   {got.Header.Get("X-Trace-Id"), ""},
	} {
		want := pair[1]
		if what == "length" {
			want = fmt.Sprint(len(`{"message":"ñ"}`))
		}
		if pair[0] != want {
			t.Errorf("%s: %q, want %q", what, pair[0], want)
		}
	}
}

func TestOddPathsArrive(t *testing.T) {
	for _, c := range []struct{ raw, stage, escaped, path string }{
		{"/", "$default", "/", "/"},
		{"", "$default", "/", "/"},
		{"x", "", "/x", "/x"},
		{"/a%2Fb", "", "/a%2Fb", "/a/b"},
		{"/a%2fb", "", "/a%2fb", "/a/b"},
		{"/a#b", "", "/a%23b", "/a#b"},
		{"/a%23b", "", "/a%23b", "/a#b"},
		{"/a?b", "", "/a%3Fb", "/a?b"},
		{"/a b", "", "/a%20b", "/a b"},
		{"/a+b", "", "/a+b", "/a+b"},
		{"/ñ/日本", "", "/%C3%B1/%E6%97%A5%E6%9C%AC", "/ñ/日本"},
		{"/%C3%B1", "", "/%C3%B1", "/ñ"},
		{"/%zz", "", "/%25zz", "/%zz"},
		{"/%", "", "/%25", "/%"},
		{"//a//b", "", "//a//b", "//a//b"},
		{"//evil.example/x", "", "//evil.example/x", "//evil.example/x"},
		{"/../etc", "", "/../etc", "/../etc"},
		{"/a:b@c", "", "/a:b@c", "/a:b@c"},
		{"/\x00\n", "", "/%00%0A", "/\x00\n"},
		{"/\xff", "", "/%FF", "/\xff"},
		{"/[x]{y}|^`\"<>\\", "", "", "/[x]{y}|^`\"<>\\"},
		{"/prod", "prod", "/", "/"},
		{"/prod/api", "prod", "/api", "/api"},
		{"/prod/prod", "prod", "/prod", "/prod"},
		{"/production", "prod", "/production", "/production"},
		{"/api/prod", "prod", "/api/prod", "/api/prod"},
		{"/$default/x", "$default", "/$default/x", "/$default/x"},
	} {
		var e events.APIGatewayV2HTTPRequest
		e.RawPath, e.RequestContext.Stage, e.RequestContext.HTTP.Method = c.raw, c.stage, "GET"
		var got *http.Request
		w, err := Edge{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))(t.Context(), e)
		if err != nil || w.StatusCode != 200 || got == nil {
			t.Errorf("%q: %v %+v", c.raw, err, w)
			continue
		}
		if got.URL.Path != c.path || c.escaped != "" && got.URL.EscapedPath() != c.escaped {
			t.Errorf("%q: path %q, escaped %q; want %q, %q", c.raw, got.URL.Path, got.URL.EscapedPath(), c.path, c.escaped)
		}
		if got.Host != "" || got.URL.Host != "" || got.URL.Fragment != "" || got.URL.RawQuery != "" {
			t.Errorf("%q: became %+v", c.raw, got.URL)
		}
	}
}

// TestTheRouteRestoresTheEncodedPath: an HTTP API decodes the path, and the parameters show where its segments end.
func TestTheRouteRestoresTheEncodedPath(t *testing.T) {
	for _, c := range []struct {
		raw, stage, key string
		parameters      map[string]string
		escaped, path   string
	}{
		{"/memory/a/b", "$default", "GET /memory/{id}", map[string]string{"id": "a/b"}, "/memory/a%2Fb", "/memory/a/b"},
		{"/memory/x%41", "$default", "GET /memory/{id}", map[string]string{"id": "x%41"}, "/memory/x%2541", "/memory/x%41"},
		{"/prod/memory/a/b", "prod", "GET /memory/{id}", map[string]string{"id": "a/b"}, "/memory/a%2Fb", "/memory/a/b"},
		{"/r/a?/s//x #", "", "GET /r/{run}/s/{step}", map[string]string{"run": "a?", "step": "/x #"}, "/r/a%3F/s/%2Fx%20%23", "/r/a?/s//x #"},
		{"/memory/a;b,c", "", "GET /memory/{id}", map[string]string{"id": "a;b,c"}, "/memory/a;b,c", "/memory/a;b,c"},
		{"/memory/ñ", "", "GET /memory/{id}", map[string]string{"id": "ñ"}, "/memory/%C3%B1", "/memory/ñ"},
		// Where they disagree, the path is used as it is.
		{"/memory/a%2Fb", "", "GET /memory/{id}", map[string]string{"id": "a/b"}, "/memory/a%2Fb", "/memory/a/b"},
		{"/memory/a/b", "", "GET /memory/{id}", map[string]string{"id": "c"}, "/memory/a/b", "/memory/a/b"},
		{"/memory/a/b", "", "GET /memory/{id}", map[string]string{"name": "a/b"}, "/memory/a/b", "/memory/a/b"},
		{"/a/b", "", "$default", map[string]string{"id": "b"}, "/a/b", "/a/b"},
		{"/f/a/b", "", "GET /f/{rest+}", map[string]string{"rest": "a/b"}, "/f/a/b", "/f/a/b"},
		{"/p/x/f/d/a%41 ñ?", "", "GET /p/{id}/f/{rest+}", map[string]string{"id": "x", "rest": "d/a%41 ñ?"}, "/p/x/f/d/a%2541%20%C3%B1%3F", "/p/x/f/d/a%41 ñ?"},
	} {
		e := events.APIGatewayV2HTTPRequest{RawPath: c.raw, RouteKey: c.key, PathParameters: c.parameters}
		e.RequestContext.Stage, e.RequestContext.HTTP.Method = c.stage, "GET"
		_, _ = Edge{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.EscapedPath() != c.escaped || r.URL.Path != c.path {
				t.Errorf("%s on %s: %s, %s; want %s, %s", c.raw, c.key, r.URL.EscapedPath(), r.URL.Path, c.escaped, c.path)
			}
		}))(t.Context(), e)
	}
}

func TestQueryArrivesAsItWasSent(t *testing.T) {
	for raw, want := range map[string]string{"": "", "a=%2F&b": "a=%2F&b", "a=1#x": "a=1%23x", "ñ=1": "ñ=1", "%zz": "%zz"} {
		e := events.APIGatewayV2HTTPRequest{RawPath: "/", RawQueryString: raw}
		_, _ = Edge{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != want {
				t.Errorf("%q became %q", raw, r.URL.RawQuery)
			}
		}))(t.Context(), e)
	}
}

func TestBodies(t *testing.T) {
	binary := []byte{0, 1, 0xff, 0xfe}
	for _, c := range []struct {
		name    string
		in      string
		base64  bool
		want    []byte
		media   string
		out     []byte
		encoded bool
	}{
		{"none", "", false, nil, "", nil, false},
		{"text", "ñ", false, []byte("ñ"), "text/html; charset=utf-8", []byte("<p>ñ"), false},
		{"json", "{}", false, []byte("{}"), "application/problem+json", []byte(`{}`), false},
		{"base64 in", base64.StdEncoding.EncodeToString(binary), true, binary, "image/svg+xml", []byte("<svg/>"), false},
		{"binary out", "", false, nil, "application/octet-stream", binary, true},
		{"text that is not", "", false, nil, "text/plain", binary, true},
		{"font", "", false, nil, "font/woff2", []byte("abc"), true},
		{"no type", "", false, nil, "", []byte("<html>"), false},
		{"no type, binary", "", false, nil, "", binary, true},
	} {
		serve := Edge{}.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if string(body) != string(c.want) {
				t.Errorf("%s: read %q", c.name, body)
			}
			if c.media != "" {
				w.Header().Set("Content-Type", c.media)
			}
			_, _ = w.Write(c.out)
		}))
		w, err := serve(t.Context(), events.APIGatewayV2HTTPRequest{RawPath: "/", Body: c.in, IsBase64Encoded: c.base64})
		if err != nil || w.IsBase64Encoded != c.encoded {
			t.Errorf("%s: %v %+v", c.name, err, w)
		}
		got := []byte(w.Body)
		if w.IsBase64Encoded {
			got, _ = base64.StdEncoding.DecodeString(w.Body)
		}
		if string(got) != string(c.out) {
			t.Errorf("%s: answered %q", c.name, got)
		}
	}
	w, err := Edge{}.Handler(http.NotFoundHandler())(t.Context(), events.APIGatewayV2HTTPRequest{RawPath: "/", Body: "%%", IsBase64Encoded: true})
	if err == nil {
		t.Errorf("bad base64: %+v", w)
	}
}

func TestCompressedAnswersAreBinary(t *testing.T) {
	w, _ := Edge{}.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "zip")
	}))(t.Context(), events.APIGatewayV2HTTPRequest{RawPath: "/"})
	if !w.IsBase64Encoded {
		t.Errorf("%+v", w)
	}
}

func TestAnswerKeepsTheRulesOfNetHTTP(t *testing.T) {
	answer := func(method string, h http.HandlerFunc) events.APIGatewayV2HTTPResponse {
		e := events.APIGatewayV2HTTPRequest{RawPath: "/"}
		e.RequestContext.HTTP.Method = method
		w, err := Edge{}.Handler(h)(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if w := answer("GET", func(http.ResponseWriter, *http.Request) {}); w.StatusCode != 200 || w.Body != "" {
		t.Errorf("nothing written: %+v", w)
	}
	w := answer("GET", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2; Path=/")
		w.Header().Add("Vary", "Accept")
		w.Header().Add("Vary", "Cookie")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("Late", "1")
	})
	if w.StatusCode != 201 || fmt.Sprint(w.Cookies) != "[a=1 b=2; Path=/]" || w.Headers["Vary"] != "Accept, Cookie" || w.Headers["Late"] != "" || w.Headers["Set-Cookie"] != "" {
		t.Errorf("%+v", w)
	}
	if w := answer("HEAD", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }); w.Body != "" {
		t.Errorf("HEAD: %+v", w)
	}
}

func TestPrincipalComesFromTheAuthorizerAlone(t *testing.T) {
	for _, c := range []struct {
		name    string
		said    map[string]any
		account ids.Account
		refusal error
	}{
		{"nothing", nil, "", auth.ErrRequired},
		{"an account", map[string]any{"account": "a", "user": "u", "scopes": "chat"}, "a", auth.ErrRequired},
		{"no token", map[string]any{"refused": "auth_required"}, "", auth.ErrRequired},
		{"cross origin", map[string]any{"refused": "auth.cross_origin"}, "", auth.ErrCrossOrigin},
		{"an unknown refusal", map[string]any{"refused": "x", "account": "a"}, "", auth.ErrRequired},
		{"a refusal beside an account", map[string]any{"refused": "auth.cross_origin", "account": "a"}, "", auth.ErrCrossOrigin},
		{"another type", map[string]any{"account": 7}, "", auth.ErrRequired},
	} {
		e := events.APIGatewayV2HTTPRequest{RawPath: "/", Headers: map[string]string{"account": "evil", "x-account": "evil"}}
		if c.said != nil {
			e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: c.said}
		}
		_, _ = Edge{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			p, ok := auth.FromContext(r.Context())
			if p.Account != c.account || ok != (c.account != "") || !errors.Is(auth.Refusal(r.Context()), c.refusal) {
				t.Errorf("%s: %+v, %v", c.name, p, auth.Refusal(r.Context()))
			}
		}))(t.Context(), e)
	}
}

type stepError struct{ name string }

func (e stepError) Error() string         { return "it failed" }
func (e stepError) TaskErrorName() string { return e.name }

func TestTaskFailureNamesTheError(t *testing.T) {
	for _, c := range []struct {
		err           error
		name, message string
	}{
		{stepError{"Step.Transient"}, "Step.Transient", "it failed"},
		{fmt.Errorf("step s1: %w", stepError{"Step.InDoubt"}), "Step.InDoubt", "step s1: it failed"},
		{errors.New("x"), Unnamed, "x"},
		{fmt.Errorf("\xff%s", strings.Repeat("ñ", 2000)), Unnamed, ""},
	} {
		_, err := NewFunction(func(context.Context, string) (int, error) { return 7, c.err }).Invoke(t.Context(), []byte(`""`))
		var got messages.InvokeResponse_Error
		if !errors.As(err, &got) || got.Type != c.name || c.message != "" && got.Message != c.message {
			t.Errorf("%v: %+v", c.err, err)
		}
		if len(got.Message) > maxFailure+4 || !utf8.ValidString(got.Message) {
			t.Errorf("message of %d bytes", len(got.Message))
		}
		// The runtime checks the type of the error itself, not its chain.
		if reflect.TypeOf(err) != reflect.TypeFor[messages.InvokeResponse_Error]() {
			t.Errorf("%T is not what the runtime looks for", err)
		}
	}
}

func TestAFunctionIsSafeForConcurrentUse(t *testing.T) {
	type event struct {
		N int `json:"n"`
	}
	f := NewFunction(func(_ context.Context, in event) (string, error) {
		return strings.Repeat(fmt.Sprint(in.N%10), 200), nil
	})
	results := make([][]byte, 200)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			out, err := f.Invoke(t.Context(), fmt.Appendf(nil, `{"n":%d}`, i))
			if err != nil {
				t.Error(err)
			}
			results[i] = out
		})
	}
	all.Wait()
	for i, got := range results {
		if want := `"` + strings.Repeat(fmt.Sprint(i%10), 200) + `"`; string(got) != want {
			t.Fatalf("%d was answered %.20s…", i, got)
		}
	}
	if _, err := f.Invoke(t.Context(), []byte(`{"n":`)); FailureOf(err).Type != Unnamed {
		t.Errorf("an event that cannot be read: %v", err)
	}
}

func TestWakeReadsItsEvents(t *testing.T) {
	for _, c := range []struct{ event, want string }{
		{`{"detail-type":"Scheduled Event","source":"aws.events","time":"2026-03-01T12:00:00Z","detail":{}}`, "schedule"},
		{`{"detail-type":"Step Functions Execution Status Change","time":"2026-03-01T12:00:00Z","detail":{"executionArn":"arn:x","name":"01K","status":"TIMED_OUT","input":"{\"run_id\":\"01K\",\"account_id\":\"a\"}","error":null,"cause":"late"}}`, "01K a TIMED_OUT true"},
		{`{"detail-type":"Step Functions Execution Status Change","time":"2026-03-01T12:00:00Z","detail":{"name":"01K","status":"FAILED","input":null}}`, "01K  FAILED false"},
		{`{"detail-type":"Step Functions Execution Status Change","time":"2026-03-01T12:00:00Z","detail":{"name":"01K","status":"SUCCEEDED","input":"{\"account_id\":\"a\"}"}}`, "01K a SUCCEEDED false"},
		{`{"detail-type":"Step Functions Execution Status Change","detail":{"name":"01K","status":"FAILED","input":"cut {"}}`, "01K  FAILED false"},
		{`{"detail-type":"EC2 Instance State-change Notification","detail":{}}`, "error"},
		{`{}`, "error"},
		{`{"detail-type":"Step Functions Execution Status Change","detail":[]}`, "error"},
	} {
		var w Wake
		got := "schedule"
		err := json.Unmarshal([]byte(c.event), &w)
		switch {
		case err != nil:
			got = "error"
		case w.Execution != nil:
			got = fmt.Sprintf("%s %s %s %v", w.Execution.Name, w.Execution.Account, w.Execution.Status, w.Execution.Failed())
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.event, got, c.want)
		}
	}
}

// FuzzRequest checks that every event arrives, as one request.
func FuzzRequest(f *testing.F) {
	f.Add("/api/%2F", "a=1", "prod", "host", "x")
	f.Add("//x", "#", "", "cookie", "a=b")
	f.Add("%", "%", "$default", "a\nb", "\x00")
	f.Fuzz(func(t *testing.T, path, query, stage, name, value string) {
		e := events.APIGatewayV2HTTPRequest{RawPath: path, RawQueryString: query, Headers: map[string]string{name: value}, Cookies: []string{value}}
		e.RequestContext.Stage, e.RequestContext.HTTP.Method = stage, "GET"
		arrived := false
		w, err := Edge{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			arrived = strings.HasPrefix(r.URL.EscapedPath(), "/") && !strings.ContainsAny(r.URL.EscapedPath(), "?# \n")
		}))(t.Context(), e)
		if err != nil || w.StatusCode != 200 || !arrived {
			t.Fatalf("%q: %v %d %v", path, err, w.StatusCode, arrived)
		}
	})
}

// TestARequestArrivesWhenTheGatewayReceivesIt: also when its function is started later.
func TestARequestArrivesWhenTheGatewayReceivesIt(t *testing.T) {
	var came time.Time
	serve := Edge{}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { came = ArrivedAt(r.Context()) }))
	e := events.APIGatewayV2HTTPRequest{RawPath: "/api/chats"}
	e.RequestContext.HTTP.Method, e.RequestContext.TimeEpoch = "GET", 1772712000123
	if _, err := serve(t.Context(), e); err != nil || came.UnixMilli() != 1772712000123 {
		t.Errorf("%v, %v", came, err)
	}
	if at := ArrivedAt(t.Context()); !at.IsZero() {
		t.Errorf("of no request: %v", at)
	}
}

// TestAFunctionSeparatesOtherInvocationsFromRequests: for a function that serves HTTP and is invoked otherwise. A
// client's request is never taken for another invocation.
func TestAFunctionSeparatesOtherInvocationsFromRequests(t *testing.T) {
	asked := func(called string) Function {
		return NewFunction(func(context.Context, json.RawMessage) (string, error) { return called, nil })
	}
	both := either{http: asked("http"), other: asked("other")}
	for payload, want := range map[string]string{
		`{"version":"0","detail-type":"Scheduled Event","source":"aws.events","detail":{}}`:                                "other",
		`{"version":"2.0","routeKey":"POST /api/mcps","body":"{\"detail-type\":\"Scheduled Event\"}","requestContext":{}}`: "http",
		`{"version":"2.0","headers":{"detail-type":"Scheduled Event"},"requestContext":{"http":{"method":"GET"}}}`:         "http",
		`{"op":"tree","place":{"account":"a"}}`: "other",
	} {
		if got, err := both.Invoke(t.Context(), []byte(payload)); err != nil || string(got) != `"`+want+`"` {
			t.Errorf("%s: %s %v", payload, got, err)
		}
	}
}
