package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/models/llm"
)

var twoTools = []llm.Tool{
	{Name: "mcp_request", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"body":{"type":"object"},"n":{"type":"integer"}}}`)},
	{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)},
}

// inParts answers with a text, whole or in chunks of so many bytes.
func inParts(t *testing.T, text string, size int) (llm.Reply, *page) {
	t.Helper()
	r, seen := ask("m", nil), &page{}
	r.Tools = twoTools
	if size == 0 {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := provider(t, says(200, `{"choices":[{"finish_reason":"stop","message":{"content":`+string(raw)+`}}]}`)).Complete(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		return reply, seen
	}
	var chunks []string
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		for n < len(rest) && rest[n]&0xC0 == 0x80 {
			n++
		}
		chunks, rest = append(chunks, delta(rest[:n])), rest[n:]
	}
	r.Sink = seen
	reply, err := provider(t, events(append(chunks, stop, done)...)).Complete(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return reply, seen
}

// TestACallInATextIsACall in each form that models write, and its markup reaches nobody.
func TestACallInATextIsACall(t *testing.T) {
	request := llm.Call{Name: "mcp_request", Arguments: `{"path":"/a","body":{"n":2}}`}
	pairs := llm.Call{Name: "mcp_request", Arguments: `{"body":{"n":2},"n":3,"path":"/a"}`}
	look := llm.Call{Name: "look", Arguments: `{}`}
	for text, want := range map[string][]llm.Call{
		"<tool_call>\n{\"name\": \"mcp_request\", \"arguments\": " + request.Arguments + "}\n</tool_call>":                                                                                                              {request},
		"<tool_call>{\"name\":\"look\"}</tool_call>\n<tool_call>{\"name\":\"functions.mcp_request\",\"arguments\":" + request.Arguments + "}</tool_call>":                                                               {look, request},
		"<|channel|>analysis<|message|>Miro.<|end|><|start|>assistant<|channel|>commentary to=functions.mcp_request <|constrain|>json<|message|>" + request.Arguments + "<|call|>":                                      {request},
		"<|start|>assistant to=functions.look<|channel|>commentary json<|message|>{}":                                                                                                                                   {look},
		"<|channel|>commentary to=functions.look<|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.none<|message|>{\"a\":":                                                                       {look, {Name: "none", Arguments: `{"a":`}},
		"<tool_call>{\"name\":\"look\",\"arguments\":\"{}\"}":                                                                                                                                                           {look},
		"<tool_call>\n<function=mcp_request>\n<parameter=path>\n/a\n</parameter>\n<parameter=body>\n{\"n\":2}\n</parameter>\n<parameter=n>3</parameter>\n</function>\n</tool_call>":                                     {pairs},
		"<tool_call>mcp_request\n<arg_key>path</arg_key>\n<arg_value>/a</arg_value><arg_key>body</arg_key><arg_value>{\"n\":2}</arg_value><arg_key>n</arg_key><arg_value>3</arg_value></tool_call>":                     {pairs},
		"<function=mcp_request>" + request.Arguments + "</function>":                                                                                                                                                    {request},
		"<|python_tag|>{\"name\":\"look\",\"parameters\":{}}":                                                                                                                                                           {look},
		"[TOOL_CALLS][{\"name\":\"mcp_request\",\"arguments\":" + request.Arguments + "}]":                                                                                                                              {request},
		"[TOOL_CALLS] [{\"name\":\"look\",\"arguments\":{}}]</s>":                                                                                                                                                       {look},
		"[TOOL_CALLS]mcp_request[ARGS]" + request.Arguments + "[TOOL_CALLS]look[ARGS]{}":                                                                                                                                {request, look},
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>mcp_request\n```json\n" + request.Arguments + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>":                                                            {request},
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>":                                                                                                                  {look},
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>":                                                                      {look},
		"<minimax:tool_call>\n<invoke name=\"mcp_request\">\n<parameter name=\"path\">/a</parameter><parameter name=\"body\">{\"n\":2}</parameter><parameter name=\"n\">3</parameter>\n</invoke>\n</minimax:tool_call>": {pairs},
	} {
		for _, before := range []string{"", "Lo miro.\n\n", "<think>secreto</think>"} {
			for _, size := range []int{0, 1 << 20, 5} {
				reply, seen := inParts(t, before+text, size)
				shown := ""
				if strings.HasPrefix(before, "Lo") {
					shown = "Lo miro."
				}
				if d := cmp.Diff(want, reply.Calls); d != "" || reply.Text != shown || strings.Join(seen.deltas, "") != unless(size == 0, shown) {
					t.Errorf("%q by %d: %q, told %q %s", before+text, size, reply.Text, seen.deltas, d)
				}
			}
		}
	}
	for _, text := range []string{`{"name": "mcp_request", "arguments": ` + request.Arguments + `}`, ` [{"type":"function","name":"functions.mcp_request","parameters":` + request.Arguments + `}]`} {
		for _, size := range []int{0, 1 << 20, 5} {
			if reply, seen := inParts(t, text, size); len(reply.Calls) != 1 || reply.Calls[0].Arguments != request.Arguments || reply.Text != "" || len(seen.deltas) > 0 {
				t.Errorf("%q by %d: %+v", text, size, reply)
			}
		}
	}
}

