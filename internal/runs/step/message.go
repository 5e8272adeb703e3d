package step

import (
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// elementMessages lists the messages that single elements post. The elements that succeed share one
// message of the step.
var elementMessages = map[string]bool{"failed": true, "doubt": true}

// messages returns the chat's message about an effect, from the text "run.step_" + event for a step
// and its elements, or "step.undo_" + event for an undo. An element that succeeds posts none.
func (x *Executor) messages(r plan.Run, step plan.Step, at time.Time, event string, more ...any) []conversation.Message {
	if step.ID.Item() >= 0 && !step.ID.Undo() && !elementMessages[event] {
		return nil
	}
	key := "run.step_" + event
	if step.ID.Undo() {
		key = "step.undo_" + event
	}
	args := append([]any{"at", r.Plan.Place(step.ID), "n", len(r.Plan.Steps), "title", step.Title}, more...)
	return []conversation.Message{run.Message(x.IDs, r, conversation.KindProgress, at, locale.Tag(r.Locale), locale.Say(key, args...))}
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

// reason returns the cause of a further attempt: the failure of the one before, or its
// interruption.
func (x *Executor) reason(r plan.Run, st plan.StepState) string {
	if st.Last.Open {
		return failure(r, "step.interrupted").Message
	}
	return messageOf(st)
}
