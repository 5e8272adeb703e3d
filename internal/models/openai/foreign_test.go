package openai_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
)

// strict is a provider that refuses what another one wrote, each in its words.
type strict struct {
	id   *regexp.Regexp
	no   string // of an id that does not match
	sent []map[string]any
	ids  []string // of calls and results of the last request that it took
}

func (p *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []map[string]any }
	_ = json.NewDecoder(r.Body).Decode(&body)
	p.sent, p.ids = body.Messages, nil
	for _, m := range body.Messages {
		for _, c := range listOf(m["tool_calls"]) {
			p.ids = append(p.ids, c.(map[string]any)["id"].(string))
		}
		if id, ok := m["tool_call_id"].(string); ok {
			p.ids = append(p.ids, id)
		}
	}
	for _, id := range p.ids {
		if !p.id.MatchString(id) {
			says(400, `{"error":{"message":`+quoted(strings.ReplaceAll(p.no, "ID", id))+`}}`)(w, r)
			return
		}
	}
	says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`)(w, r)
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

// TestAnotherModelGetsTheCallsAndNotTheThoughts: the transcript of one model goes on with another one, which has its own
// address or its own name. What is for the first one alone goes back to it alone.
func TestAnotherModelGetsTheCallsAndNotTheThoughts(t *testing.T) {
	call := `{"content":[{"type":"thinking","thinking":"secreto","signature":"s0"}],"reasoning_content":"secreto","extra_content":{"google":{"thought_signature":"s1"}},
		"thinking_blocks":[{"type":"thinking","thinking":"secreto","signature":"s2"}],
		"tool_calls":[{"id":"functions.look:0","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s3"}}}]}`
	first := &thinker{call: call, refuse: func([]map[string]any) string { return "" }}
	other := &thinker{call: call, refuse: func([]map[string]any) string { return "" }}
	a, b := provider(t, first.ServeHTTP), provider(t, other.ServeHTTP)
	r := ask("m", nil)
	reply, err := a.Complete(context.Background(), r)
	if err != nil || reply.From == "" {
		t.Fatal(reply, err)
	}
	r.Messages = append(r.Messages, reply.Message(), llm.Message{Role: llm.ToolRole, CallID: reply.Calls[0].ID, Content: "{}"})
	for name, c := range map[string]struct {
		client *openai.Client
		served *thinker
		model  string
		own    bool
	}{"the same": {a, first, "m", true}, "another model": {a, first, "m2", false}, "another address": {b, other, "m", false}} {
		r.Model = c.model
		if _, err := c.client.Complete(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		sent, _ := json.Marshal(withCalls(c.served.asked[len(c.served.asked)-1]))
		for _, part := range []string{"secreto", "s0", "s1", "s2", "s3"} {
			if strings.Contains(string(sent), part) != c.own {
				t.Errorf("%s got %s", name, sent)
			}
		}
		if !strings.Contains(string(sent), "functions.look:0") {
			t.Errorf("%s got no call: %s", name, sent)
		}
	}
	if r.Messages[len(r.Messages)-2].Thought == "" {
		t.Error("the transcript itself was changed")
	}
}

// TestAnIDThatIsRefusedIsWrittenAsEveryModelTakesIt: in the call and its result alike, and the same in each request.
func TestAnIDThatIsRefusedIsWrittenAsEveryModelTakesIt(t *testing.T) {
	long := "call_" + strings.Repeat("x", 60)
	for name, p := range map[string]*strict{
		"Mistral":   {id: regexp.MustCompile(`^[a-zA-Z0-9]{9}$`), no: "Tool call id was ID but must be a-z, A-Z, 0-9, with a length of 9."},
		"OpenAI":    {id: regexp.MustCompile(`^.{1,40}$`), no: "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 65 instead."},
		"Anthropic": {id: regexp.MustCompile(`^[a-zA-Z0-9_-]+$`), no: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(p)
			defer server.Close()
			client := openai.New(openai.Endpoint{Provider: "test", BaseURL: server.URL}, server.Client(), time.Now)
			r := ask("m", nil)
			r.Messages = append(r.Messages,
				llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: long, Name: "look", Arguments: "{}"}, {ID: "functions.look:0", Name: "look", Arguments: "{}"}, {ID: "abcdefgh9", Name: "look", Arguments: "{}"}}},
				llm.Message{Role: llm.ToolRole, CallID: long, Content: "{}"}, llm.Message{Role: llm.ToolRole, CallID: "functions.look:0", Content: "{}"}, llm.Message{Role: llm.ToolRole, CallID: "abcdefgh9", Content: "{}"})
			r.Tools = []llm.Tool{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}}
			var before []string
			for range 2 {
				if reply, err := client.Complete(context.Background(), r); err != nil || reply.Text != "hola" || reply.NoTools {
					t.Fatal(reply, err)
				}
				if len(p.ids) != 6 || !slices.Equal(p.ids[:3], p.ids[3:]) || p.ids[0] == p.ids[1] || p.ids[2] != "abcdefgh9" {
					t.Errorf("%q", p.ids)
				}
				if before != nil && !slices.Equal(before, p.ids) {
					t.Errorf("%q, and then %q", before, p.ids)
				}
				before = p.ids
			}
			for _, m := range p.sent {
				if m["role"] != "tool" && m["tool_call_id"] != nil {
					t.Errorf("a message has an id: %v", m)
				}
			}
		})
	}
}
