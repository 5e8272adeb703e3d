package run_test

import (
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// settle calls Settle and reports whether effects are left to be undone.
func (w manualWorld) settle(t *testing.T, id, cause string) bool {
	t.Helper()
	_, undoing, err := w.Runs.Settle(t.Context(), fixture.Key(id), cause)
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

// TestNothingIsUndoneForThrottling: a run for which Lambda had no room for hours ends with its sentence. What it did
// stays; a call whose answer is not known is in doubt; and an undo that waited as long is given up.
func TestNothingIsUndoneForThrottling(t *testing.T) {
	for name, c := range map[string]struct {
		did     func(w manualWorld, id string)
		want    plan.Status
		undoing bool // for another reason
		failure string
	}{
		"nothing began":      {func(manualWorld, string) {}, plan.Failed, false, "run.throttled"},
		"one step is done":   {func(w manualWorld, id string) { w.do(t, id, "s1", plan.StepDone) }, plan.Failed, false, "run.throttled"},
		"a step is in doubt": {func(w manualWorld, id string) { w.do(t, id, "s1", plan.StepDone); _ = w.begin(id, "s2") }, plan.InDoubt, false, "step.in_doubt"},
		"another step failed": {func(w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepFailed)
		}, plan.Failed, true, "step.rejected"},
		"it is being undone": {func(w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepFailed)
			w.settle(t, id, "Step.Rejected")
		}, plan.Failed, false, "step.rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			r := w.launch(t, undoable("Una"), undoable("Otra"), undoable("Última"))
			c.did(w, r.ID)
			if undoing := w.settle(t, r.ID, run.CauseThrottled); undoing != c.undoing {
				t.Fatalf("something is undone: %t", undoing)
			}
			if c.undoing { // and nothing had room for the undo
				if w.settle(t, r.ID, run.CauseThrottled) {
					t.Error("it is undone for ever")
				}
			}
			checkEnded(t, w.World, r.ID, c.want)
			if got := w.Read(r.ID); got.Error == nil || got.Error.Code != c.failure {
				t.Errorf("it says %+v", got.Error)
			}
		})
	}
}
