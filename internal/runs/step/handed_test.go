package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// invocation returns an executor that shares nothing with others but the table, as an invocation of the function.
func invocation(w *fixture.World) *step.Executor {
	return &step.Executor{
		Stores: w.Steps.Stores, Moves: w.Steps.Moves, Schemas: schema.Compiler{}, Sender: w, Waker: w, IDs: w.IDs, Now: w.Clock, Log: w.Steps.Log, Steps: w.Steps.Steps,
	}
}

// receiptOf returns the receipt of a run, and checks it and that no event is missing.
func receiptOf(t *testing.T, w *fixture.World, id string) receipt.Receipt {
	t.Helper()
	now := w.Read(id)
	revisions, err := w.Store.Runs.Revisions(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	list, err := w.Store.Runs.Events(t.Context(), fixture.Account, id, 0, 5000)
	if err != nil {
		t.Fatal(err)
	}
	made := receipt.New(now, revisions, list)
	if wrong := receipt.Verify(made); len(wrong) > 0 || len(list) != now.EventSeq {
		t.Errorf("the receipt, with %d of %d events: %v", len(list), now.EventSeq, wrong)
	}
	return made
}

// TestEffectsOfOwnInvocationsLoseNoTransaction: the table cancels transactions on one row at the same time, as
// DynamoDB does. Eight effects side by side, each in an invocation of its own, write no row of another.
func TestEffectsOfOwnInvocationsLoseNoTransaction(t *testing.T) {
	count := &cancelled{}
	store := fixture.Conflicting(t, func(c aws.HTTPClient) aws.HTTPClient { count.HTTPClient = c; return count }, 3*time.Millisecond)
	w := fixture.NewWorldOver(t, store)
	const wide = 8
	var inCall sync.WaitGroup
	inCall.Add(wide)
	w.Answer(func(tool.Request) (tool.Answer, error) {
		inCall.Done()
		inCall.Wait() // all intents are written before the first result
		return tool.Answer{Status: 201, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
	})
	r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: abreast(wide)})
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	before := count.n.Load() // the world's own first writes
	if got := driveOnce(t, w, r); got != `wave ["s1","s2","s3","s4","s5","s6","s7","s8"]` {
		t.Fatalf("the first invocation ended %s", got)
	}
	var all sync.WaitGroup
	for _, s := range r.Plan.Steps {
		all.Go(func() {
			if _, err := invocation(w).Execute(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID, StepID: s.ID}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := count.n.Load() - before; n != 0 {
		t.Errorf("%d transactions were cancelled", n)
	}
	if got := driveOnce(t, w, r); got != "done" || w.Read(r.ID).Status != plan.Done || len(w.Requests()) != wide {
		t.Errorf("%s: the run is %s, after %d requests", got, w.Read(r.ID).Status, len(w.Requests()))
	}
	if made := receiptOf(t, w, r.ID); len(made.Events) != 4+2*wide {
		t.Errorf("%d events", len(made.Events))
	}
}

// TestWaveIsReadWhileItRuns: the states are those of now. The events follow with their numbers and the times at
// which they happened, and so do the messages, after those that people posted meanwhile.
func TestWaveIsReadWhileItRuns(t *testing.T) {
	w, r := newRun(t, nil, abreast(2)...)
	driveOnce(t, w, r)
	w.Pass(time.Second)
	happened := w.Clock()
	drive(t, w, r, "s1")
	w.Pass(time.Minute)
	if now := w.Read(r.ID); status(w, r, "s1") != "done" || status(w, r, "s2") != "pending" || string(now.State(plan.EffectOf("s1")).Result.Body) != `{"id":"r-1"}` {
		t.Errorf("s1 is %s, s2 %s", status(w, r, "s1"), status(w, r, "s2"))
	}
	if n := len(events(t, w, r, "s1")); n != 0 {
		t.Errorf("%d events have numbers", n)
	}
	receiptOf(t, w, r.ID)
	said := len(w.Messages())
	drive(t, w, r, "s2")
	if got := driveOnce(t, w, r); got != "done" {
		t.Fatal(got)
	}
	list := events(t, w, r, "s1")
	checkEqual(t, "events", kinds(list), []string{plan.EventStepStart, plan.EventStepDone})
	for _, e := range list {
		if !e.At.Equal(happened) {
			t.Errorf("%s happened at %s, not %s", e.Type, happened, e.At)
		}
	}
	receiptOf(t, w, r.ID)
	later := w.Messages()[said:]
	if len(later) != 5 || !later[0].At.Equal(happened) || !slices.IsSortedFunc(later, func(a, b conversation.Message) int { return strings.Compare(a.Seq, b.Seq) }) {
		t.Errorf("%d messages, %+v", len(later), later)
	}
}

// meddling is a store that does something else first, once, when an effect that was handed out is about to be written.
type meddling struct {
	step.Moves
	before func()
}

func (m *meddling) MoveEffect(ctx context.Context, r plan.Run, move run.Move) (plan.Run, error) {
	if f := m.before; f != nil {
		m.before = nil
		f()
	}
	return m.Moves.MoveEffect(ctx, r, move)
}

// TestNothingBeginsAfterADecision: an invocation read the run before a decision that forbids its effect to begin, and
// writes its intent after it.
func TestNothingBeginsAfterADecision(t *testing.T) {
	again := func(t *testing.T, w *fixture.World, r plan.Run) {
		if got := driveOnce(t, w, r); !strings.HasPrefix(got, "wave ") {
			t.Errorf("it is handed out again: %s", got)
		}
	}
	for name, c := range map[string]struct {
		decide func(t *testing.T, w *fixture.World, r plan.Run)
		s1     string
		sent   int
	}{
		"a stop":                             {stop, "cancelled step.cancelled", 0},
		"a stop, and it is handed out again": {func(t *testing.T, w *fixture.World, r plan.Run) { stop(t, w, r); again(t, w, r) }, "cancelled step.cancelled", 0},
		"the end of the run":                 {endOf, "cancelled", 0},
		"it is only handed out again":        {again, "done", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, abreast(3)...)
			driveOnce(t, w, r)
			slow := invocation(w)
			slow.Moves = &meddling{Moves: w.Steps.Moves, before: func() { c.decide(t, w, r) }}
			_, err := slow.Execute(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.EffectOf("s1")})
			drive(t, w, r, "s1")
			if status(w, r, "s1") != c.s1 || len(w.Requests()) != c.sent {
				t.Errorf("s1 is %s, %d requests: %v", status(w, r, "s1"), len(w.Requests()), err)
			}
			receiptOf(t, w, r.ID)
		})
	}
}

