package step

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// elementMessages lists the messages that single elements post. The elements that succeed share one
// message of the step.
var elementMessages = map[string]bool{"failed": true, "doubt": true}

// notes writes the records and the messages about effects.
type notes struct{ ids *ids.Source }

// messages returns the chat's message about an effect, from the text "run.step_" + event for a step
// and its elements, or "step.undo_" + event for an undo. An element that succeeds posts none.
func (n notes) messages(r plan.Run, step plan.Step, at time.Time, event string, more ...any) []conversation.Message {
	if step.ID.Item() >= 0 && !step.ID.Undo() && !elementMessages[event] {
		return nil
	}
	key := "run.step_" + event
	if step.ID.Undo() {
		key = "step.undo_" + event
	}
	args := append([]any{"at", r.Plan.Place(step.ID), "n", len(r.Plan.Steps), "title", step.Title}, more...)
	return []conversation.Message{run.Message(n.ids, r, conversation.KindProgress, at, locale.Tag(r.Locale), locale.Say(key, args...))}
}

// intent returns the move that begins the next attempt of an effect.
func (n notes) intent(r plan.Run, step plan.Step, call prepared, at time.Time) run.Move {
	st := r.State(step.ID)
	again := st.Attempts > 0
	reason := whyAgain(r, st)
	st.Status, st.Attempts, st.UpdatedAt, st.NotBefore = plan.StepRunning, st.Attempts+1, at, time.Time{}
	st.Result, st.Error, st.Lost = nil, nil, st.Lost || st.Last.Open
	st.Last = plan.Attempt{
		Number: st.Attempts, URL: call.request.URL, Headers: call.args.Headers, Body: call.body, Key: call.idempotency, SentAt: at, Open: true,
		Lasts: lasting(call.within),
	}
	rec := run.Record{At: at, Type: plan.EventStepStart, StepID: step.ID, Data: map[string]any{
		"attempt": st.Attempts, "method": call.request.Method, "url": call.request.URL, "title": step.Title, "request": call.hash,
	}}
	if step.Tool != "" {
		rec.Data["tool"] = step.Tool
	}
	if len(call.args.Headers) > 0 {
		rec.Data["headers"] = call.args.Headers
	}
	switch {
	case again:
		rec.Type = plan.EventStepRetry
		rec.Data["reason"] = reason
		rec.Messages = n.messages(r, step, at, "retried", "attempt", fmt.Sprint(st.Attempts-1), "reason", reason)
	case call.unanswered:
		rec.Messages = n.messages(r, step, at, "again")
	default:
		rec.Messages = n.messages(r, step, at, "started")
	}
	return run.Move{Record: rec, State: &st, Begins: true}
}

// record returns the record of an ending.
func (n notes) record(r plan.Run, step plan.Step, st plan.StepState, e ending, at time.Time) run.Record {
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
		rec.Messages = n.messages(r, step, at, key, "status", status, "reason", e.reason, "items", fmt.Sprint(e.data["items"]))
	}
	return rec
}

// failure returns a failure whose sentence is that of its code.
func failure(r plan.Run, code string, pairs ...any) *plan.Failure {
	return r.Failure(code, locale.Say(code, pairs...))
}

// refusal turns an error into a failure, if locale has a sentence for its code.
func refusal(r plan.Run, err error) (*plan.Failure, bool) {
	var f *fault.Error
	if !errors.As(err, &f) || !locale.Exists(f.Code) {
		return nil, false
	}
	return r.Failure(f.Code, locale.OfFault(f)), true
}

func errorName(s plan.StepStatus) string {
	switch s {
	case plan.StepInDoubt:
		return InDoubt
	case plan.StepCancelled:
		return Cancelled
	}
	return Rejected
}

func messageOf(st plan.StepState) string {
	if st.Error != nil {
		return st.Error.Message
	}
	return string(st.Status)
}

// whyAgain returns the cause of a further attempt: the failure of the one before, or its
// interruption.
func whyAgain(r plan.Run, st plan.StepState) string {
	if st.Last.Open {
		return failure(r, "step.interrupted").Message
	}
	return messageOf(st)
}
