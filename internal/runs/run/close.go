package run

import (
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// open returns what becomes of the effects of a run that its execution left open:
// the last states of its elements, of its steps, and of the undos that were to be.
func (s *Service) open(r plan.Run) []plan.StepState {
	var closed []plan.StepState
	end := func(st plan.StepState, status plan.StepStatus, failure *plan.Failure) {
		st.Status, st.Error, st.Last.Open, st.UpdatedAt = status, failure, false, s.Now()
		closed = append(closed, st)
		r = r.With(st)
	}
	for _, st := range r.Steps {
		if e := plan.ParseEffect(st.StepID); e.Item >= 0 && !e.Undo && !st.Status.Terminal() {
			status, failure := s.closed(r, st)
			end(st, status, failure)
		}
	}
	for _, step := range r.Plan.Steps {
		st := r.State(step.ID)
		switch {
		case st.Status.Terminal():
		case st.Expanded:
			status, failure := s.closedEach(r, st)
			end(st, status, failure)
		default:
			status, failure := s.closed(r, st)
			end(st, status, failure)
		}
	}
	if r.UndoAt == nil {
		return closed
	}
	for _, id := range undoable(r) {
		if st := r.State(id); !st.Status.Terminal() {
			status, failure := s.closed(r, st)
			end(st, status, failure)
		}
	}
	return closed
}

// closed is how an effect ended that nobody ends any more: one that was sent, and of
// which nobody read the answer, is in doubt, unless it only reads (nobody repeats it any
// more, even where that would be safe); and what never began is cancelled.
func (s *Service) closed(r plan.Run, st plan.StepState) (plan.StepStatus, *plan.Failure) {
	tag := tagOf(r)
	step, _ := r.Plan.Step(st.StepID)
	unknown := st.Last.Open && (st.Error != nil || !plan.Idempotent(step.Method)) ||
		(st.Last.Open || st.Lost) && step.Risk != plan.Read
	switch {
	case st.Status == plan.StepWaiting && r.CancelAt == nil && !st.Approval.Open(s.Now()):
		late := &plan.Failure{Code: "step.approval_expired", Message: locale.Text(tag, "step.approval_expired")}
		if st.Command.Replaces() { // the command failed, and no other was allowed
			late = &plan.Failure{Code: "step.command_failed", Message: locale.Text(tag, "step.command_unapproved", "reason", late.Message)}
		}
		return plan.StepFailed, late
	case st.Status == plan.StepPending, st.Status == plan.StepWaiting:
		return plan.StepCancelled, nil
	case unknown && st.Error != nil && st.Error.Code == "step.in_doubt": // it was answered, and still unknown
		return plan.StepInDoubt, st.Error
	case unknown:
		return plan.StepInDoubt, &plan.Failure{Code: "step.in_doubt", Message: locale.Text(tag, "step.in_doubt", "target", st.Last.URL)}
	case st.Error != nil:
		return plan.StepFailed, st.Error
	}
	return plan.StepFailed, &plan.Failure{Code: "step.interrupted", Message: locale.Text(tag, "step.interrupted")}
}

// closedEach is closed for a step that is done for each element: it ends as the worst
// of them.
func (s *Service) closedEach(r plan.Run, st plan.StepState) (plan.StepStatus, *plan.Failure) {
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
	return plan.StepFailed, &plan.Failure{Code: "step.interrupted", Message: locale.Text(tagOf(r), "step.interrupted")}
}

// verdict says how a run whose effects are all closed ended, and why. That something
// could not be undone changes neither, but that nobody knows whether it was does.
func verdict(r plan.Run, cause string) (plan.Status, *plan.Failure) {
	find := func(status plan.StepStatus, undos bool) (plan.StepState, bool) {
		for _, st := range r.Steps {
			if st.Status == status && (undos || !plan.ParseEffect(st.StepID).Undo) {
				return st, true
			}
		}
		return plan.StepState{}, false
	}
	if st, ok := find(plan.StepInDoubt, true); ok {
		return plan.InDoubt, st.Error
	}
	if st, ok := find(plan.StepFailed, false); ok {
		return plan.Failed, st.Error
	}
	_, left := find(plan.StepCancelled, false)
	switch {
	case !left && r.UndoAt == nil:
		return plan.Done, nil
	case r.CancelAt != nil:
		return plan.Cancelled, nil
	case cause == "":
		cause = "execution"
	}
	return plan.Failed, &plan.Failure{Code: "run.aborted", Message: locale.Text(tagOf(r), "run.aborted", "detail", cause)}
}
