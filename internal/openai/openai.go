// Package openai calls OpenAI-compatible chat-completions APIs: OpenAI, Groq,
// and any other base URL. It turns what providers answer, well or badly, into
// the words of llm.
package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"piloto/internal/llm"
)

// Client calls one provider.
type Client struct {
	Provider string // its name, for people and logs
	api      *sdk.Client
}

// New returns a client of the API at baseURL (…/v1). doer sends its requests
// and bounds their time.
func New(provider, baseURL, key string, doer *http.Client) *Client {
	config := sdk.DefaultConfig(key)
	config.BaseURL = strings.TrimRight(baseURL, "/")
	config.HTTPClient = &http.Client{Transport: mending{doer}, Timeout: doer.Timeout}
	return &Client{Provider: provider, api: sdk.NewClientWithConfig(config)}
}

// Complete asks the model once. Its errors are llm.ErrNoKey, llm.ErrLimited,
// llm.ErrRefused and llm.ErrUnreachable, each with its cause.
func (c *Client) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	out, err := c.api.CreateChatCompletion(ctx, request(r))
	if err != nil {
		return llm.Reply{}, classify(err)
	}
	if len(out.Choices) == 0 { // also a 200 that carries an error body
		return llm.Reply{}, llm.ErrUnreachable.Because(errors.New("200 without choices"))
	}
	choice := out.Choices[0]
	if choice.FinishReason == "" && choice.Message.Content == "" && len(choice.Message.ToolCalls) == 0 {
		return llm.Reply{}, llm.ErrUnreachable.Because(errors.New("an empty choice without a finish reason"))
	}
	reply := llm.Reply{
		Text: strings.TrimSpace(choice.Message.Content), Provider: c.Provider, Model: out.Model,
		Usage: llm.Usage{Input: out.Usage.PromptTokens, Output: out.Usage.CompletionTokens},
	}
	if reply.Model == "" {
		reply.Model = r.Model
	}
	for _, call := range choice.Message.ToolCalls {
		reply.Calls = append(reply.Calls, llm.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return reply, nil
}

func request(r llm.Request) sdk.ChatCompletionRequest {
	out := sdk.ChatCompletionRequest{Model: r.Model, Temperature: float32(r.Temperature)}
	for _, m := range r.Messages {
		msg := sdk.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.CallID}
		if m.Role == llm.ToolRole && m.Content == "" {
			msg.Content = "{}" // the client leaves an empty content out, and providers refuse that
		}
		for _, call := range m.Calls {
			msg.ToolCalls = append(msg.ToolCalls, sdk.ToolCall{
				ID: call.ID, Type: sdk.ToolTypeFunction,
				Function: sdk.FunctionCall{Name: call.Name, Arguments: call.Arguments},
			})
		}
		out.Messages = append(out.Messages, msg)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, sdk.Tool{Type: sdk.ToolTypeFunction, Function: &sdk.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters,
		}})
	}
	if r.Force && len(r.Tools) > 0 {
		out.ToolChoice = "required"
	}
	return out
}

// classify says what a failure means. What the provider wrote is the cause, for
// the log; it is never shown.
func classify(err error) error {
	var api *sdk.APIError
	var req *sdk.RequestError
	status := 0
	switch {
	case errors.As(err, &req): // first: it may hold an APIError that was not read to its end, without a status
		status = req.HTTPStatusCode
	case errors.As(err, &api):
		status = api.HTTPStatusCode
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return llm.ErrNoKey.Because(err)
	case status == http.StatusTooManyRequests:
		return llm.ErrLimited.Because(err)
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return llm.ErrRefused.Because(err)
	}
	return llm.ErrUnreachable.Because(err)
}
