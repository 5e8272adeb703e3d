package run

import (
	"context"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Approval is one person's answer to a step that waits for approval.
type Approval struct {
	Account    ids.Account
	User       string
	MayApprove bool // the user has the scope approve
	RunID      string
	StepID     plan.EffectID // may be zero while only one step of the run has ever waited
	Digest     plan.Digest   // optional: the approval is refused when the run has another digest
	Request    string        // digest of the request that the person saw: plan.RequestHash
	Refuse     bool
	Note       string
}

// Approve records a person's decision on a waiting step, once, and resumes the execution. When the
// execution cannot be resumed now, the sweep resumes it.
//
// It returns plan.ErrRunNotFound, plan.ErrStepNotFound, plan.ErrNotWaiting (no approval is open, it
// was already decided, or the run is stopping), plan.ErrApprovalOver, plan.ErrStale, OtherRequest when
// another request waits than the one that the person saw, and plan.ErrInvalid when Request is empty, or when
// several steps wait, or waited, and StepID is zero. If the approval must come from another person, it also
// returns auth.ErrScope and plan.ErrSelfApproval. A refusal needs no scope of its own, because every user of
// the chat may also stop the run.
func (s *Service) Approve(ctx context.Context, a Approval) (Decision, error) {
	if a.Request == "" {
		return Decision{}, plan.ErrInvalid.At(fault.Field{Loc: []any{"body", "request_digest"}, Type: "missing", Msg: "name the request that was shown"})
	}
	a.Note = clip.Runes(clip.Line(a.Note), maxNote)
	d, err := s.approve(ctx, &a, false)
	if err != nil && fault.KindOf(err) == fault.Internal {
		// The write may have succeeded although its response was lost: read again.
		if again, lookErr := s.approve(ctx, &a, true); lookErr == nil {
			d, err = again, nil
		}
	}
	if err != nil {
		return Decision{}, err
	}
	if _, err := wake(ctx, s.Executions, d.Run, s.Now()); err != nil {
		s.Log.WarnContext(ctx, "run.wake_deferred", "run_id", a.RunID, "error", err)
	}
	return d, nil
}

// OtherRequest refuses a decision about another request than the one that waits in a step now.
type OtherRequest struct {
	StepID  plan.EffectID
	Present plan.Approval
}

// Error implements error.
func (o *OtherRequest) Error() string { return plan.ErrOtherRequest.Error() }

// Unwrap returns plan.ErrOtherRequest.
func (o *OtherRequest) Unwrap() error { return plan.ErrOtherRequest }

// approve makes one attempt of a decision. If retried is set, an equal decision of the same user
// counts as this one, because the response to the first write was lost.
func (s *Service) approve(ctx context.Context, a *Approval, retried bool) (Decision, error) {
	var d Decision
	err := s.decide(ctx, Key{a.Account, a.RunID}, func(r plan.Run, chat conversation.Chat) error {
		st, err := waitingStep(r, a.StepID)
		if err != nil {
			return err
		}
		a.StepID = st.StepID
		at := s.Now()
		step, _ := r.Plan.Step(st.StepID)
		text := a.text(step)
		if retried && st.Approval != nil && st.Approval.Decision == a.decision() && st.Approval.By == a.User && st.Approval.Request == a.Request {
			d = Decision{Run: r, Chat: chat, Message: s.message(r, conversation.KindProgress, at, text)}
			return nil
		}
		if err := a.check(ctx, s.Runs, r, chat, st, at); err != nil {
			return err
		}
		asked := *st.Approval
		asked.Decision, asked.By, asked.Note, asked.At = a.decision(), a.User, a.Note, at
		st.Approval, st.Status, st.UpdatedAt = &asked, plan.StepPending, at
		rec := Record{
			At: at, Type: plan.EventStepApproved, StepID: st.StepID,
			Data: map[string]any{"by": a.User, "note": a.Note, "request": asked.Request},
		}
		var refused [][]string
		if a.Refuse {
			rec.Type = plan.EventStepRefused
			if refused, err = r.Plan.RequestsOf(st); err != nil {
				return err
			}
		}
		answer := s.message(r, conversation.KindProgress, at, text)
		if chat.ID != "" {
			rec.Messages = []conversation.Message{answer}
		} else {
			refused = nil // nobody could read it
		}
		decided, err := s.Runs.MoveRun(ctx, r, Move{Record: rec, State: &st, Decided: at, Refused: refused, Due: at.Add(startGrace)})
		d = Decision{Run: decided, Chat: chat, Message: answer}
		return err
	})
	return d, err
}

func (a Approval) decision() plan.Decision {
	if a.Refuse {
		return plan.Refused
	}
	return plan.Approved
}

// text returns the sentence about the decision.
func (a Approval) text(step plan.Step) locale.Phrase {
	key := "run.approved"
	if a.Refuse {
		key = "run.refused"
	}
	return withNote(locale.Say(key, "by", clip.Line(a.User), "title", step.Title), a.Note)
}

// withNote appends a person's note to a sentence.
func withNote(text locale.Phrase, note string) locale.Phrase {
	if note == "" {
		return text
	}
	return locale.Say("run.noted", "text", text, "note", note)
}

// waitingStep returns the step with the given id, or the only step that ever waited. After a second
// step has waited, the id is required: a repeated request for the first step must not approve the
// second.
func waitingStep(r plan.Run, id plan.EffectID) (plan.StepState, error) {
	if !id.IsZero() {
		if _, ok := r.Plan.Step(id); !ok {
			return plan.StepState{}, plan.ErrStepNotFound
		}
		return r.State(id), nil
	}
	var found plan.StepState
	waits, asked := 0, 0
	for _, st := range r.Steps {
		if st.Approval != nil {
			asked++
		}
		if st.Status == plan.StepWaiting {
			found, waits = st, waits+1
		}
	}
	switch {
	case waits == 0:
		return plan.StepState{}, plan.ErrNotWaiting
	case asked == 1:
		return found, nil
	}
	return plan.StepState{}, plan.ErrInvalid.At(fault.Field{Loc: []any{"body", "step_id"}, Type: "missing", Msg: "more than one step waits, or waited: say which"})
}

// check returns the reason why a user may not decide on a step, or nil. A user who changed
// the draft, or for whom a session acted, is an owner of the run and counts as the same person.
func (a Approval) check(ctx context.Context, of plan.RevisionReader, r plan.Run, chat conversation.Chat, st plan.StepState, now time.Time) error {
	asked := st.Approval
	switch {
	case asked == nil || asked.Decision != "":
		return plan.ErrNotWaiting
	case !asked.Open(now):
		return plan.ErrApprovalOver
	case r.Status != plan.Waiting, st.Status != plan.StepWaiting, r.CancelAt != nil, r.UndoAt != nil:
		return plan.ErrNotWaiting
	case a.Digest != "" && a.Digest != r.Digest:
		return plan.ErrStale
	case a.Request != asked.Request:
		return &OtherRequest{st.StepID, *asked}
	case a.Refuse || !asked.Another:
		return nil
	case !a.MayApprove:
		return auth.ErrScope
	case plan.SamePerson(a.User, chat.UserID):
		return plan.ErrSelfApproval
	}
	revisions, err := of.Revisions(ctx, r)
	if err != nil {
		return err
	}
	if r.Own(a.User, revisions) {
		return plan.ErrSelfApproval
	}
	return nil
}
