package openai

import (
	"encoding/json"
	"math"

	sdk "github.com/sashabaranov/go-openai"

	"piloto/internal/models/llm"
)

// body is a request of the protocol.
type body struct {
	Model               string          `json:"model"`
	Messages            []sentMessage   `json:"messages"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Temperature         *float32        `json:"temperature,omitempty"` // nil: the model's default
	Stream              bool            `json:"stream"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	Tools               []sentTool      `json:"tools,omitempty"`
	ToolChoice          any             `json:"tool_choice,omitempty"` // a word, or a sentTool of which only the name counts
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
}

type sentMessage struct {
	Role    llm.Role   `json:"role"`
	Content string     `json:"content,omitempty"`
	Calls   []sentCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type sentCall struct {
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type"`
	Function sentFunction `json:"function"`
}

type sentFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

type sentTool struct {
	Function toolFunction `json:"function"`
	Type     string       `json:"type"`
}

type toolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// functionType is the type of calls and tools.
const functionType = "function"

func newTool(name, description string, parameters json.RawMessage) sentTool {
	return sentTool{toolFunction{name, description, parameters}, functionType}
}

type responseFormat struct {
	Type   string         `json:"type"`
	Schema responseSchema `json:"json_schema"`
}

type responseSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// check returns why a model does not take the request, as far as the SDK knows models by their names.
func (b body) check() error {
	known := sdk.ChatCompletionRequest{
		Model: b.Model, MaxTokens: b.MaxTokens, MaxCompletionTokens: b.MaxCompletionTokens, //nolint:staticcheck // the SDK asks for it
		Tools: make([]sdk.Tool, len(b.Tools)), ToolChoice: b.ToolChoice, ReasoningEffort: b.ReasoningEffort,
	}
	if b.Temperature != nil {
		known.Temperature = max(*b.Temperature, math.SmallestNonzeroFloat32) // 0 is none for the SDK
	}
	return sdk.NewReasoningValidator().Validate(known)
}
