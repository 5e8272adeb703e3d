// Package openai calls OpenAI-compatible chat-completions APIs: OpenAI, Groq,
// OpenRouter, Ollama, vLLM and any other base URL. It turns what providers
// answer, well or badly, into the words of llm.
//
// What must stay true: the key and the conversation go to the host that was
// configured and to no other (no redirect is followed); the key is in no error;
// of one answer at most maxAnswer bytes are read; an answer is complete or it is
// an error, and a stream that ends without a finish reason was cut.
//
// What one provider refuses and another needs is learned: a request that comes
// back because of stream_options, temperature or max_tokens is sent once more
// without it, and the client remembers that of the model. So is one that asks for
// an answer in a form: by the schema, else by a tool of that schema that must be
// called, and where nothing of the kind is known, by what the prompt says of it.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"piloto/internal/ground/fault"
	"piloto/internal/models/llm"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	Provider string // its name, for people and logs
	base     string
	key      string
	http     *http.Client
	habits   habits
}

// New returns a client of the API at baseURL (…/v1). doer's transport sends its
// requests and its Timeout bounds each of them, a streamed answer included;
// redirects are never followed, whatever doer does.
func New(provider, baseURL, key string, doer *http.Client) *Client {
	return &Client{
		Provider: provider, base: strings.TrimRight(baseURL, "/"), key: key,
		http: &http.Client{
			Transport: doer.Transport, Timeout: doer.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Complete asks the model once, streamed when r has a Sink. Its errors are
// llm.ErrNoKey, llm.ErrLimited, llm.ErrRefused, llm.ErrUnreachable and
// llm.ErrStopped, each with its cause, and with what llm.RetryAfter reads when
// the provider said so. An account without money (402, insufficient_quota) is
// llm.ErrRefused: no wait mends it. The reply of a failure names the provider and
// the model and, when ctx ended, holds the text that was said until then.
//
// What a provider says that a model wrote and that does not fit r.Format is a
// reply, and no error.
func (c *Client) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if r.Format != nil {
		r.Tools, r.Force, r.Sink = nil, false, nil
	}
	known := c.habits.of(r.Model)
	for now := known; ; {
		reply, err := c.ask(ctx, r, now)
		next, mended := now.after(err, r)
		if mended && ctx.Err() == nil {
			now = next
			continue
		}
		if now != known && !errors.Is(err, llm.ErrRefused) {
			c.habits.learn(r.Model, now)
		}
		return reply, err
	}
}

// ask sends one request and returns its answer or what its failure means.
func (c *Client) ask(ctx context.Context, r llm.Request, h habit) (llm.Reply, error) {
	x := &exchange{client: c, streamed: r.Sink != nil}
	config := sdk.DefaultConfig(c.key)
	config.BaseURL, config.HTTPClient = c.base, x
	api := sdk.NewClientWithConfig(config)

	said := &speech{sink: r.Sink}
	var err error
	if x.streamed {
		err = stream(ctx, api, request(r, h), said)
	} else {
		err = plain(ctx, api, request(r, h), said)
	}
	reply := llm.Reply{Provider: c.Provider, Model: said.model}
	if reply.Model == "" {
		reply.Model = r.Model
	}
	if err == nil {
		err = said.complete()
	}
	if err == nil {
		said.fill(&reply, r)
		if r.Format != nil {
			reply.Text, reply.Calls = formed(reply, r.Format.Name), nil
		}
		return reply, nil
	}
	if text, wrote := unfit(err); wrote && r.Format != nil {
		reply.Text = text
		reply.Usage = llm.Usage{Input: r.Estimate(), Output: reply.Estimate(), Estimated: true}
		return reply, nil
	}
	if ended := llm.Stopped(ctx); ended != nil {
		reply.Text, reply.Cut = said.text.String(), true
		if reply.Text != "" {
			reply.Usage = llm.Usage{Input: r.Estimate(), Output: reply.Estimate(), Estimated: true}
		}
		return reply, ended
	}
	return reply, x.meaning(err)
}

// plain reads an answer that comes whole.
func plain(ctx context.Context, api *sdk.Client, body sdk.ChatCompletionRequest, said *speech) error {
	out, err := api.CreateChatCompletion(ctx, body)
	if err != nil {
		return err
	}
	said.model = out.Model
	said.counted(&out.Usage)
	if len(out.Choices) == 0 {
		return errors.New("an answer without choices")
	}
	choice := out.Choices[0]
	said.say(choice.Message.Content + choice.Message.Refusal)
	for _, call := range choice.Message.ToolCalls {
		if err := said.call(call); err != nil {
			return err
		}
	}
	said.finish = choice.FinishReason
	return nil
}

// request is r as the API has it, but for what h says the model refuses.
func request(r llm.Request, h habit) sdk.ChatCompletionRequest {
	out := sdk.ChatCompletionRequest{Model: r.Model, Temperature: float32(r.Temperature)}
	switch {
	case h.noTemperature:
		out.Temperature = 0 // which the SDK leaves out
	case out.Temperature == 0:
		out.Temperature = math.SmallestNonzeroFloat32 // which the exchange writes as 0
	}
	if h.completionTokens {
		out.MaxCompletionTokens = r.MaxTokens
	} else {
		out.MaxTokens = r.MaxTokens //nolint:staticcheck // most servers know no other
	}
	if h.noReasoning {
		out.ReasoningEffort = sdk.ReasoningEffortNone
	}
	if r.Sink != nil && !h.noOptions {
		out.StreamOptions = &sdk.StreamOptions{IncludeUsage: true}
	}
	for _, m := range r.Messages {
		out.Messages = append(out.Messages, message(m))
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, sdk.Tool{Type: sdk.ToolTypeFunction, Function: &sdk.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters,
		}})
	}
	if r.Force && len(r.Tools) > 0 {
		out.ToolChoice = "required"
	}
	if r.Format != nil {
		h.format.ask(&out, *r.Format)
	}
	return out
}

func message(m llm.Message) sdk.ChatCompletionMessage {
	msg := sdk.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.CallID}
	if m.Role == llm.ToolRole && m.Content == "" {
		msg.Content = "{}" // the SDK leaves an empty content out, and providers refuse that
	}
	for _, call := range m.Calls {
		msg.ToolCalls = append(msg.ToolCalls, sdk.ToolCall{
			ID: call.ID, Type: sdk.ToolTypeFunction,
			Function: sdk.FunctionCall{Name: call.Name, Arguments: arguments(call.Arguments)},
		})
	}
	return msg
}

// arguments is what a model wrote as it may go back to it: providers that parse
// the arguments of earlier calls refuse the whole conversation for one that is
// not an object.
func arguments(written string) string {
	written = strings.TrimSpace(written)
	if written == "" {
		return "{}" // the SDK would leave it out
	}
	if strings.HasPrefix(written, "{") && json.Valid([]byte(written)) {
		return written
	}
	quoted, err := json.Marshal(map[string]string{"malformed": written})
	if err != nil {
		return "{}"
	}
	return string(quoted)
}

// meaning says what a failure of an exchange means, while its context lives.
// What the provider wrote is the cause, for the log; it is never shown.
func (x *exchange) meaning(err error) *fault.Error {
	var no *refusal
	switch {
	case errors.As(err, &no):
		return no.fault()
	case !x.sent: // the SDK would not even send it
		return llm.ErrRefused.Because(fmt.Errorf("not sent: %w", err))
	case errors.Is(err, errFiltered):
		return llm.ErrRefused.Because(err)
	}
	return llm.ErrUnreachable.Because(err)
}
