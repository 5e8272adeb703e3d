package lambda_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"localaws/lambda"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// outcome is the end of an invocation.
type outcome struct {
	answer []byte
	failed *lambda.FunctionError
}

// TestRuntimeAPIMatchesDocumentation: each case takes one invocation, as a runtime does, and ends
// it in a different way.
func TestRuntimeAPIMatchesDocumentation(t *testing.T) {
	const base = "/2018-06-01/runtime/"
	for _, c := range []struct {
		name    string
		path    string // ID stands for that of the invocation
		headers map[string]string
		body    string
		trailer http.Header
		status  int
		kind    string // type of the failure; "": it answered
		message string
	}{
		{name: "an answer", path: "invocation/ID/response", body: `{"a":1}`, status: 202},
		{name: "an answer of nothing", path: "invocation/ID/response", status: 202},
		{
			name: "an error", path: "invocation/ID/error", body: `{"errorMessage":"no","errorType":"A.B","stackTrace":[]}`,
			status: 202, kind: "A.B", message: "no",
		},
		{
			name: "an error whose type is in the header", path: "invocation/ID/error", body: `{"errorMessage":"no"}`,
			headers: map[string]string{"Lambda-Runtime-Function-Error-Type": "Runtime.Custom"}, status: 202, kind: "Runtime.Custom", message: "no",
		},
		{
			name: "an error that says both", path: "invocation/ID/error", body: `{"errorMessage":"no","errorType":"A.B"}`,
			headers: map[string]string{"Lambda-Runtime-Function-Error-Type": "Unhandled"}, status: 202, kind: "A.B", message: "no",
		},
		{name: "an error that says nothing", path: "invocation/ID/error", body: `"oops"`, status: 202, kind: lambda.ErrorUnknown},
		{
			name: "an answer that is broken off", path: "invocation/ID/response", body: `{"a":`,
			trailer: http.Header{
				"Lambda-Runtime-Function-Error-Type": {"Runtime.StreamError"},
				"Lambda-Runtime-Function-Error-Body": {base64.StdEncoding.EncodeToString([]byte(`{"errorMessage":"half","errorType":"Half"}`))},
			},
			status: 202, kind: "Half", message: "half",
		},
		{
			name: "a stream", path: "invocation/ID/response", body: `x`,
			headers: map[string]string{"Lambda-Runtime-Function-Response-Mode": "streaming"},
			status:  400, kind: "Runtime.StreamingNotSupported", message: "streaming",
		},
		{
			name: "an answer over the limit", path: "invocation/ID/response", body: strings.Repeat("a", 6291557),
			status: 413, kind: lambda.ErrorTooLarge, message: "6291556 bytes",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := lambda.New("arn:f", time.Minute)
			server := httptest.NewServer(r)
			defer server.Close()
			ended := make(chan outcome, 1)
			go func() {
				answer, failed, _ := r.Invoke(t.Context(), []byte(`{"in":1}`))
				ended <- outcome{answer, failed}
			}()
			next := get(t, server.URL+base+"invocation/next")
			id := next.Header.Get("Lambda-Runtime-Aws-Request-Id")
			if next.StatusCode != 200 || id == "" || next.Header.Get("Lambda-Runtime-Invoked-Function-Arn") != "arn:f" ||
				!strings.HasPrefix(next.Header.Get("Lambda-Runtime-Trace-Id"), "Root=1-") || next.Header.Get("Lambda-Runtime-Deadline-Ms") == "" {
				t.Fatalf("next: %d %v", next.StatusCode, next.Header)
			}
			if again := get(t, server.URL+base+"invocation/next"); again.StatusCode != 403 {
				t.Errorf("next before the end: %d", again.StatusCode)
			}
			if wrong := post(t, server.URL+base+"invocation/another/response", "{}", nil, nil); wrong.StatusCode != 400 {
				t.Errorf("an answer to another: %d", wrong.StatusCode)
			}
			res := post(t, server.URL+base+strings.Replace(c.path, "ID", id, 1), c.body, c.headers, c.trailer)
			if res.StatusCode != c.status {
				t.Errorf("answered %d, want %d", res.StatusCode, c.status)
			}
			got := <-ended
			switch {
			case c.kind == "" && (got.failed != nil || string(got.answer) != c.body):
				t.Errorf("ended with %q, %v", got.answer, got.failed)
			case c.kind != "" && (got.failed == nil || got.failed.Type != c.kind || !strings.Contains(got.failed.Message, c.message)):
				t.Errorf("failed with %v, want %s: …%s…", got.failed, c.kind, c.message)
			}
			if twice := post(t, server.URL+base+"invocation/"+id+"/response", "{}", nil, nil); twice.StatusCode != 400 {
				t.Errorf("a second end: %d", twice.StatusCode)
			}
		})
	}
	t.Run("what is not there", func(t *testing.T) {
		server := httptest.NewServer(lambda.New("arn:f", time.Minute))
		defer server.Close()
		if res := get(t, server.URL+"/2020-01-01/extension/register"); res.StatusCode != 404 || res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
		if res := post(t, server.URL+base+"init/error", "no JSON", nil, nil); res.StatusCode != 400 {
			t.Errorf("an error that is none: %d", res.StatusCode)
		}
	})
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

func post(t *testing.T, url, body string, headers map[string]string, trailer http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, io.MultiReader(bytes.NewReader([]byte(body)))) // without a length, as trailers require
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	req.Trailer = trailer
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}
