// Package eligibility makes one decision: whether a turn may run, on which provider
// and model, at which price, and who pays. No other code makes it.
//
// A Snapshot holds all input of the decision, read once. Resolve is a pure function
// of it. It returns a Selection or a Block, and never both or neither. A provider is
// replaced only by one that the assistant lists as a fallback, and then the
// Selection names the preferred provider and the reason why it is not used. A failed
// read gives the reason internal_error and is never taken for a lack of credits.
// Package paid then makes the calls.
package eligibility

import (
	"time"

	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// Reason is the cause why a turn may not run.
type Reason string

// The reasons. Two are additions of this project. ProviderRefused: the provider answered that the request is wrong, for
// example because it does not have the model. AgentBudget: the budget of an agent, or of its job, is not enough; the limits
// of the account are BudgetExceeded.
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
	AgentBudget         Reason = "agent_budget"
)

// Reasons lists all reasons.
func Reasons() []Reason {
	return []Reason{
		AIDisabled, NotEntitled, NoAssistant, NoAPIKey, InsufficientCredits, ProviderUnreachable, RateLimited, BudgetExceeded,
		Busy, InternalError, ProviderRefused, AgentBudget,
	}
}

// Unpaid reports whether a call cannot be paid now, for that reason.
func (r Reason) Unpaid() bool {
	return r == BudgetExceeded || r == AgentBudget || r == InsufficientCredits || r == Busy
}

// Remedy is the page where a person can remove the cause of a block.
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
	ProviderUnreachable: Retry, RateLimited: Retry, Busy: Retry, InternalError: Retry, AgentBudget: Retry,
}

// Mode decides when a chat is answered.
type Mode string

// The modes of automation.
const (
	Automatic Mode = "automatic" // each message, after the delay
	Manual    Mode = "manual"    // when a person asks for an answer
	Off       Mode = "off"       // never
)

// Automation decides when an assistant answers. Messages that follow each other
// within the delay get one answer, to the last of them, with all of them in the prompt.
type Automation struct {
	Mode    Mode `json:"mode" enum:"automatic,manual,off"`
	DelayMS int  `json:"delay_ms" doc:"how long to wait for a further message before answering, at most 10000"`
}

// MaxDelay is the longest delay. An HTTP API gives up after 30 s.
const MaxDelay = 10 * time.Second

// Choice is a provider and a model, with the reasons for which it may replace the preferred one. No reasons means
// all of Swappable.
type Choice struct {
	Provider string   `json:"provider"`
	Model    string   `json:"model"`
	On       []Reason `json:"on,omitempty" doc:"reasons for which it may stand in; absent means no_api_key, insufficient_credits, busy, provider_unreachable and rate_limited"`
}

// Swappable returns the reasons for which another provider may be used.
func Swappable() []Reason {
	return []Reason{NoAPIKey, InsufficientCredits, Busy, ProviderUnreachable, RateLimited}
}

// standsIn reports whether the choice may replace the preferred one for that reason.
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

// Assistant is the setting of an account or a project: the provider, the model and how they answer.
type Assistant struct {
	Name        string     `json:"name"`
	Active      bool       `json:"active"`
	Provider    string     `json:"provider"`
	Model       string     `json:"model"`
	Temperature float64    `json:"temperature"`
	MaxTokens   int        `json:"max_tokens" doc:"that one answer may have"`
	Persona     string     `json:"persona,omitempty" doc:"who it is and how it speaks; part of the prompt"`
	TimeZone    string     `json:"time_zone,omitempty" doc:"of who does not say theirs, as Europe/Madrid; absent: UTC"`
	Automation  Automation `json:"automation"`
	Conclude    Conclusion `json:"conclude,omitempty" enum:"on,off" doc:"whether the model tells what came of a plan; absent: as the wider assistant says, and on when none says it"`
	Fallback    []Choice   `json:"fallback" nullable:"false" doc:"who stands in, in order; empty: nobody"`
	Scope       Scope      `json:"scope" enum:"deployment,account,project" doc:"whose it is"`
	UpdatedAt   time.Time  `json:"updated_at,omitzero"`
}

// Scope is the level at which an assistant is set.
type Scope string

// Scopes, from the widest. A project without an assistant uses that of its account, and an account without one uses
// that of the deployment.
const (
	ScopeDeployment Scope = "deployment"
	ScopeAccount    Scope = "account"
	ScopeProject    Scope = "project"
)

// Entitlement decides whether an account may use AI, and which providers.
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

// Provider is a provider with the settings of an account.
type Provider struct {
	Name         string
	BaseURL      string
	Moved        bool      // the account gave it this address
	HasKey       bool      // true also if it needs no key
	Keyless      bool      // it needs no key, so nothing is billed
	OwnKey       bool      // the key is the account's, not the deployment's
	KeyAt        time.Time // when the account last set it
	CostsCredits bool
	Demo         bool                    // the built-in demonstration model
	Prices       map[string]credit.Price // the account's own, by model
	Windows      map[string]int          // the account's own, by model, in tokens
	Health       Health                  // result of its last call or probe
	Rejected     bool                    // its last call said that it does not accept the key that it still has
	Check        *Check                  // the last one at its address; nil: none
	Lessons      map[string]Known        // what calls at its address showed, by model
}

