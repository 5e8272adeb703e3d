package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/models/llm"
)

// thinker is a provider that answers the first request with a call, and checks what comes back with it.
type thinker struct {
	call   string // the message of the first answer
	refuse func(messages []map[string]any) (no string)

	asked [][]map[string]any // messages of each request
}

func (p *thinker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []map[string]any
		Stream   bool
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	p.asked = append(p.asked, body.Messages)
	answer := p.call
	if body.Messages[len(body.Messages)-1]["role"] == "tool" {
		answer = `{"content":"hola"}`
		if no := p.refuse(body.Messages); no != "" {
			says(400, fmt.Sprintf(`{"error":{"message":%q}}`, no))(w, r)
			return
		}
	}
	if !body.Stream {
		says(200, `{"choices":[{"finish_reason":"stop","message":`+answer+`}]}`)(w, r)
		return
	}
	events(`{"choices":[{"index":0,"delta":`+answer+`}]}`, stop, done)(w, r)
}

// converse asks for a call, gives its result, and asks again; it does so twice.
func converse(t *testing.T, p *thinker, streamed bool) {
	t.Helper()
	client := provider(t, p.ServeHTTP)
	r := ask("m", nil)
	if streamed {
		r.Sink = &page{}
	}
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Content: "antes"}, llm.Message{Role: llm.User, Content: "mira"})
	r.Tools = []llm.Tool{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}}
	for range 2 {
		reply, err := client.Complete(context.Background(), r)
		if err != nil || len(reply.Calls) != 1 || reply.Text != "" {
			t.Fatalf("%+v, %v", reply, err)
		}
		r.Messages = append(r.Messages, reply.Message(), llm.Message{Role: llm.ToolRole, CallID: reply.Calls[0].ID, Content: "{}"})
		if reply, err = client.Complete(context.Background(), r); err != nil || reply.Text != "hola" {
			t.Fatalf("%+v, %v", reply, err)
		}
		r.Messages = append(r.Messages, reply.Message(), llm.Message{Role: llm.User, Content: "y ahora"})
	}
}

const looks = `"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]`

func withCalls(messages []map[string]any) (list []map[string]any) {
	for _, m := range messages {
		if m["tool_calls"] != nil {
			list = append(list, m)
		}
	}
	return list
}

