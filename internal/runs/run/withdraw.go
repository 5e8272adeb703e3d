package run

import (
	"context"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Retraction is a model's request to withdraw a draft that it was shown.
type Retraction struct {
	Account ids.Account
	RunID   string
	Digest  plan.Digest // of the draft as the model read it
	As      plan.Withdrawal
	Locale  locale.Tag
}

// Withdraw withdraws a draft, if it still waits as the model read it. It is no decision of a person: the event and the run
// record the model, its reason and the message that it answers, and the chat does not remember it as a refusal.
//
// It returns plan.ErrStale when the draft was changed or replaced, plan.ErrAlreadyRunning when it was confirmed, plan.ErrExpired,
// plan.ErrNotPending when it ended otherwise, and plan.ErrRunNotFound. An error changes nothing.
func (s *Service) Withdraw(ctx context.Context, t Retraction) (Decision, error) {
	var d Decision
	err := s.decide(ctx, Key{t.Account, t.RunID}, func(r plan.Run, chat conversation.Chat) error {
		if r.Withdrawn != nil && r.Withdrawn.Message == t.As.Message { // by an earlier attempt, whose answer was lost
			d = Decision{Run: r, Chat: chat, Message: t.message(s.IDs, r, s.Now())}
			return nil
		}
		if err := t.check(r, s.Now()); err != nil {
			return err
		}
		r.Withdrawn = &t.As
		message := t.message(s.IDs, r, s.Now())
		gone, err := s.Runs.Discard(ctx, r, chat, plan.Cancelled, Record{
			At: message.At, Type: plan.EventCancelled, Data: t.As.Data(), Messages: []conversation.Message{message},
		})
		chat.PendingRunID, chat.UpdatedAt = "", message.At
		d = Decision{Run: gone, Chat: chat, Message: message}
		return err
	})
	return d, err
}

// check returns the reason why a draft may not be withdrawn, or nil.
func (t Retraction) check(r plan.Run, now time.Time) error {
	switch {
	case r.StatusAt(now) == plan.Expired:
		return plan.ErrExpired
	case r.Status.Active():
		return plan.ErrAlreadyRunning
	case r.Status == plan.Superseded:
		return plan.ErrStale
	case r.Status != plan.Draft:
		return plan.ErrNotPending
	case r.Digest != t.Digest:
		return plan.ErrStale
	}
	return nil
}

// message returns the line of the chat that names a withdrawn plan, and the reason.
func (t Retraction) message(ids *ids.Source, r plan.Run, at time.Time) conversation.Message {
	m := Message(ids, r, conversation.KindNotice, at, t.Locale, locale.Say("turn.withdrawn", "goal", Quotable(r.Plan.Goal), "reason", quoted(t.As.Reason)))
	m.Role = conversation.RoleSystem
	return m
}
