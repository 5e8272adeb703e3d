package apigateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"localaws/apigateway"
	"localaws/lambda"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// functions return the answers of a test, and store the events of their calls.
type functions struct {
	mu      sync.Mutex
	answers map[string]string // by function; "!": it fails; "…": it never answers
	events  map[string][]map[string]any
}

func (f *functions) invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	f.mu.Lock()
	var e map[string]any
	if err := json.Unmarshal(event, &e); err != nil {
		panic(err)
	}
	f.events[function] = append(f.events[function], e)
	answer := f.answers[function]
	f.mu.Unlock()
	switch answer {
	case "!":
		return nil, errors.New("secret reason")
	case "…":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []byte(answer), nil
}

func (f *functions) last(function string) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if list := f.events[function]; len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

var sampleTime = time.Date(2026, 11, 20, 10, 15, 30, 0, time.UTC)

// newGateway returns a gateway whose one route is POST /things/{id}/{rest+}, or $default.
func newGateway(answers map[string]string, change func(*apigateway.Options)) (*apigateway.Gateway, *functions) {
	f := &functions{answers: answers, events: map[string][]map[string]any{}}
	o := apigateway.Options{
		Account: "123456789012", Region: "eu-west-1", API: "a1b2c3d4e5",
		Route: func(method, path string) (apigateway.Route, bool) {
			switch {
			case method == "POST" && strings.HasPrefix(path, "/things/"):
				return apigateway.Route{Key: "POST /things/{id}/{rest+}", Path: "/things/{id}/{rest+}", Function: "f"}, true
			case path == "/open":
				return apigateway.Route{Key: "GET /open", Path: "/open", Function: "f", Open: true}, true
			case path == "/nowhere":
				return apigateway.Route{}, false
			}
			return apigateway.Route{Key: "$default", Path: "$default", Function: "f"}, true
		},
		Invoke: f.invoke, Trace: lambda.WithTrace, NewTrace: lambda.NewTrace,
		Now: func() time.Time { return sampleTime }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if change != nil {
		change(&o)
	}
	return apigateway.New(o), f
}

func request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr = "203.0.113.7:4711"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// TestEventsMatchSamples: the request of each sample gives the sample's event, and the event of the
// authorizer.
func TestEventsMatchSamples(t *testing.T) {
	for _, name := range []string{"chat", "confirm", "eligibility", "mcp", "records", "web", "authorize"} {
		want := sample(t, name)
		key := want["routeKey"].(string)
		_, path, _ := strings.Cut(key, " ")
		function := "f"
		authorizer := map[string]any{}
		if name == "authorize" {
			function = "who"
		} else {
			authorizer = want["requestContext"].(map[string]any)["authorizer"].(map[string]any)["lambda"].(map[string]any)
		}
		context, _ := json.Marshal(authorizer)
		g, f := newGateway(map[string]string{"f": `{"statusCode":200}`, "who": `{"isAuthorized":true,"context":` + string(context) + `}`}, func(o *apigateway.Options) {
			o.Authorizer = &apigateway.Authorizer{Function: "who"}
			o.Route = func(string, string) (apigateway.Route, bool) {
				return apigateway.Route{Key: key, Path: path, Function: "f"}, true
			}
		})
		w := httptest.NewRecorder()
		g.ServeHTTP(w, requestOf(want))
		got := f.last(function)
		if got == nil || w.Code != 200 {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
		id := got["requestContext"].(map[string]any)["requestId"]
		if id == "" || id != w.Header().Get("Apigw-Requestid") {
			t.Errorf("%s: the request is called %v, and the client is told %q", name, id, w.Header().Get("Apigw-Requestid"))
		}
		got["requestContext"].(map[string]any)["requestId"] = want["requestContext"].(map[string]any)["requestId"]
		if !reflect.DeepEqual(got, want) {
			g, _ := json.MarshalIndent(got, "", " ")
			w, _ := json.MarshalIndent(want, "", " ")
			t.Errorf("%s:\n got %s\nwant %s", name, g, w)
		}
	}
}

func sample(t *testing.T, name string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var e map[string]any
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// requestOf returns the request of an event.
func requestOf(e map[string]any) *http.Request {
	headers := e["headers"].(map[string]any)
	target := "https://" + headers["host"].(string) + e["rawPath"].(string)
	if q, _ := e["rawQueryString"].(string); q != "" {
		target += "?" + q
	}
	body, _ := e["body"].(string)
	r := request(e["requestContext"].(map[string]any)["http"].(map[string]any)["method"].(string), target, body)
	for name, value := range headers {
		if name != "host" && name != "content-length" && !strings.HasPrefix(name, "x-forwarded") {
			r.Header.Set(name, value.(string))
		}
	}
	return r
}

func TestEventsContainWholeRequest(t *testing.T) {
	g, f := newGateway(map[string]string{"f": `{"statusCode":200}`}, func(o *apigateway.Options) {
		o.Variables = map[string]string{"colour": "blue"}
	})
	r := request("POST", "http://things.example:8080/things/a%20b/c%2Fd/%E2%82%AC%23x?x=1&x=2&y=a%2Bb+c&z", "\x00\x01",
		"Accept", "text/html", "Accept", "application/json", "Cookie", "a=1; b=2", "Cookie", "c=3", "X-Forwarded-For", "10.0.0.1",
		"Content-Type", "application/octet-stream", "Connection", "keep-alive", "X-Amzn-Trace-Id", "Root=1-2-3")
	g.ServeHTTP(httptest.NewRecorder(), r)
	e := f.last("f")
	c := e["requestContext"].(map[string]any)
	h := e["headers"].(map[string]any)
	for what, pair := range map[string][2]any{
		"version":    {e["version"], "2.0"},
		"key":        {e["routeKey"], "POST /things/{id}/{rest+}"},
		"path":       {e["rawPath"], "/things/a b/c/d/€#x"}, // decoded, as on AWS
		"query":      {e["rawQueryString"], "x=1&x=2&y=a%2Bb+c&z"},
		"cookies":    {e["cookies"], []any{"a=1", "b=2", "c=3"}},
		"parameters": {e["queryStringParameters"], map[string]any{"x": "1,2", "y": "a+b c", "z": ""}},
		"in path":    {e["pathParameters"], map[string]any{"id": "a b", "rest": "c/d/€#x"}},
		"variables":  {e["stageVariables"], map[string]any{"colour": "blue"}},
		"body":       {e["body"], "AAE="},
		"base64":     {e["isBase64Encoded"], true},
		"accept":     {h["accept"], "text/html,application/json"},
		"cookie":     {h["cookie"], nil},
		"connection": {h["connection"], nil},
		"length":     {h["content-length"], "2"},
		"host":       {h["host"], "things.example:8080"},
		"from":       {h["x-forwarded-for"], "10.0.0.1, 203.0.113.7"},
		"port":       {h["x-forwarded-port"], "8080"},
		"trace":      {h["x-amzn-trace-id"], "Root=1-2-3"},
		"domain":     {c["domainName"], "things.example"},
		"prefix":     {c["domainPrefix"], "things"},
		"stage":      {c["stage"], "$default"},
		"time":       {c["time"], "20/Nov/2026:10:15:30 +0000"},
		"source":     {c["http"].(map[string]any)["sourceIp"], "203.0.113.7"},
		"authorizer": {c["authorizer"], nil},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %#v, want %#v", what, pair[0], pair[1])
		}
	}
}

func TestBodiesAreTextOrBase64(t *testing.T) {
	for _, c := range []struct {
		contentType, encoding, body string
		base64                      bool
	}{
		{"application/json", "", "{}", false},
		{"application/json; charset=utf-8", "", "ñ", false},
		{"text/plain", "", "a", false},
		{"application/xml", "", "<a/>", false},
		{"application/javascript", "", "a", false},
		{"application/x-www-form-urlencoded", "", "a=1", true},
		{"multipart/form-data; boundary=x", "", "--x", true},
		{"", "", "a", true},
		{"image/png", "", "a", true},
		{"application/json", "gzip", "{}", true},
		{"application/json", "", "\xff", true}, // nothing is lost
		{"image/png", "", "", false},
	} {
		g, f := newGateway(map[string]string{"f": `{"statusCode":200}`}, nil)
		g.ServeHTTP(httptest.NewRecorder(), request("POST", "/x", c.body, "Content-Type", c.contentType, "Content-Encoding", c.encoding))
		if got := f.last("f")["isBase64Encoded"]; got != c.base64 {
			t.Errorf("%q %q %q: base64 %v", c.contentType, c.encoding, c.body, got)
		}
	}
}

func TestAnswersAreReadAsOnAWS(t *testing.T) {
	for _, c := range []struct {
		name, out string
		status    int
		header    string
		value     string
		body      string
	}{
		{"whole", `{"statusCode":201,"headers":{"x-a":"1","Content-Type":"text/html"},"body":"hi"}`, 201, "X-A", "1", "hi"},
		{"large numbers in headers", `{"statusCode":200,"headers":{"x-a":12345678,"x-b":true}}`, 200, "X-A", "12345678", ""},
		{"fractions in headers", `{"statusCode":200,"headers":{"x-a":1.50}}`, 200, "X-A", "1.50", ""},
		{"a header that is null", `{"statusCode":200,"headers":{"x":null}}`, 500, "", "", `{"message":"Internal Server Error"}`},
		{"numbers in headers", `{"statusCode":200,"headers":{"x-a":7}}`, 200, "X-A", "7", ""},
		{"several values are not of this format", `{"statusCode":200,"multiValueHeaders":{"x-a":["1","2"]}}`, 200, "X-A", "", ""},
		{"cookies", `{"statusCode":200,"cookies":["a=1; HttpOnly","b=2"]}`, 200, "Set-Cookie", "a=1; HttpOnly|b=2", ""},
		{"binary", `{"statusCode":200,"isBase64Encoded":true,"body":"AAE="}`, 200, "Content-Type", "text/plain;charset=UTF-8", "\x00\x01"},
		{"no content type", `{"statusCode":200,"body":"<html>"}`, 200, "Content-Type", "text/plain;charset=UTF-8", "<html>"},
		{"nothing", `{"statusCode":204}`, 204, "Content-Type", "", ""},
		{"a status in quotes", `{"statusCode":"404","body":"x"}`, 404, "", "", "x"},
		{"a length of its own", `{"statusCode":200,"headers":{"content-length":"99"},"body":"x"}`, 200, "", "", "x"},
		{"a value", `{"message":"Hola"}`, 200, "Content-Type", "application/json", `{"message":"Hola"}`},
		{"a text", `"Hola"`, 200, "Content-Type", "application/json", "Hola"},
		{"a list", `[1,2]`, 200, "Content-Type", "application/json", "[1,2]"},
		{"null", `null`, 200, "Content-Type", "application/json", "null"},
		{"no JSON", `Hola`, 500, "Content-Type", "application/json", `{"message":"Internal Server Error"}`},
		{"nothing at all", ``, 500, "", "", `{"message":"Internal Server Error"}`},
		{"a status that is none", `{"statusCode":99}`, 500, "", "", `{"message":"Internal Server Error"}`},
		{"a status of words", `{"statusCode":"fine"}`, 500, "", "", `{"message":"Internal Server Error"}`},
		{"a body that is no text", `{"statusCode":200,"body":{}}`, 500, "", "", `{"message":"Internal Server Error"}`},
		{"no base64", `{"statusCode":200,"isBase64Encoded":true,"body":"%"}`, 500, "", "", `{"message":"Internal Server Error"}`},
		{"a header that is a list", `{"statusCode":200,"headers":{"x":[]}}`, 500, "", "", `{"message":"Internal Server Error"}`},
		{"a function that failed", `!`, 500, "", "", `{"message":"Internal Server Error"}`},
	} {
		g, _ := newGateway(map[string]string{"f": c.out}, nil)
		server := httptest.NewServer(g)
		res, err := http.Get(server.URL + "/x")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		body, err := io.ReadAll(res.Body)
		if res.StatusCode != c.status || string(body) != c.body || err != nil {
			t.Errorf("%s: %d %q (%v), want %d %q", c.name, res.StatusCode, body, err, c.status, c.body)
		}
		if got := strings.Join(res.Header.Values(c.header), "|"); c.header != "" && got != c.value {
			t.Errorf("%s: %s is %q, want %q", c.name, c.header, got, c.value)
		}
		server.Close()
	}
}

func TestGatewayRefusesRequestsItself(t *testing.T) {
	for _, c := range []struct {
		name, target, body string
		status             int
	}{
		{"no route", "/nowhere", "", 404},
		{"ten megabytes and a byte", "/x", strings.Repeat("a", apigateway.MaxBody+1), 413},
		{"an event of six megabytes", "/x", strings.Repeat("a", apigateway.MaxEvent), 413},
	} {
		g, f := newGateway(map[string]string{"f": `{"statusCode":200}`}, nil)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, request("POST", c.target, c.body, "Content-Type", "text/plain"))
		if want := `{"message":"` + http.StatusText(c.status) + `"}`; w.Code != c.status || w.Body.String() != want || f.last("f") != nil {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
}

func TestGatewayWaitsThirtySecondsForFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGateway(map[string]string{"f": "…"}, nil)
		began, w := time.Now(), httptest.NewRecorder()
		g.ServeHTTP(w, request("GET", "/x", ""))
		if w.Code != 503 || w.Body.String() != `{"message":"Service Unavailable"}` || time.Since(began) != apigateway.Wait {
			t.Errorf("%d %s after %s", w.Code, w.Body, time.Since(began))
		}
	})
}

