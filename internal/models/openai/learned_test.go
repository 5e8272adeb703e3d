package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/models/llm"
)

// pickyClient returns a client of a provider that refuses a temperature, and the number of requests that it got.
func pickyClient(t *testing.T) (c *Client, requests *int) {
	t.Helper()
	requests = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent map[string]any
		*requests++
		_ = json.NewDecoder(r.Body).Decode(&sent) // of the client
		if _, ok := sent["temperature"]; ok {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprint(w, `{"error":{"message":"Unsupported parameter: temperature"}}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(s.Close)
	return New(Endpoint{Provider: "p", BaseURL: s.URL, Key: "secret"}, &http.Client{}, time.Now), requests
}

// TestWhatAClientLearnedIsTaughtToAnother: the other one asks nothing in vain. An older lesson does not undo a newer one, a
// fresh client knows nothing, and a lesson that cannot be read is none.
func TestWhatAClientLearnedIsTaughtToAnother(t *testing.T) {
	c, requests := pickyClient(t)
	ask := func(c *Client) int {
		t.Helper()
		before := *requests
		if _, err := c.Complete(t.Context(), llm.Request{Model: "m", Temperature: 0.2, Messages: []llm.Message{{Role: llm.User, Content: "hi"}}}); err != nil {
			t.Fatal(err)
		}
		return *requests - before
	}
	if c.Learned("m") != nil || ask(c) != 2 || ask(c) != 1 {
		t.Errorf("%d requests, learned %s", *requests, c.Learned("m"))
	}
	lesson := c.Learned("m")
	if string(lesson) != `{"no_temperature":true,"plain":true}` {
		t.Errorf("learned %s", lesson)
	}
	at := time.Unix(1_000, 0)
	other := c.Fresh()
	if other.Teach("m", lesson, time.Time{}); ask(other) != 2 {
		t.Error("a lesson without a time is one")
	}
	other = c.Fresh()
	other.Teach("m", lesson, at)
	other.Teach("m", nil, at.Add(-time.Hour))
	other.Teach("m", json.RawMessage(`"odd"`), at.Add(time.Hour))
	if ask(other) != 1 || c.Fresh().Learned("m") != nil {
		t.Errorf("it was taught %s, and knows %s", lesson, other.Learned("m"))
	}
	if other.Teach("m", nil, at.Add(time.Hour)); other.Learned("m") != nil {
		t.Errorf("after a newer lesson it knows %s", other.Learned("m"))
	}
}

// TestWindowsOfAListOfModels as the servers say them.
func TestWindowsOfAListOfModels(t *testing.T) {
	for body, want := range map[string][]llm.Listed{
		`{"object":"list","data":[{"id":"gpt-4o","object":"model"}]}`:                                                                                 {{ID: "gpt-4o"}},
		`{"data":[{"id":"models/gemini"},{"id":"vllm","max_model_len":8192},{"id":"g","context_window":1}]}`:                                          {{ID: "gemini"}, {ID: "vllm", Window: 8192}, {ID: "g", Window: 1}},
		`[{"id":"together","context_length":131072},{"id":"mistral","max_context_length":"32768"}]`:                                                   {{ID: "together", Window: 131072}, {ID: "mistral", Window: 32768}},
		`{"data":[{"id":"or","context_length":200000,"top_provider":{"context_length":128000}}]}`:                                                     {{ID: "or", Window: 128000}},
		`{"data":[{"id":"lm","max_context_length":32768,"loaded_context_length":4096}]}`:                                                              {{ID: "lm", Window: 4096}},
		`{"data":[{"id":"odd","context_length":-1},{"id":"huge","context_length":1e300},{"id":7},{"id":"t","top_provider":"x","context_length":{}}]}`: {{ID: "odd"}, {ID: "huge"}, {ID: "t"}},
		`<html>`: nil, `{}`: nil, `{"data":{"id":"x"}}`: nil, "null": nil,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/v1/models" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = fmt.Fprint(w, body)
		}))
		got, err := New(Endpoint{Provider: "p", BaseURL: s.URL + "/v1", Key: "secret"}, &http.Client{}, time.Now).List(t.Context())
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", body, err, d)
		}
		s.Close()
	}
}

// TestAWatcherSeesEachExchange: the refused one and its repetition, with what was sent and answered, and never the key.
func TestAWatcherSeesEachExchange(t *testing.T) {
	c, _ := pickyClient(t)
	var seen []llm.Exchange
	ctx := llm.Watching(t.Context(), func(e llm.Exchange) { seen = append(seen, e) })
	if _, err := c.Complete(ctx, llm.Request{Model: "m", Temperature: 0.2, Messages: []llm.Message{{Role: llm.User, Content: "hi"}}}); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || !strings.Contains(string(seen[0].Request), "temperature") || !strings.Contains(string(seen[0].Answer), "Unsupported") ||
		strings.Contains(string(seen[1].Request), "temperature") || !strings.Contains(string(seen[1].Answer), "yes") {
		t.Fatalf("%+v", seen)
	}
	for _, e := range seen {
		if strings.Contains(string(e.Request)+string(e.Answer), "secret") {
			t.Errorf("it sees the key: %s", e.Request)
		}
	}
}

// TestWhatIsNoAPI: a page, or a path that is not there; a refusal of such a provider is told by its fault.
func TestWhatIsNoAPI(t *testing.T) {
	page := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	for _, c := range []struct {
		status int
		header http.Header
		body   string
		want   bool
	}{
		{200, page, "", true},
		{200, nil, " <!DOCTYPE html>", true},
		{200, nil, "pong", true},
		{200, nil, `{"choices":[`, false}, // it was cut
		{200, nil, "data: {}\n\n", false},
		{403, page, "<h1>Are you human?</h1>", true},
		{502, page, "<h1>Bad gateway</h1>", false},
		{302, nil, "", true},
		{404, nil, `{"error":"404 page not found"}`, true},
		{404, nil, `{"detail":"Not Found"}`, true},
		{404, nil, `{"error":{"message":"The model 'm' does not exist"}}`, false},
		{404, nil, `{"error":"model \"llama\" not found, try pulling it first"}`, false},
		{404, nil, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, false},
		{402, nil, `{"error":{"message":"pay"}}`, false},
		{500, nil, "oops", false},
	} {
		if got := isNoAPI(c.status, c.header, []byte(c.body)); got != c.want {
			t.Errorf("%d %s: %v, want %v", c.status, c.body, got, c.want)
		}
	}
}