func endOf(t *testing.T, w *fixture.World, r plan.Run) {
	t.Helper()
	if _, _, err := w.Runs.Settle(t.Context(), fixture.Key(r.ID), "States.Timeout"); err != nil {
		t.Fatal(err)
	}
}

// TestDecisionOnARunReadBeforeIsRefused: handing out is no event, and yet the run is another one then. A decision on
// the run as it is now is refused too, until the effects are taken back.
func TestDecisionOnARunReadBeforeIsRefused(t *testing.T) {
	w, r := newRun(t, nil, append([]plan.ProposedStep{newStep("s0", "GET", "/rooms", "")}, after("s0", abreast(2))...)...)
	if got := driveOnce(t, w, r); got != "next" {
		t.Fatal(got)
	}
	before := w.Read(r.ID)
	if got := driveOnce(t, w, r); got != `wave ["s1","s2"]` {
		t.Fatal(got)
	}
	now := w.Read(r.ID)
	if now.EventSeq != before.EventSeq {
		t.Fatalf("handing out made %d events", now.EventSeq-before.EventSeq)
	}
	rec := run.Record{At: w.Clock(), Type: plan.EventStopping}
	for name, decide := range map[string]func(plan.Run) (plan.Run, error){
		"stop": func(r plan.Run) (plan.Run, error) { return w.Store.Runs.RequestCancel(t.Context(), r, w.Clock(), rec) },
		"undo": func(r plan.Run) (plan.Run, error) { return w.Store.Runs.BeginUndo(t.Context(), r, rec) },
		"end": func(r plan.Run) (plan.Run, error) {
			return w.Store.Runs.MoveRun(t.Context(), r, run.Move{Record: rec, To: plan.Failed, End: &run.End{}})
		},
	} {
		if _, err := decide(before); !errors.Is(err, fault.ErrMoved) {
			t.Errorf("%s, as it was before: %v", name, err)
		}
		if _, err := decide(now); err == nil {
			t.Errorf("%s: it was made while effects are handed out", name)
		}
	}
}

