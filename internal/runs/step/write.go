package step

import (
	"context"
	"fmt"
	"maps"
	"time"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// decide lets f decide over the run: first as it is known, if it is, and then as
// it is read, again and again while other writers move it first. What f writes
// is conditional on what it was given, so that knowing it from before is as safe
// as having read it.
func (x *Executor) decide(ctx context.Context, t Task, known *plan.Run, f func(plan.Run, plan.Step) error) error {
	return run.Retry(ctx, func() error {
		done, err := x.turns.take(ctx, t.RunID)
		if err != nil {
			return err
		}
		defer done()
		if known != nil {
			r := *known
			known = nil
			step, _ := r.Plan.Step(t.StepID)
			return f(r, step)
		}
		r, step, err := x.load(ctx, t)
		if err != nil {
			return err
		}
		return f(r, step)
	})
}

// begin writes the intent and the message that goes with it. It returns the run
// as that left it.
func (x *Executor) begin(ctx context.Context, t Task, known *plan.Run, call prepared) (plan.Run, error) {
	var next plan.Run
	err := x.decide(ctx, t, known, func(r plan.Run, step plan.Step) error {
		st := r.State(step.ID)
		stopping := r.CancelAt != nil && !plan.ParseEffect(step.ID).Undo
		if misplaced(r, step) != "" || stopping || st.Status.Terminal() || st.Last.Open && !plan.Idempotent(step.Method) {
			return &Error{Name: Transient, Message: "the step moved while it was prepared"}
		}
		at := x.Now()
		again := st.Attempts > 0
		reason := x.reason(r, st)
		st.Status, st.Attempts, st.UpdatedAt, st.NotBefore = plan.StepRunning, st.Attempts+1, at, time.Time{}
		st.Result, st.Error, st.Lost = nil, nil, st.Lost || st.Last.Open
		st.Last = plan.Attempt{Number: st.Attempts, URL: call.request.URL, Body: call.body, SentAt: at, Open: true}
		rec := run.Record{At: at, Type: plan.EventStepStart, StepID: step.ID, Data: map[string]any{
			"attempt": st.Attempts, "method": call.request.Method, "url": call.request.URL, "title": step.Title, "request": call.hash,
		}}
		if step.Tool != "" {
			rec.Data["tool"] = step.Tool
		}
		if again {
			rec.Type = plan.EventStepRetry
			rec.Data["reason"] = reason
			rec.Messages = x.say(r, step, at, "retried", "attempt", fmt.Sprint(st.Attempts-1), "reason", reason)
		} else {
			rec.Messages = x.say(r, step, at, "started")
		}
		begun, err := x.Store.BeginStep(ctx, r, st, rec)
		next = begun
		return err
	})
	return next, err
}

// ending is what became of an attempt, or why there was none. An empty name is
// success.
type ending struct {
	name      string // of the error for the state machine; derived from status when empty
	outcome   Outcome
	status    plan.StepStatus
	kind      string
	result    *plan.Result
	failure   *plan.Failure
	notBefore time.Time
	quiet     bool           // not over: no message of its own, the retry will say why
	open      bool           // what became of the call is still to be found out
	lost      bool           // the answer of the attempt was
	checks    int            // how often that was tried
	data      map[string]any // of its event, beside what every one has
	said      string         // the message instead of the one that its status has
	because   string         // of the message
}

// unanswered reports whether an effect would end as not done without a word of the
// server: of an attempt before it whose answer was lost, nobody then knows.
func (e ending) unanswered() bool {
	switch {
	case e.status != plan.StepFailed && e.status != plan.StepCancelled, e.checks > 0:
		return false
	case e.result == nil:
		return true
	}
	return e.result.Status == 429 || e.result.Status >= 502 && e.result.Status <= 504 || elsewhere(e.result.Status)
}

func refusedWith(why *plan.Failure) *ending {
	return &ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: why}
}

// end writes what became of an attempt and says it to the state machine.
func (x *Executor) end(ctx context.Context, t Task, known *plan.Run, came ending) (Done, error) {
	e := came
	err := x.decide(ctx, t, known, func(r plan.Run, step plan.Step) error {
		st := r.State(step.ID)
		e = came
		if st.Status.Terminal() { // somebody settled it meanwhile; the first word stands
			return nil
		}
		if st.Lost = st.Lost || e.lost; st.Lost && e.unanswered() && step.Risk != plan.Read {
			e = x.unknown(r, step, st, nil)
			e.result = came.result
		}
		at := x.Now()
		st.Status, st.Result, st.Error, st.NotBefore, st.UpdatedAt = e.status, e.result, e.failure, e.notBefore, at
		st.Last.Open, st.Checks = e.open, max(st.Checks, e.checks)
		_, err := x.Store.EndStep(ctx, r, st, x.record(r, step, st, e, at))
		return err
	})
	switch {
	case err != nil:
		return Done{}, err
	case e.outcome != "":
		return goOn(e.outcome), nil
	case e.status == plan.StepDone, e.status == plan.StepSkipped:
		return goOn(OutcomeDone), nil
	case e.name == "":
		e.name = nameOf(e.status)
	}
	return Done{}, &Error{Name: e.name, Message: e.failure.Message}
}

func (x *Executor) record(r plan.Run, step plan.Step, st plan.StepState, e ending, at time.Time) run.Record {
	rec := run.Record{At: at, Type: e.kind, StepID: step.ID, Data: map[string]any{"attempt": st.Attempts, "title": step.Title}}
	maps.Copy(rec.Data, e.data)
	status := ""
	if e.result != nil && e.checks == 0 { // a check's event is about the check
		status = fmt.Sprint(e.result.Status)
		rec.Data["status"], rec.Data["bytes"], rec.Data["sha256"] = e.result.Status, e.result.Bytes, e.result.SHA256
	}
	if e.failure != nil {
		rec.Data["error"] = e.failure
		e.because = e.failure.Message
	}
	key := e.said
	if key == "" {
		key = map[plan.StepStatus]string{plan.StepDone: "done", plan.StepInDoubt: "doubt", plan.StepFailed: "failed", plan.StepSkipped: "skipped"}[e.status]
	}
	if key != "" && !e.quiet {
		rec.Messages = x.say(r, step, at, key, "status", status, "reason", e.because, "items", fmt.Sprint(e.data["items"]))
	}
	return rec
}
