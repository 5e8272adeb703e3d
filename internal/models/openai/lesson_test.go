package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"piloto/internal/models/llm"
)

// TestABrokenCallTeachesNothing: the model wrote it, and may write another one when it is asked again.
func TestABrokenCallTeachesNothing(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		again  bool // a further attempt may succeed
	}{
		{500, `{"error":{"code":500,"message":"Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 20: syntax error while parsing value - unexpected end of input; expected '[', '{', or a literal"}}`, true},
		{500, `{"error":{"message":"error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input","type":"api_error"}}`, true},
		{400, `{"error":{"message":"error parsing tool call: raw='{\"a\":', err=invalid character 'x' after object key"}}`, true},
		{400, `{"error":{"message":"Tool call validation failed: parameters for tool look did not match schema: additionalProperties 'x' not allowed","code":"tool_use_failed"}}`, true},
		{400, `{"error":{"message":"Failed to call a function. Please adjust your prompt.","code":"tool_use_failed","failed_generation":"<function=look>{"}}`, true},
		{400, `{"error":{"message":"Tool call validation failed: attempted to call tool 'y' which was not in request.tools"}}`, true},
		{500, `{"error":{"message":"Internal error: unexpected status from the tool router"}}`, true},
		{400, `{"error":{"message":"messages.2.content.0: unexpected ` + "`tool_use_id` found in `tool_result`" + ` blocks: toolu_01."}}`, false},
		{400, `{"error":{"message":"Unknown parameter: 'messages[3].tool_calls[0].index'.","param":"messages[3].tool_calls[0].index","code":"unknown_parameter"}}`, false},
		{400, `{"error":{"message":"Unsupported parameter: 'messages[3].tool_calls[0].index'."}}`, false},
	} {
		r := ask("m", nil)
		r.Tools = twoTools
		client := provider(t, says(c.status, c.body))
		_, err := client.Complete(context.Background(), r)
		if q := client.Quirks("m"); q.NoTools || q.PlainTools || errors.Is(err, llm.ErrUnreachable) != c.again {
			t.Errorf("%s: %v, %+v", c.body, err, q)
		}
		r.Format = &llm.Format{Name: "f", Schema: json.RawMessage(`{}`)}
		if _, _ = client.Complete(context.Background(), r); client.Quirks("m").Format == "words" {
			t.Errorf("%s: %+v", c.body, client.Quirks("m"))
		}
	}
}

// TestAPlainRefusalOfToolsIsOne, whatever its status.
func TestAPlainRefusalOfToolsIsOne(t *testing.T) {
	for status, no := range map[int]string{
		500: "tools param requires --jinja flag", 400: "unknown role: tool", 404: "No endpoints found that support tool use.",
		501: "Tool use is not implemented, and not supported", 422: "body.tools: Extra inputs are not permitted",
	} {
		client := provider(t, func(w http.ResponseWriter, r *http.Request) {
			var sent struct{ Tools []any }
			if _ = json.NewDecoder(r.Body).Decode(&sent); sent.Tools != nil {
				says(status, fmt.Sprintf(`{"error":{"message":%q}}`, no))(w, r)
				return
			}
			says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`)(w, r)
		})
		r := ask("m", nil)
		r.Tools = twoTools
		if reply, err := client.Complete(context.Background(), r); err != nil || !reply.NoTools {
			t.Errorf("%s: %+v, %v", no, reply, err)
		}
	}
}

// streamless is a provider that answers in one way only: never in a stream, or always.
func streamless(t *testing.T, no string, status int, never bool) (http.HandlerFunc, *int) {
	t.Helper()
	n := new(int)
	return func(w http.ResponseWriter, r *http.Request) {
		*n++
		var sent struct{ Stream bool }
		switch _ = json.NewDecoder(r.Body).Decode(&sent); {
		case sent.Stream == never:
			says(status, fmt.Sprintf(`{"error":{"message":%q}}`, no))(w, r)
		case sent.Stream:
			events(delta("hola"), stop, done)(w, r)
		default:
			says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`)(w, r)
		}
	}, n
}

// TestAProviderThatRefusesStreamsAnswersWithoutOne, and the page gets the text; one that answers in streams alone is asked for one.
func TestAProviderThatRefusesStreamsAnswersWithoutOne(t *testing.T) {
	for no, c := range map[string]struct {
		status int
		never  bool
	}{
		"Your organization must be verified to stream this model. Please go to …":    {400, true},
		"Streaming is not supported by this model":                                   {400, true},
		"This model doesn't support tool use in streaming mode.":                     {400, true},
		"Unsupported value: 'stream' does not support true with this model.":         {400, true},
		"stream=true is not allowed":                                                 {403, true},
		"streaming not implemented":                                                  {501, true},
		"This model only support stream mode, please enable the stream parameter …":  {400, false},
		"Non-streaming is not supported":                                             {400, false},
		"parameter.enable_thinking must be set to false for non-streaming calls":     {400, false},
		"Requests with max_tokens > 4096 must have stream=true":                      {400, false},
		"Streaming is required for operations that may take longer than 10 minutes.": {400, false},
	} {
		h, n := streamless(t, no, c.status, c.never)
		client := provider(t, h)
		for i := range 2 {
			sink := &page{}
			r := ask("m", sink)
			r.Tools = twoTools
			if !c.never {
				r.Sink = nil
			}
			reply, err := client.Complete(context.Background(), r)
			if err != nil || reply.Text != "hola" || c.never && sink.text != "hola" || reply.NoTools || *n != i+2 {
				t.Errorf("%s: %+v, %v, %q, %d requests", no, reply, err, sink.text, *n)
			}
		}
		if q := client.Quirks("m"); q.NoStream != c.never || q.OnlyStream == c.never {
			t.Errorf("%s: %+v", no, q)
		}
	}
	for _, no := range []string{"upstream is not supported", "stream_options is not supported", "unexpected end of stream"} {
		client := provider(t, says(400, fmt.Sprintf(`{"error":{"message":%q}}`, no)))
		if _, _ = client.Complete(context.Background(), ask("m", &page{})); client.Quirks("m").NoStream {
			t.Error(no)
		}
	}
}

