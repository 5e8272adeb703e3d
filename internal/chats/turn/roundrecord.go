package turn

import (
	"slices"
	"strings"

	"piloto/internal/chats/claim"
	"piloto/internal/chats/job"
	"piloto/internal/runs/plan"
)

// takeTold takes what the client told while this invocation worked.
func (w *work) takeTold(now job.Job) {
	if len(w.job.Open) == 0 || len(now.Told) <= len(w.job.Told) {
		return
	}
	for _, t := range now.Told[len(w.job.Told):] {
		w.job.Record.Add(t.Did...)
	}
	if w.job.Told = now.Told; w.job.Status.Terminal() {
		w.job.CloseRecord()
	}
}

// countRefusal counts a plan of the job that a person refused, or that a model took back in answer to one: they declined it in their own
// words. One that they confirmed begins the count anew; one that expired or was replaced was neither refused nor confirmed.
func (w *work) countRefusal(r plan.Run) {
	switch {
	case r.Refused(), r.Withdrawn != nil:
		w.job.Refused++
		w.job.Record.RefusePlan(r.Plan.Goal)
	case r.Confirmer != "":
		w.job.Refused = 0
		w.job.Record.Planned(changed(r))
	}
}

// changed reports whether a run changed something, or may have.
func changed(r plan.Run) bool {
	return slices.ContainsFunc(r.Steps, func(st plan.StepState) bool {
		step, ok := r.Plan.Step(st.StepID)
		return ok && step.Method != "GET" && step.Method != "HEAD" && (st.Status == plan.StepDone || st.Status == plan.StepInDoubt)
	})
}

// addDone adds what a call came to at the client to what the texts of the model are compared with. What was refused is no act, and
// neither is a read. A client that does not tell it is believed, unless it answered with an error.
func (w *work) addDone(r job.Round, k int) {
	call := r.Calls[k]
	act := claim.Call{Method: "POST", Tool: call.Name, Sent: call.Arguments, Answered: r.Results[k]}
	if r.Did == nil {
		if !strings.HasPrefix(act.Answered, `{"error"`) {
			w.done = append(w.done, act)
		}
		return
	}
	changed := false
	for _, d := range r.Did[k] {
		switch {
		case d.Refused != "" || d.Failed || d.Kind == job.DeedRead:
		case d.Kind == job.DeedCommand:
			w.commands = append(w.commands, claim.Command{Line: d.Name, Code: d.ExitCode, Safe: d.Safe})
		case !changed:
			changed = true
			w.done = append(w.done, act)
		}
	}
	if !changed {
		w.reported = append(w.reported, act.Answered)
	}
}
