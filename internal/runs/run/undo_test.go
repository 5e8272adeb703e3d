package run_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
)

func TestUndoReversesOwnChangesNewestFirst(t *testing.T) {
	plain := undoable("Sin vuelta")
	plain.Undo = nil
	for name, c := range map[string]struct {
		do    func(testing.TB, manualWorld, string)
		cause string
		want  []string // at the first call
	}{
		"after a failure, the newest first": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepDone)
			w.do(t, id, "s3", plan.StepFailed)
		}, "Run.StepFailed", []string{"undo:s2", "undo:s1"}},
		"in the order of time, not of the plan": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s2", plan.StepDone)
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s3", plan.StepFailed)
		}, "", []string{"undo:s1", "undo:s2"}},
		"after somebody stopped it": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			cancel(t, w.World, w.Read(id))
		}, "", []string{"undo:s1"}},
		"after the execution failed by itself": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
		}, "Task.Failed", []string{"undo:s1"}},
		"nothing of a run that goes on": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
		}, "", nil},
		"nothing while something is in doubt": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepInDoubt)
		}, "Run.StepFailed", nil},
		"nothing while something is in flight": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			must(t, w.begin(id, "s2"))
		}, "Run.StepFailed", nil},
		"nothing when nothing was done": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepFailed)
		}, "Run.StepFailed", nil},
		"nothing of what has no undo": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s4", plan.StepDone)
			w.do(t, id, "s3", plan.StepFailed)
		}, "Run.StepFailed", nil},
		"nothing of a run that ended": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.finish(t, id, "Run.StepFailed")
		}, "Run.StepFailed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			r := w.launch(t, undoable("Una"), undoable("Dos"), undoable("Tres"), plain)
			c.do(t, w, r.ID)
			before := w.Read(r.ID).EventSeq
			if got := w.undo(t, r.ID, c.cause); !slices.Equal(got, c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			if got := w.undo(t, r.ID, c.cause); !slices.Equal(got, c.want) {
				t.Errorf("asked again: %v", got)
			}
			events := 0
			if len(c.want) > 0 {
				events = 1
			}
			after := w.Read(r.ID)
			if after.EventSeq != before+events || (after.UndoAt != nil) != (events == 1) {
				t.Errorf("%d events more, undoing since %v", after.EventSeq-before, after.UndoAt)
			}
		})
	}
}

func TestFinishReportsChangesThatCannotBeUndone(t *testing.T) {
	plain := undoable("Correo")
	plain.Undo = nil
	for name, c := range map[string]struct {
		undo   func(testing.TB, manualWorld, string)
		status plan.Status
		said   []string
	}{
		"all undone": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "undo:s2", plan.StepDone)
			w.do(t, id, "undo:s1", plan.StepDone)
		}, plan.Failed, []string{"Deshecho: Una; Dos.", "Queda hecho: Correo."}},
		"one refused": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "undo:s2", plan.StepFailed)
			w.do(t, id, "undo:s1", plan.StepDone)
		}, plan.Failed, []string{"Deshecho: Una.", "No se pudo deshacer: Dos.", "Queda hecho: Correo."}},
		"the machine was stopped in the middle": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "undo:s2", plan.StepDone)
		}, plan.Failed, []string{"Deshecho: Dos.", "No se pudo deshacer: Una.", "Queda hecho: Correo."}},
		"the machine was stopped in a call that may be repeated": {func(t testing.TB, w manualWorld, id string) {
			must(t, w.begin(id, "undo:s2"))
		}, plan.InDoubt, []string{"No se pudo deshacer: Una; Dos."}},
		"nobody knows": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "undo:s2", plan.StepInDoubt)
			w.do(t, id, "undo:s1", plan.StepDone)
		}, plan.InDoubt, []string{"Deshecho: Una.", "No se pudo deshacer: Dos."}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			r := w.launch(t, undoable("Una"), undoable("Dos"), plain, undoable("Tres"))
			for _, id := range []string{"s1", "s2", "s3"} {
				w.do(t, r.ID, id, plan.StepDone)
			}
			w.do(t, r.ID, "s4", plan.StepFailed)
			w.undo(t, r.ID, "Run.StepFailed")
			if err := w.begin(r.ID, "s4"); !errors.Is(err, fault.ErrMoved) {
				t.Errorf("a step began while what was done is undone: %v", err)
			}
			c.undo(t, w, r.ID)
			w.EndExecution(r.ID)
			w.Pass(10 * time.Minute)
			sweep(t, w.World)
			checkEnded(t, w.World, r.ID, c.status)
			for _, line := range c.said {
				if got := w.final(r.ID); !strings.Contains(got, line) {
					t.Errorf("said %q, without %q", got, line)
				}
			}
		})
	}
}

func TestUndoStepRequiresUndoingRun(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, undoable("Una"))
	w.do(t, r.ID, "s1", plan.StepDone)
	if err := w.begin(r.ID, "undo:s1"); !errors.Is(err, fault.ErrMoved) {
		t.Error(err)
	}
}

