// Package llm owns the conversation with a language model, in the words of the
// chat-completions protocol and of no particular provider: messages, tools, tool
// calls, usage, and the ways a provider fails; and, once for all providers, what
// is worth trying again (Retry) and how many tokens a text is at most (Estimate).
//
// What must stay true: what a Sink was told since its last Reset is the Text of
// the Reply that is returned, also when the answer was stopped half-way or failed
// for good; of an answer in a Format it is told nothing. A failure that another try cannot mend is never tried again, and no
// wait outlives the context.
package llm

import (
	"context"
	"encoding/json"
	"errors"

	"piloto/internal/ground/fault"
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

// Format is the form of an answer that must be one JSON value: a name for it, of
// letters, digits, - and _, and its JSON Schema.
type Format struct {
	Name   string
	Schema json.RawMessage
}

// Request is one call of the model. Force makes it call some tool. MaxTokens
// bounds the answer (0: the provider's own bound). Sink, when there is one, is
// told the text as it comes.
//
// With a Format, the answer's text is a JSON value of that schema as far as the
// provider sees to it, which not every one does: who asks reads it as what a model
// wrote. Then Tools are not offered, Force means nothing, and Sink is told nothing.
type Request struct {
	Model       string
	Messages    []Message
	Tools       []Tool
	Force       bool
	Format      *Format
	Temperature float64
	MaxTokens   int
	Sink        Sink
}

// Sink hears an answer while it is being said. Its methods are called from the
// goroutine that called Complete, and not after it returned: one that is slow
// slows the answer.
type Sink interface {
	Text(delta string) // never empty, and never part of a character
	Reset()            // what was told so far was of an attempt that failed
}

// Usage counts tokens, as the provider says, or as Estimate does where the
// provider said nothing.
type Usage struct {
	Input, Output int
	Estimated     bool
}

// Reply is what the model answered: text, tool calls, or both. Cut says that the
// provider ended it before the model did (its bound of tokens, its filter): half
// of an answer in a Format is none.
type Reply struct {
	Text     string
	Calls    []Call
	Cut      bool
	Usage    Usage
	Provider string
	Model    string
}

// Model answers a request. Its errors are the faults below. With ErrStopped, and
// with ErrUnreachable because of a deadline, the Reply holds what was said until
// then.
type Model interface {
	Complete(ctx context.Context, r Request) (Reply, error)
}

// Prober says whether a provider could be asked now, at the cost of one small
// request: nil, or one of the faults below.
type Prober interface {
	Probe(ctx context.Context) error
}

// The ways a provider fails. Their codes are the block reasons of a turn, but for
// ErrStopped, which is nobody's failure.
var (
	ErrNoKey       = fault.New(fault.Unavailable, "no_api_key")           // none set, or refused (401, 403)
	ErrLimited     = fault.New(fault.Throttled, "rate_limited")           // 429: too fast, for now
	ErrUnreachable = fault.New(fault.Unavailable, "provider_unreachable") // no answer in time, 5xx, a cut or empty one
	ErrRefused     = fault.New(fault.Upstream, "provider_refused")        // 4xx: the request itself (model, size), or an account without money (402, insufficient_quota)
	ErrStopped     = fault.New(fault.Unavailable, "stopped")              // the caller cancelled; errors.Is context.Canceled too
)

// Stopped returns the fault of a call that ended because ctx did: ErrStopped when
// it was cancelled, ErrUnreachable when its time was over. Either has ctx.Err()
// as its cause. It returns nil while ctx lives.
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
