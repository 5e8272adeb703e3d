package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
)

func TestRetryKeepsFinishedSteps(t *testing.T) {
	each := undoable("Cada una")
	each.ForEach = "${s1.body.items}"
	for name, c := range map[string]struct {
		do     func(testing.TB, manualWorld, string)
		reused []string
	}{
		"what failed, and what was not begun": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepFailed)
		}, []string{"s1"}},
		"what was undone": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepDone)
			w.do(t, id, "s3", plan.StepFailed)
			w.undo(t, id, "")
			w.do(t, id, "undo:s2", plan.StepDone)
		}, []string{"s1"}},
		"not what could not be undone": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepDone)
			w.do(t, id, "s3", plan.StepFailed)
			w.undo(t, id, "")
			w.do(t, id, "undo:s2", plan.StepFailed)
		}, []string{"s1", "s2"}},
		"not what somebody says was done": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepInDoubt)
			w.finish(t, id, "x")
			_, err := w.resolve(id, "s2", plan.OutcomeDone)
			must(t, err)
		}, []string{"s1", "s2"}},
		"what somebody says was not": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepInDoubt)
			w.finish(t, id, "x")
			_, err := w.resolve(id, "s2", plan.OutcomeNotDone)
			must(t, err)
		}, []string{"s1"}},
		"the elements that are left": {func(t testing.TB, w manualWorld, id string) {
			w.do(t, id, "s1", plan.StepDone)
			w.do(t, id, "s2", plan.StepDone)
			w.expand(t, id, "s3", 3)
			w.do(t, id, "s3[0]", plan.StepDone)
			w.do(t, id, "s3[2]", plan.StepDone)
			w.do(t, id, "s3[1]", plan.StepFailed)
		}, []string{"s1", "s2", "s3[0]", "s3[2]"}},
		"everything, when it was cancelled before": {func(t testing.TB, w manualWorld, id string) {
			cancel(t, w.World, w.Read(id))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			old := w.launch(t, readingStep("Mirar"), undoable("Una"), each)
			c.do(t, w, old.ID)
			was := w.finish(t, old.ID, "Run.StepFailed")
			d, err := w.retry(old.ID)
			must(t, err)
			next := w.Read(d.Run.ID)
			if next.Status != plan.Draft || next.Retries != old.ID || next.Plan.ID != old.Plan.ID || next.Plan.Revision != 2 ||
				next.Plan.Replaces != old.Digest || w.ChatNow().PendingRunID != next.ID {
				t.Errorf("the draft: %+v", next)
			}
			if digest, err := next.Plan.Digest(); err != nil || digest != next.Digest {
				t.Errorf("its digest is not its plan's: %v", err)
			}
			var reused []string
			for _, st := range next.Steps {
				if st.Reused != "" {
					reused = append(reused, st.StepID.String())
				}
			}
			if !slices.Equal(reused, c.reused) || c.reused != nil && !slices.Equal(texts(next.Plan.Reuse.Steps), c.reused) {
				t.Errorf("reused %v, want %v", reused, c.reused)
			}
			now := w.Read(old.ID)
			if now.Status != was.Status || w.types(t, old.ID)[now.EventSeq-1] != plan.EventRetried {
				t.Errorf("the old run is %s and says %v", now.Status, w.types(t, old.ID))
			}
			must(t, w.Confirm(next))
			w.Begin(next.ID)
			w.finish(t, next.ID, "x")
			checkChain(t, w.World, old.ID)
			checkChain(t, w.World, next.ID)
		})
	}
}

func TestRetryRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(testing.TB, manualWorld) string
		want    error
	}{
		"a draft":         {func(_ testing.TB, w manualWorld) string { return w.Propose(book).ID }, plan.ErrNothingToRetry},
		"a run that runs": {func(t testing.TB, w manualWorld) string { return w.launch(t, undoable("Una")).ID }, plan.ErrAlreadyRunning},
		"no run":          {func(_ testing.TB, w manualWorld) string { return w.IDs.New(fixture.Epoch) }, plan.ErrRunNotFound},
		"a run that is done": {func(_ testing.TB, w manualWorld) string {
			r := w.Propose(book)
			_ = w.Confirm(r)
			w.Execute(r.ID)
			return r.ID
		}, plan.ErrNothingToRetry},
		"a rejected draft": {func(t testing.TB, w manualWorld) string { r := w.Propose(book); cancel(t, w.World, r); return r.ID }, plan.ErrNothingToRetry},
		"a step in doubt": {func(t testing.TB, w manualWorld) string {
			r := w.launch(t, undoable("Una"), undoable("Dos"))
			w.do(t, r.ID, "s1", plan.StepInDoubt)
			return w.finish(t, r.ID, "x").ID
		}, run.ErrUnresolved},
		"all of it done, as somebody says": {func(t testing.TB, w manualWorld) string {
			r := w.launch(t, undoable("Una"))
			w.do(t, r.ID, "s1", plan.StepInDoubt)
			w.finish(t, r.ID, "x")
			_, err := w.resolve(r.ID, "s1", plan.OutcomeDone)
			must(t, err)
			return r.ID
		}, plan.ErrNothingToRetry},
		"a tool that changed": {func(t testing.TB, w manualWorld) string {
			r := w.launch(t, undoable("Una"))
			w.do(t, r.ID, "s1", plan.StepFailed)
			w.finish(t, r.ID, "x")
			refresh(t, w.World, "POST /bookings")
			return r.ID
		}, plan.ErrStale},
		"a chat that is gone": {func(t testing.TB, w manualWorld) string {
			r := w.launch(t, undoable("Una"))
			w.do(t, r.ID, "s1", plan.StepFailed)
			w.finish(t, r.ID, "x")
			must(t, w.Store.Chats.DeleteChat(context.Background(), w.ChatKey()))
			return r.ID
		}, conversation.ErrChatNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			if _, err := w.retry(c.prepare(t, w)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// A changed tool does not matter if it is not called again. Reused results are complete, also when
// they are stored in pieces.
func TestRetryReusesWholeResult(t *testing.T) {
	for _, size := range []int{10_000, 100_000} {
		t.Run(strconv.Itoa(size), func(t *testing.T) { checkRetryReuses(t, `"`+strings.Repeat("día ", size)+`"`) })
	}
}

func checkRetryReuses(t *testing.T, big string) {
	t.Helper()
	w := newManualWorld(t)
	r := w.launch(t, readingStep("Mirar"), undoable("Una"))
	must(t, w.begin(r.ID, "s1"))
	must(t, w.end(r.ID, "s1", plan.StepDone, big))
	w.do(t, r.ID, "s2", plan.StepFailed)
	w.finish(t, r.ID, "Run.StepFailed")
	refresh(t, w.World, "GET /rooms")
	for range 2 { // a chain of two runs, each of which continues the one before
		d, err := w.retry(r.ID)
		must(t, err)
		r = w.Read(d.Run.ID)
		must(t, w.Confirm(r))
		w.start(t, r.ID)
		got := r.State(plan.EffectOf("s1")).Result
		if apart := len(big) > 200<<10; (got.Apart > 0) != apart || apart && len(got.Body) > 6<<10 {
			t.Fatalf("%d pieces, %d bytes here", got.Apart, len(got.Body))
		}
		whole, err := w.Store.Runs.Whole(context.Background(), r, plan.EffectOf("s1"), *got)
		if err != nil || string(whole.Body) != big {
			t.Fatalf("%d bytes of %d, %v", len(whole.Body), len(big), err)
		}
		w.do(t, r.ID, "s2", plan.StepFailed)
		w.finish(t, r.ID, "Run.StepFailed")
	}
}

// A step that read the result of an undone step reads again, because that result no longer exists.
// Other reads are kept.
func TestRetryRepeatsReadsOfUndoneSteps(t *testing.T) {
	w := newManualWorld(t)
	of := func(path string) plan.ProposedStep {
		return plan.ProposedStep{Title: "Leer", Method: "GET", Path: path}
	}
	r := w.launch(t, readingStep("Mirar"), undoable("Una"), of("/bookings/${s2.body.id}"), of("/bookings/${s3.body.id}"), of("/bookings/${s1.body.id}"), undoable("Otra"))
	for _, id := range []string{"s1", "s2", "s3", "s4", "s5"} {
		w.do(t, r.ID, id, plan.StepDone)
	}
	w.do(t, r.ID, "s6", plan.StepFailed)
	w.undo(t, r.ID, "Run.StepFailed")
	w.do(t, r.ID, "undo:s2", plan.StepDone)
	w.finish(t, r.ID, "Run.StepFailed")
	d, err := w.retry(r.ID)
	must(t, err)
	if got := d.Run.Plan.Reuse.Steps; !slices.Equal(texts(got), []string{"s1", "s5"}) {
		t.Errorf("reused %v", got)
	}
}

// A run is continued once: a second continuation of it does not repeat the steps of the first one.
func TestRetryContinuesNewestRun(t *testing.T) {
	w := newManualWorld(t)
	first := w.launch(t, undoable("Una"), undoable("Dos"), undoable("Tres"))
	w.do(t, first.ID, "s1", plan.StepDone)
	w.do(t, first.ID, "s2", plan.StepFailed)
	w.finish(t, first.ID, "Run.StepFailed")
	d, err := w.retry(first.ID)
	must(t, err)
	again, err := w.retry(first.ID) // the first draft was not confirmed
	must(t, err)
	if again.Run.Retries != first.ID || w.Read(d.Run.ID).Status != plan.Superseded {
		t.Fatalf("goes on from %s", again.Run.Retries)
	}
	must(t, w.Confirm(w.Read(again.Run.ID)))
	w.start(t, again.Run.ID)
	w.mustAsk(t, again.Run.ID, "s2", plan.Ask{Reason: "x", Minutes: 5})
	if _, err := w.retry(first.ID); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("while the second goes on: %v", err)
	}
	must(t, w.approve(again.Run.ID, "s2", nil))
	w.do(t, again.Run.ID, "s2", plan.StepDone)
	w.do(t, again.Run.ID, "s3", plan.StepFailed)
	w.finish(t, again.Run.ID, "Run.StepFailed")
	third, err := w.retry(first.ID)
	must(t, err)
	if got := third.Run.Plan.Reuse; third.Run.Retries != again.Run.ID || got.RunID != again.Run.ID || !slices.Equal(texts(got.Steps), []string{"s1", "s2"}) {
		t.Errorf("goes on from %s with %v", third.Run.Retries, got)
	}
	must(t, w.Confirm(w.Read(third.Run.ID)))
	w.start(t, third.Run.ID)
	w.do(t, third.Run.ID, "s3", plan.StepDone)
	w.finish(t, third.Run.ID, "")
	if _, err := w.retry(first.ID); !errors.Is(err, plan.ErrNothingToRetry) {
		t.Errorf("when all of it is done: %v", err)
	}
}

// The effects of an earlier run are not undone by the run that continues it.
func TestUndoSkipsReusedSteps(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, undoable("Una"), undoable("Dos"), undoable("Tres"))
	w.do(t, r.ID, "s1", plan.StepDone)
	w.do(t, r.ID, "s2", plan.StepFailed)
	w.finish(t, r.ID, "Run.StepFailed")
	d, err := w.retry(r.ID)
	must(t, err)
	must(t, w.Confirm(d.Run))
	w.start(t, d.Run.ID)
	w.do(t, d.Run.ID, "s2", plan.StepDone)
	w.do(t, d.Run.ID, "s3", plan.StepFailed)
	if got := w.undo(t, d.Run.ID, "Run.StepFailed"); !slices.Equal(got, []string{"undo:s2"}) {
		t.Errorf("to undo: %v", got)
	}
}

// An edited draft that continues a run keeps the results that the new plan still uses.
func TestRevisedRetryKeepsReusedSteps(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, undoable("Una"), undoable("Dos"), undoable("Tres"))
	w.do(t, r.ID, "s1", plan.StepDone)
	w.do(t, r.ID, "s2", plan.StepDone)
	w.do(t, r.ID, "s3", plan.StepFailed)
	w.finish(t, r.ID, "Run.StepFailed")
	d, err := w.retry(r.ID)
	must(t, err)
	draft := w.Read(d.Run.ID)
	p := draft.Plan
	p.Steps = slices.Clone(p.Steps)
	p.Steps[1].Body = json.RawMessage(`{"room":"sur"}`)
	p.Reuse = &plan.Reuse{RunID: r.ID, Steps: []plan.EffectID{plan.EffectOf("s1")}}
	p.Revision, p.Replaces = 3, draft.Digest
	digest, err := p.Digest()
	must(t, err)
	_, err = w.Store.Runs.Revise(context.Background(), draft, w.ChatNow(), plan.Revision{Plan: p, Digest: digest, By: "ana", At: w.Clock()},
		run.Record{At: w.Clock(), Type: plan.EventRevised})
	must(t, err)
	got := w.Read(draft.ID)
	if got.State(plan.EffectOf("s1")).Status != plan.StepDone || got.State(plan.EffectOf("s2")).Status != plan.StepPending {
		t.Errorf("s1 is %s, s2 is %s", got.State(plan.EffectOf("s1")).Status, got.State(plan.EffectOf("s2")).Status)
	}
	must(t, w.Confirm(got))
	w.start(t, got.ID)
	w.do(t, got.ID, "s2", plan.StepDone)
	if got := w.Read(got.ID).State(plan.EffectOf("s2")); got.Reused != "" || got.Attempts != 1 {
		t.Errorf("%+v", got)
	}
}

