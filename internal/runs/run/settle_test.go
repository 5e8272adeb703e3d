package run_test

import (
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
)

// settle calls Settle and reports whether effects are left to be undone.
func (w manualWorld) settle(t *testing.T, id, cause string) bool {
	t.Helper()
	_, undoing, err := w.Runs.Settle(t.Context(), fixture.Account, id, cause)
	if err != nil {
		t.Fatal(err)
	}
	return undoing
}

// TestSettleGivesUpAnUndoThatHasNoEnd: an undo that was begun, and that no invocation could end, does not keep the older
// ones from being undone. A repeated call gives up none that was not begun.
func TestSettleGivesUpAnUndoThatHasNoEnd(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, undoable("Una"), undoable("Otra"), undoable("La que falla"))
	w.do(t, r.ID, "s1", plan.StepDone)
	w.do(t, r.ID, "s2", plan.StepDone)
	w.do(t, r.ID, "s3", plan.StepFailed)
	state := func(effect string) plan.StepStatus { return w.Read(r.ID).State(plan.ParseEffect(effect)).Status }
	for range 2 {
		if !w.settle(t, r.ID, "Step.Rejected") || state("undo:s2") != plan.StepPending || state("undo:s1") != plan.StepPending {
			t.Fatalf("undos are %s and %s", state("undo:s2"), state("undo:s1"))
		}
	}
	if err := w.begin(r.ID, "undo:s2"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !w.settle(t, r.ID, "Lambda.Unknown") || state("undo:s2") != plan.StepInDoubt || state("undo:s1") != plan.StepPending {
			t.Fatalf("undos are %s and %s", state("undo:s2"), state("undo:s1"))
		}
	}
	w.do(t, r.ID, "undo:s1", plan.StepDone)
	for range 2 {
		if w.settle(t, r.ID, "") {
			t.Error("something is left to be undone")
		}
	}
	checkEnded(t, w.World, r.ID, plan.InDoubt)
}

// TestSettleEndsWhatCannotGoOn: a run that did nothing, and one with a change in doubt, end at once.
func TestSettleEndsWhatCannotGoOn(t *testing.T) {
	for step, want := range map[plan.StepStatus]plan.Status{plan.StepFailed: plan.Failed, plan.StepInDoubt: plan.InDoubt} {
		w := newManualWorld(t)
		r := w.launch(t, undoable("Una"), undoable("Otra"))
		if step == plan.StepInDoubt {
			w.do(t, r.ID, "s1", plan.StepDone)
			w.do(t, r.ID, "s2", step)
		} else {
			w.do(t, r.ID, "s1", step)
		}
		if w.settle(t, r.ID, "Step.Rejected") {
			t.Errorf("%s: something is undone", step)
		}
		checkEnded(t, w.World, r.ID, want)
	}
}
