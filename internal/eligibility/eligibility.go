// Package eligibility owns one decision: may this turn run, and on which
// provider and model. It is the only code that picks a provider. A refusal is a
// Block: a stable reason, a plain sentence, and what to do next.
package eligibility

import (
	"errors"

	"piloto/internal/fault"
	"piloto/internal/llm"
	"piloto/internal/locale"
)

// Reason says why a turn may not run.
type Reason string

// The reasons this deployment can give.
const (
	NoAPIKey            Reason = "no_api_key"
	ProviderUnreachable Reason = "provider_unreachable"
	ProviderRefused     Reason = "provider_refused"
	RateLimited         Reason = "rate_limited"
	InternalError       Reason = "internal_error"
)

// Provider is one configured model provider, without its key.
type Provider struct {
	Name    string // openai, groq, or the host of another base URL
	BaseURL string
	Model   string
	HasKey  bool
	Demo    bool // the built-in demonstration model
}

// Plan is what a turn may use.
type Plan struct {
	Provider string
	Model    string
	Demo     bool
}

// Block is a refusal, as a client sees it.
type Block struct {
	Reason  Reason
	Message string
	Action  string
}

// Resolve decides over a snapshot of what is configured. Exactly one of its
// results is not nil.
func Resolve(p Provider, tag locale.Tag) (*Plan, *Block) {
	if !p.HasKey && !p.Demo {
		return nil, Refuse(NoAPIKey, tag)
	}
	return &Plan{Provider: p.Name, Model: p.Model, Demo: p.Demo}, nil
}

// Refuse returns the block for a reason.
func Refuse(reason Reason, tag locale.Tag) *Block {
	key := "blocked." + string(reason)
	return &Block{Reason: reason, Message: locale.Text(tag, key), Action: locale.Text(tag, key+".do")}
}

// Because returns the block for a provider that was chosen and then failed,
// and false when err is no failure of a provider.
func Because(err error, tag locale.Tag) (*Block, bool) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil, false
	}
	for _, known := range []*fault.Error{llm.ErrNoKey, llm.ErrLimited, llm.ErrUnreachable, llm.ErrRefused} {
		if errors.Is(f, known) {
			return Refuse(Reason(known.Code), tag), true
		}
	}
	return nil, false
}
