package step

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"piloto/internal/ground/meaning"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// checkWaits are the pauses after a check that does not find the change, because the change may
// still be in flight. The last check decides.
var checkWaits = []time.Duration{2 * time.Second, 5 * time.Second}

// checkTime is the timeout of one check.
const checkTime = 30 * time.Second

// The error codes of a step between two checks.
const (
	codeNotHeld    = "step.check_not_held"
	codeUnanswered = "step.check_unanswered"
)

// check finds out whether a call whose response was lost took effect, when the step declares a
// check. If the check finds the change, the step is done, without a result. If three checks do not
// find it, the step was not done. A step without a check, or whose check was not answered by the
// operation itself, stays in doubt.
func (e *effect) check(ctx context.Context, step plan.Step) (Done, error) {
	r := e.journal.run
	st := r.State(step.ID)
	check, ok := r.Plan.CheckOf(step.ID)
	if !ok {
		return e.end(ctx, attemptOf(r, step, e.now()).doubt(st.Result))
	}
	held, wait, answer, err := e.runCheck(ctx, r, check)
	n := st.Checks + 1
	data := map[string]any{"held": held, "check": n}
	if answer != nil {
		data["status"] = answer.Status
	}
	if err != nil {
		e.log.WarnContext(ctx, "step.check_unanswered", "run_id", r.ID, "step", step.ID, "error", err)
	}
	unanswered := err != nil || st.Error != nil && st.Error.Code == codeUnanswered
	code := codeNotHeld
	if unanswered {
		code = codeUnanswered
	}
	over := ending{checks: n, data: data, failure: failure(r, code)}
	switch {
	case held:
		over.status, over.kind, over.failure, over.message = plan.StepDone, plan.EventStepChecked, nil, "checked"
	case n <= len(checkWaits):
		over.status, over.kind, over.quiet, over.open, over.name = plan.StepRunning, plan.EventStepChecked, true, true, Throttled
		over.result = st.Result
		over.notBefore = e.now().Add(max(wait, checkWaits[n-1]))
	case unanswered:
		over = attemptOf(r, step, e.now()).doubt(st.Result)
		over.checks, over.data = n, data
	default:
		over.status, over.kind = plan.StepFailed, plan.EventStepFailed
		over.failure = failure(r, "step.not_done")
	}
	return e.end(ctx, over)
}

// runCheck makes a check's call, which only reads, and reports whether its expected condition holds
// for the response. An error means that there was no response of the operation; wait is the pause that the server asked
// for.
func (e *effect) runCheck(ctx context.Context, r plan.Run, check plan.Step) (held bool, wait time.Duration, got *tool.Answer, err error) {
	step, _ := r.Plan.Step(check.ID.Base())
	call, refused, err := e.calls.prepare(ctx, r, check, e.calls.results(ctx, r, step.ID))
	if err == nil {
		err = e.calls.attachKeys(ctx, r, &call)
	}
	switch {
	case err != nil:
		return false, 0, nil, err
	case refused != nil:
		return false, 0, nil, &Error{Name: Rejected, Message: refused.Message}
	}
	answer, err := e.wire.send(ctx, r, call, checkTime)
	if err != nil {
		wait, _ := tool.WaitOf(err)
		return false, wait, nil, err
	}
	sent := r.State(step.ID).Last.SentAt
	if _, wait = answer.Meaning(); !decides(answer, call.op, call.args.Path, e.now().Sub(sent)) {
		return false, wait, &answer, &Error{Name: Transient, Message: fmt.Sprintf("the check was answered %d, and not by the operation", answer.Status)}
	}
	held, proven, err := judgeCheck(step.Verify.Expect, resultOf(answer))
	if err == nil && !proven {
		err = &Error{Name: Transient, Message: "the answer of the check has nothing of what it compares"}
	}
	return held && err == nil, 0, &answer, err
}

// judgeCheck reports whether an answer of the operation meets the condition of a check, and whether that is evidence: a missing
// value in an answer does not show that a lost change was done. A 404 has no content of the object. So it is evidence of the
// change only for a condition on the status that a 200 would not meet.
func judgeCheck(expect ref.Condition, res *plan.Result) (held, proven bool, err error) {
	only := func(r ref.Result) ref.Lookup {
		return func(name string) (ref.Result, bool) { return r, name == plan.CheckName }
	}
	answer := only(ref.Result{Status: res.Status, Headers: res.Headers, Body: res.Body})
	held, err = expect.Holds(answer)
	switch {
	case err != nil:
		return false, false, err
	case meaning.Missing(res.Status):
		return held, !held || expect.Proven(only(ref.Result{Status: res.Status})) && !expect.Proven(only(ref.Result{Status: http.StatusOK})), nil
	}
	return held, expect.Fits(answer) && (!held || expect.Proven(answer)), nil
}

// decides reports whether a check was answered by its operation, after the call that it is about was sent: with a complete
// success; or with the 404 of an operation about one object, whose path names it. The document must declare that 404, and the
// answer must name the missing object, because routers and gateways answer 404 in JSON, too. Any other answer, such as a page or
// a refusal of a key, comes from a layer before the operation, and is no evidence. Neither is an answer that a cache stored
// before the call, nor an error with a status of success.
func decides(a tool.Answer, op tool.Operation, path string, since time.Duration) bool {
	switch {
	case a.Failed, a.Truncated, meaning.Page(a.Header("Content-Type"), a.Body), meaning.SoftError(a.Body) && meaning.Of(a.Status, false) == meaning.Done:
		return false
	case a.Age >= since && a.Age > 0:
		return false
	case meaning.Missing(a.Status):
		thing, one := meaning.ThingOf(op.Path, path)
		return op.TellsMissing && one && meaning.NamesMissing(a.Body, thing)
	}
	return meaning.Whole(a.Status) && op.Describes(a.Body)
}
