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

// DefaultMaxTokens is what one answer may have where nothing else was said.
const DefaultMaxTokens = 4096

// Resolve decides over a snapshot. Exactly one of its results is not nil.
func Resolve(s Snapshot, tag locale.Tag) (*Plan, *Block) {
	switch {
	case !s.Entitlement.Entitled:
		return nil, s.refuse(NotEntitled, "", tag)
	case !s.Entitlement.Enabled:
		return nil, s.refuse(AIDisabled, "", tag)
	case s.Assistant == nil || !s.Assistant.Active:
		return nil, s.refuse(NoAssistant, "", tag)
	}
	mode := s.Automation().Mode
	if mode == Off {
		return nil, s.refuse(AIDisabled, "", tag)
	}
	preferred := Choice{Provider: s.Assistant.Provider, Model: s.Assistant.Model}
	first, why := s.candidate(preferred)
	plan := &Plan{Assistant: *s.Assistant, Mode: mode, Policy: s.Policy, Limits: s.Limits}
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
			plan.Swap = NewSwap(preferred.Provider, why, tag)
		default:
			plan.Rest = append(plan.Rest, next)
		}
	}
	if why != "" && plan.Swap == nil {
		return nil, s.refuse(why, preferred.Provider, tag)
	}
	return plan, nil
}

// NewSwap says that a preferred provider is not used.
func NewSwap(preferred string, why Reason, tag locale.Tag) *Swap {
	return &Swap{preferred, why, locale.Text(tag, "swap."+string(why), "provider", Label(preferred))}
}

// Automation is when messages are answered: as the chat says, else the assistant.
func (s Snapshot) Automation() Automation {
	a := Automation{Mode: Automatic}
	if s.Assistant != nil {
		a = s.Assistant.Automation
	}
	a.Mode = cmp.Or(s.Mode, a.Mode, Automatic)
	return a
}

// candidate says how a choice would be used, or why it cannot be.
func (s Snapshot) candidate(c Choice) (Candidate, Reason) {
	at := slices.IndexFunc(s.Providers, func(p Provider) bool { return p.Name == c.Provider })
	switch {
	case !s.Entitlement.Allows(c.Provider):
		return Candidate{}, NotEntitled
	case at < 0:
		return Candidate{}, NoAPIKey // nothing is known of it, least of all a key
	}
	p := s.Providers[at]
	output := cmp.Or(s.Need.Output, s.Assistant.MaxTokens, DefaultMaxTokens)
	price, priced := PriceOf(p, c.Model)
	out := Candidate{
		Provider: p.Name, Model: c.Model, BaseURL: p.BaseURL, OwnKey: p.OwnKey, KeyAt: p.KeyAt, Keyless: p.Keyless, Demo: p.Demo, RequiresCredits: p.CostsCredits, Price: price, choice: c,
		Estimate: Estimate{Input: s.Need.Input, Output: output, Micros: price.Cost(s.Need.Input, output), Priced: priced},
	}
	switch {
	case !p.HasKey:
		return out, NoAPIKey
	case s.At.Before(p.Health.Waiting):
		return out, RateLimited
	case !s.affords(out.Estimate.Micros):
		return out, BudgetExceeded
	case !p.CostsCredits:
		return out, ""
	}
	tokens := out.Estimate.Input + out.Estimate.Output
	if session, ok := credit.Best(s.Standing.Sessions, tokens, s.At); ok {
		out.SessionID = session.ID
		return out, ""
	}
	if session, ok := credit.Awaited(s.Standing.Sessions, tokens, credit.Hold{}, s.At); ok { // the turn waits for it
		out.SessionID = session.ID
		return out, ""
	}
	if s.Standing.Balance < s.Policy.SessionCost*s.Policy.Units(tokens) {
		return out, InsufficientCredits
	}
	return out, ""
}

// affords reports whether the budgets leave room for a turn's worst case. What
// costs nothing is always affordable.
func (s Snapshot) affords(micros int64) bool {
	room := func(limit, spent int64) bool { return limit == 0 || micros == 0 || spent+micros <= limit }
	return room(s.Limits.Day, s.Standing.Day) && room(s.Limits.Month, s.Standing.Month) && (s.Limits.Run == 0 || micros <= s.Limits.Run)
}

func (s Snapshot) refuse(why Reason, provider string, tag locale.Tag) *Block {
	b := Refuse(why, provider, tag)
	if why == InsufficientCredits {
		b.CreditBalance = &s.Standing.Balance
	}
	return b
}

// Refuse returns the block for a reason; provider is the one that is meant, or "".
func Refuse(why Reason, provider string, tag locale.Tag) *Block {
	key := "blocked." + string(why)
	name, said := Label(provider), key
	if name == "" {
		name = locale.Text(tag, "blocked.provider")
		if _, ok := locale.Lookup(tag, key+".account"); ok {
			said = key + ".account"
		}
	}
	return &Block{
		Reason: why, Provider: provider, Remedy: remedies[why],
		Message: locale.Text(tag, said, "provider", name), Action: locale.Text(tag, key+".do", "provider", name),
	}
}

// RefusedBy is Refuse for what a provider itself answered: that there is a key
// and it is not accepted, say, and not that there is none.
func RefusedBy(why Reason, provider string, tag locale.Tag) *Block {
	b := Refuse(why, provider, tag)
	if said, ok := locale.Lookup(tag, "blocked."+string(why)+".refused"); ok && said != "" {
		b.Message = locale.Text(tag, "blocked."+string(why)+".refused", "provider", Label(provider))
	}
	return b
}

// Because returns the reason why a provider that was chosen failed, and false
// when err is no failure of a provider.
func Because(err error) (Reason, bool) {
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

// Next returns the plan that goes on after its candidate failed at the provider:
// the first of the rest that may stand in for that reason.
func (p Plan) Next(why Reason, tag locale.Tag) (*Plan, bool) {
	for i, c := range p.Rest {
		if !c.choice.standsIn(why) {
			continue
		}
		next := p
		next.Candidate, next.Rest = c, p.Rest[i+1:]
		if next.Swap == nil {
			next.Swap = NewSwap(p.Provider, why, tag)
		}
		return &next, true
	}
	return nil, false
}

// Label is what people call a provider.
func Label(provider string) string {
	switch strings.ToLower(provider) {
	case "openai":
		return "OpenAI"
	case "groq":
		return "Groq"
	}
	return provider
}