// TestATextThatShowsACallIsText: code, another tool, arguments that are not whole, and prose around JSON.
func TestATextThatShowsACallIsText(t *testing.T) {
	for _, text := range []string{
		"Se escribe `<tool_call>{\"name\":\"look\"}</tool_call>`.",
		"```\n<tool_call>{\"name\":\"look\"}</tool_call>\n```",
		"```json\n{\"name\":\"look\",\"arguments\":{}}\n```",
		"<tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call>",
		"<tool_call>{\"name\":\"mcp_request\",\"arguments\":{\"path\":</tool_call>",
		"<function=mcp_request>{\"path\":\"/a\"",
		"{\"name\":\"look\",\"arguments\":{}} y más",
		"{\"name\":\"Ana\",\"arguments\":{}}",
		"{\"name\":\"look\",\"seats\":6}",
		"[TOOL_CALLS] es una marca.",
		"[1] Hola",
	} {
		for _, size := range []int{0, 1 << 20, 3} {
			if reply, seen := inParts(t, text, size); len(reply.Calls) > 0 || reply.Text != text || strings.Join(seen.deltas, "") != unless(size == 0, text) {
				t.Errorf("%q by %d: %+v, told %q", text, size, reply, seen.deltas)
			}
		}
	}
}

// TestACallThatIsSaidTwiceIsOne: some servers leave it in the text, too.
func TestACallThatIsSaidTwiceIsOne(t *testing.T) {
	r := ask("m", nil)
	r.Tools = twoTools
	reply, err := provider(t, says(200, `{"choices":[{"finish_reason":"tool_calls","message":{"content":"<tool_call>{\"name\":\"look\",\"arguments\":{\"a\":1}}</tool_call>",`+
		`"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{ \"a\": 1 }"}}]}}]}`)).Complete(context.Background(), r)
	if err != nil || len(reply.Calls) != 1 || reply.Calls[0].ID != "a" || reply.Text != "" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestANameMeansTheToolThatIsOffered, and no other.
func TestANameMeansTheToolThatIsOffered(t *testing.T) {
	for name, want := range map[string]string{
		"look": "look", "functions.look": "look", "default_api:look": "look", "default_api.look": "look", "tool:look": "look", "`look`": "look",
		`"look"`: "look", "look<|channel|>commentary": "look", "functions.look<|channel|>json": "look", "functions.look:3": "look", "a.b.look": "look",
		"looks": "looks", "functions.other": "functions.other", "look.other": "look.other", "Look": "Look", "": "",
	} {
		for _, streamed := range []bool{false, true} {
			r := ask("m", nil)
			r.Tools = twoTools
			name := strings.Replace(name, "tool:", "tool: ", 1) // with a space, too
			one := fmt.Sprintf(`"tool_calls":[{"index":0,"id":"a","function":{"name":%q,"arguments":"{}"}}]`, name)
			h := says(200, `{"choices":[{"finish_reason":"stop","message":{`+one+`}}]}`)
			if streamed {
				r.Sink, h = &page{}, events(`{"choices":[{"index":0,"delta":{`+one+`}}]}`, stop, done)
			}
			if reply, err := provider(t, h).Complete(context.Background(), r); err != nil || len(reply.Calls) != 1 || reply.Calls[0].Name != want {
				t.Errorf("%q: %+v, %v", name, reply, err)
			}
		}
	}
}

// TestACallInThousandsOfPiecesIsReadAtOnce, as a call and in a text.
func TestACallInThousandsOfPiecesIsReadAtOnce(t *testing.T) {
	arguments := `{"path":"/` + strings.Repeat("ab", 100<<10) + `"}`
	chunks := []string{part(`"index":0,"id":"a","function":{"name":"look"}`)}
	for rest := arguments; rest != ""; {
		n := min(51, len(rest))
		raw, _ := json.Marshal(rest[:n])
		chunks, rest = append(chunks, part(`"index":0,"function":{"arguments":`+string(raw)+`}`)), rest[n:]
	}
	r := ask("m", &page{})
	r.Tools = twoTools
	reply, err := provider(t, events(append(chunks, finish("tool_calls"), done)...)).Complete(context.Background(), r)
	if err != nil || len(chunks) < 4000 || len(reply.Calls) != 1 || reply.Calls[0].Arguments != arguments {
		t.Errorf("%d pieces: %d calls, %v", len(chunks), len(reply.Calls), err)
	}
	for _, text := range []string{`<tool_call>{"name":"look","arguments":` + arguments + `}</tool_call>`, `{"name":"look","arguments":` + arguments + `}`} {
		if reply, _ := inParts(t, text, 51); len(reply.Calls) != 1 || reply.Calls[0].Arguments != arguments {
			t.Errorf("%d calls, and a text of %d bytes", len(reply.Calls), len(reply.Text))
		}
	}
}
