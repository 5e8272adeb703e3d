package run

import (
	"context"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// maxNote is the greatest length, in characters, of a person's note or reason.
const maxNote = 500

// Cancel discards a draft, ends a queued run, or asks a running one to stop before its next step. A
// run that waits is resumed at once, so that it ends. A second request has no further effect, and a
// run that is already undoing continues to do so.
func (s *Service) Cancel(ctx context.Context, c Cancellation) (Decision, error) {
	c.Reason = clip.Runes(clip.Line(c.Reason), maxNote)
	var d Decision
	asked := false
	err := s.decide(ctx, Key{c.Account, c.RunID}, func(r plan.Run, chat conversation.Chat) error {
		at := s.Now()
		asked = false
		switch {
		case r.Status == plan.Draft && c.Digest != "" && c.Digest != r.Digest:
			return plan.ErrStale
		case r.StatusAt(at) == plan.Expired:
			return plan.ErrExpired
		case r.Status.Active() && c.DraftOnly:
			return plan.ErrAlreadyRunning
		case r.Status == plan.Draft:
			return s.discard(ctx, r, chat, c, &d)
		case r.Status == plan.Queued:
			return s.endQueued(ctx, r, chat, c, &d)
		case r.Status.Active() && (r.CancelAt != nil || r.UndoAt != nil):
			key := "run.stopping"
			if r.UndoAt != nil {
				key = "run.undoing_already"
			}
			d = Decision{Run: r, Chat: chat, Message: Message(s.IDs, r, conversation.KindProgress, at, c.Locale, locale.Say(key))}
			asked = r.CancelAt != nil
			return nil
		case r.Status.Active():
			asked = true
			return s.stop(ctx, r, chat, c, at, &d)
		}
		return plan.ErrNotPending
	})
	if err == nil && asked {
		if _, err := wake(ctx, s.Executions, d.Run, s.Now()); err != nil {
			s.Log.WarnContext(ctx, "run.wake_deferred", "run_id", c.RunID, "error", err)
		}
	}
	return d, err
}

// answer returns the message about the cancellation, with Also at its end.
func (c Cancellation) answer(ids *ids.Source, r plan.Run, kind conversation.Kind, at time.Time, text locale.Phrase) conversation.Message {
	return Message(ids, r, kind, at, c.Locale, locale.Joined{Phrases: []locale.Phrase{text, c.Also}, Between: " "})
}

// eventData returns the data of the cancellation's event.
func (c Cancellation) eventData() map[string]any {
	data := map[string]any{"by": c.User}
	if c.Reason != "" {
		data["reason"] = c.Reason
	}
	return data
}

func (s *Service) discard(ctx context.Context, r plan.Run, chat conversation.Chat, c Cancellation, d *Decision) error {
	at := s.Now()
	text := locale.Say("turn.cancelled")
	if c.Reason != "" {
		text = locale.Say("run.rejected", "reason", c.Reason)
	}
	typed := s.typedMessage(c.User, c.Typed, at) // first, because it must stand before the answer
	answer := c.answer(s.IDs, r, conversation.KindNotice, at, text)
	r.Reason = c.Reason
	gone, err := s.Runs.Discard(ctx, r, chat, plan.Cancelled, Record{
		At: at, Type: plan.EventCancelled, Data: c.eventData(), Messages: append(typed, answer),
	})
	if chat.PendingRunID == r.ID {
		chat.PendingRunID, chat.UpdatedAt = "", at
	}
	*d = Decision{Run: gone, Chat: chat, Message: answer}
	return err
}

func (s *Service) endQueued(ctx context.Context, r plan.Run, chat conversation.Chat, c Cancellation, d *Decision) error {
	closed := closing{r, s.Now()}.states()
	ended, message, err := s.finish(ctx, ending{
		run: r, closed: closed, chat: chat, to: plan.Cancelled, data: c.eventData(), before: s.typedMessage(c.User, c.Typed, s.Now()),
	})
	*d = Decision{Run: ended, Chat: releaseChat(chat, ended), Message: message}
	return err
}

func (s *Service) stop(ctx context.Context, r plan.Run, chat conversation.Chat, c Cancellation, at time.Time, d *Decision) error {
	typed := s.typedMessage(c.User, c.Typed, at) // first, because it must stand before the answer
	answer := c.answer(s.IDs, r, conversation.KindProgress, at, locale.Say("run.stopping"))
	stopping, err := s.Runs.RequestCancel(ctx, r, at.Add(startGrace), Record{
		At: at, Type: plan.EventStopping, Data: c.eventData(), Messages: append(typed, answer),
	})
	*d = Decision{Run: stopping, Chat: chat, Message: answer}
	return err
}

// releaseChat returns the chat of a run that ended, without it as active run.
func releaseChat(chat conversation.Chat, r plan.Run) conversation.Chat {
	if chat.ActiveRunID == r.ID {
		at := r.UpdatedAt
		chat.ActiveRunID, chat.LastRunID, chat.LastRunStatus, chat.LastRunTS = "", r.ID, string(r.Status), &at
		chat.UpdatedAt = at
	}
	return chat
}
