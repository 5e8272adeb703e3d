package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Confirmation is a person's request to run exactly one plan.
type Confirmation struct {
	Account ids.Account
	User    string
	For     string // the person for whom a chat client's session spoke, if any
	RunID   string
	Digest  plan.Digest
	Key     string // Idempotency-Key, optional: the same key gets the same response
	Typed   string // the text of the message, when the user confirmed by typing; it is stored in the same write
	Locale  locale.Tag
	TraceID string
}

// ConfirmedBy reports whether a request of this user with this key confirmed the run.
func ConfirmedBy(r plan.Run, user, key string) bool {
	return key != "" && r.ConfirmBy == confirmationOf(user, key)
}

func confirmationOf(user, key string) string { return user + "/" + key }

// Cancellation is a person's request to reject a draft or to stop a run.
type Cancellation struct {
	Account ids.Account
	User    string
	RunID   string
	Digest  plan.Digest // optional: the request is refused when the draft has another digest
	Reason  string      // of a rejection, optional: the reason, for the model
	// DraftOnly refuses a run that was confirmed: plan.ErrAlreadyRunning while it is active.
	DraftOnly bool
	Typed     string
	Also      locale.Phrase // an additional sentence of the answer, about another run of the chat; nil for none
	Locale    locale.Tag
}

// Confirm moves a draft to queued, once, if it is the plan that the user saw, and starts its
// execution. When the start fails, the run stays queued and the sweep starts it.
//
// It returns plan.ErrStale when the plan or one of its bindings changed since the user saw it. It
// returns plan.ErrExpired, plan.ErrAlreadyRunning, plan.ErrNotPending or plan.ErrRunNotFound when
// there is nothing to confirm. An error changes nothing.
func (s *Service) Confirm(ctx context.Context, c Confirmation) (Decision, error) {
	by := confirmationOf(c.User, c.Key)
	if c.Key == "" {
		by = c.User + "~" + s.IDs.New(s.Now())
	}
	d, err := s.confirm(ctx, c, by)
	if err != nil && fault.KindOf(err) == fault.Internal {
		// The write may have succeeded although its response was lost: read again.
		if again, lookErr := s.confirm(ctx, c, by); lookErr == nil {
			d, err = again, nil
		}
	}
	if err != nil {
		return Decision{}, err
	}
	if d.Run.Status == plan.Queued {
		if err := s.Executions.StartExecution(ctx, Key{c.Account, c.RunID}); err != nil {
			s.Log.WarnContext(ctx, "run.start_deferred", "run_id", c.RunID, "error", err)
		}
	}
	return d, nil
}

// answer returns the message that the run was confirmed.
func (c Confirmation) answer(ids *ids.Source, r plan.Run, at time.Time) conversation.Message {
	return Message(ids, r, conversation.KindProgress, at, c.Locale, locale.Say("turn.confirmed"))
}

func (s *Service) confirm(ctx context.Context, c Confirmation, by string) (Decision, error) {
	var d Decision
	err := s.decide(ctx, Key{c.Account, c.RunID}, func(r plan.Run, chat conversation.Chat) error {
		at := s.Now()
		if r.ConfirmBy == by && r.Digest == c.Digest {
			d = Decision{Run: r, Chat: chat, Message: c.answer(s.IDs, r, at)}
			return nil
		}
		if err := (confirmable{s.Runs, s.Catalogue, chat, at}).check(ctx, r, c.Digest); err != nil {
			if denied, ok := errors.AsType[*deniedError](err); ok {
				s.noteDenied(ctx, r, denied, c.Locale)
			}
			return err
		}
		if c.For != "" {
			r.Besides = append(slices.Clone(r.Besides), c.For)
		}
		typed := s.typedMessage(c.User, c.Typed, at)
		answer := c.answer(s.IDs, r, at)
		queued, err := s.Runs.Confirm(ctx, r, chat, by, c.User, at.Add(startGrace), Record{
			At: at, Type: plan.EventConfirmed,
			Data:     map[string]any{"by": c.User, "digest": r.Digest, "trace_id": c.TraceID},
			Messages: append(typed, answer),
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