// after returns steps that need another one.
func after(id string, steps []plan.ProposedStep) []plan.ProposedStep {
	for i := range steps {
		steps[i].Needs = &[]string{id}
	}
	return steps
}

// TestUndoBeginsAfterWhatWasHandedOut: an execution lost an effect that had not begun. Then the other one is undone,
// and the invocation that was late begins nothing.
func TestUndoBeginsAfterWhatWasHandedOut(t *testing.T) {
	first, second := booking(), booking()
	first.ID, second.ID = "s1", "s2"
	second.Undo.Path = "/bookings/8"
	w, r := newRun(t, nil, first, second)
	upstream(w, map[string]string{"POST /bookings": `{"id":"7"}`})
	if got := driveOnce(t, w, r); !strings.HasPrefix(got, "wave ") {
		t.Fatal(got)
	}
	drive(t, w, r, "s1")
	slow := invocation(w)
	slow.Moves = &meddling{Moves: w.Steps.Moves, before: func() {
		if _, undoing, err := w.Runs.Settle(t.Context(), fixture.Key(r.ID), "EffectLost"); err != nil || !undoing {
			t.Errorf("%v, %v", undoing, err)
		}
	}}
	_, err := slow.Execute(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.EffectOf("s2")})
	if err == nil {
		t.Error("it went on")
	}
	w.Execute(r.ID)
	sent := sentRequests(w)
	if now := w.Read(r.ID); now.Status != plan.Failed || len(sent) != 2 || sent[1] != "DELETE /bookings/7" || status(w, r, "undo:s1") != "done" {
		t.Errorf("the run is %s: %q", now.Status, sent)
	}
	receiptOf(t, w, r.ID)
}

// TestEndOfARunHoldsWhatWasHandedOut: the process is lost in a wave, and nobody continues the execution. What was
// answered is done, what was being sent is in doubt, and what had not begun is cancelled.
func TestEndOfARunHoldsWhatWasHandedOut(t *testing.T) {
	w, r := newRun(t, nil, abreast(3)...)
	w.LoseProcess(r.ID, 1)
	w.EndExecution(r.ID)
	w.Pass(time.Hour)
	if _, err := w.Runs.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := w.Read(r.ID)
	if now.Status != plan.InDoubt || now.HandedOut() || len(w.Requests()) != 2 {
		t.Errorf("the run is %s, after %d requests", now.Status, len(w.Requests()))
	}
	checkEqual(t, "the states", []string{status(w, r, "s1"), status(w, r, "s2"), status(w, r, "s3")}, []string{"done", "in_doubt step.in_doubt", "cancelled"})
	checkEqual(t, "events of s1", kinds(events(t, w, r, "s1")), []string{plan.EventStepStart, plan.EventStepDone})
	checkEqual(t, "events of s2", kinds(events(t, w, r, "s2")), []string{plan.EventStepStart})
	receiptOf(t, w, r.ID)
}

// TestKilledEffectIsJudgedAsEver: its invocation dies in its call, and another one follows.
func TestKilledEffectIsJudgedAsEver(t *testing.T) {
	for method, c := range map[string]struct {
		s1   string
		sent int
	}{"POST": {"in_doubt step.in_doubt", 2}, "GET": {"done", 3}} {
		steps := abreast(2)
		if method == "GET" {
			steps[0] = newStep("s1", "GET", "/rooms", "")
		}
		w, r := newRun(t, nil, steps...)
		w.LoseProcess(r.ID, 0)
		if st := w.Read(r.ID).State(plan.EffectOf("s1")); !st.Last.Open || st.Handed == "" {
			t.Errorf("%s: its attempt is not stored", method)
		}
		drive(t, w, r, "s1")
		drive(t, w, r, "s2")
		for got := "next"; got == "next"; {
			got = driveOnce(t, w, r)
		}
		if status(w, r, "s1") != c.s1 || status(w, r, "s2") != "done" || len(w.Requests()) != c.sent {
			t.Errorf("%s: s1 is %s, %d requests", method, status(w, r, "s1"), len(w.Requests()))
		}
		receiptOf(t, w, r.ID)
	}
}

