// Package eligibility owns one decision: may this turn run, on which provider
// and model, at what price, and who pays. It is the only code that decides it.
//
// A Snapshot is everything the decision depends on, read once; Resolve is a pure
// function over it. It returns a Plan or a Block, never both and never neither.
// A provider is not swapped for another unless the assistant lists that other
// one, and then the plan says which was preferred and why it is not used. What
// could not be read is internal_error: it is never taken for a lack of credits. A
// Meter then holds what each call may cost before it is made, and counts what it did.
package eligibility

import (
	"time"

	"piloto/internal/models/credit"
)

// Reason says why a turn may not run.
type Reason string

// The reasons. The last is ours alone: the provider answered that the request
// itself is wrong, such as a model that it does not have.
const (
	AIDisabled          Reason = "ai_disabled"
	NotEntitled         Reason = "not_entitled"
	NoAssistant         Reason = "no_assistant"
	NoAPIKey            Reason = "no_api_key"
	InsufficientCredits Reason = "insufficient_credits"
	ProviderUnreachable Reason = "provider_unreachable"
	RateLimited         Reason = "rate_limited"
	BudgetExceeded      Reason = "budget_exceeded"
	Busy                Reason = "busy"
	InternalError       Reason = "internal_error"
	ProviderRefused     Reason = "provider_refused"
)

// Reasons lists them.
func Reasons() []Reason {
	return []Reason{
		AIDisabled, NotEntitled, NoAssistant, NoAPIKey, InsufficientCredits, ProviderUnreachable, RateLimited, BudgetExceeded,
		Busy, InternalError, ProviderRefused,
	}
}

// Remedy is where a person mends what blocks them.
type Remedy string

// The remedies; the page has a button for each.
const (
	ManageCredits    Remedy = "manage_credits"
	ManageAssistants Remedy = "manage_assistants"
	Retry            Remedy = "retry"
)

var remedies = map[Reason]Remedy{
	AIDisabled: ManageAssistants, NotEntitled: ManageAssistants, NoAssistant: ManageAssistants, NoAPIKey: ManageAssistants,
	ProviderRefused: ManageAssistants, InsufficientCredits: ManageCredits, BudgetExceeded: ManageCredits,
	ProviderUnreachable: Retry, RateLimited: Retry, Busy: Retry, InternalError: Retry,
}

// Mode says when a chat is answered.
type Mode string

// The modes of automation.
const (
	Automatic Mode = "automatic" // each message, after the delay
	Manual    Mode = "manual"    // when somebody asks for it
	Off       Mode = "off"       // never
)

// Automation is when an assistant answers. Of messages that follow each other
// within the delay, the last is answered, with all of them in view.
type Automation struct {
	Mode    Mode `json:"mode" enum:"automatic,manual,off"`
	DelayMS int  `json:"delay_ms" doc:"how long to wait for a further message before answering, at most 10000"`
}

// MaxDelay bounds the delay: an HTTP API gives up after 30 s.
const MaxDelay = 10 * time.Second

// Choice is a provider and a model, and for which reasons it may stand in for
// the preferred one; no reasons mean any of Swappable.
type Choice struct {
	Provider string   `json:"provider"`
	Model    string   `json:"model"`
	On       []Reason `json:"on,omitempty" doc:"reasons for which it may stand in; absent means no_api_key, insufficient_credits, busy, provider_unreachable and rate_limited"`
}

// Swappable are the reasons for which another provider may be used.
func Swappable() []Reason {
	return []Reason{NoAPIKey, InsufficientCredits, Busy, ProviderUnreachable, RateLimited}
}

// standsIn reports whether the choice may be used when the preferred one may not.
func (c Choice) standsIn(why Reason) bool {
	allowed := c.On
	if len(allowed) == 0 {
		allowed = Swappable()
	}
	for _, r := range allowed {
		if r == why {
			return true
		}
	}
	return false
}

