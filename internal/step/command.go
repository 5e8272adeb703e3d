package step

import (
	"encoding/json"
	"time"

	"piloto/internal/command"
	"piloto/internal/plan"
	"piloto/internal/tool"
)

// mostCommand is how often a command is tried that answers that it failed.
const mostCommand = 3

// thinkingTime is how long a step waits for another command before its last attempt.
// It ends the loop through Reason when that always fails.
const thinkingTime = 10 * time.Minute

const codeCommandFailed = "step.command_failed"

// thinks reports whether another command is thought of before the next attempt: the
// last one of a command that keeps failing, once, when the plan has tokens for it. A
// command that somebody approved is not replaced.
func (x *Executor) thinks(r plan.Run, step plan.Step, st plan.StepState) bool {
	e := plan.ParseEffect(step.ID)
	return st.Error != nil && st.Error.Code == codeCommandFailed && st.Attempts == mostCommand-1 && !st.Last.Open &&
		st.Command == nil && st.Approval == nil && r.Plan.Ceiling > 0 && e.Item < 0 && !e.Undo && r.CancelAt == nil &&
		x.Now().Before(st.UpdatedAt.Add(thinkingTime))
}

// commanded is the body of a call with the command that takes the place of the one
// that failed, if one does. It is looked at again here: it neither destroys nor is more
// dangerous than the one that was confirmed.
func commanded(st plan.StepState, args tool.Arguments) json.RawMessage {
	was, is := command.Of(args.Method, args.Path, args.Body)
	c := st.Command
	if !is || c == nil || c.Now == "" || c.Now == was || st.Approval != nil {
		return args.Body
	}
	now := command.Classify(c.Now).Class
	if now == command.Destructive || now > command.Classify(was).Class {
		return args.Body
	}
	return command.With(args.Body, c.Now)
}

// rises reports whether a command destroys something only since its references are
// resolved: what a result says must not make more of a command than was confirmed. An
// undo has no risk beyond its method's: what was shown as destroying is no more.
func rises(step plan.Step, args tool.Arguments) bool {
	if step.Risk == plan.Destructive || !command.Destroys(args.Method, args.Path, args.Body) {
		return false
	}
	return !plan.ParseEffect(step.ID).Undo || !command.Destroys(step.Method, step.Path, step.Body)
}

// commandFailed is the ending of an attempt at a command that answered that it failed;
// nil for what is no command, or did not fail.
func (x *Executor) commandFailed(r plan.Run, step plan.Step, st plan.StepState, args tool.Arguments, result *plan.Result) *ending {
	if _, is := command.Of(args.Method, args.Path, args.Body); !is {
		return nil
	}
	failed, why := command.Failed(result.Body)
	if !failed {
		return nil
	}
	e := x.again(r, st, mostCommand, Transient, result, x.failure(r, codeCommandFailed, "detail", why))
	if e.status == plan.StepRunning {
		after := st
		after.Error, after.Last.Open, after.UpdatedAt = e.failure, false, x.Now()
		if x.thinks(r, step, after) {
			e.outcome = OutcomeReason
		}
	}
	return &e
}
