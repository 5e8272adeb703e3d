package run

import (
	"context"
	"slices"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Undo marks that a run is being undone, and returns the ids of the undos that have not ended, the
// newest effect first. A repeated call returns those that are left.
//
// Only a run that failed (cause is the reason why its execution ended) or was asked to stop is
// undone. It is not undone while one of its changes is in doubt or in flight, because the data that
// this change depends on must stay until the outcome is known. Effects of an earlier run whose
// results this run reuses are not undone.
func (s *Service) Undo(ctx context.Context, k Key, cause string) ([]plan.EffectID, error) {
	var left []plan.EffectID
	err := s.decideRun(ctx, k, func(r plan.Run) error {
		left = []plan.EffectID{}
		if !r.Status.Active() || r.Status == plan.Queued || !isStopped(r, cause) || hasUncertainChange(r) {
			return nil
		}
		if cause == CauseThrottled && r.UndoAt != nil {
			return nil
		}
		for _, id := range r.Undos() {
			if !r.State(id).Status.Terminal() {
				left = append(left, id)
			}
		}
		if len(left) == 0 || r.UndoAt != nil {
			return nil
		}
		chat, err := s.chatOf(ctx, r)
		if err != nil {
			return err
		}
		at := s.Now()
		rec := Record{At: at, Type: plan.EventUndoing, Data: map[string]any{"undos": left}}
		if chat.ID != "" {
			text := locale.Say("run.undoing", "goal", r.Plan.Goal, "n", len(left))
			rec.Messages = []conversation.Message{s.message(r, conversation.KindProgress, at, text)}
		}
		_, err = s.Runs.BeginUndo(ctx, r, rec)
		return err
	})
	return left, err
}

// isStopped reports whether a run failed or was asked to stop.
func isStopped(r plan.Run, cause string) bool {
	return cause != "" && cause != CauseThrottled || r.CancelAt != nil || r.UndoAt != nil || slices.ContainsFunc(r.Steps, func(st plan.StepState) bool {
		return st.Status == plan.StepFailed && !st.StepID.Undo()
	})
}

// hasUncertainChange reports whether the outcome of a change is unknown.
func hasUncertainChange(r plan.Run) bool {
	return slices.ContainsFunc(r.Steps, func(st plan.StepState) bool {
		step, ok := r.Plan.Step(st.StepID)
		if !ok || st.StepID.Undo() {
			return false
		}
		unknown := st.Last.Open || st.Lost && !st.Status.Terminal()
		return st.Status == plan.StepInDoubt || unknown && step.Risk != plan.Read
	})
}
