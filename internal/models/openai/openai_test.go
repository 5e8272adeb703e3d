package openai_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
)

// ownTransport returns a transport that no other test has. The server of a test that ends closes the connections of the
// default one, also a connection that another test is about to use.
func ownTransport(t *testing.T) *http.Transport {
	t.Helper()
	own := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(own.CloseIdleConnections)
	return own
}

// provider serves h as an OpenAI-compatible API and returns a client of it.
func provider(t *testing.T, h http.HandlerFunc) *openai.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return openai.New(openai.Endpoint{Provider: "test", BaseURL: server.URL + "/v1/", Key: "sk-test"}, &http.Client{Timeout: 3 * time.Second, Transport: ownTransport(t)}, time.Now)
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestCompleteSendsARequestAndReadsTheReply(t *testing.T) {
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
		Model: "m", Temperature: 0.2,
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
	if got["tool_choice"] != nil || got["model"] != "m" {
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

func TestArgumentsSentAsAnObjectAreRead(t *testing.T) {
	client := provider(t, says(200, `{"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"",
		"tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":{"id":12345678901234567890,"s":"x"}}},
			{"id":"c2","type":"function","function":{"name":"b","arguments":"{}"}}]}}]}`))
	reply, err := client.Complete(context.Background(), llm.Request{Model: "m"})
	want := []llm.Call{{ID: "c1", Name: "a", Arguments: `{"id":12345678901234567890,"s":"x"}`}, {ID: "c2", Name: "b", Arguments: "{}"}}
	if d := cmp.Diff(want, reply.Calls); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

// TestImpossibleUsageIsIgnored: counts that would overflow a sum, or give negative costs.
func TestImpossibleUsageIsIgnored(t *testing.T) {
	for _, usage := range []string{
		`{"prompt_tokens":9223372036854775807,"completion_tokens":1}`, `{"prompt_tokens":1,"completion_tokens":9223372036854775807}`,
		`{"prompt_tokens":-5,"completion_tokens":-7}`, `{"prompt_tokens":-1000000,"completion_tokens":5}`, `{"prompt_tokens":5,"completion_tokens":-1000000}`, `{"prompt_tokens":17000000,"completion_tokens":1}`,
	} {
		c := provider(t, says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}],"usage":`+usage+`}`))
		reply, err := c.Complete(context.Background(), llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Content: "hola"}}})
		if err != nil || !reply.Usage.Estimated || reply.Usage.Input <= 0 || reply.Usage.Input > 1000 || reply.Usage.Output <= 0 || reply.Usage.Output > 1000 {
			t.Errorf("%s: %+v, %v", usage, reply.Usage, err)
		}
	}
}
