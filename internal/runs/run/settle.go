package run

import (
	"context"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// CauseThrottled is the cause of a run for which Lambda had no room for hours. Nothing is undone for it, and an undo that
// waited as long is given up too: more calls would meet the same.
const CauseThrottled = "Lambda.Throttled"

// Settle decides how a run ends when its execution cannot go on: it reports true when effects are left to be undone, and
// otherwise ends the run and returns it. cause is the reason why the execution cannot go on, empty when every reversible
// effect was undone. A run that ended is not changed.
//
// An undo that was begun, and that no invocation could end, is ended here, because it must not keep
// older effects from being undone.
func (s *Service) Settle(ctx context.Context, k Key, cause string) (ended plan.Run, undoing bool, err error) {
	if cause != "" && cause != CauseThrottled {
		if err := s.abandonUndo(ctx, k); err != nil {
			return ended, false, err
		}
	}
	undos, err := s.Undo(ctx, k, cause)
	if err != nil || len(undos) > 0 {
		return ended, len(undos) > 0, err
	}
	ended, err = s.Finish(ctx, k, cause)
	return ended, false, err
}

// abandonUndo ends the undo that was begun, if there is one.
func (s *Service) abandonUndo(ctx context.Context, k Key) error {
	return s.decide(ctx, k, func(r plan.Run, chat conversation.Chat) error {
		if !r.Status.Active() || r.UndoAt == nil {
			return nil
		}
		for _, id := range r.Undos() {
			st := r.State(id)
			if st.Status.Terminal() || st.Attempts == 0 {
				continue
			}
			at := s.Now()
			st.Status, st.Error = closing{r, at}.status(st)
			st.Last.Open, st.UpdatedAt = false, at
			step, _ := r.Plan.Step(id)
			position, n := r.Plan.Place(id), len(r.Plan.Steps)
			kind, text := plan.EventStepFailed, locale.Say("step.undo_failed", "at", position, "n", n, "title", step.Title, "reason", st.Error.Message)
			if st.Status == plan.StepInDoubt {
				kind, text = plan.EventStepDoubt, locale.Say("step.undo_doubt", "at", position, "n", n, "title", step.Title, "reason", st.Error.Message)
			}
			rec := Record{At: at, Type: kind, StepID: id, Data: map[string]any{"attempt": st.Attempts, "title": step.Title, "error": st.Error}}
			if chat.ID != "" {
				rec.Messages = []conversation.Message{s.message(r, conversation.KindProgress, at, text)}
			}
			_, err := s.Runs.MoveRun(ctx, r, Move{Record: rec, State: &st})
			return err
		}
		return nil
	})
}
