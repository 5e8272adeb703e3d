package step

import (
	"context"
	"fmt"
	"maps"
	"time"

	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// decide calls f with the run: first with the known state, if there is one, and then with the state
// that is read, again while other writers change it first. The writes of f depend on the state that
// f was given, so a known state is as safe as one that was just read.
func (x *Executor) decide(ctx context.Context, t Task, known *plan.Run, f func(plan.Run, plan.Step) error) error {
	return retry.Do(ctx, func() error {
		done, err := x.locks.lock(ctx, t.RunID)
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

// begin writes the start of the attempt and its message. It returns the run after that write.
func (x *Executor) begin(ctx context.Context, t Task, known *plan.Run, call prepared) (plan.Run, error) {
	var next plan.Run
	err := x.decide(ctx, t, known, func(r plan.Run, step plan.Step) error {
		st := r.State(step.ID)
		stopping := r.CancelAt != nil && !step.ID.Undo()
		if misplacedReason(r, step) != "" || stopping || st.Status.Terminal() || st.Last.Open && !plan.Idempotent(step.Method) {
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
			rec.Messages = x.messages(r, step, at, "retried", "attempt", fmt.Sprint(st.Attempts-1), "reason", reason)
		} else {
			rec.Messages = x.messages(r, step, at, "started")
		}
		begun, err := x.Store.BeginStep(ctx, r, st, rec)
		next = begun
		return err
	})
	return next, err
}

// ending is the result of an attempt, or the reason why there was none. An empty name means
// success.
type ending struct {
	name      string // of the error for the state machine; derived from status when empty
	outcome   Outcome
	status    plan.StepStatus
	kind      string
	result    *plan.Result
	failure   *plan.Failure
	notBefore time.Time
	quiet     bool           // not final: no message, because the retry posts the reason
	open      bool           // the outcome of the call is still to be found out
	lost      bool           // the response of the attempt was lost
	checks    int            // number of checks so far
	data      map[string]any // of its event, in addition to the common members
	message   string         // key of the message, if not the one of its status
	reason    string         // for the message
}

// isUnanswered reports whether an effect ends as not done without a response of the server. If the
// response of an earlier attempt was lost, the outcome is then unknown.
func (e ending) isUnanswered() bool {
	switch {
	case e.status != plan.StepFailed && e.status != plan.StepCancelled, e.checks > 0:
		return false
	case e.result == nil:
		return true
	}
	return e.result.Status == 429 || e.result.Status >= 502 && e.result.Status <= 504 || isMoved(e.result.Status)
}

func failedEnding(why *plan.Failure) *ending {
	return &ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: why}
}

// end writes the result of an attempt and returns it to the state machine.
func (x *Executor) end(ctx context.Context, t Task, known *plan.Run, first ending) (Done, error) {
	e := first
	err := x.decide(ctx, t, known, func(r plan.Run, step plan.Step) error {
		st := r.State(step.ID)
		e = first
		if st.Status.Terminal() { // another invocation ended it first, and its result stays
			return nil
		}
		if st.Lost = st.Lost || e.lost; st.Lost && e.isUnanswered() && step.Risk != plan.Read {
			e = x.unknownEnding(r, step, st, nil)
			e.result = first.result
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
		return continueWith(e.outcome), nil
	case e.status == plan.StepDone, e.status == plan.StepSkipped:
		return continueWith(OutcomeDone), nil
	case e.name == "":
		e.name = errorName(e.status)
	}
	return Done{}, &Error{Name: e.name, Message: e.failure.Message}
}

func (x *Executor) record(r plan.Run, step plan.Step, st plan.StepState, e ending, at time.Time) run.Record {
	rec := run.Record{At: at, Type: e.kind, StepID: step.ID, Data: map[string]any{"attempt": st.Attempts, "title": step.Title}}
	maps.Copy(rec.Data, e.data)
	status := ""
	if e.result != nil && e.checks == 0 { // the event of a check describes the check only
		status = fmt.Sprint(e.result.Status)
		rec.Data["status"], rec.Data["bytes"], rec.Data["sha256"] = e.result.Status, e.result.Bytes, e.result.SHA256
	}
	if e.failure != nil {
		rec.Data["error"] = e.failure
		e.reason = e.failure.Message
	}
	key := e.message
	if key == "" {
		key = map[plan.StepStatus]string{plan.StepDone: "done", plan.StepInDoubt: "doubt", plan.StepFailed: "failed", plan.StepSkipped: "skipped"}[e.status]
	}
	if key != "" && !e.quiet {
		rec.Messages = x.messages(r, step, at, key, "status", status, "reason", e.reason, "items", fmt.Sprint(e.data["items"]))
	}
	return rec
}