// Assistant is an account's, or a project's, choice of who answers and how.
type Assistant struct {
	Name        string     `json:"name"`
	Active      bool       `json:"active"`
	Provider    string     `json:"provider"`
	Model       string     `json:"model"`
	Temperature float64    `json:"temperature"`
	MaxTokens   int        `json:"max_tokens" doc:"that one answer may have"`
	Persona     string     `json:"persona,omitempty" doc:"who it is and how it speaks; part of the prompt"`
	Automation  Automation `json:"automation"`
	Fallback    []Choice   `json:"fallback" nullable:"false" doc:"who stands in, in order; empty: nobody"`
	Scope       Scope      `json:"scope" enum:"deployment,account,project" doc:"whose it is"`
	UpdatedAt   time.Time  `json:"updated_at,omitzero"`
}

// Scope says whose an assistant is.
type Scope string

// The scopes, from the widest. A project without one uses the account's, and an
// account without one the deployment's.
const (
	ScopeDeployment Scope = "deployment"
	ScopeAccount    Scope = "account"
	ScopeProject    Scope = "project"
)

// Entitlement says whether an account may use AI, and which providers.
type Entitlement struct {
	Entitled  bool      `json:"entitled" doc:"the account may use AI"`
	Enabled   bool      `json:"enabled" doc:"and it is switched on"`
	Providers []string  `json:"allowedProviders" nullable:"false" doc:"empty: every provider that there is"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Allows reports whether the account may use a provider.
func (e Entitlement) Allows(provider string) bool {
	for _, p := range e.Providers {
		if p == provider {
			return true
		}
	}
	return len(e.Providers) == 0
}

// Provider is one provider as an account has it.
type Provider struct {
	Name         string
	BaseURL      string
	HasKey       bool      // or needs none
	Keyless      bool      // it needs none, so nobody is billed
	OwnKey       bool      // the key is the account's own, and not the deployment's
	KeyAt        time.Time // when the account last set it
	CostsCredits bool
	Demo         bool                    // the built-in demonstration model
	Prices       map[string]credit.Price // the account's own, by model
	Health       Health                  // what its last call, or probe, came to
}

// Need is what a turn may use at most, before it is known what it does use.
type Need struct {
	Input  int // tokens of the prompt, as a pessimist counts them
	Output int // that one answer may have; 0: as the assistant says
}

// Snapshot is everything a decision depends on.
type Snapshot struct {
	At          time.Time
	Entitlement Entitlement
	Assistant   *Assistant // nil: there is none
	Mode        Mode       // the chat's own, or ""
	Providers   []Provider
	Policy      credit.Policy
	Limits      credit.Limits
	Standing    credit.Standing
	Need        Need
}

// Estimate is the worst case of a turn's first call.
type Estimate struct {
	Input  int    `json:"input_tokens"`
	Output int    `json:"output_tokens"`
	Micros int64  `json:"cost_micros"`
	Priced Priced `json:"priced" enum:"table,override,rule,free" doc:"where the price comes from; rule: the model is in no table, and the dearest known price is taken"`
}

// Candidate is a provider and a model that a turn may use.
type Candidate struct {
	Provider        string
	Model           string
	BaseURL         string
	OwnKey          bool
	KeyAt           time.Time
	Keyless         bool
	Demo            bool
	RequiresCredits bool
	Price           credit.Price
	Estimate        Estimate
	SessionID       string // of an open session with room; "" when one must be opened, or none is needed
	choice          Choice
}

// Swap says that a turn does not use the provider that is preferred, and why.
type Swap struct {
	Preferred string `json:"preferred" doc:"the provider that the assistant names first"`
	Reason    Reason `json:"reason"`
	Message   string `json:"message"`
}

// Plan is what a turn may use: the first candidate, and while that fails at the
// provider the next ones, each of which the assistant lists.
type Plan struct {
	Candidate
	Assistant Assistant
	Mode      Mode
	Rest      []Candidate
	Swap      *Swap
	Policy    credit.Policy
	Limits    credit.Limits
}

// Order names the providers of a plan, in the order in which they are tried.
func (p Plan) Order() []string {
	order := []string{p.Provider}
	for _, c := range p.Rest {
		order = append(order, c.Provider)
	}
	return order
}

// Runtime names what runs a turn.
func (p Plan) Runtime() string {
	if p.Demo {
		return "demo"
	}
	return "chat_completions"
}

// Block is a refusal, as a client sees it.
type Block struct {
	Reason        Reason
	Message       string // a plain sentence
	Action        string // what to do next
	Remedy        Remedy // where
	CreditBalance *int64 // when credits are the reason
	Provider      string // that is meant, when one is
}
