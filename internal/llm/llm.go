// Package llm owns the conversation with a language model, in the words of the
// chat-completions protocol and of no particular provider: messages, tools, tool
// calls, usage, and the ways a provider fails.
package llm

import (
	"context"
	"encoding/json"

	"piloto/internal/fault"
)

// Role says who speaks.
type Role string

// The roles of the chat-completions protocol.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of the conversation. CallID answers a tool call.
type Message struct {
	Role    Role
	Content string
	Calls   []Call
	CallID  string
}

// Tool is what the model may call: a name, a sentence, and a JSON Schema.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Call is one tool call. Arguments are as the model wrote them: a string that
// ought to be a JSON object, and sometimes is not.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// Request is one call of the model. Force makes it call some tool.
type Request struct {
	Model       string
	Messages    []Message
	Tools       []Tool
	Force       bool
	Temperature float64
}

// Usage counts tokens, as the provider says.
type Usage struct{ Input, Output int }

// Reply is what the model answered: text, tool calls, or both.
type Reply struct {
	Text     string
	Calls    []Call
	Usage    Usage
	Provider string
	Model    string
}

// Model answers a request. Its errors are the faults below.
type Model interface {
	Complete(ctx context.Context, r Request) (Reply, error)
}

// The ways a provider fails. Their codes are the block reasons of a turn.
var (
	ErrNoKey       = fault.New(fault.Unavailable, "no_api_key")           // none set, or refused (401, 403)
	ErrLimited     = fault.New(fault.Throttled, "rate_limited")           // 429
	ErrUnreachable = fault.New(fault.Unavailable, "provider_unreachable") // no answer, 5xx, a cut or empty one
	ErrRefused     = fault.New(fault.Upstream, "provider_refused")        // 4xx: the request itself (model, size)
)