// TestThoughtsGoBackAsTheProviderWants: as they came, under their name, with the messages that need them.
func TestThoughtsGoBackAsTheProviderWants(t *testing.T) {
	signature := func(m map[string]any) string {
		raw, _ := json.Marshal(m["tool_calls"].([]any)[0].(map[string]any)["extra_content"])
		return string(raw)
	}
	for name, c := range map[string]struct {
		call    string
		refuse  func(m map[string]any) string // of a message with calls
		others  string                        // what is refused in the messages of the model that have none
		refused int
	}{
		"reasoning_content": {call: `{"content":null,"reasoning_content":"miro",` + looks + `}`, refuse: func(m map[string]any) string {
			return unless(m["reasoning_content"] == "miro", "The `reasoning_content` in the thinking mode must be passed back to the API.")
		}},
		"reasoning": {call: `{"content":null,"reasoning":"miro",` + looks + `}`, refuse: func(m map[string]any) string {
			return unless(m["reasoning"] == "miro" && m["reasoning_content"] == nil, "reasoning is missing")
		}},
		"reasoning_details": {call: `{"content":null,"reasoning":"miro","reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":0}],` + looks + `}`, refuse: func(m map[string]any) string {
			raw, _ := json.Marshal(m["reasoning_details"])
			return unless(string(raw) == `[{"data":"x","index":0,"type":"reasoning.encrypted"}]`, "no details")
		}},
		"thinking_blocks": {call: `{"content":"","reasoning_content":"miro","thinking_blocks":[{"type":"thinking","thinking":"miro","signature":"c2ln"},{"type":"redacted_thinking","data":"x"}],` + looks + `}`, refuse: func(m map[string]any) string {
			raw, _ := json.Marshal(m["thinking_blocks"])
			return unless(string(raw) == `[{"signature":"c2ln","thinking":"miro","type":"thinking"},{"data":"x","type":"redacted_thinking"}]`, "Expected `thinking` or `redacted_thinking`, but found `tool_use`.")
		}},
		"parts of Mistral": {call: `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"miro"}],"closed":true}],` + looks + `}`, refuse: func(m map[string]any) string {
			raw, _ := json.Marshal(m["content"])
			return unless(string(raw) == `[{"closed":true,"thinking":[{"text":"miro","type":"text"}],"type":"thinking"}]` && m["reasoning_content"] == nil, "no thoughts")
		}},
		"signed parts": {call: `{"content":[{"type":"thinking","thinking":"miro","signature":"c2ln"},{"type":"text","text":""}],` + looks + `}`, refuse: func(m map[string]any) string {
			raw, _ := json.Marshal(m["content"])
			return unless(string(raw) == `[{"signature":"c2ln","thinking":"miro","type":"thinking"}]`, "no thoughts")
		}},
		"parts are refused": {call: `{"content":[{"type":"thinking","thinking":"miro"}],` + looks + `}`, refuse: func(m map[string]any) string {
			return unless(m["content"] == nil, "Invalid value: 'thinking'. Supported values are: 'text' and 'refusal'.")
		}, refused: 1},
		"a signature of a call": {call: `{"content":null,` + strings.Replace(looks, `"id":"a"`, `"id":"a","extra_content":{"google":{"thought_signature":"c2ln"}}`, 1) + `}`, refuse: func(m map[string]any) string {
			return unless(signature(m) == `{"google":{"thought_signature":"c2ln"}}`, "Function call is missing a thought_signature in functionCall parts.")
		}},
		"a signature of a message": {call: `{"content":null,"extra_content":{"google":{"thought_signature":"c2ln"}},` + looks + `}`, refuse: func(m map[string]any) string {
			return unless(m["extra_content"] != nil, "missing")
		}},
		"a call without a thought, where one is wanted": {call: `{"content":null,` + looks + `}`, refuse: func(m map[string]any) string {
			return unless(m["reasoning_content"] != nil && m["reasoning_content"] != "", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2")
		}, refused: 1},
		"a call without a signature, where one is wanted": {call: `{"content":null,` + looks + `}`, refuse: func(m map[string]any) string {
			return unless(signature(m) == `{"google":{"thought_signature":"skip_thought_signature_validator"}}`, "Unable to submit request because function call default_api:look in the 2. content block is missing a thought_signature.")
		}, refused: 1},
		"thoughts are refused": {call: `{"content":null,"reasoning_content":"miro",` + looks + `}`, refuse: func(m map[string]any) string {
			return unless(m["reasoning_content"] == nil, "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]")
		}, refused: 1},
		"a signature is refused": {call: `{"content":null,` + strings.Replace(looks, `"id":"a"`, `"id":"a","extra_content":{"google":{"thought_signature":"c2ln"}}`, 1) + `}`, refuse: func(m map[string]any) string {
			return unless(signature(m) != `{"google":{"thought_signature":"c2ln"}}`, "Corrupted thought signature.")
		}, refused: 1},
		"each message of the model needs one": {call: `{"content":null,"reasoning_content":"miro",` + looks + `}`, others: "reasoning_content must be passed back", refused: 1},
	} {
		for _, streamed := range []bool{false, true} {
			p := &thinker{call: c.call}
			refused := 0
			p.refuse = func(messages []map[string]any) string {
				no := ""
				for _, m := range messages {
					switch {
					case m["role"] != "assistant":
					case m["tool_calls"] == nil:
						no += unless(c.others == "" || m["reasoning_content"] != nil, c.others)
					case c.refuse != nil:
						no += c.refuse(m)
					}
				}
				if no != "" {
					refused++
				}
				return no
			}
			t.Run(fmt.Sprint(name, ", streamed: ", streamed), func(t *testing.T) {
				converse(t, p, streamed)
				if refused != c.refused {
					t.Errorf("%d requests were refused", refused)
				}
				for _, m := range p.asked[len(p.asked)-1] {
					if c.others == "" && m["role"] == "assistant" && m["tool_calls"] == nil && m["reasoning_content"] != nil && c.refused == 0 {
						t.Errorf("a text went back with %v", m)
					}
				}
				if got := len(withCalls(p.asked[len(p.asked)-1])); got != 2 {
					t.Errorf("%d calls went back", got)
				}
			})
		}
	}
}

func unless(holds bool, no string) string {
	if holds {
		return ""
	}
	return no
}

// TestThoughtsOfAStreamAreJoined, also those that come in two forms at once.
func TestThoughtsOfAStreamAreJoined(t *testing.T) {
	piece := func(members string) string { return `{"choices":[{"index":0,"delta":{` + members + `}}]}` }
	reply, _ := readStream(t, events(
		piece(`"role":"assistant","content":"","reasoning":"Mi","reasoning_content":"Mi","reasoning_details":[{"type":"reasoning.text","text":"Mi","index":0,"format":null}]`),
		piece(`"content":null,"reasoning":"ro","reasoning_content":"ro","reasoning_details":[{"type":"reasoning.text","text":"ro","index":0}]`),
		piece(`"reasoning_details":[{"type":"reasoning.text","signature":"s","text":"","index":0}]`),
		piece(`"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]`),
		piece(`"content":"Hola"`), stop, done))
	if reply.Thought != "Miro" || reply.Text != "Hola" {
		t.Errorf("%+v", reply)
	}
	want := `{"reasoning_details":[{"format":null,"index":0,"signature":"s","text":"Miro","type":"reasoning.text"},{"data":"x","index":1,"type":"reasoning.encrypted"}]}`
	if d := cmp.Diff(want, string(reply.Extra)); d != "" {
		t.Error(d)
	}
}

// TestThoughtsInPartsOfAStreamAreJoined as Mistral and LiteLLM stream them, in very many pieces, and reach nobody.
func TestThoughtsInPartsOfAStreamAreJoined(t *testing.T) {
	piece := func(members string) string { return `{"choices":[{"index":0,"delta":{` + members + `}}]}` }
	var chunks []string
	for range 1000 {
		chunks = append(chunks,
			piece(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"secreto"}]}]`),
			piece(`"content":"","thinking_blocks":[{"type":"thinking","thinking":"ay","signature":null}]`))
	}
	chunks = append(chunks, piece(`"thinking_blocks":[{"type":"thinking","thinking":"","signature":"s1"}]`),
		piece(`"thinking_blocks":[{"type":"thinking","thinking":"dos"}]`), piece(`"thinking_blocks":[{"type":"thinking","signature":"s2"}]`),
		piece(`"content":[{"type":"text","text":"Ho"}]`), delta("la"), stop, done)
	reply, seen := readOf(t, provider(t, events(chunks...)))
	if reply.Text != "Hola" || strings.Join(seen.deltas, "|") != "Ho|la" || reply.Thought != "" {
		t.Errorf("%.200q, told %.200q", reply.Text, seen.deltas)
	}
	want := `{"content":[{"thinking":[{"type":"text","text":"` + strings.Repeat("secreto", 1000) + `"}],"type":"thinking"}],` +
		`"thinking_blocks":[{"signature":"s1","thinking":"` + strings.Repeat("ay", 1000) + `","type":"thinking"},{"signature":"s2","thinking":"dos","type":"thinking"}]}`
	if d := cmp.Diff(want, string(reply.Extra)); d != "" {
		t.Errorf("%.3000s", d)
	}
}

// TestAThoughtInATextReachesNobody: neither the reply nor the page, however the stream is cut.
func TestAThoughtInATextReachesNobody(t *testing.T) {
	long := strings.Repeat("secreto ", 200<<10/8)
	for text, want := range map[string]string{
		"<think>\nsecreto\n</think>\n\nHola":          "Hola",
		"Hola <thought>secreto</thought>\n\n y adiós": "Hola \n\n y adiós",
		"secreto\n</think>\nHola":                     "Hola",
		"<|channel|>analysis<|message|>secreto<|end|><|start|>assistant<|channel|>final<|message|>Hola<|return|>": "Hola",
		"Hola\n<think>" + long + "<think>" + long: "Hola",
		"Escribe `<think>` así":                   "Escribe `<think>` así",
	} {
		for _, size := range []int{1 << 30, 997} {
			var chunks []string
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				for n < len(rest) && rest[n]&0xC0 == 0x80 {
					n++
				}
				chunks, rest = append(chunks, delta(rest[:n])), rest[n:]
			}
			reply, seen := readOf(t, provider(t, events(append(chunks, stop, done)...)))
			if reply.Text != want || reply.Thought != "" || strings.Contains(strings.Join(seen.deltas, ""), "secreto") {
				t.Errorf("%.60q: %.60q, told %.60q", text, reply.Text, seen.deltas)
			}
			if size < 1<<30 && len(text) > 1<<10 && reply.Usage.Output < 1000 {
				t.Errorf("%d tokens are counted", reply.Usage.Output)
			}
		}
		whole, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := provider(t, says(200, `{"choices":[{"finish_reason":"stop","message":{"content":`+string(whole)+`}}]}`)).Complete(context.Background(), ask("m", nil))
		if err != nil || reply.Text != want {
			t.Errorf("%.60q: %.60q, %v", text, reply.Text, err)
		}
	}
}

// TestATextIsHeldBackUntilTheHabitOfItsModelIsKnown: once, of a model without a known name, and never of the others. A text that
// was cut, or that is in a Format, shows no habit.
func TestATextIsHeldBackUntilTheHabitOfItsModelIsKnown(t *testing.T) {
	cut := `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`
	for _, c := range []struct {
		model  string
		format bool
		last   string
		told   string // of three answers
	}{
		{"m", false, stop, "Hola, then Ho|la, then Ho|la"},
		{"m", true, stop, "Hola, then Ho|la"},
		{"m", false, cut, "Hola, then Hola, then Hola"},
		{"openai/gpt-4o", false, stop, "Ho|la, then Ho|la, then Ho|la"},
		{"claude-sonnet-4-5", false, cut, "Ho|la, then Ho|la, then Ho|la"},
		{"Qwen/QwQ-32B", false, stop, "Hola, then Hola, then Hola"},
	} {
		client := provider(t, func(w http.ResponseWriter, r *http.Request) {
			var body struct{ Stream bool }
			if _ = json.NewDecoder(r.Body).Decode(&body); body.Stream {
				events(delta("Ho"), delta("la"), c.last)(w, r)
				return
			}
			says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"{}"}}]}`)(w, r)
		})
		var told []string
		for i := range 3 {
			r := ask(c.model, &page{})
			if c.format && i == 0 {
				r.Format = &llm.Format{Name: "x", Schema: json.RawMessage(`{"type":"object"}`)}
			}
			if _, err := client.Complete(context.Background(), r); err != nil {
				t.Fatal(err)
			}
			if deltas := r.Sink.(*page).deltas; len(deltas) > 0 {
				told = append(told, strings.Join(deltas, "|"))
			}
		}
		if got := strings.Join(told, ", then "); got != c.told {
			t.Errorf("%s, in a format: %v: it was told %s", c.model, c.format, got)
		}
	}
}

