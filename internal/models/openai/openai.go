// Package openai calls OpenAI-compatible chat-completions APIs: OpenAI, Groq,
// OpenRouter, Ollama, vLLM and any other base URL. It converts the providers'
// responses and errors to the types of package llm.
//
// Invariants: the key and the conversation are sent only to the configured host (no
// redirect is followed); no error contains the key; at most maxAnswer bytes of one
// answer are read; an answer is complete or it is an error, and a stream that ends
// without a finish reason was cut.
//
// The client learns the quirks of each model. A request that is refused because of
// stream_options, temperature or max_tokens is sent once more without it, one that is
// refused because a system message stands after the first message once more with all of
// them in front, and the client remembers the quirk. An answer in a Format is requested by its schema, else
// by a tool with that schema that must be called, and as the last resort by the
// prompt alone.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	sdk "github.com/sashabaranov/go-openai"

	"piloto/internal/ground/fault"
	"piloto/internal/models/llm"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	Provider string // name for people and logs
	base     string
	key      string
	http     *http.Client
	quirks   quirkCache
	now      func() time.Time
}

// Endpoint is where a provider is called, and with which key; "" is none.
type Endpoint struct{ Provider, BaseURL, Key string }

// New returns a client of the API at an endpoint (…/v1). The transport of doer sends the requests, and its Timeout
// limits each of them, including a streamed answer. Redirects are never followed, under any settings of doer. An answer
// may ask to wait until a date, which is compared with now.
func New(e Endpoint, doer *http.Client, now func() time.Time) *Client {
	return &Client{
		Provider: e.Provider, base: strings.TrimRight(e.BaseURL, "/"), key: e.Key, now: now,
		http: &http.Client{
			Transport: doer.Transport, Timeout: doer.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Complete calls the model once, streamed when r has a Sink. Its errors are
// llm.ErrNoKey, llm.ErrLimited, llm.ErrRefused, llm.ErrUnreachable and
// llm.ErrStopped, each with its cause, and with the provider's wait if there is one
// (llm.RetryAfter). An account without money (402, insufficient_quota) is
// llm.ErrRefused, because a wait does not help. The reply of a failure names the
// provider and the model and, when ctx ended, holds the text up to that moment.
//
// A model's text that does not match r.Format is returned as a reply and not as an
// error.
func (c *Client) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if r.Format != nil {
		r.Tools, r.Sink = nil, nil
	}
	known := c.quirks.of(r.Model)
	for now := known; ; {
		reply, err := c.ask(ctx, r, now)
		next, mended := now.after(err, r)
		if mended && ctx.Err() == nil {
			now = next
			continue
		}
		if now != known && !errors.Is(err, llm.ErrRefused) {
			c.quirks.learn(r.Model, now)
		}
		return reply, err
	}
}

// ask sends one request and returns its reply, or the fault of its failure.
func (c *Client) ask(ctx context.Context, r llm.Request, h quirks) (llm.Reply, error) {
	x := &exchange{client: c, streamed: r.Sink != nil}
	config := sdk.DefaultConfig(c.key)
	config.BaseURL, config.HTTPClient = c.base, x
	api := sdk.NewClientWithConfig(config)

	b := &replyBuilder{sink: r.Sink, tools: r.Tools}
	var err error
	if x.streamed {
		err = stream(ctx, api, request(r, h), b)
	} else {
		err = plain(ctx, api, request(r, h), b)
	}
	reply := llm.Reply{Provider: c.Provider, Model: b.model}
	if reply.Model == "" {
		reply.Model = r.Model
	}
	if err == nil {
		err = b.check()
	}
	if err == nil {
		b.fill(&reply, r)
		if r.Format != nil {
			reply.Text, reply.Calls = formText(reply, r.Format.Name), nil
		}
		return reply, nil
	}
	if text, wrote := rejectedText(err); wrote && r.Format != nil {
		reply.Text = text
		reply.Usage = llm.Usage{Input: r.Estimate(), Output: reply.Estimate(), Estimated: true}
		return reply, nil
	}
	if ended := llm.Stopped(ctx); ended != nil {
		reply.Text, reply.Cut = b.text.String(), true
		if reply.Text != "" {
			reply.Usage = llm.Usage{Input: r.Estimate(), Output: reply.Estimate(), Estimated: true}
		}
		return reply, ended
	}
	return reply, x.faultOf(err)
}

// plain reads an answer that is not streamed.
func plain(ctx context.Context, api *sdk.Client, body sdk.ChatCompletionRequest, b *replyBuilder) error {
	out, err := api.CreateChatCompletion(ctx, body)
	if err != nil {
		return err
	}
	b.model = out.Model
	b.setUsage(&out.Usage)
	if len(out.Choices) == 0 {
		return errors.New("an answer without choices")
	}
	choice := out.Choices[0]
	b.addText(choice.Message.Content + choice.Message.Refusal)
	for _, call := range choice.Message.ToolCalls {
		if err := b.addCall(call); err != nil {
			return err
		}
	}
	b.finish = choice.FinishReason
	return nil
}

// request returns the API request for r, without the members that the model refuses (h).
func request(r llm.Request, h quirks) sdk.ChatCompletionRequest {
	out := sdk.ChatCompletionRequest{Model: r.Model, Temperature: float32(r.Temperature)}
	switch {
	case h.noTemperature:
		out.Temperature = 0 // 0 is omitted by the SDK
	case out.Temperature == 0:
		out.Temperature = math.SmallestNonzeroFloat32 // the exchange replaces it by 0
	}
	if h.completionTokens {
		out.MaxCompletionTokens = r.MaxTokens
	} else {
		out.MaxTokens = r.MaxTokens //nolint:staticcheck // most servers support only this member
	}
	if h.noReasoning {
		out.ReasoningEffort = sdk.ReasoningEffortNone
	}
	if r.Sink != nil && !h.noOptions {
		out.StreamOptions = &sdk.StreamOptions{IncludeUsage: true}
	}
	messages := r.Messages
	if h.systemFirst && systemLater(messages) {
		messages = systemJoined(messages)
	}
	for _, m := range messages {
		out.Messages = append(out.Messages, message(m))
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, sdk.Tool{Type: sdk.ToolTypeFunction, Function: &sdk.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters,
		}})
	}
	if r.NoCalls && len(r.Tools) > 0 {
		out.ToolChoice = "none"
	}
	if r.Format != nil {
		h.format.apply(&out, *r.Format)
	}
	return out
}