// deaf is a connection that loses the answer to one write of a row.
type deaf struct {
	aws.HTTPClient
	loses atomic.Bool
}

func (d *deaf) Do(r *http.Request) (*http.Response, error) {
	answer, err := d.HTTPClient.Do(r)
	if err == nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") && d.loses.CompareAndSwap(true, false) {
		_ = answer.Body.Close()
		return nil, errors.New("the answer is lost")
	}
	return answer, err
}

// TestLostAnswerOfAWriteIsNoDoubt: the write of an intent was made, and its answer was lost, so that it is repeated.
func TestLostAnswerOfAWriteIsNoDoubt(t *testing.T) {
	line := &deaf{}
	table, _, _ := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { line.HTTPClient = c; return line })
	w := fixture.NewWorldOver(t, table)
	r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: abreast(2)})
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	driveOnce(t, w, r)
	line.loses.Store(true)
	if _, err := w.Steps.Execute(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.EffectOf("s1")}); err != nil {
		t.Error(err)
	}
	if line.loses.Load() || status(w, r, "s1") != "done" || len(w.Requests()) != 1 {
		t.Errorf("s1 is %s, %d requests", status(w, r, "s1"), len(w.Requests()))
	}
}

// TestWideWaveFitsIntoTransactions: a hundred elements with long errors are handed out and taken back in parts.
func TestWideWaveFitsIntoTransactions(t *testing.T) {
	const wide = plan.MaxEach
	steps := forEach()[:2:2]
	w, r := newRun(t, nil, steps...)
	store := &counting{Moves: w.Steps.Moves}
	w.Steps.Moves = store
	why := strings.Repeat("x", 5000)
	upstream(w, map[string]string{"GET /rooms": roomsOf(wide), "POST /bookings": fmt.Sprintf(`#409 {"detail":%q}`, why)})
	w.Execute(r.ID)
	now := w.Read(r.ID)
	if now.Status != plan.Failed || now.HandedOut() || len(w.Requests()) != 1+wide || store.lost != 0 {
		t.Errorf("the run is %s, after %d requests; %d transactions were lost", now.Status, len(w.Requests()), store.lost)
	}
	made := receiptOf(t, w, r.ID)
	raw, err := json.Marshal(made.Events)
	if err != nil || len(made.Events) < 2*wide {
		t.Errorf("%d events, %d bytes: %v", len(made.Events), len(raw), err)
	}
}

// TestEveryDecisionTakesBackWhatWasHandedOut: an approval does so too, because events stand in the order in which they were known.
func TestEveryDecisionTakesBackWhatWasHandedOut(t *testing.T) {
	w, r := newRun(t, nil, newStep("s1", "DELETE", "/bookings/1", ""), newStep("s2", "GET", "/rooms", ""), newStep("s3", "GET", "/rooms", ""))
	if got := driveOnce(t, w, r); !strings.HasPrefix(got, "wave ") {
		t.Fatal(got)
	}
	if got := drive(t, w, r, "s1"); got != "approval" {
		t.Fatal(got)
	}
	drive(t, w, r, "s2")
	if err := w.Steps.Await(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID}, "token"); err != nil {
		t.Fatal(err)
	}
	if now := w.Read(r.ID); now.HandedOut() || now.Status != plan.Waiting {
		t.Errorf("the run is %s, handed out %v", now.Status, now.HandedOut())
	}
	drive(t, w, r, "s3") // an invocation that is late is written with the run
	approve(t, w, r, "s1", "berta", false)
	for got := "next"; got == "next"; {
		got = driveOnce(t, w, r)
	}
	if now := w.Read(r.ID); now.Status != plan.Done || len(w.Requests()) != 3 {
		t.Errorf("the run is %s, after %d requests", now.Status, len(w.Requests()))
	}
	receiptOf(t, w, r.ID)
}
