package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
)

// TestARefusalOfALongRequestTellsTheWindow with the texts of many providers; of one that names no window, or one into which
// the request fits, half of the request is taken.
func TestARefusalOfALongRequestTellsTheWindow(t *testing.T) {
	message := func(text string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, text) }
	r := ask("m", nil)
	r.MaxTokens, r.Messages[0].Content = 1000, strings.Repeat("palabra larga ", 8000)
	half := (r.Estimate() + r.MaxTokens) / 2
	if half < 20_000 || half == 8192 {
		t.Fatal(half)
	}
	for _, c := range []struct {
		status int
		body   string
		want   int
	}{
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 120000 tokens.","code":"context_length_exceeded"}}`, 8192},
		{400, message("This model's maximum context length is 8,192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion)."), 8192},
		{400, message("'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 6000 input tokens (4096 > 8192 - 6000)."), 8192},
		{400, message("The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller."), 8192},
		{400, `{"error":{"code":400,"message":"request (12345 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error"}}`, 8192},
		{400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (8192).","status":"INVALID_ARGUMENT"}}]`, 8192},
		{400, message("prompt is too long: 210000 tokens > 8192 maximum"), 8192},
		{400, message("input length and `max_tokens` exceed context limit: 190000 + 20000 > 8192, decrease input length or `max_tokens` and try again"), 8192},
		{400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 8192 maximum context length","type":"invalid_request_error"}`, 8192},
		{400, message("This model's maximum prompt length is 8192 but the request contains 200000 tokens."), 8192},
		{400, message("too many tokens: total number of tokens in the prompt cannot exceed 8192 - received 9000"), 8192},
		{400, message("Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 8192 tokens, which is not enough."), 8192},
		{413, message("Request too large for model `x` on tokens per minute (TPM): Limit 8192, Requested 9000"), 8192},
		{422, message("`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000"), 8192},
		{400, message("Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)"), 8192},
		{400, message("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 8192]"), 8192},
		{400, `{"code":20015,"message":"length of prompt_tokens (9000) must be less than max_seq_len (8192).","data":null}`, 8192},
		{422, message("Input validation error: `inputs` must have less than 8192 tokens. Given: 9000"), 8192},
		{400, message("prompt token count of 12000 exceeds the limit of 8192"), 8192},
		{400, message("Input tokens exceed the configured limit of 8192 tokens. Your messages resulted in 9000 tokens."), 8192},
		{400, message("Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192"), 8192},
		{400, message("The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192)."), 8192},
		{429, message("Request too large for gpt-4o in organization o on tokens per min (TPM): Limit 8192, Requested 31023. The input or output tokens must be reduced in order to run successfully."), 8192},
		{400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, half},
		{400, `{"error":{"code":"336007","message":"the max input characters is 20000"}}`, half},
		{400, message("Total tokens of image and text exceed max message tokens."), half},
		{200, `{"object":"error","message":"This model's maximum context length is 8192 tokens.","type":"BadRequestError","code":400}`, 8192},
		{400, message("Input is too long for requested model."), half},
		{400, message("input length exceeds maximum context length"), half},
		{400, message("Please reduce the length of the messages or completion."), half},
		{400, message("This model's maximum context length is 4000000 tokens."), half},
		{400, message("This model's maximum context length is 100 tokens."), half},
		{500, message("the request exceeds the available context size. try increasing the context size or enable context shift"), half},
	} {
		client := provider(t, says(c.status, c.body))
		if _, err := client.Complete(context.Background(), r); llm.CauseOf(err) != llm.TooLong || client.Window("m") != c.want {
			t.Errorf("%s: %v, %d tokens, want %d", c.body, err, client.Window("m"), c.want)
		}
	}
	for _, event := range []string{
		`{"object":"error","message":"This model's maximum context length is 8192 tokens.","type":"BadRequestError","code":400}`,
		`{"code":20015,"message":"length of prompt_tokens (9000) must be less than max_seq_len (8192).","data":null}`,
	} {
		client, streamed := provider(t, events(event)), r
		streamed.Sink = &page{}
		if _, err := client.Complete(context.Background(), streamed); llm.CauseOf(err) != llm.TooLong || client.Window("m") != 8192 {
			t.Errorf("%s in a stream: %v, %d tokens", event, err, client.Window("m"))
		}
	}
	if _, err := provider(t, says(429, message("Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 3000."))).Complete(context.Background(), r); !errors.Is(err, llm.ErrLimited) {
		t.Error(err)
	}
	for _, body := range []string{message("max_tokens is too large: 50. This model supports at most 40 completion tokens"), message("the string is too long"), `{"error":"no"}`} {
		client := provider(t, says(400, body))
		if _, err := client.Complete(context.Background(), r); llm.CauseOf(err) == llm.TooLong || client.Window("m") != 0 {
			t.Errorf("%s: %v, %d tokens", body, err, client.Window("m"))
		}
	}
}

// TestAWindowThatIsKnownIsOfTheModel, and becomes smaller with each refusal.
func TestAWindowThatIsKnownIsOfTheModel(t *testing.T) {
	server := httptest.NewServer(says(400, `{"error":{"code":"context_length_exceeded"}}`))
	defer server.Close()
	client := openai.New(openai.Endpoint{BaseURL: server.URL}, server.Client(), time.Now)
	client.Teach("a", json.RawMessage(`{"window":9000}`), time.Now())
	if client.Window("a") != 9000 || client.Window("b") != 0 {
		t.Error(client.Window("a"), client.Window("b"))
	}
	r := ask("a", nil)
	r.MaxTokens = 4000
	before := client.Window("a")
	for range 3 {
		_, _ = client.Complete(context.Background(), r)
		now := client.Window("a")
		if now >= before {
			t.Errorf("%d after %d", now, before)
		}
		before, r.MaxTokens = now, now-100
	}
}