func TestResolve(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, undoable("Una"), undoable("Dos"))
	if _, err := w.resolve(r.ID, "s1", plan.OutcomeDone); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("while it runs: %v", err)
	}
	w.do(t, r.ID, "s1", plan.StepInDoubt)
	w.finish(t, r.ID, "x")
	for name, c := range map[string]struct {
		step    string
		outcome plan.Outcome
		want    error
	}{
		"no step":                 {"s7", plan.OutcomeDone, plan.ErrStepNotFound},
		"a step that never began": {"s2", plan.OutcomeDone, plan.ErrNotInDoubt},
		"an undo that was not":    {"undo:s1", plan.OutcomeDone, plan.ErrNotInDoubt},
		"an outcome that is none": {"s1", "perhaps", plan.ErrInvalid},
	} {
		if _, err := w.resolve(r.ID, c.step, c.outcome); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	d, err := w.resolve(r.ID, "s1", plan.OutcomeRetry)
	must(t, err)
	if d.Run.Status != plan.Draft || d.Run.Retries != r.ID {
		t.Errorf("%s of %s", d.Run.Status, d.Run.Retries)
	}
	got := w.Read(r.ID)
	if got.Status != plan.InDoubt || got.State(plan.EffectOf("s1")).Resolved == nil || got.State(plan.EffectOf("s1")).Resolved.By != "ana" {
		t.Errorf("%s, %+v", got.Status, got.State(plan.EffectOf("s1")).Resolved)
	}
	if _, err := w.resolve(r.ID, "s1", plan.OutcomeDone); !errors.Is(err, plan.ErrNotInDoubt) {
		t.Errorf("twice: %v", err)
	}
	want := []string{"step.settled s1", "run.retried"}
	if list := w.types(t, r.ID); !slices.Equal(list[len(list)-2:], want) {
		t.Errorf("events %v", list)
	}
	checkChain(t, w.World, r.ID)
}

