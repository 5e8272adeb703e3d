package run

import (
	"context"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// maxSaid bounds, in characters, what a person writes beside a decision.
const maxSaid = 500

// Cancel drops a draft, ends a queued run, or asks a running one to stop
// before its next step; one that waits goes on at once, to its end. Asking twice is
// asking once, and a run that already undoes what it did goes on undoing.
func (s *Service) Cancel(ctx context.Context, c Cancellation) (Decision, error) {
	c.Reason = short(c.Reason)
	var d Decision
	asked := false
	err := s.decide(ctx, c.Account, c.RunID, func(r plan.Run, chat conversation.Chat) error {
		at := s.Now()
		asked = false
		switch {
		case r.Status == plan.Draft && c.Digest != "" && c.Digest != r.Digest:
			return plan.ErrStale
		case r.Status == plan.Draft && !at.Before(r.Plan.ExpiresAt), r.Status == plan.Expired:
			return plan.ErrExpired
		case r.Status == plan.Draft:
			return s.discard(ctx, r, chat, c, &d)
		case r.Status == plan.Queued:
			return s.endQueued(ctx, r, chat, c, &d)
		case r.Status.Active() && (r.CancelAt != nil || r.UndoAt != nil):
			key := "run.stopping"
			if r.UndoAt != nil {
				key = "run.undoing_already"
			}
			d = Decision{Run: r, Chat: chat, Message: s.message(r, conversation.KindProgress, at, locale.Text(c.Locale, key))}
			asked = r.CancelAt != nil
			return nil
		case r.Status.Active():
			asked = true
			return s.stop(ctx, r, chat, c, at, &d)
		}
		return plan.ErrNotPending
	})
	if err == nil && asked {
		if _, err := s.wake(ctx, d.Run); err != nil {
			s.Log.WarnContext(ctx, "run.wake_deferred", "run_id", c.RunID, "error", err)
		}
	}
	return d, err
}

// beside adds what else must be said to an answer.
func (c Cancellation) beside(text string) string {
	if c.Also == "" {
		return text
	}
	return text + " " + c.Also
}

// reasoned is what the event of a cancellation says.
func (c Cancellation) reasoned() map[string]any {
	data := map[string]any{"by": c.User}
	if c.Reason != "" {
		data["reason"] = c.Reason
	}
	return data
}

func (s *Service) discard(ctx context.Context, r plan.Run, chat conversation.Chat, c Cancellation, d *Decision) error {
	at := s.Now()
	text := locale.Text(c.Locale, "turn.cancelled")
	if c.Reason != "" {
		text = locale.Text(c.Locale, "run.rejected", "reason", c.Reason)
	}
	said := s.said(c.Typed, at) // first: it stands before what answers it
	answer := s.message(r, conversation.KindNotice, at, c.beside(text))
	r.Reason = c.Reason
	gone, err := s.Store.Discard(ctx, r, chat, plan.Cancelled, Record{
		At: at, Type: plan.EventCancelled, Data: c.reasoned(), Messages: append(said, answer),
	})
	if chat.PendingRunID == r.ID {
		chat.PendingRunID, chat.UpdatedAt = "", at
	}
	*d = Decision{Run: gone, Chat: chat, Message: answer}
	return err
}

func (s *Service) endQueued(ctx context.Context, r plan.Run, chat conversation.Chat, c Cancellation, d *Decision) error {
	closed := s.open(r)
	ended, message, err := s.finish(ctx, ending{
		run: r, closed: closed, chat: chat, to: plan.Cancelled, data: c.reasoned(), before: s.said(c.Typed, s.Now()),
	})
	*d = Decision{Run: ended, Chat: freed(chat, ended), Message: message}
	return err
}

func (s *Service) stop(ctx context.Context, r plan.Run, chat conversation.Chat, c Cancellation, at time.Time, d *Decision) error {
	said := s.said(c.Typed, at) // first: it stands before what answers it
	answer := s.message(r, conversation.KindProgress, at, c.beside(locale.Text(c.Locale, "run.stopping")))
	stopping, err := s.Store.RequestCancel(ctx, r, at.Add(startGrace), Record{
		At: at, Type: plan.EventStopping, Data: c.reasoned(), Messages: append(said, answer),
	})
	*d = Decision{Run: stopping, Chat: chat, Message: answer}
	return err
}

// freed is the chat after a run that held it ended.
func freed(chat conversation.Chat, r plan.Run) conversation.Chat {
	if chat.ActiveRunID == r.ID {
		at := r.UpdatedAt
		chat.ActiveRunID, chat.LastRunID, chat.LastRunStatus, chat.LastRunTS = "", r.ID, string(r.Status), &at
		chat.UpdatedAt = at
	}
	return chat
}

// short is what a person wrote beside a decision, on one line.
func short(text string) string {
	text = plan.Line(text)
	if runes := []rune(text); len(runes) > maxSaid {
		return string(runes[:maxSaid-1]) + "…"
	}
	return text
}