// Need is the most that a turn may use, estimated before the turn.
type Need struct {
	Input  int // tokens of the prompt, estimated from above
	Output int // tokens of one answer at most; 0: the assistant's setting
}

// Snapshot is all input of the decision.
type Snapshot struct {
	At          time.Time
	Entitlement Entitlement
	Assistant   *Assistant // nil: there is none
	Mode        Mode       // the chat's own, or ""
	Providers   []Provider
	Policy      credit.Policy
	Limits      credit.Limits
	Budget      int64 // micros of an agent, beside the account's limits; 0: none
	Standing    credit.Standing
	Need        Need
	// Preview means that no turn runs: a key that was rejected counts as none. A turn tries it again.
	Preview bool
}

// Estimate is the worst case of a turn's first call.
type Estimate struct {
	Input  int    `json:"input_tokens"`
	Output int    `json:"output_tokens"`
	Micros int64  `json:"cost_micros"`
	Priced Priced `json:"priced" enum:"table,override,list,rule,free" doc:"where the price comes from; list: the model's list price stands for that of this address; rule: the model is in no table, and the dearest known price is taken"`
}

// Candidate is a provider and a model that a turn may use.
type Candidate struct {
	Provider        string
	Model           string
	BaseURL         string
	OwnKey          bool
	KeyAt           time.Time
	Keyless         bool
	Rejected        bool // as in Provider
	Demo            bool
	RequiresCredits bool
	Price           credit.Price
	Window          int   // the most tokens of a prompt and its answer together
	Narrowed        bool  // the provider named the window when it refused a longer request
	Known           Known // by the last check of the model, and the calls since then
	Estimate        Estimate
	SessionID       string // id of an open session with room; "" when one must be opened, or none is needed
	choice          Choice
}

// Swap is the reason why a turn does not use the preferred provider.
type Swap struct {
	Preferred string // the provider that the assistant names first
	Reason    Reason
}

// Selection is the result of the decision for a turn: the first candidate, and the ones to try in order when it
// fails at the provider. The assistant lists each of them.
type Selection struct {
	Candidate
	Assistant Assistant
	Mode      Mode
	Rest      []Candidate
	Swap      *Swap
	Policy    credit.Policy
	Limits    credit.Limits
	Budget    int64 // as in Snapshot
}

// Order returns the providers of the selection, in the order in which they are tried.
func (p Selection) Order() []string {
	order := []string{p.Provider}
	for _, c := range p.Rest {
		order = append(order, c.Provider)
	}
	return order
}

// Runtime returns the name of the runtime that answers the turn.
func (p Selection) Runtime() string {
	if p.Demo {
		return "demo"
	}
	return "chat_completions"
}

// Block is a refused turn, with the texts for the client.
type Block struct {
	Reason        Reason
	Remedy        Remedy    // the page for it
	CreditBalance *int64    // nil unless credits are the reason
	Missing       int64     // credits to add, so that the call can be paid; 0: credits are not the reason
	Passed        Passed    // the limit that the call would pass; zero: unknown, or limits are not the reason
	Provider      string    // the provider that the block is about; "" for none
	Cause         llm.Cause // of ProviderRefused, where the provider says it

	byProvider bool // the provider itself refused
}

// Bound names a limit of what may be spent.
type Bound string

// The bounds. The names are those of the limits of an account, and of the budget of an agent or of its job.
const (
	BoundDay   Bound = "day"
	BoundMonth Bound = "month"
	BoundRun   Bound = "run"
	BoundAgent Bound = "agent"
)

// Passed is a limit that a call would pass, in micro-USD: Spent + Needed > Limit.
type Passed struct {
	Of     Bound `json:"of"`
	Limit  int64 `json:"limit"`
	Spent  int64 `json:"spent"`  // also what other answers hold
	Needed int64 `json:"needed"` // that the call may cost at most
}

// by reports whether a call passes the limit. A call that costs nothing passes none.
func (p Passed) by() bool { return p.Limit > 0 && p.Needed > 0 && p.Spent+p.Needed > p.Limit }

// Exceeded returns the limit that a call of that cost would pass: one that no call of it fits into, or else the first one.
// What the account spent is in standing, and what the turn did in spent.
func Exceeded(l credit.Limits, standing credit.Standing, spent, needed int64) (Passed, bool) {
	var first Passed
	for _, p := range []Passed{
		{BoundDay, l.Day, standing.Day, needed}, {BoundMonth, l.Month, standing.Month, needed}, {BoundRun, l.Run, spent, needed},
	} {
		if !p.by() {
			continue
		}
		if needed > p.Limit {
			return p, true
		}
		if first == (Passed{}) {
			first = p
		}
	}
	return first, first != Passed{}
}