func TestUndoReversesEveryElement(t *testing.T) {
	w := newManualWorld(t)
	each := undoable("Reservar")
	each.ForEach = "${s1.body.items}"
	r := w.launch(t, readingStep("Mirar"), each)
	w.do(t, r.ID, "s1", plan.StepDone)
	w.expand(t, r.ID, "s2", 12)
	var want []string
	for n := range 11 {
		w.do(t, r.ID, fmt.Sprintf("s2[%d]", n), plan.StepDone)
		want = append([]string{fmt.Sprintf("undo:s2[%d]", n)}, want...)
	}
	w.do(t, r.ID, "s2[11]", plan.StepFailed)
	if got := w.undo(t, r.ID, "Run.StepFailed"); !slices.Equal(got, want) {
		t.Fatalf("to undo: %v", got)
	}
	w.finish(t, r.ID, "Run.StepFailed")
	checkEnded(t, w.World, r.ID, plan.Failed)
	if got := w.final(r.ID); !strings.Contains(got, "Reservar (10) y 1 más.") {
		t.Errorf("said %q", got)
	}
	if got := w.Read(r.ID); got.State(plan.EffectOf("s2")).Status != plan.StepFailed || got.State(plan.ParseEffect("undo:s2[3]")).Status != plan.StepCancelled {
		t.Errorf("s2 is %s, the undo of an element %s", got.State(plan.EffectOf("s2")).Status, got.State(plan.ParseEffect("undo:s2[3]")).Status)
	}
}

// A step that is done for each element, and whose execution was interrupted, ends as the worst of
// its elements.
func TestFinishEndsInterruptedStepAsItsElements(t *testing.T) {
	for name, c := range map[string]struct {
		items  []plan.StepStatus // three elements
		step   plan.StepStatus
		status plan.Status
	}{
		"all done, not collected": {[]plan.StepStatus{plan.StepDone, plan.StepSkipped, plan.StepDone}, plan.StepFailed, plan.Failed},
		"some not begun":          {[]plan.StepStatus{plan.StepDone}, plan.StepCancelled, plan.Failed},
		"one refused":             {[]plan.StepStatus{plan.StepDone, plan.StepFailed}, plan.StepFailed, plan.Failed},
		"one in doubt":            {[]plan.StepStatus{plan.StepFailed, plan.StepInDoubt, plan.StepDone}, plan.StepInDoubt, plan.InDoubt},
		"one in its call":         {[]plan.StepStatus{plan.StepDone, plan.StepRunning}, plan.StepInDoubt, plan.InDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			each := undoable("Reservar")
			each.ForEach = "${s1.body.items}"
			r := w.launch(t, readingStep("Mirar"), each)
			w.do(t, r.ID, "s1", plan.StepDone)
			w.expand(t, r.ID, "s2", 3)
			for n, status := range c.items {
				if status == plan.StepRunning {
					must(t, w.begin(r.ID, fmt.Sprintf("s2[%d]", n)))
					continue
				}
				w.do(t, r.ID, fmt.Sprintf("s2[%d]", n), status)
			}
			got := w.finish(t, r.ID, "TIMED_OUT")
			checkEnded(t, w.World, r.ID, c.status)
			if now := got.State(plan.EffectOf("s2")).Status; now != c.step {
				t.Errorf("the step is %s, want %s", now, c.step)
			}
		})
	}
}

func TestRunWithSkippedStepsIsDone(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, readingStep("Mirar"), undoable("Una"))
	w.do(t, r.ID, "s1", plan.StepDone)
	must(t, w.end(r.ID, "s2", plan.StepSkipped, ""))
	w.finish(t, r.ID, "")
	checkEnded(t, w.World, r.ID, plan.Done)
	if got := w.final(r.ID); !strings.Contains(got, "1 paso omitido") {
		t.Errorf("said %q", got)
	}
}

func TestFinishClosesWaitingStepByItsExpiry(t *testing.T) {
	for pass, want := range map[time.Duration]plan.StepStatus{time.Minute: plan.StepCancelled, 2 * time.Hour: plan.StepFailed} {
		w := newManualWorld(t)
		r := w.launch(t, undoable("Una"))
		w.mustAsk(t, r.ID, "s1", anybody)
		w.Pass(pass)
		got := w.finish(t, r.ID, "ABORTED")
		checkEnded(t, w.World, r.ID, plan.Failed)
		if now := got.State(plan.EffectOf("s1")).Status; now != want {
			t.Errorf("after %s it is %s, want %s", pass, now, want)
		}
	}
}

// A plan with the greatest number of steps, each for the greatest number of elements, ends although
// a transaction cannot hold all its states.
func TestFinishEndsTheLargestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("the largest run")
	}
	w := newManualWorld(t)
	steps := []plan.ProposedStep{readingStep("Mirar")}
	for len(steps) < plan.MaxSteps {
		each := undoable(fmt.Sprint("Paso ", len(steps)))
		each.ForEach = "${s1.body.items}"
		steps = append(steps, each)
	}
	r := w.launch(t, steps...)
	w.do(t, r.ID, "s1", plan.StepDone)
	for n := range 5 {
		id := fmt.Sprint("s", n+2)
		w.expand(t, r.ID, id, plan.MaxEach)
		for i := range plan.MaxEach {
			must(t, w.begin(r.ID, fmt.Sprintf("%s[%d]", id, i)))
		}
	}
	got := w.finish(t, r.ID, "TIMED_OUT")
	checkEnded(t, w.World, r.ID, plan.InDoubt)
	open := 0
	for _, st := range got.Steps {
		if !st.Status.Terminal() || st.Last.Open {
			open++
		}
	}
	if open != 0 || len(got.Steps) != plan.MaxSteps+5*plan.MaxEach {
		t.Errorf("%d of %d effects are open", open, len(got.Steps))
	}
}
