package run

import (
	"context"
	"slices"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Undo says what of a run is to be undone, the newest first, and marks that it is:
// the names of the undos that have not ended. Called again it says what is left.
//
// Only a run that failed (cause is how its execution ended), or was asked to stop, is
// undone; and not while a change of its is in doubt, or in flight: what it depends on
// must stay as it is until somebody knows. What another run did, and this one has the
// results of, is that run's to undo.
func (s *Service) Undo(ctx context.Context, account, runID, cause string) ([]string, error) {
	var left []string
	err := s.over(ctx, account, runID, func(r plan.Run) error {
		left = []string{}
		if !r.Status.Active() || r.Status == plan.Queued || !stopped(r, cause) || uncertain(r) {
			return nil
		}
		for _, id := range undoable(r) {
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
			text := locale.Text(tagOf(r), "run.undoing", "goal", r.Plan.Goal, "n", count(len(left)))
			rec.Messages = []conversation.Message{s.message(r, conversation.KindProgress, at, text)}
		}
		_, err = s.Store.BeginUndo(ctx, r, rec)
		return err
	})
	return left, err
}

// stopped reports whether a run did not get to its end.
func stopped(r plan.Run, cause string) bool {
	return cause != "" || r.CancelAt != nil || r.UndoAt != nil || slices.ContainsFunc(r.Steps, func(st plan.StepState) bool {
		return st.Status == plan.StepFailed && !plan.ParseEffect(st.StepID).Undo
	})
}

// uncertain reports whether nobody knows of a change whether it was made.
func uncertain(r plan.Run) bool {
	return slices.ContainsFunc(r.Steps, func(st plan.StepState) bool {
		step, ok := r.Plan.Step(st.StepID)
		if !ok || plan.ParseEffect(st.StepID).Undo {
			return false
		}
		unknown := st.Last.Open || st.Lost && !st.Status.Terminal()
		return st.Status == plan.StepInDoubt || unknown && step.Risk != plan.Read
	})
}

// effects are the changes that were made: by steps, or by the elements of those that
// are done for each of a list.
func effects(r plan.Run) []plan.StepState {
	var list []plan.StepState
	for _, st := range r.Steps {
		step, ok := r.Plan.Step(st.StepID)
		if ok && st.Status == plan.StepDone && step.Risk != plan.Read && step.ForEach == "" && !plan.ParseEffect(st.StepID).Undo {
			list = append(list, st)
		}
	}
	return list
}

// undoable names the undos of what the run itself did, the newest first.
func undoable(r plan.Run) []string {
	done := slices.DeleteFunc(effects(r), func(st plan.StepState) bool {
		_, ok := r.Plan.Step(plan.UndoOf(st.StepID))
		return !ok || st.Reused != ""
	})
	slices.Reverse(done) // what was done at the same moment: as the plan has it, backwards
	slices.SortStableFunc(done, func(a, b plan.StepState) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	ids := make([]string, len(done))
	for i, st := range done {
		ids[i] = plan.UndoOf(st.StepID)
	}
	return ids
}
