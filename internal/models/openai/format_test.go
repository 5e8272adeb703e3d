package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/models/llm"
)

// formProvider is a provider that supports some strategies for an answer in a Format, and refuses the others with the
// given errors.
type formProvider struct {
	refuse map[string]refuses // by strategy
	answer string             // the JSON it answers with

	mu         sync.Mutex
	strategies []string // strategy of each request
	last       map[string]any
}

type refuses struct {
	status int
	body   string
}

// strategy returns the strategy of a request.
func strategy(body map[string]any) string {
	if _, ok := body["response_format"]; ok {
		return "schema"
	}
	if _, ok := body["tools"]; !ok {
		return "words"
	}
	switch choice := body["tool_choice"].(type) {
	case map[string]any:
		return "tool " + choice["function"].(map[string]any)["name"].(string)
	case string:
		return choice
	}
	return "offer"
}

func (f *formProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		says(500, `{}`)(w, r)
		return
	}
	asked := strategy(body)
	f.mu.Lock()
	f.strategies, f.last = append(f.strategies, asked), body
	f.mu.Unlock()
	if no, ok := f.refuse[asked]; ok {
		says(no.status, no.body)(w, r)
		return
	}
	quoted, err := json.Marshal(f.answer)
	if err != nil {
		panic(err)
	}
	if asked == "schema" || asked == "words" {
		says(200, `{"choices":[{"finish_reason":"stop","message":{"content":`+string(quoted)+`}}]}`)(w, r)
		return
	}
	says(200, `{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[
		{"id":"c","type":"function","function":{"name":"decision","arguments":`+string(quoted)+`}}]}}]}`)(w, r)
}

const (
	schemaText = `{"type":"object","properties":{"action":{"type":"string"}},"required":["action"],"additionalProperties":false}`
	decided    = `{"action":"respond"}`
)

func schemaOf(t *testing.T) (schema any) {
	t.Helper()
	if err := json.Unmarshal([]byte(schemaText), &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

// inForm returns a request for an answer in a Format, with all members that a Format overrides.
func inForm(model string) llm.Request {
	r := ask(model, &page{})
	r.Tools = []llm.Tool{{Name: "mcp_request", Parameters: json.RawMessage(`{"type":"object"}`)}}
	r.Format = &llm.Format{Name: "decision", Schema: json.RawMessage(schemaText)}
	return r
}

func TestAFormatIsRequestedByItsSchema(t *testing.T) {
	f := &formProvider{answer: decided}
	r := inForm("m")
	reply, err := provider(t, f.ServeHTTP).Complete(context.Background(), r)
	if err != nil || reply.Text != decided || reply.Calls != nil || reply.Cut {
		t.Fatalf("%+v, %v", reply, err)
	}
	want := map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "decision", "strict": true, "schema": schemaOf(t)}}
	if d := cmp.Diff(want, f.last["response_format"]); d != "" {
		t.Error(d)
	}
	for _, left := range []string{"tools", "tool_choice", "stream", "stream_options"} {
		if v, ok := f.last[left]; ok && v != false {
			t.Errorf("%s was sent: %v", left, v)
		}
	}
	if seen := r.Sink.(*page); seen.text != "" || seen.deltas != nil {
		t.Errorf("the page was told %q", seen.text)
	}
}

