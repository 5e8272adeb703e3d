package step

import (
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// maxCommandAttempts is the number of attempts of a command that reports failure.
const maxCommandAttempts = 3

// reasonTimeout is how long a step waits for a replacement of its command before the last attempt.
// It also ends the loop through Reason when Reason always fails.
const reasonTimeout = 10 * time.Minute

const codeCommandFailed = "step.command_failed"

// canReason reports whether the model is asked for a replacement before the next attempt. It is
// asked once, before the last attempt of a failing command, if the plan has tokens for it. A
// command that a person approved is not replaced.
func (a attempt) canReason() bool {
	r, st := a.run, a.state
	return st.Error != nil && st.Error.Code == codeCommandFailed && st.Attempts == maxCommandAttempts-1 && !st.Last.Open &&
		st.Command == nil && st.Approval == nil && r.Plan.Ceiling > 0 && a.step.ID.Whole() && r.CancelAt == nil &&
		a.now.Before(st.UpdatedAt.Add(reasonTimeout))
}

// substitute returns the command that replaces the failed one; nil when there is none. It is judged
// again here: it must not destroy, nor be more dangerous than the failed one. An element and an
// undo have no substitute, because no person could approve it.
func substitute(st plan.StepState, args tool.Arguments) *plan.Command {
	was, is := command.Of(args)
	c := st.Command
	if !is || !c.Replaces() || !st.StepID.Whole() || (command.Replacement{Confirmed: was, Failed: was, Other: c.Now}).Refused() != "" {
		return nil
	}
	return &plan.Command{Was: was, Now: c.Now, Because: c.Because, Asks: c.Asks || command.Replacement{Failed: was, Other: c.Now}.Asks()}
}

// approvalReason returns the reason why a person must see a call before it is sent; empty when
// there is none. The reasons are a substitute command, and a command that includes the result of an
// earlier step.
func (call prepared) approvalReason(r plan.Run) string {
	switch {
	case call.substitute != nil && call.substitute.Asks:
		return r.Text(locale.Say("step.substitute"))
	case call.changedByResult:
		return r.Text(locale.Say("step.woven"))
	}
	return ""
}

// withReason adds a reason to the approval that a call needs. With two reasons, the text holds
// both, and the terms of ask apply.
func withReason(ask *plan.Ask, why string) *plan.Ask {
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

// approvalFailure returns the failure of a step whose approval was refused or expired. A substitute that
// was not approved fails as the original command did. why is the reason of the refusal.
func approvalFailure(r plan.Run, st plan.StepState, why *plan.Failure) *plan.Failure {
	if !st.Command.Replaces() {
		return why
	}
	return r.Failure(codeCommandFailed, locale.Say("step.command_unapproved", "reason", why.Message))
}

// escalates reports whether a command is destructive only after its references are resolved. A
// result must not make a command more dangerous than the confirmed one. The risk of an undo comes
// from its method alone, so an undo that was shown as destructive is accepted.
func escalates(step plan.Step, args tool.Arguments) bool {
	if step.Risk == plan.Destructive || !command.Destroys(args) {
		return false
	}
	return !step.ID.Undo() || !command.Destroys(step.Arguments())
}

// failedCommand returns the ending of an attempt whose command reports failure; nil if the call is
// not a command, or did not fail.
func (a attempt) failedCommand(args tool.Arguments, result *plan.Result) *ending {
	if _, is := command.Of(args); !is {
		return nil
	}
	failed, why := command.Failed(result.Body)
	if !failed {
		return nil
	}
	e := a.retryOrFail(maxCommandAttempts, Transient, result, failure(a.run, codeCommandFailed, "detail", why))
	if e.status == plan.StepRunning {
		a.state.Error, a.state.Last.Open, a.state.UpdatedAt = e.failure, false, a.now
		if a.canReason() {
			e.outcome = OutcomeReason
		}
	}
	return &e
}
