package run

import (
	"context"
	"errors"

	"piloto/internal/conversation"
	"piloto/internal/fault"
	"piloto/internal/locale"
	"piloto/internal/plan"
)

// Confirmation is one person's yes to exactly one plan.
type Confirmation struct {
	Account string
	User    string
	RunID   string
	Digest  plan.Digest
	Key     string // Idempotency-Key, optional: the same key gets the same answer
	Typed   string // the message that confirmed, when it was typed; it is stored in the same write
	Locale  locale.Tag
	TraceID string
}

// Cancellation is one person's no to a draft, or a stop to a run.
type Cancellation struct {
	Account string
	User    string
	RunID   string
	Digest  plan.Digest // optional: refuse when the draft is another
	Typed   string
	Locale  locale.Tag
}

// Confirm moves a draft to queued, once, and only as it was seen, and starts
// its execution. When the start fails the run stays queued, and the sweep starts
// it: what was confirmed runs.
//
// It returns plan.ErrStale when the plan, or what it is bound to, is not what
// was seen; plan.ErrExpired, plan.ErrAlreadyRunning, plan.ErrNotPending or
// plan.ErrRunNotFound when there is nothing to confirm; and changes nothing then.
func (s *Service) Confirm(ctx context.Context, c Confirmation) (Decision, error) {
	by := c.User + "/" + c.Key
	if c.Key == "" {
		by = c.User + "~" + s.IDs.New(s.Now())
	}
	d, err := s.confirm(ctx, c, by)
	if err != nil && fault.KindOf(err) == fault.Internal {
		// The write may have arrived although its answer did not: look.
		if again, lookErr := s.confirm(ctx, c, by); lookErr == nil {
			d, err = again, nil
		}
	}
	if err != nil {
		return Decision{}, err
	}
	if d.Run.Status == plan.Queued {
		if err := s.Executions.StartExecution(ctx, c.Account, c.RunID); err != nil {
			s.Log.WarnContext(ctx, "run.start_deferred", "run_id", c.RunID, "error", err)
		}
	}
	return d, nil
}

func (s *Service) confirm(ctx context.Context, c Confirmation, by string) (Decision, error) {
	var d Decision
	err := s.decide(ctx, c.Account, c.RunID, func(r plan.Run, chat conversation.Chat) error {
		at := s.Now()
		if r.ConfirmBy == by && r.Digest == c.Digest {
			d = Decision{Run: r, Chat: chat, Message: s.message(r, conversation.KindProgress, at, locale.Text(c.Locale, "turn.confirmed"))}
			return nil
		}
		if err := s.confirmable(ctx, r, chat, c); err != nil {
			return err
		}
		said := s.said(c.Typed, at)
		answer := s.message(r, conversation.KindProgress, at, locale.Text(c.Locale, "turn.confirmed"))
		queued, err := s.Store.Confirm(ctx, r, chat, by, c.User, at.Add(startGrace), Record{
			At: at, Type: plan.EventConfirmed,
			Data:     map[string]any{"by": c.User, "digest": r.Digest, "trace_id": c.TraceID},
			Messages: append(said, answer),
		})
		if err != nil {
			return err
		}
		chat.PendingRunID, chat.ActiveRunID, chat.UpdatedAt = "", r.ID, at
		d = Decision{Run: queued, Chat: chat, Message: answer}
		return nil
	})
	return d, err
}

// confirmable says why a run may not be confirmed, or nil.
func (s *Service) confirmable(ctx context.Context, r plan.Run, chat conversation.Chat, c Confirmation) error {
	switch {
	case r.Status == plan.Expired:
		return plan.ErrExpired
	case r.Status == plan.Superseded:
		return plan.ErrStale
	case r.Status.Active():
		return plan.ErrAlreadyRunning
	case r.Status != plan.Draft:
		return plan.ErrNotPending
	case !s.Now().Before(r.Plan.ExpiresAt):
		return plan.ErrExpired
	case c.Digest != r.Digest:
		return plan.ErrStale
	case chat.ActiveRunID == r.ID: // the run was read before somebody confirmed it, and the chat after
		return plan.ErrMoved
	case chat.ActiveRunID != "":
		return plan.ErrAlreadyRunning
	case chat.PendingRunID != r.ID:
		return plan.ErrStale
	}
	if digest, err := r.Plan.Digest(); err != nil || digest != r.Digest {
		return plan.ErrStale.With("changed", locale.Text(c.Locale, "step.plan_changed"))
	}
	now := newSnapshot(s.Catalogue)
	for _, step := range r.Plan.Steps {
		if _, _, err := Bound(ctx, now, r, step); err != nil {
			var f *fault.Error
			if errors.As(err, &f) && f.Kind != fault.Internal {
				return plan.ErrStale.With("changed", locale.Fill(c.Locale, f.Code, f.Args))
			}
			return err
		}
	}
	return nil
}

// Cancel drops a draft, ends a queued run, or asks a running one to stop
// before its next step. Asking twice is asking once.
func (s *Service) Cancel(ctx context.Context, c Cancellation) (Decision, error) {
	var d Decision
	err := s.decide(ctx, c.Account, c.RunID, func(r plan.Run, chat conversation.Chat) error {
		at := s.Now()
		said := s.said(c.Typed, at)
		data := map[string]any{"by": c.User}
		switch {
		case r.Status == plan.Draft && c.Digest != "" && c.Digest != r.Digest:
			return plan.ErrStale
		case r.Status == plan.Draft && !at.Before(r.Plan.ExpiresAt), r.Status == plan.Expired:
			return plan.ErrExpired
		case r.Status == plan.Draft:
			return s.discard(ctx, r, chat, said, c, &d)
		case r.Status == plan.Queued:
			ended, message, err := s.finish(ctx, closeSteps(r, s.closed), chat, plan.Cancelled, nil, data, said)
			d = Decision{Run: ended, Chat: freed(chat, ended), Message: message}
			return err
		case r.Status.Active() && r.CancelAt != nil:
			d = Decision{Run: r, Chat: chat, Message: s.message(r, conversation.KindProgress, at, locale.Text(c.Locale, "run.stopping"))}
			return nil
		case r.Status.Active():
			answer := s.message(r, conversation.KindProgress, at, locale.Text(c.Locale, "run.stopping"))
			stopping, err := s.Store.RequestCancel(ctx, r, Record{
				At: at, Type: plan.EventStopping, Data: data, Messages: append(said, answer),
			})
			d = Decision{Run: stopping, Chat: chat, Message: answer}
			return err
		}
		return plan.ErrNotPending
	})
	return d, err
}

func (s *Service) discard(ctx context.Context, r plan.Run, chat conversation.Chat, said []conversation.Message, c Cancellation, d *Decision) error {
	at := s.Now()
	answer := s.message(r, conversation.KindNotice, at, locale.Text(c.Locale, "turn.cancelled"))
	gone, err := s.Store.Discard(ctx, r, chat, plan.Cancelled, Record{
		At: at, Type: plan.EventCancelled, Data: map[string]any{"by": c.User}, Messages: append(said, answer),
	})
	if chat.PendingRunID == r.ID {
		chat.PendingRunID, chat.UpdatedAt = "", at
	}
	*d = Decision{Run: gone, Chat: chat, Message: answer}
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
