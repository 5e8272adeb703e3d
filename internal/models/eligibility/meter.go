package eligibility

import (
	"cmp"
	"context"
	"errors"

	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// Meter holds, before each call of a model, what it may cost at most, and counts what
// all of them used. Turn is the record of that; its ID is the hold's.
type Meter struct {
	Credit *credit.Service
	Hold   credit.Hold
	Turn   credit.Turn
	Always bool // a hold is taken also for what costs nothing: it is what makes the call the only one
}

// mostKept bounds the attempts that a record keeps.
const mostKept = 40

// NewMeter returns a meter for an account's turn.
func NewMeter(c *credit.Service, account string, turn credit.Turn) Meter {
	return Meter{Credit: c, Turn: turn, Hold: credit.Hold{ID: turn.ID, Account: account, For: turn}}
}

// Cover makes the hold cover one more call. It returns why it cannot, or "". session
// is what a credit session that is bought for it is called in the ledger.
func (m *Meter) Cover(ctx context.Context, p *Plan, r llm.Request, session string) (Reason, error) {
	input, output := r.Estimate(), r.MaxTokens
	cost := p.Price.Cost(input, output)
	if p.Limits.Run > 0 && m.Turn.Micros+cost > p.Limits.Run {
		return BudgetExceeded, nil
	}
	need := credit.Need{Policy: p.Policy, Limits: p.Limits, Actor: m.Turn.User, Reason: session}
	if p.RequiresCredits {
		need.Tokens = max(0, m.Turn.Charged+input+output-m.Hold.Tokens())
	}
	if p.RequiresCredits || p.Limits.Day > 0 || p.Limits.Month > 0 {
		need.Micros = max(0, m.Turn.Micros+cost-m.Hold.Micros)
	}
	if need.Tokens == 0 && need.Micros == 0 && (!m.Always || !m.Hold.At.IsZero()) {
		return "", nil
	}
	var err error
	m.Hold, err = m.Credit.Cover(ctx, m.Hold, need) // with an error, too: it knows what may be held all the same
	switch {
	case errors.Is(err, credit.ErrInsufficient):
		return InsufficientCredits, nil
	case errors.Is(err, credit.ErrBudget):
		return BudgetExceeded, nil
	case errors.Is(err, credit.ErrBusy):
		return Busy, nil
	}
	return "", err
}

// Used counts what a call used, whatever the model says.
func (m *Meter) Used(p *Plan, r llm.Reply) {
	in, out := max(0, r.Usage.Input), max(0, r.Usage.Output)
	m.Turn.Provider, m.Turn.Model, m.Turn.Priced = p.Provider, p.Model, string(p.Estimate.Priced)
	m.Turn.Input, m.Turn.Output = m.Turn.Input+in, m.Turn.Output+out
	m.Turn.Estimated = m.Turn.Estimated || r.Usage.Estimated
	m.Turn.Micros += p.Price.Cost(in, out)
	if p.RequiresCredits {
		m.Turn.Charged += in + out
	}
}

// Watch returns what notes each attempt of a provider.
func (m *Meter) Watch(p *Plan) func(llm.Attempt) {
	return func(a llm.Attempt) {
		a.Provider = cmp.Or(a.Provider, p.Provider)
		if len(m.Turn.Attempts) < mostKept {
			m.Turn.Attempts = append(m.Turn.Attempts, a)
		}
	}
}