// TestTheLimitOfAnAnswerIsLearned from the refusal of a longer one, and the request is sent again within it.
func TestTheLimitOfAnAnswerIsLearned(t *testing.T) {
	for no, want := range map[string]int{
		"max_tokens is too large: 8000. This model supports at most 512 completion tokens, whereas you provided 8000.":                                                512,
		"`max_tokens` must be less than or equal to `512`, the maximum value for `max_tokens` is less than the `context_window` for this model":                       512,
		"Invalid max_tokens value, the valid range of max_tokens is [1, 512]":                                                                                         512,
		"<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 512]":                                                                           512,
		"max_tokens: 8000 > 512, which is the maximum allowed number of output tokens for m":                                                                          512,
		"Unable to submit request because it has a maxOutputTokens value of 8000 but the supported range is from 1 (inclusive) to 513 (exclusive). Update the value.": 512,
		"The maximum tokens you requested exceeds the model limit of 512. Try again with a maximum tokens value that is lower than 512.":                              512,
		"max_tokens is too large":                                              500,
		"max_completion_tokens exceeds the limit":                              500,
		"max_tokens is too large: 8000. This model supports at most 9000":      500,
		"max_tokens 参数非法。请设置 [1,512]":                                          512,
		"max_new_tokens should be less than or equal to 512 (max_tokens=8000)": 512,
	} {
		var sent []int
		client := provider(t, func(w http.ResponseWriter, r *http.Request) {
			var b struct {
				Tokens     int `json:"max_tokens"`
				Completion int `json:"max_completion_tokens"`
			}
			_ = json.NewDecoder(r.Body).Decode(&b)
			if sent = append(sent, b.Tokens+b.Completion); b.Tokens+b.Completion > 512 {
				says(400, fmt.Sprintf(`{"error":{"message":%q,"param":"max_tokens"}}`, no))(w, r)
				return
			}
			says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`)(w, r)
		})
		r := ask("m", nil)
		for range 2 {
			r.MaxTokens = 8000
			if _, err := client.Complete(context.Background(), r); err != nil || sent[len(sent)-1] != want {
				t.Errorf("%s: %v, sent %v", no, err, sent)
			}
		}
		r.MaxTokens = 100
		if _, err := client.Complete(context.Background(), r); err != nil || sent[len(sent)-1] != 100 || client.Quirks("m").CompletionTokens {
			t.Errorf("%s: %v, sent %v", no, err, sent)
		}
	}
	asked := 0
	client := provider(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		says(400, `{"error":{"message":"max_tokens is too large"}}`)(w, r)
	})
	r := ask("m", nil)
	r.MaxTokens = 8000
	if _, err := client.Complete(context.Background(), r); !errors.Is(err, llm.ErrRefused) || asked > 8 || client.Quirks("m").MaxOutput != 0 {
		t.Errorf("%v after %d requests: %s", err, asked, strings.TrimSpace(fmt.Sprint(client.Quirks("m"))))
	}
}

// TestTheTokensFromACacheAreRead under the names that providers give them.
func TestTheTokensFromACacheAreRead(t *testing.T) {
	for usage, want := range map[string]int{
		`"prompt_tokens_details":{"cached_tokens":60}`: 60, `"cached_tokens":60`: 60, `"prompt_cache_hit_tokens":60,"prompt_cache_miss_tokens":40`: 60,
		`"cache_read_input_tokens":60`: 60, `"cached_tokens":600`: 100, `"cached_tokens":-1`: 0, `"prompt_cache_hit_tokens":"60"`: 0, `"cached_tokens":0,"prompt_tokens_details":null`: 0,
	} {
		usage = `"usage":{"prompt_tokens":100,"completion_tokens":10,` + usage + `}`
		reply, err := provider(t, says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}],`+usage+`}`)).Complete(context.Background(), ask("m", nil))
		if err != nil || reply.Usage != (llm.Usage{Input: 100, Cached: want, Output: 10}) {
			t.Errorf("%s: %+v, %v", usage, reply.Usage, err)
		}
		inChoice := strings.Replace(stop, `"finish_reason"`, usage+`,"finish_reason"`, 1)
		for _, last := range [][]string{{stop, `{"choices":[],` + usage + `}`, done}, {inChoice, done}} {
			reply, err = provider(t, events(append([]string{delta("hola")}, last...)...)).Complete(context.Background(), ask("m", &page{}))
			if err != nil || reply.Usage != (llm.Usage{Input: 100, Cached: want, Output: 10}) {
				t.Errorf("%s: %+v, %v", usage, reply.Usage, err)
			}
		}
	}
}