func TestAuthorizerMustAllowRequest(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		status       int
	}{
		{"allowed", `{"isAuthorized":true}`, 200},
		{"not allowed", `{"isAuthorized":false,"context":{"a":1}}`, 403},
		{"a policy", `{"principalId":"x","policyDocument":{}}`, 500},
		{"nothing", `null`, 500},
		{"no JSON", `yes`, 500},
		{"a text", `{"isAuthorized":"true"}`, 500},
		{"failed", `!`, 500},
	} {
		g, f := newGateway(map[string]string{"f": `{"statusCode":200}`, "who": c.answer}, func(o *apigateway.Options) {
			o.Authorizer = &apigateway.Authorizer{Function: "who"}
		})
		w := httptest.NewRecorder()
		g.ServeHTTP(w, request("GET", "/x", ""))
		if w.Code != c.status || (f.last("f") != nil) != (c.status == 200) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		w = httptest.NewRecorder()
		if g.ServeHTTP(w, request("GET", "/open", "")); w.Code != 200 {
			t.Errorf("%s: an open route: %d", c.name, w.Code)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGateway(map[string]string{"who": "…"}, func(o *apigateway.Options) { o.Authorizer = &apigateway.Authorizer{Function: "who"} })
		began, w := time.Now(), httptest.NewRecorder()
		g.ServeHTTP(w, request("GET", "/x", ""))
		if w.Code != 500 || time.Since(began) != apigateway.AuthWait {
			t.Errorf("one that does not answer: %d after %s", w.Code, time.Since(began))
		}
	})
}

