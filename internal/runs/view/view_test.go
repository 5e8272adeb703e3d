package view

import (
	"slices"
	"testing"
	"time"

	"piloto/internal/runs/plan"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ended returns a run that ended: it read, wrote twice, the second time for each of two elements, and destroyed.
func ended(status plan.Status, states ...plan.StepState) plan.Run {
	undo := &plan.Undo{Call: plan.Call{MCPID: "m", Method: "DELETE", Path: "/x"}}
	r := plan.Run{ConfirmBy: "c", Status: status, Plan: plan.Plan{Steps: []plan.Step{
		{ID: plan.EffectOf("s1"), Method: "GET", Risk: plan.Read},
		{ID: plan.EffectOf("s2"), Method: "POST", Risk: plan.Write, Undo: undo, Ask: &plan.Ask{}},
		{ID: plan.EffectOf("s3"), Method: "POST", Risk: plan.Write, Undo: undo, ForEach: "${s1.body.items}"},
		{ID: plan.EffectOf("s4"), Method: "DELETE", Risk: plan.Destructive, Unanswered: &plan.Doubt{}},
	}}}
	for _, s := range r.Plan.Steps {
		r = r.With(plan.StepState{StepID: s.ID, Status: plan.StepPending})
	}
	for _, st := range states {
		r = r.With(st)
	}
	return r
}

func in(id string, status plan.StepStatus) plan.StepState {
	return plan.StepState{StepID: plan.ParseEffect(id), Status: status, Attempts: 1}
}

func resolved(st plan.StepState, outcome plan.Outcome) plan.StepState {
	st.Resolved = &plan.Resolution{Outcome: outcome}
	return st
}

func TestStepsAreCountedOnce(t *testing.T) {
	r := ended(plan.Running, in("s1", plan.StepDone), in("s2", plan.StepDone), in("s3", plan.StepSkipped))
	want := Counts{Total: 4, Done: 2, Skipped: 1, Completed: 3, Writes: 2, Destroys: 1, Changing: 3, Undoable: 2, Asks: 1, Repeats: 1}
	if got := Of(r, noon).Counts; got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}

func TestADraftAfterItsTimeIsExpired(t *testing.T) {
	r := ended(plan.Draft)
	r.Plan.ExpiresAt = noon
	if v := Of(r, noon.Add(-1)); v.Status != plan.Draft || !v.Draft || v.Dead || len(v.Waits) != 1 {
		t.Errorf("before: %+v", v)
	}
	if v := Of(r, noon); v.Status != plan.Expired || v.Draft || !v.Dead || v.Over || v.Waits != nil {
		t.Errorf("after: %+v", v)
	}
}

// TestWhatEndedBeforeItBeganIsDead and offers neither an undo nor a retry.
func TestWhatEndedBeforeItBeganIsDead(t *testing.T) {
	for status, dead := range map[plan.Status]bool{plan.Superseded: true, plan.Expired: true, plan.Cancelled: true, plan.Failed: false} {
		if v := Of(ended(status), noon); v.Dead != dead || v.Over == dead || dead && (v.Undo || v.Retry) {
			t.Errorf("%s: %+v", status, v)
		}
	}
	if v := Of(ended(plan.Cancelled, in("s1", plan.StepDone)), noon); v.Dead || !v.Over {
		t.Errorf("began: %+v", v)
	}
}

// TestAnApprovalWaitsAsLongAsItCanBeGiven: not after its time, and not while the run is stopped or undone.
func TestAnApprovalWaitsAsLongAsItCanBeGiven(t *testing.T) {
	st := in("s2", plan.StepWaiting)
	st.Approval = &plan.Approval{ExpiresAt: noon, Request: "q"}
	r := ended(plan.Waiting, st)
	if v := Of(r, noon.Add(-1)); len(v.Waits) != 1 || v.Waits[0].Request != "q" {
		t.Errorf("open: %+v", v.Waits)
	}
	stopped, undoing := r, r
	stopped.CancelAt, undoing.UndoAt = &noon, &noon
	for name, v := range map[string]View{"late": Of(r, noon), "stopped": Of(stopped, noon.Add(-1)), "undoing": Of(undoing, noon.Add(-1))} {
		if v.Waits != nil || v.Stopping != (name == "stopped") || v.Undoing != (name == "undoing") {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestADoubtIsOneUntilAPersonSaysWhatItIs, and of elements each is one.
func TestADoubtIsOneUntilAPersonSaysWhatItIs(t *testing.T) {
	all := in("s3", plan.StepInDoubt)
	all.Expanded, all.Items = true, 2
	r := ended(plan.InDoubt, in("s2", plan.StepInDoubt), all, resolved(in("s3[0]", plan.StepInDoubt), plan.OutcomeDone), in("s3[1]", plan.StepInDoubt))
	v := Of(r, noon)
	if want := []plan.EffectID{plan.EffectOf("s2"), plan.ItemOf(plan.EffectOf("s3"), 1)}; !slices.Equal(v.Doubts, want) || v.Retry {
		t.Errorf("%v, not %v; retry %v", v.Doubts, want, v.Retry)
	}
	r = r.With(resolved(in("s2", plan.StepInDoubt), plan.OutcomeNotDone)).With(resolved(in("s3[1]", plan.StepInDoubt), plan.OutcomeDone))
	if v := Of(r, noon); v.Doubts != nil || !v.Retry {
		t.Errorf("resolved: %+v", v)
	}
}

// TestChangesAreUndoneNotUndoneOrStay: an undo is done by its status or by a person's verdict.
func TestChangesAreUndoneNotUndoneOrStay(t *testing.T) {
	s2 := plan.EffectOf("s2")
	undo := func(status plan.StepStatus) plan.StepState {
		return plan.StepState{StepID: plan.UndoOf(s2), Status: status, Attempts: 1}
	}
	for name, c := range map[string]struct {
		undo                     *plan.StepState
		undone, notUndone, stays int
		offered                  bool
	}{
		"none":         {nil, 0, 0, 1, true},
		"done":         {new(undo(plan.StepDone)), 1, 0, 0, false},
		"failed":       {new(undo(plan.StepFailed)), 0, 1, 0, true},
		"said done":    {new(resolved(undo(plan.StepInDoubt), plan.OutcomeDone)), 1, 0, 0, false},
		"said not":     {new(resolved(undo(plan.StepInDoubt), plan.OutcomeNotDone)), 0, 1, 0, true},
		"not begun":    {new(undo(plan.StepPending)), 0, 0, 1, true},
		"was given up": {new(undo(plan.StepCancelled)), 0, 1, 0, true},
	} {
		r := ended(plan.Failed, in("s1", plan.StepDone), in("s2", plan.StepDone))
		if c.undo != nil {
			r = r.With(*c.undo)
		}
		v := Of(r, noon)
		if len(v.Undone) != c.undone || len(v.NotUndone) != c.notUndone || len(v.Stays) != c.stays || v.Undo != c.offered || !v.Retry {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestWhatAnEarlierRunDidIsNotUndoneWithThisOne, also of elements: its own run is what undoes it.
func TestWhatAnEarlierRunDidIsNotUndoneWithThisOne(t *testing.T) {
	all, one := in("s3", plan.StepDone), in("s3[0]", plan.StepDone)
	all.Expanded, all.Items, one.Reused = true, 1, "r0"
	if v := Of(ended(plan.Failed, all, one), noon); v.Undo || len(v.Stays) != 1 {
		t.Errorf("%+v", v)
	}
}

// TestServicesAreThoseThatAreCalled: those of undos and checks are called only by them.
func TestServicesAreThoseThatAreCalled(t *testing.T) {
	var p plan.Plan
	for _, b := range [][2]string{{"s1", "Salas"}, {"s2", "Correo"}, {"undo:s1", "Archivo"}, {"check:s1", "Registro"}, {"s3", "Salas"}} {
		p.Bindings = append(p.Bindings, plan.Binding{StepID: plan.ParseEffect(b[0]), ServerName: b[1]})
	}
	for of, want := range map[string][]string{"": {"Salas", "Correo"}, "s2": {"Correo"}, "s1": {"Salas"}, "s1[3]": {"Salas"}, "undo:s1": {"Archivo"}, "undo:s1[2]": {"Archivo"}, "s9": {}} {
		if got := Services(p, plan.ParseEffect(of)); !slices.Equal(got, want) || got == nil {
			t.Errorf("%q: %q, not %q", of, got, want)
		}
	}
}
