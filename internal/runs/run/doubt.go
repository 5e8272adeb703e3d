package run

import (
	"context"
	"slices"

	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// ErrUnresolved means that a step in doubt is still unresolved; the argument "step" names it.
var ErrUnresolved = fault.New(fault.Conflict, "run.unsettled")

// Resolution is a person's verdict on a step in doubt.
type Resolution struct {
	Account ids.Account
	User    string
	RunID   string
	StepID  plan.EffectID // a step, an element of one, or an undo; a whole step stands for all its elements
	Outcome plan.Outcome
	Note    string
	Locale  locale.Tag
	TraceID string
}

// Resolve records a person's verdict on a step in doubt, once. The run keeps its final status, in
// doubt. With plan.OutcomeRetry, and if nothing else in the run is in doubt, it then returns a
// draft that continues the run, as Retry does. Otherwise it returns the run.
//
// It returns plan.ErrRunNotFound, plan.ErrStepNotFound, plan.ErrAlreadyRunning while the run is
// active, plan.ErrNotInDoubt (also when the step is already resolved), plan.ErrInvalid for an
// unknown outcome or for retry of an undo, and the errors of Retry.
func (s *Service) Resolve(ctx context.Context, c Resolution) (Decision, error) {
	c.Note = clip.Runes(clip.Line(c.Note), maxNote)
	if !slices.Contains([]plan.Outcome{plan.OutcomeDone, plan.OutcomeNotDone, plan.OutcomeRetry}, c.Outcome) {
		return Decision{}, plan.ErrInvalid.At(fault.Field{Loc: []any{"body", "outcome"}, Type: "enum", Msg: "is done, not_done or retry"})
	}
	var d Decision
	resolved := map[plan.EffectID]bool{}
	for more := true; more; {
		err := s.decide(ctx, Key{c.Account, c.RunID}, func(r plan.Run, chat conversation.Chat) error {
			left, err := c.stepsInDoubt(r, resolved)
			if err != nil || len(left) == 0 {
				more = false
				return err
			}
			d, err = s.resolveStep(ctx, r, chat, r.State(left[0]), c)
			if err == nil {
				resolved[left[0]] = true
			}
			return err
		})
		if err != nil {
			return Decision{}, err
		}
	}
	if c.Outcome != plan.OutcomeRetry || len(d.Run.Doubts()) > 0 {
		return d, nil
	}
	return s.Retry(ctx, Again{Account: c.Account, User: c.User, RunID: c.RunID, Locale: c.Locale, TraceID: c.TraceID})
}

// stepsInDoubt returns the ids of the steps that are still to be resolved.
func (c Resolution) stepsInDoubt(r plan.Run, resolved map[plan.EffectID]bool) ([]plan.EffectID, error) {
	step, ok := r.Plan.Step(c.StepID)
	switch {
	case !ok:
		return nil, plan.ErrStepNotFound
	case c.Outcome == plan.OutcomeRetry && c.StepID.Undo(): // a retry continues a run and undoes none of its effects
		return nil, plan.ErrInvalid.At(fault.Field{Loc: []any{"body", "outcome"}, Type: "enum", Msg: "an undo is not tried again: it is done or not_done"})
	case r.Status.Active():
		return nil, plan.ErrAlreadyRunning
	}
	var left []plan.EffectID
	for _, st := range r.Steps {
		mine := st.StepID == c.StepID
		if step.ForEach != "" {
			mine = st.StepID.Item() >= 0 && st.StepID == plan.ItemOf(c.StepID, st.StepID.Item())
		}
		if mine && st.Status == plan.StepInDoubt && st.Resolved == nil {
			left = append(left, st.StepID)
		}
	}
	if len(left) == 0 && len(resolved) == 0 {
		return nil, plan.ErrNotInDoubt
	}
	return left, nil
}

func (s *Service) resolveStep(ctx context.Context, r plan.Run, chat conversation.Chat, st plan.StepState, c Resolution) (Decision, error) {
	at := s.Now()
	step, _ := r.Plan.Step(st.StepID)
	st.Resolved = &plan.Resolution{Outcome: c.Outcome, By: c.User, Note: c.Note, At: at}
	text := withNote(locale.Say("run.resolved_"+string(c.Outcome), "by", clip.Line(c.User), "title", step.Title), c.Note)
	answer := s.message(r, conversation.KindProgress, at, text)
	rec := Record{
		At: at, Type: plan.EventStepResolved, StepID: st.StepID,
		Data: map[string]any{"by": c.User, "outcome": c.Outcome, "note": c.Note},
	}
	if chat.ID != "" {
		rec.Messages = []conversation.Message{answer}
	}
	next, err := s.Runs.MoveRun(ctx, r, Move{Record: rec, State: &st})
	return Decision{Run: next, Chat: chat, Message: answer}, err
}
