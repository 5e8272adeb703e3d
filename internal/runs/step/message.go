package step

import (
	"errors"
	"fmt"
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
func (x *Executor) messages(r plan.Run, step plan.Step, at time.Time, event string, more ...string) []conversation.Message {
	if step.ID.Item() >= 0 && !step.ID.Undo() && !elementMessages[event] {
		return nil
	}
	key := "run.step_" + event
	if step.ID.Undo() {
		key = "step.undo_" + event
	}
	place := 1
	for i, s := range r.Plan.Steps {
		if s.ID.Step() == step.ID.Step() {
			place = i + 1
		}
	}
	args := append([]string{"at", fmt.Sprint(place), "n", fmt.Sprint(len(r.Plan.Steps)), "title", step.Title}, more...)
	text := locale.Text(locale.Tag(r.Locale), key, args...)
	return []conversation.Message{run.Message(x.IDs, r, conversation.KindProgress, at, text)}
}

func (x *Executor) failure(r plan.Run, code string, pairs ...string) *plan.Failure {
	return &plan.Failure{Code: code, Message: locale.Text(locale.Tag(r.Locale), code, pairs...)}
}

// refusal turns an error into a failure, if locale has a sentence for its code.
func (x *Executor) refusal(r plan.Run, err error) (*plan.Failure, bool) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil, false
	}
	if _, ok := locale.Lookup(locale.Tag(r.Locale), f.Code); !ok {
		return nil, false
	}
	return &plan.Failure{Code: f.Code, Message: locale.Fill(locale.Tag(r.Locale), f.Code, f.Args)}, true
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
		return x.failure(r, "step.interrupted").Message
	}
	return messageOf(st)
}
