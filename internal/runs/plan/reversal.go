package plan

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"piloto/internal/ground/order"
)

// Reversal is the data of EventReversed: the draft that undoes effects of the run. Its first step is the first of Undos.
type Reversal struct {
	RunID string     `json:"run_id"`
	Undos []EffectID `json:"undos"`
}

// ReversalOf returns the data of an event; false when it is no EventReversed.
func ReversalOf(e Event) (Reversal, bool) {
	var r Reversal
	return r, e.Type == EventReversed && json.Unmarshal(e.Data, &r) == nil
}

// ReversalStep returns the id of a step of a plan that undoes a run, by its number from 0.
func ReversalStep(n int) EffectID { return EffectOf("s" + strconv.Itoa(n+1)) }

// DoneBy returns the undos that the draft did, or a run that continues it.
func (r Reversal) DoneBy(run Run) (done []EffectID) {
	for i, id := range r.Undos {
		if run.State(ReversalStep(i)).WasDone() {
			done = append(done, id)
		}
	}
	return done
}

// WasDone reports whether an effect was done, by its status or by a person's verdict.
func (s StepState) WasDone() bool {
	return s.Status == StepDone || s.Status == StepInDoubt && s.Resolved != nil && s.Resolved.Outcome == OutcomeDone
}

// Newest returns the last confirmed run in the chain of runs that continue this one; the run itself when there is none.
// Its errors are those of Reader.
func Newest(ctx context.Context, runs Reader, r Run) (Run, error) {
	for r.Next != "" {
		next, err := runs.Run(ctx, r.Account, r.Next)
		if err != nil {
			return r, err
		}
		if next.ConfirmBy == "" {
			break
		}
		r = next
	}
	return r, nil
}

// Changes returns the changes that a run made, by its steps or by their elements.
func (r Run) Changes() []StepState {
	var list []StepState
	for _, st := range r.Steps {
		step, ok := r.Plan.Step(st.StepID)
		if ok && st.Status == StepDone && step.Risk != Read && step.ForEach == "" && !st.StepID.Undo() {
			list = append(list, st)
		}
	}
	return list
}

// Undos returns the ids of the undos of the run's own changes, the newest change first.
func (r Run) Undos() []EffectID {
	done := slices.DeleteFunc(r.Changes(), func(st StepState) bool {
		_, ok := r.Plan.Step(UndoOf(st.StepID))
		return !ok || st.Reused != ""
	})
	slices.Reverse(done) // changes of the same moment are undone in the reverse order of the plan
	order.By(done, func(a, b StepState) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	ids := make([]EffectID, len(done))
	for i, st := range done {
		ids[i] = UndoOf(st.StepID)
	}
	return ids
}
