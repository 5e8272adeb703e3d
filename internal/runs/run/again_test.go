package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

func (w manualWorld) reverse(id string) (plan.Run, error) {
	d, err := w.Runs.Reverse(context.Background(), run.Again{Account: fixture.Account, User: "eva", RunID: id, Locale: locale.Spanish})
	return d.Run, err
}

// booked executes a plan of a read and two bookings, whose undos refer to their results.
func (w manualWorld) booked(t testing.TB) plan.Run {
	t.Helper()
	w.Answer(func(r tool.Request) (tool.Answer, error) {
		body := []byte(`{"id":"r 1","note":"${s1.body.id}"}`)
		return tool.Answer{Status: 200, Body: body, Bytes: len(body)}, nil
	})
	one, two := undoable("Una"), undoable("Dos")
	one.Undo = &plan.Call{Method: "DELETE", Path: "/bookings/${s2.body.id}"}
	two.Undo = &plan.Call{Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"${s3.body.note}"}`)}
	r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{readingStep("Mirar"), one, two}})
	must(t, w.Confirm(r))
	w.Execute(r.ID)
	return w.Read(r.ID)
}

// TestReverseProposesTheUndosOnce: with values in place of references, the newest first, and nothing that was undone.
func TestReverseProposesTheUndosOnce(t *testing.T) {
	w := newManualWorld(t)
	done := w.booked(t)
	if done.Status != plan.Done {
		t.Fatalf("the run is %s", done.Status)
	}
	first, err := w.reverse(done.ID)
	must(t, err)
	next := w.Read(first.ID)
	steps := next.Plan.Steps
	if next.Status != plan.Draft || next.Plan.Goal != "Deshacer: Reservar" || len(steps) != 2 || w.ChatNow().PendingRunID != next.ID {
		t.Fatalf("%s, %+v", next.Status, next.Plan)
	}
	if steps[0].Called() != "POST /bookings" || string(steps[0].Body) != `{"room":"$${s1.body.id}"}` || steps[1].Called() != "DELETE /bookings/r%201" ||
		steps[1].Risk != plan.Destructive || steps[1].Ask != nil || next.Plan.Undoes != done.ID || len(steps[1].Needs) != 1 || steps[1].Title != "Deshacer: Una" {
		t.Errorf("%+v", steps)
	}
	again, err := w.reverse(done.ID) // nobody confirmed the first one
	must(t, err)
	if w.Read(first.ID).Status != plan.Superseded {
		t.Error("two drafts undo the same")
	}
	must(t, w.Confirm(w.Read(again.ID)))
	if _, err := w.reverse(done.ID); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("while it is being undone: %v", err)
	}
	w.Answer(func(r tool.Request) (tool.Answer, error) {
		if r.Method == "DELETE" {
			return tool.Answer{Status: 404, Body: []byte(`{}`), Bytes: 2}, nil
		}
		return tool.Answer{Status: 200, Body: []byte(`{"id":"u"}`), Bytes: 10}, nil
	})
	w.Execute(again.ID)
	w.finish(t, again.ID, "Run.StepFailed")
	retried, err := w.retry(again.ID) // which is confirmed, and fails again
	must(t, err)
	must(t, w.Confirm(w.Read(retried.Run.ID)))
	if _, err := w.reverse(done.ID); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("while the undo is retried: %v", err)
	}
	w.Execute(retried.Run.ID)
	w.finish(t, retried.Run.ID, "Run.StepFailed")
	rest, err := w.reverse(done.ID)
	must(t, err)
	if left := w.Read(rest.ID).Plan.Steps; len(left) != 1 || left[0].Method != "DELETE" {
		t.Errorf("what is left: %+v", left)
	}
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 204}, nil
	})
	must(t, w.Confirm(w.Read(rest.ID)))
	w.Execute(rest.ID)
	if _, err := w.reverse(done.ID); !errors.Is(err, run.ErrNothingToUndo) {
		t.Errorf("when all is undone: %v", err)
	}
	for _, id := range []string{done.ID, first.ID, again.ID, rest.ID} {
		checkChain(t, w.World, id)
	}
}

func TestReverseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(testing.TB, manualWorld) string
		want    error
	}{
		"a draft":         {func(_ testing.TB, w manualWorld) string { return w.Propose(book).ID }, run.ErrNothingToUndo},
		"a run that runs": {func(t testing.TB, w manualWorld) string { return w.launch(t, undoable("Una")).ID }, plan.ErrAlreadyRunning},
		"no run":          {func(_ testing.TB, w manualWorld) string { return w.IDs.New(fixture.Epoch) }, plan.ErrRunNotFound},
		"what only read":  {func(t testing.TB, w manualWorld) string { return w.executed(t, readingStep("Mirar")) }, run.ErrNothingToUndo},
		"a step in doubt": {func(t testing.TB, w manualWorld) string {
			r := w.launch(t, undoable("Una"), undoable("Dos"))
			w.do(t, r.ID, "s1", plan.StepInDoubt)
			return w.finish(t, r.ID, "x").ID
		}, run.ErrUnresolved},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			id := c.prepare(t, w)
			before := len(w.types(t, id))
			if _, err := w.reverse(id); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if after := len(w.types(t, id)); after != before {
				t.Errorf("a refusal made %d events", after-before)
			}
		})
	}
}

func (w manualWorld) executed(t testing.TB, steps ...plan.ProposedStep) string {
	t.Helper()
	r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: steps})
	must(t, w.Confirm(r))
	w.Execute(r.ID)
	return r.ID
}

func TestRepeatProposesTheSamePlan(t *testing.T) {
	w := newManualWorld(t)
	done := w.booked(t)
	d, err := w.Runs.Repeat(context.Background(), run.Again{Account: fixture.Account, User: "eva", RunID: done.ID, Locale: locale.Spanish})
	must(t, err)
	next := w.Read(d.Run.ID)
	if next.Status != plan.Draft || next.ID == done.ID || next.Plan.ID == done.Plan.ID || next.Plan.Revision != 1 || next.Digest == done.Digest || next.User != "eva" ||
		len(plan.Edits(done.Plan, next.Plan)) != 0 {
		t.Errorf("%+v", next)
	}
	must(t, w.Confirm(next))
	w.Execute(next.ID)
	if now := w.Read(next.ID); now.Status != plan.Done || now.Steps[1].Reused != "" {
		t.Errorf("%s, %+v", now.Status, now.Steps)
	}
	if w.Read(done.ID).EventSeq != done.EventSeq {
		t.Error("the old run has another event")
	}
	active := w.launch(t, undoable("Una"))
	if _, err := w.Runs.Repeat(context.Background(), run.Again{Account: fixture.Account, User: "eva", RunID: active.ID, Locale: locale.Spanish}); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("while it runs: %v", err)
	}
}

// TestADraftThatCannotBeSentIsToldAtOnce: with what an earlier run, its own answers or a read before the confirmation say, none
// of the drafts that a person asks for after a run is shown in vain.
func TestADraftThatCannotBeSentIsToldAtOnce(t *testing.T) {
	again := func(f func(context.Context, run.Again) (run.Decision, error), id string) error {
		_, err := f(context.Background(), run.Again{Account: fixture.Account, User: "eva", RunID: id, Locale: locale.Spanish})
		return err
	}
	each := undoable("Cada una")
	each.ForEach, each.Body, each.Undo = "${s1.body.items}", json.RawMessage(`{"room":"${item.id}"}`), nil
	undone := undoable("Una")
	undone.Undo = &plan.Call{Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"${s2.body.n}"}`)}
	const good, bad = `{"id":"b","n":"x","items":[{"id":"a"}]}`, `{"id":"b","n":5,"items":null}`
	for name, c := range map[string]struct {
		steps         []plan.ProposedStep
		preview       bool
		before, after string // what the service answers in the run, and after it
		do            func(manualWorld, string) error
		want          error
		says          string
	}{
		"a retry that kept no list": {
			[]plan.ProposedStep{readingStep("Mirar"), undoable("Una"), each},
			false, bad, good,
			func(w manualWorld, id string) error { return again(w.Runs.Retry, id) }, run.ErrUnfit, "«Cada una» no se puede enviar con lo que ya se sabe: No hay una lista",
		},
		"a repetition that reads none": {
			[]plan.ProposedStep{readingStep("Mirar"), undoable("Una"), each},
			true, good, bad,
			func(w manualWorld, id string) error { return again(w.Runs.Repeat, id) }, run.ErrUnfit, "«Cada una» no se puede enviar",
		},
		"a repetition that reads one":    {[]plan.ProposedStep{readingStep("Mirar"), undoable("Una"), each}, true, bad, good, func(w manualWorld, id string) error { return again(w.Runs.Repeat, id) }, nil, ""},
		"a repetition that may not read": {[]plan.ProposedStep{readingStep("Mirar"), undoable("Una"), each}, false, bad, bad, func(w manualWorld, id string) error { return again(w.Runs.Repeat, id) }, nil, ""},
		"an undo of another type":        {[]plan.ProposedStep{readingStep("Mirar"), undone}, false, bad, good, func(w manualWorld, id string) error { return again(w.Runs.Reverse, id) }, run.ErrUnresolvable, "No se puede deshacer"},
		"an undo that can be sent":       {[]plan.ProposedStep{readingStep("Mirar"), undone}, false, good, bad, func(w manualWorld, id string) error { return again(w.Runs.Reverse, id) }, nil, ""},
		"a retry of what cannot be undone": {
			[]plan.ProposedStep{readingStep("Mirar"), {Title: "Otra", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"a"}`), Undo: &plan.Call{Method: "DELETE", Path: "/bookings/${s1.body.gone}"}}},
			false, good, good, func(w manualWorld, id string) error { return again(w.Runs.Retry, id) }, run.ErrUnfit, "«Otra» no se puede enviar",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			answer := c.before
			w.Answer(func(tool.Request) (tool.Answer, error) {
				return tool.Answer{Status: 200, Body: []byte(answer), Bytes: len(answer)}, nil
			})
			r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: c.steps})
			must(t, w.Confirm(r))
			w.Execute(r.ID)
			if c.preview {
				_, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, w.Server.ID, tool.Reads{Mode: tool.ReadsPreview})
				must(t, err)
			}
			answer = c.after
			before := w.Read(r.ID).EventSeq
			err := c.do(w, r.ID)
			switch {
			case c.want == nil && (err != nil || w.ChatNow().PendingRunID == ""):
				t.Errorf("no draft: %v", err)
			case c.want == nil:
			case !errors.Is(err, c.want) || w.ChatNow().PendingRunID != "" || w.Read(r.ID).EventSeq != before:
				t.Errorf("%v; pending %q", err, w.ChatNow().PendingRunID)
			case !strings.Contains(locale.OfFault(fault.Of(err)).In(locale.Spanish), c.says):
				t.Errorf("it says %q", locale.OfFault(fault.Of(err)).In(locale.Spanish))
			}
		})
	}
}
