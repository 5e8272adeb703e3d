package turn

import (
	"cmp"
	"context"
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/credit"
	"piloto/internal/eligibility"
	"piloto/internal/llm"
	"piloto/internal/locale"
	"piloto/internal/parallel"
)

// meter holds, before each call of a model, what it may cost at most, and settles
// at the end of the turn what all of them did.
type meter struct {
	*Service
	req     Request
	began   time.Time
	account string
	tag     locale.Tag
	hold    credit.Hold
	turn    credit.Turn
	settled bool
}

func (s *Service) meter(req Request, chat conversation.Chat, began time.Time) *meter {
	account, at := req.Principal.Account, s.Now()
	turn := credit.Turn{ID: s.IDs.New(at), At: at, User: req.Principal.User, ChatID: chat.ID, ProjectID: chat.ProjectID}
	return &meter{
		Service: s, req: req, began: began, account: account, tag: req.Locale, turn: turn,
		hold: credit.Hold{ID: turn.ID, Account: account, For: turn},
	}
}

// cover makes the hold cover one more call. It returns why it cannot, or "".
func (m *meter) cover(ctx context.Context, p *eligibility.Plan, r llm.Request) (eligibility.Reason, error) {
	input, output := r.Estimate(), r.MaxTokens
	cost := p.Price.Cost(input, output)
	if p.Limits.Run > 0 && m.turn.Micros+cost > p.Limits.Run {
		return eligibility.BudgetExceeded, nil
	}
	need := credit.Need{
		Policy: p.Policy, Limits: p.Limits, Actor: m.turn.User, Reason: locale.Text(m.tag, "credit.session_for_turn"),
	}
	if p.RequiresCredits {
		need.Tokens = max(0, m.turn.Charged+input+output-m.hold.Tokens())
	}
	if p.RequiresCredits || p.Limits.Day > 0 || p.Limits.Month > 0 {
		need.Micros = max(0, m.turn.Micros+cost-m.hold.Micros)
	}
	if need.Tokens == 0 && need.Micros == 0 {
		return "", nil
	}
	var err error
	m.hold, err = m.Credit.Cover(ctx, m.hold, need) // with an error, too: it knows what may be held all the same
	switch {
	case errors.Is(err, credit.ErrInsufficient):
		return eligibility.InsufficientCredits, nil
	case errors.Is(err, credit.ErrBudget):
		return eligibility.BudgetExceeded, nil
	}
	return "", err
}

// used counts what a call used.
func (m *meter) used(p *eligibility.Plan, r llm.Reply) {
	u := llm.Usage{Input: max(0, r.Usage.Input), Output: max(0, r.Usage.Output), Estimated: r.Usage.Estimated} // whatever the model says
	m.turn.Provider, m.turn.Model, m.turn.Priced = p.Provider, p.Model, string(p.Estimate.Priced)
	m.turn.Input, m.turn.Output = m.turn.Input+u.Input, m.turn.Output+u.Output
	m.turn.Estimated = m.turn.Estimated || u.Estimated
	m.turn.Micros += p.Price.Cost(u.Input, u.Output)
	if p.RequiresCredits {
		m.turn.Charged += u.Input + u.Output
	}
}

// mostKept bounds the attempts that a turn's record keeps.
const mostKept = 40

// watch returns what notes each attempt of a provider.
func (m *meter) watch(p *eligibility.Plan) func(llm.Attempt) {
	return func(a llm.Attempt) {
		a.Provider = cmp.Or(a.Provider, p.Provider)
		if len(m.turn.Attempts) < mostKept {
			m.turn.Attempts = append(m.turn.Attempts, a)
		}
	}
}

// settle ends the hold, writes the turn's record and counts it, once. A turn that was
// answered stays answered when that fails: the sweep gives back what was held.
func (m *meter) settle(ctx context.Context, reply Reply, err error) {
	if m.settled {
		return
	}
	m.settled = true
	m.turn.Outcome = string(reply.Kind)
	switch {
	case err != nil:
		m.turn.Outcome = credit.OutcomeFailed
	case reply.Block != nil:
		m.turn.Outcome, m.turn.Reason = credit.OutcomeBlocked, string(reply.Block.Reason)
		m.turn.Provider = cmp.Or(m.turn.Provider, reply.Block.Provider)
	}
	if reply.Run != nil {
		m.turn.RunID = reply.Run.ID
	}
	if by := reply.By; by != nil {
		m.turn.Preferred, m.turn.Because = by.Preferred, by.Reason
		if by.Stopped {
			m.turn.Outcome = credit.OutcomeStopped
		}
	}
	if m.turn.Outcome == credit.OutcomeBlocked {
		m.Log.InfoContext(ctx, "turn.blocked", "turn_id", m.turn.ID, "chat_id", m.turn.ChatID, "reason", m.turn.Reason, "provider", m.turn.Provider)
	}
	_ = parallel.Do(
		func() error { m.count(ctx, m.req, m.began, reply, err); return nil },
		func() error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
			defer cancel()
			if err := m.Credit.Settle(ctx, m.hold, m.turn); err != nil {
				m.Log.ErrorContext(ctx, "turn.unsettled", "turn_id", m.turn.ID, "micros", m.turn.Micros, "tokens", m.turn.Charged, "error", err)
			}
			return nil
		},
	)
}

// settleTime bounds what settling may take.
const settleTime = 3 * time.Second
