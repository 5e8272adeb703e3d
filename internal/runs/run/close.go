package run

import (
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// interrupted is the failure of an effect that began and has no other outcome.
const interrupted = "step.interrupted"

// closing closes the effects that the execution of a run left open.
type closing struct {
	run plan.Run
	at  time.Time
}

// states returns their final states: those of the elements, of the steps, and of the undos.
func (c closing) states() []plan.StepState {
	var closed []plan.StepState
	end := func(st plan.StepState, status plan.StepStatus, failure *plan.Failure) {
		st.Status, st.Error, st.Last.Open, st.UpdatedAt = status, failure, false, c.at
		closed = append(closed, st)
		c.run = c.run.With(st)
	}
	for _, st := range c.run.Steps {
		if st.StepID.Item() >= 0 && !st.StepID.Undo() && !st.Status.Terminal() {
			status, failure := c.status(st)
			end(st, status, failure)
		}
	}
	for _, step := range c.run.Plan.Steps {
		st := c.run.State(step.ID)
		switch {
		case st.Status.Terminal():
		case st.Expanded:
			status, failure := c.statusOfEach(st)
			end(st, status, failure)
		default:
			status, failure := c.status(st)
			end(st, status, failure)
		}
	}
	if c.run.UndoAt == nil {
		return closed
	}
	for _, id := range c.run.Undos() {
		if st := c.run.State(id); !st.Status.Terminal() {
			status, failure := c.status(st)
			end(st, status, failure)
		}
	}
	return closed
}

// status returns the final status of an effect whose execution is over. An effect whose
// request was sent and whose response was lost is in doubt, unless it only reads. No one repeats it
// any more, even where a repetition would be safe. An effect that never began is cancelled.
func (c closing) status(st plan.StepState) (plan.StepStatus, *plan.Failure) {
	r := c.run
	step, _ := r.Plan.Step(st.StepID)
	unknown := st.Last.Open && (st.Error != nil || !plan.Idempotent(step.Method)) ||
		(st.Last.Open || st.Lost) && step.Risk != plan.Read
	switch {
	case st.Status == plan.StepWaiting && r.CancelAt == nil && !st.Approval.Open(c.at):
		const late = "step.approval_expired"
		if st.Command.Replaces() { // the command failed, and no replacement was approved
			return plan.StepFailed, r.Failure("step.command_failed", locale.Say("step.command_unapproved", "reason", locale.Say(late)))
		}
		return plan.StepFailed, r.Failure(late, locale.Say(late))
	case st.Status == plan.StepPending, st.Status == plan.StepWaiting:
		return plan.StepCancelled, nil
	case unknown && st.Error != nil && st.Error.Code == "step.in_doubt": // a response arrived that did not decide it
		return plan.StepInDoubt, st.Error
	case unknown:
		return plan.StepInDoubt, r.Failure("step.in_doubt", locale.Say("step.in_doubt", "target", st.Last.URL))
	case st.Error != nil:
		return plan.StepFailed, st.Error
	}
	return plan.StepFailed, r.Failure(interrupted, locale.Say(interrupted))
}

// statusOfEach returns the final status of a step that is done for each element: the worst
// status of its elements.
func (c closing) statusOfEach(st plan.StepState) (plan.StepStatus, *plan.Failure) {
	r := c.run
	for _, worst := range []plan.StepStatus{plan.StepInDoubt, plan.StepFailed} {
		for n := range st.Items {
			if item := r.State(plan.ItemOf(st.StepID, n)); item.Status == worst {
				return worst, item.Error
			}
		}
	}
	done := 0
	for n := range st.Items {
		if now := r.State(plan.ItemOf(st.StepID, n)).Status; now == plan.StepDone || now == plan.StepSkipped {
			done++
		}
	}
	if done < st.Items {
		return plan.StepCancelled, nil
	}
	return plan.StepFailed, r.Failure(interrupted, locale.Say(interrupted))
}

// endStatus returns the final status of a run whose effects are all closed, and the reason. A
// failed undo does not change the status, but an undo in doubt does.
func endStatus(r plan.Run, cause string) (plan.Status, *plan.Failure) {
	find := func(status plan.StepStatus, undos bool) (plan.StepState, bool) {
		for _, st := range r.Steps {
			if st.Status == status && (undos || !st.StepID.Undo()) {
				return st, true
			}
		}
		return plan.StepState{}, false
	}
	if st, ok := find(plan.StepInDoubt, true); ok {
		return plan.InDoubt, st.Error
	}
	throttled := r.Failure("run.throttled", locale.Say("run.throttled"))
	if st, ok := find(plan.StepFailed, false); ok {
		if cause == CauseThrottled && st.Error.Code == interrupted {
			return plan.Failed, throttled
		}
		return plan.Failed, st.Error
	}
	_, left := find(plan.StepCancelled, false)
	switch {
	case !left && r.UndoAt == nil:
		return plan.Done, nil
	case r.CancelAt != nil:
		return plan.Cancelled, nil
	case cause == CauseThrottled:
		return plan.Failed, throttled
	case cause == "":
		cause = "execution"
	}
	return plan.Failed, r.Failure("run.aborted", locale.Say("run.aborted", "detail", cause))
}
