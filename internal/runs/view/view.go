// Package view has the facts of a plan or a run for its readers: the page, the API, the terminal, the messages of its chat,
// hooks and models. Each of them writes the facts in its own form, and none counts again. The package is below package run,
// because that one writes messages. It knows the plan alone, so that a client can make a view of an answer.
package view

import (
	"slices"
	"time"

	"piloto/internal/runs/plan"
)

// View is a plan or a run at a time.
type View struct {
	Status plan.Status // a draft whose time is over is expired
	Draft  bool        // it waits for its confirmation
	Live   bool        // queued, running or waiting
	Dead   bool        // a draft that cannot run any more
	Over   bool        // it was confirmed and has ended

	Counts
	Waits    []plan.Wait     // drafts, approvals and doubts that wait for a person now
	Doubts   []plan.EffectID // nobody knows whether they were done, and no person said so
	Stopping bool            // a person asked to stop it
	Undoing  bool

	Undone, NotUndone, Stays []plan.EffectID // the changes that were made

	Undo  bool // something that it did can be undone
	Retry bool // something is left to be done
}

// Counts are numbers of steps of a plan.
type Counts struct {
	Total            int
	Done, Skipped    int
	Completed        int // done or skipped
	Writes, Destroys int
	Changing         int // they write or destroy
	Undoable         int // of those that change something
	Asks             int // that will wait for an approval, as far as it is known
	Repeats          int // whose request may have been done already
}

// Of returns the view of a run at a time.
func Of(r plan.Run, at time.Time) View {
	v := View{Status: r.StatusAt(at), Counts: CountsOf(r), Doubts: r.Doubts()}
	v.Draft, v.Live = v.Status == plan.Draft, v.Status.Active()
	v.Dead = v.Status == plan.Expired || v.Status == plan.Superseded || v.Status == plan.Cancelled && !hasStarted(r)
	v.Over = v.Status.Terminal() && !v.Dead
	goesOn := !r.Status.Terminal()
	v.Stopping, v.Undoing = goesOn && r.CancelAt != nil, goesOn && r.UndoAt != nil
	for _, w := range r.Waits() {
		if w.Open(at) {
			v.Waits = append(v.Waits, w)
		}
	}
	for _, st := range r.Changes() {
		switch undo := r.State(plan.UndoOf(st.StepID)); {
		case undo.WasDone():
			v.Undone = append(v.Undone, st.StepID)
		case undo.Status != plan.StepPending:
			v.NotUndone = append(v.NotUndone, st.StepID)
		default:
			v.Stays = append(v.Stays, st.StepID)
		}
	}
	for _, id := range r.Undos() {
		v.Undo = v.Undo || v.Over && !r.State(id).WasDone()
	}
	v.Retry = v.Over && v.Status != plan.Done && len(v.Doubts) == 0 && (len(v.Undone) > 0 || isLeft(r))
	return v
}

// CountsOf counts the steps of a run.
func CountsOf(r plan.Run) Counts {
	n := Counts{Total: len(r.Plan.Steps), Done: r.DoneSteps()}
	for _, s := range r.Plan.Steps {
		risk := RiskOf(s)
		switch risk {
		case plan.Write:
			n.Writes++
		case plan.Destructive:
			n.Destroys++
		}
		if risk != plan.Read && s.Undo != nil {
			n.Undoable++
		}
		if r.State(s.ID).Status == plan.StepSkipped {
			n.Skipped++
		}
		if s.Ask != nil {
			n.Asks++
		}
		if s.Unanswered != nil {
			n.Repeats++
		}
	}
	n.Completed, n.Changing = n.Done+n.Skipped, n.Writes+n.Destroys
	return n
}

// RiskOf returns the risk of a step as it is shown: never less than the risk of its method.
func RiskOf(s plan.Step) plan.Risk {
	return plan.RiskOf(s.Method).Raised(s.Risk == plan.Destructive)
}

// Services returns the names of the services that a plan calls or, when of is not zero, that a step or its undo does, each
// once. Those of other undos and of checks are not among them.
func Services(p plan.Plan, of plan.EffectID) []string {
	names := []string{}
	for _, b := range p.Bindings {
		mine := of.IsZero() || b.StepID.Step() == of.Step()
		if mine && !b.StepID.Check() && b.StepID.Undo() == of.Undo() && !slices.Contains(names, b.ServerName) {
			names = append(names, b.ServerName)
		}
	}
	return names
}

func hasStarted(r plan.Run) bool {
	for _, st := range r.Steps {
		if st.Attempts > 0 {
			return true
		}
	}
	return false
}

// isLeft reports whether a step was neither done nor skipped.
func isLeft(r plan.Run) bool {
	for _, s := range r.Plan.Steps {
		if st := r.State(s.ID); !st.WasDone() && st.Status != plan.StepSkipped {
			return true
		}
	}
	return false
}
