package turn

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// meter holds the cost of a turn's model calls, and settles the hold at the end of the turn.
type meter struct {
	eligibility.Meter
	locale  locale.Tag
	log     *slog.Logger
	count   func(ctx context.Context, reply Reply, err error)
	settled bool
	routed  *Routed // the agent to which the router delegated the turn; nil: it is not delegated to a loop
}

func (s *Service) meter(req Request, chat conversation.Chat, began time.Time) *meter {
	at := s.Now()
	turn := credit.Turn{ID: s.IDs.New(at), At: at, User: req.Principal.User, ChatID: chat.ID, ProjectID: chat.ProjectID}
	return &meter{
		Meter: eligibility.NewMeter(s.Credit, req.Principal.Account, turn), locale: req.Locale, log: s.Log,
		count: func(ctx context.Context, reply Reply, err error) { s.count(ctx, req, began, reply, err) },
	}
}

// besideMeter returns the meter of a call that a turn makes for another purpose than its answer. Its cost has a record of
// its own.
func (s *Service) besideMeter(req Request, chat conversation.Chat, source string) *meter {
	m := s.meter(req, chat, s.Now())
	m.Turn.Source = source
	m.count = func(context.Context, Reply, error) {} // it is no turn
	return m
}

// cover extends the hold by one more call. It returns the reason why it cannot, or "".
func (m *meter) cover(ctx context.Context, p *eligibility.Selection, r llm.Request) (eligibility.Reason, error) {
	return m.Cover(ctx, p, r, locale.Text(m.locale, "credit.session_for_turn"))
}

// settle ends the hold, writes the turn's record and counts the turn, once. When that fails, the
// answer stays, and the sweep releases the hold.
func (m *meter) settle(ctx context.Context, reply Reply, err error) {
	if m.settled {
		return
	}
	m.settled = true
	if reply.Routed == nil && reply.Block == nil {
		reply.Routed = m.routed
	}
	m.Turn.Outcome = string(reply.Kind)
	switch {
	case err != nil:
		m.Turn.Outcome = credit.OutcomeFailed
	case reply.Block != nil:
		m.Turn.Outcome, m.Turn.Reason = credit.OutcomeBlocked, string(reply.Block.Reason)
		m.Turn.Provider = cmp.Or(m.Turn.Provider, reply.Block.Provider)
	}
	if reply.Run != nil {
		m.Turn.RunID = reply.Run.ID
	}
	if by := reply.By; by != nil {
		m.Turn.Preferred, m.Turn.Because = by.Preferred, by.Reason
		if by.Stopped {
			m.Turn.Outcome = credit.OutcomeStopped
		}
	}
	if m.Turn.Outcome == credit.OutcomeBlocked {
		m.log.InfoContext(ctx, "turn.blocked", "turn_id", m.Turn.ID, "chat_id", m.Turn.ChatID, "reason", m.Turn.Reason, "provider", m.Turn.Provider)
	}
	var writes sync.WaitGroup // each logs its own failure
	writes.Go(func() { m.count(ctx, reply, err) })
	writes.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		if err := m.Credit.Settle(ctx, m.Hold, m.Turn); err != nil {
			m.log.ErrorContext(ctx, "turn.unsettled", "turn_id", m.Turn.ID, "micros", m.Turn.Micros, "tokens", m.Turn.Charged, "error", err)
		}
	})
	writes.Wait()
}

// settleTime bounds the time for settling.
const settleTime = 3 * time.Second