// TestAFormatIsRequestedByASupportedStrategy uses the error texts of several providers. The strategy is remembered
// for the model.
func TestAFormatIsRequestedByASupportedStrategy(t *testing.T) {
	openAI := refuses{400, `{"error":{"message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about supported models at the Structured Outputs guide.","type":"invalid_request_error","param":null,"code":null}}`}
	for name, c := range map[string]struct {
		refuse map[string]refuses
		want   string // strategies of the first request; the second uses the last of them
	}{
		"by OpenAI":           {map[string]refuses{"schema": openAI}, "schema, tool decision"},
		"a schema, by OpenAI": {map[string]refuses{"schema": {400, `{"error":{"message":"Invalid schema for response_format 'decision': In context=(), 'additionalProperties' is required to be supplied and to be false.","type":"invalid_request_error","param":"response_format","code":null}}`}}, "schema, tool decision"},
		"by Groq":             {map[string]refuses{"schema": {400, "{\"error\":{\"message\":\"This model does not support response format `json_schema`. See supported models\",\"type\":\"invalid_request_error\"}}"}}, "schema, tool decision"},
		"by DeepSeek":         {map[string]refuses{"schema": {400, `{"error":{"message":"This response_format type is unavailable now","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`}}, "schema, tool decision"},
		"by DeepSeek, 422":    {map[string]refuses{"schema": {422, "Failed to deserialize the JSON body into the target type: response_format: response_format.type `json_schema` is unavailable now at line 1 column 1193"}}, "schema, tool decision"},
		"that reasons, by DeepSeek": {map[string]refuses{
			"schema":        {400, `{"error":{"message":"This response_format type is unavailable now","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`},
			"tool decision": {400, `{"error":{"message":"Thinking mode does not support this tool_choice","type":"invalid_request_error"}}`},
			"required":      {400, `{"error":{"message":"Thinking mode does not support this tool_choice","type":"invalid_request_error"}}`},
		}, "schema, tool decision, required, offer"},
		"by xAI":          {map[string]refuses{"schema": {400, `{"code":"Client specified an invalid argument","error":"The response_format parameter is unsupported at the moment. Leave it unset."}`}}, "schema, tool decision"},
		"by Mistral":      {map[string]refuses{"schema": {400, `{"object":"error","message":"Structured outputs are not supported for this model.","type":"invalid_request_error","param":null,"code":null}`}}, "schema, tool decision"},
		"by vLLM":         {map[string]refuses{"schema": {400, `{"object":"error","message":"The request's guided grammar is not supported by xgrammar","type":"BadRequestError","param":null,"code":400}`}}, "schema, tool decision"},
		"by a validator":  {map[string]refuses{"schema": {422, `{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"Extra inputs are not permitted"}]}`}}, "schema, tool decision"},
		"inside of a 200": {map[string]refuses{"schema": {200, `{"error":{"message":"response_format is not supported","code":400}}`}}, "schema, tool decision"},
		"nor a named tool": {map[string]refuses{
			"schema":        openAI,
			"tool decision": {404, `{"error":{"message":"No endpoints found that support the provided 'tool_choice' value.","code":404}}`},
		}, "schema, tool decision, required"},
		"nor any tool, by Ollama": {map[string]refuses{
			"schema":        {400, `{"error":{"message":"invalid format: expected \"json\" or a valid JSON Schema object"}}`},
			"tool decision": {400, `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error","param":null,"code":null}}`},
		}, "schema, tool decision, words"},
		"nor any tool, by OpenRouter": {map[string]refuses{
			"schema":        {404, `{"error":{"message":"No endpoints found that support structured outputs","code":404}}`},
			"tool decision": {404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`},
		}, "schema, tool decision, words"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &formProvider{refuse: c.refuse, answer: decided}
			client := provider(t, f.ServeHTTP)
			for range 2 {
				reply, err := client.Complete(context.Background(), inForm("m"))
				if err != nil || reply.Text != decided || reply.Calls != nil {
					t.Fatalf("%+v, %v after %q", reply, err, f.strategies)
				}
			}
			ways := strings.Split(c.want, ", ")
			if d := cmp.Diff(append(ways, ways[len(ways)-1]), f.strategies); d != "" {
				t.Error(d)
			}
			if tools, ok := f.last["tools"].([]any); ok {
				function := tools[0].(map[string]any)["function"].(map[string]any)
				want := schemaOf(t).(map[string]any)
				delete(want, "additionalProperties") // not every provider takes it of a tool
				if d := cmp.Diff(want, function["parameters"].(map[string]any)); d != "" || len(tools) != 1 || function["name"] != "decision" {
					t.Errorf("%d tools, the first is %v", len(tools), function)
				}
			}
			if _, err := client.Complete(context.Background(), ask("m", nil)); err != nil || f.strategies[len(f.strategies)-1] != "words" {
				t.Errorf("an ordinary turn was asked by %q, %v", f.strategies[len(f.strategies)-1], err)
			}
		})
	}
}

func TestOtherRefusalsKeepTheStrategy(t *testing.T) {
	for name, c := range map[string]struct {
		no   refuses
		want error
	}{
		"a model of no one":    {refuses{404, `{"error":{"message":"no such model"}}`}, llm.ErrRefused},
		"too long":             {refuses{400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`}, llm.ErrRefused},
		"a refused key":        {refuses{401, `{"error":{"message":"response_format"}}`}, llm.ErrNoKey},
		"too many":             {refuses{429, `{"error":{"message":"json_schema requests: slow down"}}`}, llm.ErrLimited},
		"broken, of a grammar": {refuses{500, `{"error":{"message":"grammar rejected tokens"}}`}, llm.ErrUnreachable},
	} {
		f := &formProvider{refuse: map[string]refuses{"schema": c.no}}
		if _, err := provider(t, f.ServeHTTP).Complete(context.Background(), inForm("m")); !errors.Is(err, c.want) || len(f.strategies) != 1 {
			t.Errorf("%s: %v after %q", name, err, f.strategies)
		}
	}
}

// TestAModelWithoutAStrategyIsRefusedAndNothingIsLearned: a later request may find that it supports one.
func TestAModelWithoutAStrategyIsRefusedAndNothingIsLearned(t *testing.T) {
	no := refuses{400, `{"error":{"message":"neither response_format nor tool_choice"}}`}
	f := &formProvider{refuse: map[string]refuses{"schema": no, "tool decision": no, "required": no, "offer": no, "words": no}}
	client := provider(t, f.ServeHTTP)
	for range 2 {
		if _, err := client.Complete(context.Background(), inForm("m")); !errors.Is(err, llm.ErrRefused) {
			t.Fatal(err)
		}
	}
	ways := []string{"schema", "tool decision", "required", "offer", "words"}
	if d := cmp.Diff(append(ways, ways...), f.strategies); d != "" {
		t.Error(d)
	}
}

// TestATextThatDoesNotMatchTheFormatIsAReply: Groq returns an error where others leave the check to the caller.
func TestATextThatDoesNotMatchTheFormatIsAReply(t *testing.T) {
	for name, c := range map[string]struct {
		body, want string
	}{
		"JSON that was not": {`{"error":{"message":"Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"json_validate_failed","failed_generation":"{\"action\": resp"}}`, `{"action": resp`},
		"another schema":    {`{"error":{"message":"Generated JSON does not match the expected schema.","type":"invalid_request_error","code":"json_validate_failed","failed_generation":"{\"act\":1}"}}`, `{"act":1}`},
		"no tool":           {`{"error":{"message":"Tool choice is required, but model did not call a tool","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"Hola."}}`, `Hola.`},
		"nothing":           {`{"error":{"message":"Failed to generate JSON.","code":"json_validate_failed"}}`, ``},
		"its key":           {`{"error":{"message":"x","code":"json_validate_failed","failed_generation":"sk-test"}}`, `[key]`},
	} {
		f := &formProvider{refuse: map[string]refuses{"schema": {400, c.body}}}
		reply, err := provider(t, f.ServeHTTP).Complete(context.Background(), inForm("m"))
		if err != nil || reply.Text != c.want || !reply.Usage.Estimated || reply.Usage.Input == 0 || len(f.strategies) != 1 {
			t.Errorf("%s: %+v, %v after %q", name, reply, err, f.strategies)
		}
		if reply.Provider != "test" || reply.Model != "m" {
			t.Errorf("%s: %+v", name, reply)
		}
	}
}

// TestABrokenToolCallOfAnOrdinaryTurnIsRetried: its text must not be shown to a person.
func TestABrokenToolCallOfAnOrdinaryTurnIsRetried(t *testing.T) {
	client := provider(t, says(400, `{"error":{"message":"Failed to call a function.","code":"tool_use_failed","failed_generation":"<function=mcp_request{}"}}`))
	reply, err := client.Complete(context.Background(), ask("m", nil))
	if !errors.Is(err, llm.ErrUnreachable) || reply.Text != "" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestAnAnswerInAFormatIsReadFromTextOrToolCall(t *testing.T) {
	for name, c := range map[string]struct {
		choice, text string
		cut          bool
	}{
		"in the text":              {`"finish_reason":"stop","message":{"content":" {\"a\":1} "}`, `{"a":1}`, false},
		"in parts":                 {`"finish_reason":"stop","message":{"content":[{"type":"text","text":"{\"a\":"},{"type":"text","text":"1}"}]}`, `{"a":1}`, false},
		"in a call nobody offered": {`"finish_reason":"tool_calls","message":{"tool_calls":[{"id":"c","function":{"name":"json","arguments":{"a":1}}}]}`, `{"a":1}`, false},
		"in the second call":       {`"finish_reason":"tool_calls","message":{"content":"Veo","tool_calls":[{"id":"c","function":{"name":"x","arguments":"{}"}},{"id":"d","function":{"name":"decision","arguments":"{\"a\":1}"}}]}`, `{"a":1}`, false},
		"beside an empty call":     {`"finish_reason":"stop","message":{"content":"{\"a\":1}","tool_calls":[{"id":"c","function":{"name":"decision","arguments":""}}]}`, `{"a":1}`, false},
		"cut":                      {`"finish_reason":"length","message":{"content":"{\"a\":"}`, `{"a":`, true},
		"a refusal":                {`"finish_reason":"stop","message":{"content":null,"refusal":"No puedo."}`, `No puedo.`, false},
	} {
		reply, err := provider(t, says(200, `{"choices":[{`+c.choice+`}]}`)).Complete(context.Background(), inForm("m"))
		if err != nil || reply.Text != c.text || reply.Cut != c.cut || reply.Calls != nil {
			t.Errorf("%s: %+v, %v", name, reply, err)
		}
	}
}

func TestAnInvalidSchemaIsRefusedBeforeItIsSent(t *testing.T) {
	f := &formProvider{}
	r := inForm("m")
	r.Format.Schema = json.RawMessage(`{oops`)
	if _, err := provider(t, f.ServeHTTP).Complete(context.Background(), r); !errors.Is(err, llm.ErrRefused) || len(f.strategies) != 0 {
		t.Errorf("%v after %q", err, f.strategies)
	}
}

func TestModelsThatAreKnownByNameGetTheFormatTheyNeed(t *testing.T) {
	openAI := refuses{400, `{"error":{"message":"'response_format' of type 'json_schema' is not supported with this model"}}`}
	for _, model := range []string{"gpt-4o", "o3-mini", "gpt-5-nano", "gpt-6-sol"} {
		f := &formProvider{refuse: map[string]refuses{"schema": openAI}, answer: decided}
		reply, err := provider(t, f.ServeHTTP).Complete(context.Background(), inForm(model))
		if d := cmp.Diff([]string{"schema", "tool decision"}, f.strategies); err != nil || reply.Text != decided || d != "" {
			t.Errorf("%s: %+v, %v %s", model, reply, err, d)
		}
	}
}
