package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/llm"
	"piloto/internal/openai"
)

// provider serves h as an OpenAI-compatible API and returns a client of it.
func provider(t *testing.T, h http.HandlerFunc) *openai.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return openai.New("test", server.URL+"/v1/", "sk-test", &http.Client{Timeout: time.Second})
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestEveryWayAProviderFailsHasItsName(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"a key that is refused":       {says(401, `{"error":{"message":"Incorrect API key provided: sk-te**st"}}`), llm.ErrNoKey},
		"a key without rights":        {says(403, `{"error":{"message":"no"}}`), llm.ErrNoKey},
		"too many":                    {says(429, `{"error":{"message":"slow down"}}`), llm.ErrLimited},
		"a model of no one":           {says(404, `{"error":{"message":"no such model"}}`), llm.ErrRefused},
		"too long":                    {says(400, `{"error":{"message":"context length","type":"invalid_request_error"}}`), llm.ErrRefused},
		"a refused key, as a string":  {says(401, `{"error":"invalid key"}`), llm.ErrNoKey},
		"too many, as a string":       {says(429, `{"error":"slow down"}`), llm.ErrLimited},
		"too long, as a string":       {says(400, `{"error":"context length"}`), llm.ErrRefused},
		"a time-out of the gateway":   {says(408, ``), llm.ErrUnreachable},
		"broken":                      {says(500, `{"error":{"message":"boom"}}`), llm.ErrUnreachable},
		"unavailable, in HTML":        {says(503, `<html>no</html>`), llm.ErrUnreachable},
		"an error that answers 200":   {says(200, `{"error":{"message":"overloaded"}}`), llm.ErrUnreachable},
		"no choices":                  {says(200, `{"choices":[]}`), llm.ErrUnreachable},
		"an empty choice":             {says(200, `{"choices":[{"index":0,"message":{}}]}`), llm.ErrUnreachable},
		"not JSON":                    {says(200, `hello`), llm.ErrUnreachable},
		"half an answer":              {cut, llm.ErrUnreachable},
		"no answer in time":           {never, llm.ErrUnreachable},
		"a connection that is closed": {hangUp, llm.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := provider(t, c.answer).Complete(context.Background(), llm.Request{Model: "m"})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}

func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"ho`))
}

func never(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a server notices that its client left only after that
	<-r.Context().Done()
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func TestWhatIsSentAndReadBack(t *testing.T) {
	var got map[string]any
	var auth, path string
	client := provider(t, func(w http.ResponseWriter, r *http.Request) {
		auth, path = r.Header.Get("Authorization"), r.URL.Path
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		says(200, `{"model":"m-2026","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
			"tool_calls":[{"id":"c1","type":"function","function":{"name":"mcp_request","arguments":"{\"a\":1}"}}]}}],
			"usage":{"prompt_tokens":12,"completion_tokens":3}}`)(w, r)
	})
	reply, err := client.Complete(context.Background(), llm.Request{
		Model: "m", Temperature: 0.2, Force: true,
		Tools: []llm.Tool{{Name: "mcp_request", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Messages: []llm.Message{
			{Role: llm.System, Content: "s"},
			{Role: llm.User, Content: "u"},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "c0", Name: "search_tools", Arguments: "{}"}}},
			{Role: llm.ToolRole, CallID: "c0"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Reply{
		Calls: []llm.Call{{ID: "c1", Name: "mcp_request", Arguments: `{"a":1}`}}, Usage: llm.Usage{Input: 12, Output: 3},
		Provider: "test", Model: "m-2026",
	}
	if d := cmp.Diff(want, reply); d != "" {
		t.Error(d)
	}
	if auth != "Bearer sk-test" || path != "/v1/chat/completions" {
		t.Errorf("%s to %s", auth, path)
	}
	if got["tool_choice"] != "required" || got["model"] != "m" {
		t.Errorf("sent %v", got)
	}
	messages := got["messages"].([]any)
	if last := messages[3].(map[string]any); last["content"] != "{}" || last["tool_call_id"] != "c0" {
		t.Errorf("an empty tool result was sent as %v", last)
	}
}

func TestTextIsTrimmedAndTheModelNamed(t *testing.T) {
	client := provider(t, says(200, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"  hola\n"}}]}`))
	reply, err := client.Complete(context.Background(), llm.Request{Model: "m"})
	if err != nil || reply.Text != "hola" || reply.Model != "m" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestTheKeyIsInNoError(t *testing.T) {
	client := openai.New("test", "http://127.0.0.1:1/v1", "sk-canary", &http.Client{Timeout: time.Second})
	_, err := client.Complete(context.Background(), llm.Request{Model: "m"})
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}

func TestArgumentsThatCameAsAnObjectAreRead(t *testing.T) {
	client := provider(t, says(200, `{"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"",
		"tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":{"id":12345678901234567890,"s":"x"}}},
			{"id":"c2","type":"function","function":{"name":"b","arguments":"{}"}}]}}]}`))
	reply, err := client.Complete(context.Background(), llm.Request{Model: "m"})
	want := []llm.Call{{ID: "c1", Name: "a", Arguments: `{"id":12345678901234567890,"s":"x"}`}, {ID: "c2", Name: "b", Arguments: "{}"}}
	if d := cmp.Diff(want, reply.Calls); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

func TestAnAnswerWithoutAnEndIsCut(t *testing.T) {
	client := provider(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"choices":[{"finish_reason":"stop","message":{"content":"`))
		for range 20 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
	})
	if _, err := client.Complete(context.Background(), llm.Request{Model: "m"}); !errors.Is(err, llm.ErrUnreachable) {
		t.Errorf("%v", err)
	}
}