func TestAuthorizerAnswerIsCachedBySources(t *testing.T) {
	now := sampleTime
	g, f := newGateway(map[string]string{"f": `{"statusCode":200}`, "who": `{"isAuthorized":true,"context":{"n":1}}`}, func(o *apigateway.Options) {
		o.Now = func() time.Time { return now }
		o.Authorizer = &apigateway.Authorizer{
			Function: "who", Life: time.Minute,
			Sources: []string{"$request.header.X-Key", "$request.querystring.q", "$context.routeKey"},
		}
	})
	for _, c := range []struct {
		target, key string
		after       time.Duration
		status      int
		asked       int
	}{
		{"/x?q=1", "", 0, 401, 0},
		{"/x", "k", 0, 401, 0},
		{"/x?q=", "k", 0, 401, 0},
		{"/x?q=1", "k", 0, 200, 1},
		{"/y?q=1", "k", 59 * time.Second, 200, 1}, // the same route
		{"/things/a/b?q=1", "k", 0, 200, 2},       // another
		{"/x?q=2", "k", 0, 200, 3},                // another source
		{"/x?q=1", "l", 0, 200, 4},                // another key
		{"/x?q=1", "k", 2 * time.Second, 200, 5},  // expired
		{"/x?q=1", "k", 59 * time.Second, 200, 5}, // and stored again
	} {
		now = now.Add(c.after)
		w := httptest.NewRecorder()
		method := "GET"
		if strings.HasPrefix(c.target, "/things") {
			method = "POST"
		}
		g.ServeHTTP(w, request(method, c.target, "", "X-Key", c.key))
		if w.Code != c.status || len(f.events["who"]) != c.asked {
			t.Errorf("%s with %q: %d, asked %d times, want %d and %d", c.target, c.key, w.Code, len(f.events["who"]), c.status, c.asked)
		}
	}
	authorizer := f.last("f")["requestContext"].(map[string]any)["authorizer"]
	if want := map[string]any{"lambda": map[string]any{"n": 1.0}}; !reflect.DeepEqual(authorizer, want) {
		t.Errorf("the function is told %v", authorizer)
	}
	if got := f.last("who")["identitySource"]; !reflect.DeepEqual(got, []any{"k", "1", "$default"}) {
		t.Errorf("the authorizer is told %v", got)
	}
}