// TestAThoughtThatWasCutIsNoAnswer of a model whose template opens it: its limit was used up before anything was said.
func TestAThoughtThatWasCutIsNoAnswer(t *testing.T) {
	cut := `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`
	seen := &page{}
	_, err := provider(t, events(delta("secreto "), delta("y más"), cut)).Complete(context.Background(), ask("deepseek-r1", seen))
	if llm.CauseOf(err) != llm.CutShort || len(seen.deltas) > 0 {
		t.Errorf("%v, told %q", err, seen.deltas)
	}
}

// TestAThoughtThatTheTemplateOpenedIsHeldBack, of a model that is known to have such a template, and of one that showed it.
func TestAThoughtThatTheTemplateOpenedIsHeldBack(t *testing.T) {
	answers := [][]string{
		{delta("secreto "), delta("secreto</thi"), delta("nk>Ho"), delta("la"), stop, done},
		{delta("Ho"), delta("la"), stop, done},
		{`{"choices":[{"index":0,"delta":{"reasoning":"secreto"}}]}`, delta("Ho"), delta("la"), stop, done},
		{delta("<think>secreto"), delta("</think>Ho"), delta("la"), stop, done},
	}
	for _, model := range []string{"deepseek-r1:8b", "m"} {
		asked := 0
		client := provider(t, func(w http.ResponseWriter, r *http.Request) {
			events(answers[max(0, asked-1)]...)(w, r)
			asked++
		})
		for range len(answers) + 1 {
			seen := &page{}
			reply, err := client.Complete(context.Background(), ask(model, seen))
			told := strings.Join(seen.deltas, "|")
			if err != nil || reply.Text != "Hola" || seen.text != "Hola" || strings.Contains(told, "secreto") {
				t.Errorf("%s: %+v, %v, told %q", model, reply, err, told)
			}
			if asked > 3 && told != "Ho|la" {
				t.Errorf("it was told %q", told)
			}
		}
	}
}