// A continuing run undoes nothing: to "retry" an undo would do the plan again and leave the effect.
func TestResolveRefusesRetryOfUndo(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, undoable("Una"), undoable("Dos"))
	w.do(t, r.ID, "s1", plan.StepDone)
	w.do(t, r.ID, "s2", plan.StepFailed)
	w.undo(t, r.ID, "Run.StepFailed")
	w.do(t, r.ID, "undo:s1", plan.StepInDoubt)
	w.finish(t, r.ID, "Run.StepFailed")
	if _, err := w.resolve(r.ID, "undo:s1", plan.OutcomeRetry); !errors.Is(err, plan.ErrInvalid) {
		t.Errorf("retry: %v", err)
	}
	if got := w.Read(r.ID).State(plan.ParseEffect("undo:s1")).Resolved; got != nil {
		t.Errorf("resolved %+v", got)
	}
	_, err := w.resolve(r.ID, "undo:s1", plan.OutcomeNotDone)
	must(t, err)
}

func TestResolveEndsAllElementsOfStep(t *testing.T) {
	w := newManualWorld(t)
	each := undoable("Cada una")
	each.ForEach = "${s1.body.items}"
	r := w.launch(t, readingStep("Mirar"), each)
	w.do(t, r.ID, "s1", plan.StepDone)
	w.expand(t, r.ID, "s2", 3)
	w.do(t, r.ID, "s2[0]", plan.StepInDoubt)
	w.do(t, r.ID, "s2[1]", plan.StepDone)
	w.do(t, r.ID, "s2[2]", plan.StepInDoubt)
	w.finish(t, r.ID, "x")
	if _, err := w.resolve(r.ID, "s2[0]", plan.OutcomeNotDone); err != nil {
		t.Fatal(err)
	}
	if _, err := w.retry(r.ID); !errors.Is(err, run.ErrUnresolved) {
		t.Errorf("one is left: %v", err)
	}
	if _, err := w.resolve(r.ID, "s2", plan.OutcomeDone); err != nil {
		t.Fatal(err)
	}
	d, err := w.retry(r.ID)
	must(t, err)
	if got := d.Run.Plan.Reuse.Steps; !slices.Equal(texts(got), []string{"s1", "s2[1]", "s2[2]"}) {
		t.Errorf("reused %v", got)
	}
}

