package eligibility

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// DefaultMaxTokens is the token limit of one answer when neither the need nor the assistant sets one.
const DefaultMaxTokens = 4096

// Resolve decides about a snapshot. Exactly one of its results is not nil.
func Resolve(s Snapshot) (*Selection, *Block) {
	switch {
	case !s.Entitlement.Entitled:
		return nil, s.refuse(NotEntitled, "")
	case !s.Entitlement.Enabled:
		return nil, s.refuse(AIDisabled, "")
	case s.Assistant == nil || !s.Assistant.Active:
		return nil, s.refuse(NoAssistant, "")
	}
	mode := s.Automation().Mode
	if mode == Off {
		return nil, s.refuse(AIDisabled, "")
	}
	preferred := Choice{Provider: s.Assistant.Provider, Model: s.Assistant.Model}
	first, why := s.candidate(preferred)
	plan := &Selection{Assistant: *s.Assistant, Mode: mode, Policy: s.Policy, Limits: s.Limits, Budget: s.Budget}
	if why == "" {
		plan.Candidate = first
	}
	for _, c := range s.Assistant.Fallback {
		if why != "" && !c.standsIn(why) {
			continue
		}
		next, bad := s.candidate(c)
		switch {
		case bad != "":
		case why != "" && plan.Swap == nil:
			plan.Candidate = next
			plan.Swap = &Swap{preferred.Provider, why}
		default:
			plan.Rest = append(plan.Rest, next)
		}
	}
	if why != "" && plan.Swap == nil {
		return nil, s.refuse(why, preferred.Provider)
	}
	return plan, nil
}

// Automation returns the automation in force. The chat's mode comes before the assistant's.
func (s Snapshot) Automation() Automation {
	a := Automation{Mode: Automatic}
	if s.Assistant != nil {
		a = s.Assistant.Automation
	}
	a.Mode = cmp.Or(s.Mode, a.Mode, Automatic)
	return a
}

// candidate returns the candidate for a choice, or the reason why the choice cannot be used.
func (s Snapshot) candidate(c Choice) (Candidate, Reason) {
	at := slices.IndexFunc(s.Providers, func(p Provider) bool { return p.Name == c.Provider })
	switch {
	case !s.Entitlement.Allows(c.Provider):
		return Candidate{}, NotEntitled
	case at < 0:
		return Candidate{}, NoAPIKey // the provider is unknown, so there is no key of it
	}
	p := s.Providers[at]
	window, known := WindowOf(p, c.Model), p.known(c.Model)
	output := min(cmp.Or(s.Need.Output, s.Assistant.MaxTokens, DefaultMaxTokens), window/2)
	input := min(s.Need.Input, window-output) // a longer input is made to fit
	price, priced := PriceOf(p, c.Model)
	out := Candidate{
		Provider: p.Name, Model: c.Model, BaseURL: p.BaseURL, OwnKey: p.OwnKey, KeyAt: p.KeyAt, Keyless: p.Keyless, Rejected: p.Rejected, Demo: p.Demo, RequiresCredits: p.CostsCredits, Price: price, Window: window, Known: known, choice: c,
		Estimate: Estimate{Input: input, Output: output, Micros: price.MostOf(llm.Usage{Input: input, Output: output}), Priced: priced},
	}
	switch {
	case !p.HasKey, s.Preview && p.Rejected:
		return out, NoAPIKey
	case s.At.Before(p.Health.Waiting):
		return out, RateLimited
	case !s.affords(out.Estimate.Micros):
		return out, BudgetExceeded
	case s.Budget > 0 && out.Estimate.Micros > s.Budget:
		return out, AgentBudget
	case !p.CostsCredits:
		return out, ""
	}
	tokens := out.Estimate.Input + out.Estimate.Output
	if session, ok := credit.Best(s.Standing.Sessions, tokens, s.At); ok {
		out.SessionID = session.ID
		return out, ""
	}
	if session, ok := credit.Awaited(s.Standing.Sessions, tokens, credit.Hold{}, s.At); ok { // the turn will wait for it
		out.SessionID = session.ID
		return out, ""
	}
	if s.Policy.Missing(s.Standing.Balance, tokens) > 0 {
		return out, InsufficientCredits
	}
	return out, ""
}

// affords reports whether the limits leave room for a turn's worst case. A turn that costs nothing always has room.
func (s Snapshot) affords(micros int64) bool {
	_, exceeded := Exceeded(s.Limits, s.Standing, 0, micros)
	return !exceeded
}

// Unpaid returns why an answer of the assistant cannot be paid, also where it could not be given for another reason (its
// key is missing, AI is off). nil: it can.
func (s Snapshot) Unpaid() *Block {
	if s.Assistant == nil {
		return nil
	}
	s.Entitlement, s.Preview, s.Providers = Entitlement{Entitled: true, Enabled: true}, false, slices.Clone(s.Providers)
	for i := range s.Providers {
		s.Providers[i].HasKey, s.Providers[i].Health = true, Health{}
	}
	_, why := s.candidate(Choice{Provider: s.Assistant.Provider, Model: s.Assistant.Model})
	if why != InsufficientCredits && why != BudgetExceeded {
		return nil
	}
	return s.refuse(why, s.Assistant.Provider)
}