func message(m llm.Message) sdk.ChatCompletionMessage {
	msg := sdk.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.CallID}
	if m.Role == llm.ToolRole && m.Content == "" {
		msg.Content = "{}" // the SDK omits an empty content, which providers refuse
	}
	for _, call := range m.Calls {
		msg.ToolCalls = append(msg.ToolCalls, sdk.ToolCall{
			ID: call.ID, Type: sdk.ToolTypeFunction,
			Function: sdk.FunctionCall{Name: call.Name, Arguments: arguments(call.Arguments)},
		})
	}
	return msg
}

// arguments returns a model's arguments in a form that can be sent back. Providers that parse the arguments of
// earlier calls refuse the whole conversation when they are not an object.
func arguments(written string) string {
	written = strings.TrimSpace(written)
	if written == "" {
		return "{}" // the SDK would omit it
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

// faultOf returns the fault of a failed exchange. It must be called while the context is active. The provider's
// text is the cause, for the log; clients never see it.
func (x *exchange) faultOf(err error) *fault.Error {
	var no *refusal
	switch {
	case errors.As(err, &no):
		return no.fault()
	case !x.sent: // the SDK refused to send it
		return llm.ErrRefused.Because(fmt.Errorf("not sent: %w", err))
	case errors.Is(err, errFiltered):
		return llm.ErrRefused.Because(err)
	}
	return llm.ErrUnreachable.Because(err)
}
