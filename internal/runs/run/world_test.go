package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// manualWorld is a world in which the test itself writes the results of effects, in place of an
// executor.
type manualWorld struct{ *fixture.World }

func newManualWorld(t testing.TB) manualWorld { return manualWorld{fixture.NewWorld(t)} }

// undoable returns a step that creates a booking, and whose booking can be removed.
func undoable(title string) plan.ProposedStep {
	return plan.ProposedStep{
		Title: title, Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"norte"}`),
		Undo: &plan.Call{Method: "DELETE", Path: "/bookings/7"},
	}
}

func readingStep(title string) plan.ProposedStep {
	return plan.ProposedStep{Title: title, Method: "GET", Path: "/rooms"}
}

// launch proposes, confirms and begins a plan.
func (w manualWorld) launch(t testing.TB, steps ...plan.ProposedStep) plan.Run {
	t.Helper()
	r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: steps})
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	return w.start(t, r.ID)
}

func (w manualWorld) start(t testing.TB, id string) plan.Run {
	t.Helper()
	w.Begin(id)
	return w.Read(id)
}

// revise changes a draft as a user.
func (w manualWorld) revise(t testing.TB, r plan.Run, by string) plan.Run {
	t.Helper()
	p := r.Plan
	p.Goal, p.Revision, p.Replaces = "Reservar de "+by, r.Plan.Revision+1, r.Digest
	digest, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Store.Runs.Revise(context.Background(), r, w.ChatNow(), plan.Revision{Plan: p, Digest: digest, By: by, At: w.Clock()},
		run.Record{At: w.Clock(), Type: plan.EventRevised})
	if err != nil {
		t.Fatal(err)
	}
	return w.Read(r.ID)
}

// confirmAs confirms a draft as a user.
func (w manualWorld) confirmAs(r plan.Run, user string) error {
	_, err := w.Runs.Confirm(context.Background(), run.Confirmation{
		Account: fixture.Account, User: user, RunID: r.ID, Digest: r.Digest, Locale: locale.Spanish,
	})
	return err
}

// begin writes the start of an attempt.
func (w manualWorld) begin(id, effect string) error {
	r := w.Read(id)
	st := r.State(plan.ParseEffect(effect))
	st.Status, st.UpdatedAt, st.Attempts = plan.StepRunning, w.Clock(), st.Attempts+1
	st.Last = plan.Attempt{Number: st.Attempts, URL: "https://rooms.example/bookings", SentAt: w.Clock(), Open: true}
	_, err := w.Store.Runs.MoveRun(context.Background(), r, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepStart, StepID: plan.ParseEffect(effect)}, State: &st, Begins: true})
	return err
}

// end writes the result of an attempt.
func (w manualWorld) end(id, effect string, status plan.StepStatus, body string) error {
	r := w.Read(id)
	st := r.State(plan.ParseEffect(effect))
	st.Status, st.UpdatedAt, st.Last.Open = status, w.Clock(), false
	kind := map[plan.StepStatus]string{
		plan.StepDone: plan.EventStepDone, plan.StepFailed: plan.EventStepFailed, plan.StepInDoubt: plan.EventStepDoubt,
		plan.StepSkipped: plan.EventStepSkipped, plan.StepCancelled: plan.EventStepFailed, plan.StepRunning: plan.EventStepWait,
	}[status]
	switch status {
	case plan.StepDone:
		st.Result = &plan.Result{Status: 201, Body: json.RawMessage(body), Bytes: len(body)}
	case plan.StepFailed, plan.StepInDoubt:
		st.Error = &plan.Failure{Code: "step.rejected", Message: "El servicio ha dicho que no."}
	}
	_, err := w.Store.Runs.MoveRun(context.Background(), r, run.Move{Record: run.Record{At: w.Clock(), Type: kind, StepID: plan.ParseEffect(effect)}, State: &st})
	return err
}

// do makes an attempt, one second after the last one.
func (w manualWorld) do(t testing.TB, id, effect string, status plan.StepStatus) {
	t.Helper()
	w.Pass(time.Second)
	if err := w.begin(id, effect); err != nil {
		t.Fatalf("%s does not begin: %v", effect, err)
	}
	if err := w.end(id, effect, status, `{"id":"r-1","items":[{"id":"a"},{"id":"b"},{"id":"c"}]}`); err != nil {
		t.Fatalf("%s does not end: %v", effect, err)
	}
}

// expand records that a step is done for each of n elements.
func (w manualWorld) expand(t testing.TB, id, stepID string, n int) {
	t.Helper()
	r := w.Read(id)
	st := r.State(plan.ParseEffect(stepID))
	st.Status, st.Items, st.Expanded, st.UpdatedAt = plan.StepRunning, n, true, w.Clock()
	if _, err := w.Store.Runs.MoveRun(context.Background(), r, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepExpanded, StepID: plan.ParseEffect(stepID)}, State: &st}); err != nil {
		t.Fatal(err)
	}
}

// ask lets a step wait for an approval, with its id as the token.
func (w manualWorld) ask(id, effect string, ask plan.Ask) error {
	r := w.Read(id)
	st := r.State(plan.ParseEffect(effect))
	until := w.Clock().Add(time.Duration(ask.Minutes) * time.Minute)
	st.Status, st.UpdatedAt = plan.StepWaiting, w.Clock()
	st.Approval = &plan.Approval{
		Ask: ask, Method: "POST", URL: "https://rooms.example/bookings", Request: "hash", Token: "token " + id + " " + effect,
		AskedAt: w.Clock(), ExpiresAt: until,
	}
	_, err := w.Store.Runs.MoveRun(context.Background(), r, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepAsked, StepID: plan.ParseEffect(effect)}, To: plan.Waiting, State: &st, Begins: true, Due: run.NextCheck(r.With(st), w.Clock())})
	return err
}

func (w manualWorld) mustAsk(t testing.TB, id, effect string, ask plan.Ask) {
	t.Helper()
	if err := w.ask(id, effect, ask); err != nil {
		t.Fatal(err)
	}
}

func (w manualWorld) finish(t testing.TB, id, cause string) plan.Run {
	t.Helper()
	if _, err := w.Runs.Finish(context.Background(), fixture.Key(id), cause); err != nil {
		t.Fatal(err)
	}
	return w.Read(id)
}

func (w manualWorld) undo(t testing.TB, id, cause string) []string {
	t.Helper()
	list, err := w.Runs.Undo(context.Background(), fixture.Key(id), cause)
	if err != nil {
		t.Fatal(err)
	}
	return texts(list)
}

// texts returns the texts of ids.
func texts(ids []plan.EffectID) []string {
	var list []string
	for _, id := range ids {
		list = append(list, id.String())
	}
	return list
}

func (w manualWorld) approve(id, effect string, change func(*run.Approval)) error {
	a := run.Approval{Account: fixture.Account, User: "eva", MayApprove: true, RunID: id, StepID: plan.ParseEffect(effect), Request: requestOf(w.Read(id), effect)}
	if change != nil {
		change(&a)
	}
	_, err := w.Runs.Approve(context.Background(), a)
	return err
}

// requestOf returns the digest of the request that a step, or the first one that asked, waits with.
func requestOf(r plan.Run, effect string) string {
	for _, st := range r.Steps {
		if st.Approval != nil && (effect == "" || st.StepID.String() == effect) {
			return st.Approval.Request
		}
	}
	return strings.Repeat("0", 64)
}

func (w manualWorld) resolve(id, effect string, outcome plan.Outcome) (run.Decision, error) {
	return w.Runs.Resolve(context.Background(), run.Resolution{
		Account: fixture.Account, User: "ana", RunID: id, StepID: plan.ParseEffect(effect), Outcome: outcome, Locale: locale.Spanish,
	})
}

func (w manualWorld) retry(id string) (run.Decision, error) {
	return w.Runs.Retry(context.Background(), run.Again{Account: fixture.Account, User: "ana", RunID: id, Locale: locale.Spanish})
}

// final returns the text of the final message.
func (w manualWorld) final(id string) string {
	for _, m := range w.Messages() {
		if m.RunID == id && m.ID == id+"#final" {
			return m.Content
		}
	}
	return ""
}

// types returns the types of a run's events, with their step ids.
func (w manualWorld) types(t testing.TB, id string) []string {
	t.Helper()
	events, err := w.Store.Runs.Events(context.Background(), fixture.Account, id, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range events {
		list = append(list, fmt.Sprint(e.Type, map[bool]string{true: " " + e.StepID.String()}[!e.StepID.IsZero()]))
	}
	return list
}
