package turn

import (
	"context"
	"errors"
	"sync"
	"time"

	"piloto/internal/chats/ask"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/live/realtime"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/paid"
)

// exchange is the data that every answer of a model has, of a turn, a round of a job or a conclusion.
type exchange struct {
	req     Request
	chat    conversation.Chat
	began   time.Time
	sources []conversation.Source // the reads that were made for the answer
	query   ask.Query             // the request to the model
	calls   *paid.Calls           // of the model
	count   counter               // counts the turn; nil: it is none

	automation eligibility.Automation // of the chat, by its settings
	block      *eligibility.Block     // why no model may be asked; nil: one may
}

// counter counts a turn by its outcome.
type counter func(ctx context.Context, reply Reply, err error)

func (s *Service) exchange(req Request, chat conversation.Chat) exchange {
	calls := s.Paid.New(req.Principal.Account)
	calls.Session = locale.Text(req.Locale, "credit.session_for_turn")
	return exchange{req: req, chat: chat, query: ask.Query{Locale: req.Locale, Log: s.Log}, calls: calls}
}

// stream starts the stream of an answer. The returned context is cancelled when a person stops it. The caller must call End.
func (x *exchange) stream(ctx context.Context, s *Service) (context.Context, *ask.Stream) {
	account, chat := x.req.Principal.Account, x.chat.ID
	w := &ask.Stream{Tell: s.Tell, Account: account, Answer: realtime.Answer{ChatID: chat, Turn: x.calls.Turn.ID}, Since: x.began, Stops: func(ctx context.Context) (time.Time, error) {
		return s.Answers.StopAsked(ctx, conversation.Key{Account: account, ChatID: chat})
	}}
	return w.Start(ctx), w
}

// record returns a new record of usage. source names the purpose of calls that are not for the answer of a turn.
func (s *Service) record(req Request, chat conversation.Chat, source string) credit.Turn {
	at := s.Now()
	return credit.Turn{ID: s.IDs.New(at), At: at, User: req.Principal.User, ChatID: chat.ID, ProjectID: chat.ProjectID, Source: source}
}

// settle settles calls with the outcome of their answer, and counts the turn, once. When that fails, the answer stays, and
// the sweep releases the hold.
func (s *Service) settle(ctx context.Context, calls *paid.Calls, count counter, reply Reply, err error) {
	if !calls.IsOpen() {
		return
	}
	t := &calls.Turn
	t.Outcome = string(reply.Kind)
	switch {
	case err != nil:
		t.Outcome = credit.OutcomeFailed
	case reply.Block != nil:
		calls.Block(reply.Block)
	}
	if reply.Run != nil {
		t.RunID = reply.Run.ID
	}
	if reply.By != nil && reply.By.Stopped {
		t.Outcome = credit.OutcomeStopped
	}
	if t.Outcome == credit.OutcomeBlocked {
		s.Log.InfoContext(ctx, "turn.blocked", "turn_id", t.ID, "chat_id", t.ChatID, "reason", t.Reason, "provider", t.Provider)
	}
	var writes sync.WaitGroup // each logs its own failure
	if count != nil {
		writes.Go(func() { count(ctx, reply, err) })
	}
	if err := calls.Settle(ctx); err != nil {
		s.Log.ErrorContext(ctx, "turn.unsettled", "turn_id", t.ID, "micros", t.Micros, "tokens", t.Charged, "error", err)
	}
	writes.Wait()
}

// blockedReply returns the reply of a turn in which no model answered: it is blocked, or an
// internal error occurred.
func (s *Service) blockedReply(ctx context.Context, x *exchange, err error) (Reply, error) {
	ctx = context.WithoutCancel(ctx)
	if blocked, ok := errors.AsType[paid.Blocked](err); ok {
		return s.thread().storeBlock(ctx, x.req, x.chat, blocked.Block, x.sources...)
	}
	s.Log.ErrorContext(ctx, "turn.failed", "chat_id", x.chat.ID, "error", err)
	return s.thread().storeBlock(ctx, x.req, x.chat, eligibility.Refuse(eligibility.InternalError, ""), x.sources...)
}

// writtenBy returns the model that answers.
func writtenBy(x *exchange) *conversation.By {
	by := &conversation.By{Agent: x.chat.Agent, Provider: x.calls.Use.Provider, Model: x.calls.Use.Model}
	if swap := x.calls.Use.Swap; swap != nil {
		by.Preferred, by.Reason = swap.Preferred, string(swap.Reason)
	}
	return by
}
