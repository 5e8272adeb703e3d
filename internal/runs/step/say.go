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

// elementsSaid are the messages about one element of a step: fifty that went well
// are told of together.
var elementsSaid = map[string]bool{"failed": true, "doubt": true}

// say makes the chat's message about an effect: "run.step_WHAT" of a step and of its
// elements, "step.undo_WHAT" of an undo. There is none about an element that goes
// well.
func (x *Executor) say(r plan.Run, step plan.Step, at time.Time, what string, more ...string) []conversation.Message {
	e := plan.ParseEffect(step.ID)
	if e.Item >= 0 && !e.Undo && !elementsSaid[what] {
		return nil
	}
	key := "run.step_" + what
	if e.Undo {
		key = "step.undo_" + what
	}
	place := 1
	for i, s := range r.Plan.Steps {
		if s.ID == e.Step {
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

// refusal turns a fault whose sentence is in locale into a failure.
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

func nameOf(s plan.StepStatus) string {
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

// reason says why an attempt follows another: what ended that one, or that
// nobody knows, since it was cut off in the middle.
func (x *Executor) reason(r plan.Run, st plan.StepState) string {
	if st.Last.Open {
		return x.failure(r, "step.interrupted").Message
	}
	return messageOf(st)
}
