package step

import (
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
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

// substitute returns the command that replaces the one that failed; nil when none does. It is
// judged again here: it must not destroy, nor be more dangerous than the one that failed. An
// element and an undo have no substitute, because nobody could be asked.
func substitute(st plan.StepState, args tool.Arguments) *plan.Command {
	was, is := command.Of(args.Method, args.Path, args.Body)
	c, e := st.Command, plan.ParseEffect(st.StepID)
	if !is || !c.Replaces() || e.Item >= 0 || e.Undo || command.Accept(was, was, c.Now) != "" {
		return nil
	}
	return &plan.Command{Was: was, Now: c.Now, Because: c.Because, Asks: c.Asks || command.Asks(was, c.Now)}
}

// asksFor is why a call needs a person who sees it as it is sent, or nothing: it has
// another command than the plan, or what an earlier step answered is part of its command.
func (x *Executor) asksFor(r plan.Run, call prepared) string {
	tag := locale.Tag(r.Locale)
	switch {
	case call.substitute != nil && call.substitute.Asks:
		return locale.Text(tag, "step.substitute")
	case call.woven:
		return locale.Text(tag, "step.woven")
	}
	return ""
}

// seen adds to what a call waits for that a person must see it. Of two reasons the
// stricter terms hold, and both are told.
func seen(ask *plan.Ask, why string) *plan.Ask {
	switch {
	case why == "":
		return ask
	case ask == nil:
		return &plan.Ask{Reason: why, Minutes: rule.Minutes}
	}
	both := *ask
	both.Reason, both.Maybe = why+" "+ask.Reason, false
	return &both
}

// unapproved ends a step whose substitute nobody approved. It fails as its own command did.
// why is the reason that was given, or that nobody answered.
func (x *Executor) unapproved(r plan.Run, st plan.StepState, why *plan.Failure) *plan.Failure {
	if !st.Command.Replaces() {
		return why
	}
	return &plan.Failure{Code: codeCommandFailed, Message: locale.Text(locale.Tag(r.Locale), "step.command_unapproved", "reason", why.Message)}
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
