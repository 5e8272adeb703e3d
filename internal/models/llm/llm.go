// Package llm defines the conversation with a language model, in the terms of the
// chat-completions protocol and independent of any provider: messages, tools, tool
// calls, usage, and the failures of a provider. It also has the parts that all
// providers share: Retry, and Estimate, an upper bound of a text's tokens.
//
// Invariants: the text that a Sink received since its last Reset is the Text of the
// returned Reply, also when the answer was stopped half-way or failed for good. A
// Sink receives no text of an answer in a Format. A permanent failure is never
// retried, and no wait outlives the context.
package llm

import (
	"context"
	"encoding/json"
	"errors"

	"piloto/internal/ground/fault"
)

// Role is the author of a message.
type Role string

// The roles of the chat-completions protocol.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of the conversation. CallID is the id of the tool call that the message answers. Thought, Extra and From
// are those of the Reply that a message of the model repeats.
type Message struct {
	Role    Role
	Content string
	Calls   []Call
	CallID  string
	Thought string
	Extra   json.RawMessage `json:",omitempty"`
	From    string          `json:",omitempty"`
}

// Tool is a function that the model may call: a name, a description, and a JSON Schema.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Call is one tool call. Arguments is the model's text, unchanged: it should be a JSON object, and sometimes is
// not. The ID is the provider's: it may be missing, and several calls may have the same (Distinct). Extra is a JSON object
// of further members that the provider wants back with the call: {"extra_content":{"google":{"thought_signature":"…"}}}.
type Call struct {
	ID        string
	Name      string
	Arguments string
	Extra     json.RawMessage `json:",omitempty"`
}

// Format is the schema of an answer that must be one JSON value. Name consists of letters, digits, - and _.
type Format struct {
	Name   string
	Schema json.RawMessage
}

// Request is one call of the model, which decides whether it calls a tool. MaxTokens is the limit of the answer (0: the
// provider's own limit). Sink, if not nil, receives the text while it arrives.
//
// With a Format, the answer's text is a JSON value of that schema as far as the
// provider ensures it. Not every provider does, so the caller must validate the
// text. In that case Tools are not offered, and Sink is ignored.
type Request struct {
	Model       string
	Messages    []Message
	Tools       []Tool
	NoCalls     bool // no tool may be called
	Format      *Format
	Temperature float64
	MaxTokens   int
	Sink        Sink
}

// Sink receives an answer while it arrives. Its methods are called in the goroutine that called Complete, and never
// after Complete returned. A slow Sink slows the answer.
type Sink interface {
	Text(delta string) // delta is never empty, and has only whole characters
	Reset()            // drop the text so far: its attempt failed
}

// Usage is the number of tokens, as the provider counted them, or as Estimate does when the provider sent no count.
// Cached is the part of Input that the provider read from its cache; 0 when it did not say.
type Usage struct {
	Input     int  `json:"input"`
	Cached    int  `json:"cached,omitempty"`
	Output    int  `json:"output"`
	Estimated bool `json:"estimated"`
}

// Reply is the model's answer: text, tool calls, or both. Cut means that the provider ended the answer early (token
// limit, content filter). A cut answer in a Format is not valid. Length means that it was cut at the token limit, so
// that it can go on. NoTools means that the model takes no tools: it answered without those of the request. Thought is what the
// model thought, which nobody reads: some providers refuse its calls later unless it comes back with them. Extra is a JSON
// object of further members that go back with the message. From is a name of the model at its address: Thought, and each Extra,
// go back to it alone.
type Reply struct {
	Text     string
	Calls    []Call
	Thought  string
	Extra    json.RawMessage `json:",omitempty"`
	From     string          `json:",omitempty"`
	Cut      bool
	Length   bool
	NoTools  bool
	Usage    Usage
	Provider string
	Model    string
}

// Message returns the answer as an entry of the conversation.
func (r Reply) Message() Message {
	return Message{Role: Assistant, Content: r.Text, Calls: r.Calls, Thought: r.Thought, Extra: r.Extra, From: r.From}
}

// Model answers a request. Its errors are the faults below. With ErrStopped, and with ErrUnreachable because of a
// deadline, the Reply holds the text up to that moment.
type Model interface {
	Complete(ctx context.Context, r Request) (Reply, error)
}

// Prober checks with one small request whether a provider can be called now. Its error is nil or one of the faults
// below.
type Prober interface {
	Probe(ctx context.Context) error
}

// Windowed knows how many tokens a prompt and its answer may have together, because the model has refused longer ones. 0: it
// does not.
type Windowed interface {
	Window(model string) int
}

// Failures of a provider. Their codes are the block reasons of a turn, except ErrStopped, which is not a failure.
var (
	ErrNoKey       = fault.New(fault.Unavailable, "no_api_key")           // no key, or a refused one (401, 403)
	ErrLimited     = fault.New(fault.Throttled, "rate_limited")           // 429: too many requests at the moment
	ErrUnreachable = fault.New(fault.Unavailable, "provider_unreachable") // no answer in time, 5xx, a cut or empty answer
	ErrRefused     = fault.New(fault.Upstream, "provider_refused")        // 4xx: wrong request, or no money (402, insufficient_quota)
	ErrStopped     = fault.New(fault.Unavailable, "stopped")              // the caller cancelled; errors.Is(err, context.Canceled) too
)

// Cause is why a provider refused a request (ErrRefused), where it says so.
type Cause string

// The causes.
const (
	Unpaid   Cause = "unpaid"    // its account has no money: a wait does not help
	NoModel  Cause = "no_model"  // it does not have the model, or nothing is at the address
	Filtered Cause = "filtered"  // its filter lets the request or the answer not pass
	CutShort Cause = "cut_short" // the limit of the answer was used up before anything was said
	TooLong  Cause = "too_long"  // the request is longer than the window of the model
)

// Refused returns ErrRefused with its cause.
func Refused(c Cause) *fault.Error { return ErrRefused.With("cause", string(c)) }

// CauseOf returns the cause of a refusal; "" when the provider did not say it.
func CauseOf(err error) Cause {
	var f *fault.Error
	if !errors.As(err, &f) || !errors.Is(f, ErrRefused) {
		return ""
	}
	return Cause(f.Args["cause"])
}

// Stopped returns the fault of a call that ended because ctx ended: ErrStopped when it was cancelled,
// ErrUnreachable when its deadline passed. The cause is ctx.Err(). It returns nil while ctx is active.
func Stopped(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return ErrUnreachable.Because(err)
	default:
		return ErrStopped.Because(err)
	}
}