func TestConfirmNamesChangedPartOfStalePlan(t *testing.T) {
	for name, c := range map[string]struct {
		change func(testing.TB, manualWorld, plan.Run)
		says   string
	}{
		"the plan was edited": {func(t testing.TB, w manualWorld, r plan.Run) {
			p := r.Plan
			p.Goal, p.Revision, p.Replaces = "Otra cosa", 2, r.Digest
			digest, err := p.Digest()
			must(t, err)
			_, err = w.Store.Runs.Revise(context.Background(), r, w.ChatNow(), plan.Revision{Plan: p, Digest: digest, At: w.Clock()},
				run.Record{At: w.Clock(), Type: plan.EventRevised})
			must(t, err)
		}, "revisión 2"},
		"a tool changed":  {func(t testing.TB, w manualWorld, _ plan.Run) { refresh(t, w.World, "POST /bookings") }, "POST /bookings"},
		"its undo did":    {func(t testing.TB, w manualWorld, _ plan.Run) { refresh(t, w.World, "DELETE /bookings/{id}") }, "DELETE /bookings/{id}"},
		"another plan is": {func(_ testing.TB, w manualWorld, _ plan.Run) { w.Propose(find) }, "sustituido"},
		"a rule denies it": {func(t testing.TB, w manualWorld, _ plan.Run) {
			must(t, w.Store.Runs.SetRules(context.Background(), fixture.Account, 0, rule.Set{
				Rules: []rule.Rule{{ID: "r1", Effect: rule.Deny, Method: "POST", Reason: "no se reserva en agosto"}}, By: "ana", UpdatedAt: w.Clock(),
			}))
		}, "no se reserva en agosto"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{undoable("Una")}})
			c.change(t, w, r)
			if err := w.Confirm(r); !errors.Is(err, plan.ErrStale) || !strings.Contains(changeIn(err), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
		})
	}
}

// A revised plan is confirmed in its present revision only, only once, and never after its expiry,
// even if the clock goes backwards.
func TestClockChangesNeverReviveExpiredPlan(t *testing.T) {
	const life = 24 * time.Hour
	for _, skew := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
		w := newManualWorld(t)
		r := w.Propose(book)
		w.Pass(life - skew)
		err := w.Confirm(r)
		if late := !w.Clock().Before(r.Plan.ExpiresAt); errors.Is(err, plan.ErrExpired) != late {
			t.Errorf("skew %s: %v", skew, err)
		}
		if skew > 0 {
			continue
		}
		w.Pass(-time.Hour) // backwards: the plan is valid again, and unchanged
		if err := w.Confirm(r); err != nil {
			t.Errorf("an unexpired draft: %v", err)
		}
		w.start(t, r.ID)
		w.mustAsk(t, r.ID, "s1", anybody)
		w.Pass(time.Hour - skew)
		if err := w.approve(r.ID, "s1", nil); !errors.Is(err, plan.ErrApprovalOver) {
			t.Errorf("after the time: %v", err)
		}
		late := w.Read(r.ID) // the store compares the time itself
		st := late.State(plan.EffectOf("s1"))
		asked := *st.Approval
		asked.Decision, st.Approval, st.Status = plan.Approved, &asked, plan.StepPending
		_, err = w.Store.Runs.MoveRun(context.Background(), late, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepApproved, StepID: plan.EffectOf("s1")}, State: &st, Decided: w.Clock(), Due: w.Clock()})
		if !errors.Is(err, fault.ErrMoved) {
			t.Errorf("the store took it: %v", err)
		}
	}
	w := newManualWorld(t)
	r := w.Propose(book)
	w.Pass(life + time.Second)
	sweep(t, w.World)
	w.Pass(-2 * time.Hour)
	if err := w.Confirm(r); !errors.Is(err, plan.ErrExpired) {
		t.Errorf("an expired draft, by a clock that went back: %v", err)
	}
}
