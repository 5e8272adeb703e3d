package eligibility

import (
	"cmp"
	"context"
	"errors"

	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// Meter holds the highest cost of each model call before the call, and sums the usage of all calls. Turn is the
// record of the usage; its ID is also the id of the hold.
type Meter struct {
	Credit *credit.Service
	Hold   credit.Hold
	Turn   credit.Turn
	Always bool // take a hold even if the call costs nothing, because the hold also makes the call exclusive

	Reserve Reserve // held beside each call
	Short   int     // tokens for which Cover last found no credits
	Beside  int64   // millionths of a US dollar that calls with other meters cost, and that count in the limit of this one
}

// Reserve is the size of a further call that is held together with another one, so that it can be made when nothing else
// can.
type Reserve struct {
	Input, Output int // tokens
}

// mostKept is the largest number of attempts in a record.
const mostKept = 40

// NewMeter returns a meter for a turn of an account.
func NewMeter(c *credit.Service, account string, turn credit.Turn) Meter {
	return Meter{Credit: c, Turn: turn, Hold: credit.Hold{ID: turn.ID, Account: account, For: turn}}
}

// Cover extends the hold by one more call. It returns the reason when that is not possible, else "". session is the
// ledger's reason for a credit session that is bought for the call.
func (m *Meter) Cover(ctx context.Context, p *Selection, r llm.Request, session string) (Reason, error) {
	if l := p.Limits; !p.RequiresCredits && !m.Always && l.Day == 0 && l.Month == 0 && l.Run == 0 && p.Budget == 0 {
		return "", nil
	}
	input, output := r.Estimate()+m.Reserve.Input, r.MaxTokens+m.Reserve.Output
	cost := p.Price.Cost(input, output)
	switch total := m.Turn.Micros + m.Beside + cost; {
	case p.Limits.Run > 0 && total > p.Limits.Run:
		return BudgetExceeded, nil
	case p.Budget > 0 && total > p.Budget:
		return AgentBudget, nil
	}
	need := credit.Need{Policy: p.Policy, Limits: p.Limits, Worst: p.Estimate.Micros, Actor: m.Turn.User, Reason: session}
	if p.RequiresCredits {
		need.Tokens, need.Session = max(0, m.Turn.Charged+input+output-m.Hold.Tokens()), p.SessionID
	}
	if p.RequiresCredits || p.Limits.Day > 0 || p.Limits.Month > 0 {
		need.Micros = max(0, m.Turn.Micros+cost-m.Hold.Micros)
	}
	if need.Tokens == 0 && need.Micros == 0 && (!m.Always || !m.Hold.At.IsZero()) {
		return "", nil
	}
	var err error
	m.Hold, err = m.Credit.Cover(ctx, m.Hold, need) // kept also with an error: it records that a write was tried
	switch {
	case errors.Is(err, credit.ErrInsufficient):
		m.Short = need.Tokens
		return InsufficientCredits, nil
	case errors.Is(err, credit.ErrBudget):
		return BudgetExceeded, nil
	case errors.Is(err, credit.ErrBusy):
		return Busy, nil
	}
	return "", err
}

// Count adds the usage of a call to the record. Negative numbers of the provider count as 0. What the provider read
// from its cache is charged at its price; tokens of a session count in full.
func (m *Meter) Count(p *Selection, r llm.Reply) {
	in, out := max(0, r.Usage.Input), max(0, r.Usage.Output)
	cached := min(max(0, r.Usage.Cached), in)
	m.Turn.Provider, m.Turn.Model, m.Turn.Priced = p.Provider, p.Model, string(p.Estimate.Priced)
	m.Turn.Input, m.Turn.Cached, m.Turn.Output = m.Turn.Input+in, m.Turn.Cached+cached, m.Turn.Output+out
	m.Turn.Estimated = m.Turn.Estimated || r.Usage.Estimated
	m.Turn.Micros += p.Price.CostOf(llm.Usage{Input: in, Cached: cached, Output: out})
	if p.RequiresCredits {
		m.Turn.Charged += in + out
	}
}

// Watch returns a function that records each attempt at a provider.
func (m *Meter) Watch(p *Selection) func(llm.Attempt) {
	return func(a llm.Attempt) {
		a.Provider = cmp.Or(a.Provider, p.Provider)
		if len(m.Turn.Attempts) < mostKept {
			m.Turn.Attempts = append(m.Turn.Attempts, a)
		}
	}
}