func (s Snapshot) refuse(why Reason, provider string) *Block {
	b := Refuse(why, provider)
	var e Estimate
	if why.Unpaid() {
		c, _ := s.candidate(Choice{Provider: provider, Model: s.Assistant.Model})
		e = c.Estimate
	}
	switch at := slices.IndexFunc(s.Providers, func(p Provider) bool { return p.Name == provider }); {
	case why == InsufficientCredits:
		b.CreditBalance, b.Missing = &s.Standing.Balance, s.Policy.Missing(s.Standing.Balance, e.Input+e.Output)
	case why == BudgetExceeded:
		b.Passed, _ = Exceeded(s.Limits, s.Standing, 0, e.Micros)
	case why == AgentBudget:
		b.Passed = Passed{BoundAgent, s.Budget, 0, e.Micros}
	case why == NoAPIKey && at >= 0:
		b.byProvider = s.Providers[at].HasKey
	}
	return b
}

// Refuse returns the block for a reason. provider is the provider that the block is about, or "".
func Refuse(why Reason, provider string) *Block {
	return &Block{Reason: why, Provider: provider, Remedy: remedies[why]}
}

// RefusedBy returns the block for a refusal by the provider itself. For example, its message says that the key was
// not accepted, and not that there is no key.
func RefusedBy(why Reason, provider string) *Block {
	b := Refuse(why, provider)
	b.byProvider = true
	return b
}

// For returns the block with the cause that a provider's refusal names.
func (b *Block) For(refusal error) *Block {
	if b.Cause = llm.CauseOf(refusal); b.Cause == llm.Filtered {
		b.Remedy = Retry
	}
	return b
}

// Costs returns the micro-USD that an answer may cost, if a limit of the account is below it; else 0.
func (b Block) Costs() int64 {
	if b.Reason != BudgetExceeded || b.Passed.Needed <= b.Passed.Limit {
		return 0
	}
	return b.Passed.Needed
}

// Detail returns the sentence with the limit, what was spent, and what the call needed; nil when they are not known.
func (b Block) Detail() locale.Phrase {
	switch p := b.Passed; {
	case p.Of != "":
		return locale.Say("blocked.passed."+string(p.Of), "limit", locale.USD(p.Limit), "spent", locale.USD(p.Spent), "needed", locale.USD(p.Needed).Up())
	case b.Missing > 0 && b.CreditBalance != nil:
		return locale.Say("blocked.credits", "balance", *b.CreditBalance, "needed", *b.CreditBalance+b.Missing)
	}
	return nil
}

// Message returns the sentence of the block, and its detail where limits are the reason.
func (b Block) Message() locale.Phrase {
	key := "blocked." + string(b.Reason)
	switch {
	case b.Cause != "":
		key += "." + string(b.Cause)
	case b.byProvider && locale.Exists(key+".refused"):
		key += ".refused"
	case b.Provider == "" && locale.Exists(key+".account"):
		key += ".account"
	}
	message := locale.Say(key, "provider", b.provider())
	if b.Passed.Of != "" {
		return locale.Joined{Phrases: []locale.Phrase{message, b.Detail()}, Between: " "}
	}
	return message
}

// Action returns the sentence that says how a person can remove the cause, with the detail where credits are missing.
func (b Block) Action() locale.Phrase {
	if b.Missing > 0 {
		add := locale.Say("blocked."+string(b.Reason)+".do.missing", "n", b.Missing)
		return locale.Joined{Phrases: []locale.Phrase{b.Detail(), add}, Between: " "}
	}
	if usd := b.Costs(); usd > 0 {
		return locale.Say("blocked."+string(b.Reason)+".do.costs", "usd", locale.USD(usd).Up())
	}
	if b.Cause != "" {
		return locale.Say("blocked."+string(b.Reason)+"."+string(b.Cause)+".do", "provider", b.provider())
	}
	return locale.Say("blocked."+string(b.Reason)+".do", "provider", b.provider())
}

func (b Block) provider() locale.Phrase {
	if b.Provider == "" {
		return locale.Say("blocked.provider")
	}
	return locale.Verbatim(Label(b.Provider))
}

// Message returns the sentence of the swap.
func (s Swap) Message() locale.Phrase {
	return locale.Say("swap."+string(s.Reason), "provider", Label(s.Preferred))
}

// ReasonOf returns the reason of a provider's failure, and false when err is not a failure of a provider.
func ReasonOf(err error) (Reason, bool) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return "", false
	}
	for _, known := range []*fault.Error{llm.ErrNoKey, llm.ErrLimited, llm.ErrUnreachable, llm.ErrRefused} {
		if errors.Is(f, known) {
			return Reason(known.Code), true
		}
	}
	return "", false
}

// Narrow takes a smaller window of the chosen model, in tokens; 0 is none. An answer takes a quarter of it at most.
func (p *Selection) Narrow(window int) {
	if window <= 0 || window >= p.Window {
		return
	}
	p.Window, p.Narrowed = window, true
	p.Estimate.Output = min(p.Estimate.Output, window/4)
	p.Estimate.Input = min(p.Estimate.Input, window-p.Estimate.Output)
}

// Next returns the selection to go on with after its candidate failed at the provider: it begins with the first
// remaining candidate that may replace it for that reason.
func (p Selection) Next(why Reason) (*Selection, bool) {
	for i, c := range p.Rest {
		if !c.choice.standsIn(why) {
			continue
		}
		next := p
		next.Candidate, next.Rest = c, p.Rest[i+1:]
		if next.Swap == nil {
			next.Swap = &Swap{p.Provider, why}
		}
		return &next, true
	}
	return nil, false
}

// Label returns the display name of a provider.
func Label(provider string) string {
	switch strings.ToLower(provider) {
	case "openai":
		return "OpenAI"
	case "groq":
		return "Groq"
	}
	return provider
}
