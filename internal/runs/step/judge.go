package step

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/origin"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// attempt is an attempt at an effect whose ending is judged.
type attempt struct {
	run   plan.Run
	step  plan.Step
	state plan.StepState
	now   time.Time
}

func attemptOf(r plan.Run, step plan.Step, now time.Time) attempt {
	return attempt{r, step, r.State(step.ID), now}
}

// judge returns the ending of an attempt, from the meaning of the answer (package meaning) or from the error.
//
//	done                                 done
//	done, and a tool reports failure     rejected
//	done, and a command reports failure  try again, a few times
//	refused                              rejected
//	an error of JSON-RPC                 refused or unknown, by its code
//	later, and not sent                  try again later
//	unknown, lost, and a page where JSON was to come:
//	    a redirect of a read             rejected
//	    the method may be repeated       try again
//	    the service's errors mean that
//	    nothing was done                 rejected
//	    otherwise                        in doubt, or checked when the step declares a check
//	the tool has changed                 rejected, and nothing was called
func (a attempt) judge(call prepared, answer tool.Answer, err error) ending {
	if err != nil {
		return a.ofError(err)
	}
	return a.ofAnswer(call, answer)
}

func (a attempt) ofError(err error) ending {
	r, step, st := a.run, a.step, a.state
	if why, refused := filesRefused(r, step, err); refused {
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: why}
	}
	switch {
	case errors.Is(err, tool.ErrNotSent):
		why := unsent(r, st, "step.unreachable", err)
		if wait, asked := tool.WaitOf(err); asked {
			return a.later(nil, why, wait)
		}
		return a.retryOrFail(maxTransient, Transient, nil, why)
	case errors.Is(err, tool.ErrToolChanged):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: failure(r, "step.tool_changed", "tool", step.Called())}
	case errors.Is(err, tool.ErrUnauthorized):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: unsent(r, st, "step.unauthorized", err)}
	case errors.Is(err, tool.ErrSignIn):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: failure(r, "step.oauth_required", "target", targetOf(st))}
	case errors.Is(err, tool.ErrRequest):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: unsendable(r, err)}
	case plan.Idempotent(step.Method):
		return a.lost(nil, failure(r, "step.transient"))
	}
	e := a.unknown(nil)
	if came := tool.CameOf(err); came != "" {
		e.failure = strangeDoubt(r, st, came)
	}
	return e
}

// unsent returns the failure of a call that had no connection or no key. Where a token endpoint gave no token for it, the
// sentence names that endpoint, because the service itself was not called.
func unsent(r plan.Run, st plan.StepState, code string, err error) *plan.Failure {
	from, status := fault.Of(err).Args["token"], fault.Of(err).Args["status"]
	key := code + "_token"
	switch {
	case from == "":
		key = code
	case code == "step.unreachable" && status != "":
		key = "step.no_token"
	}
	return r.Failure(code, locale.Say(key, "target", targetOf(st), "token", from, "status", status))
}

// codeInDoubt is the code of a step whose outcome is unknown.
const codeInDoubt = "step.in_doubt"

// strangeDoubt returns the failure of an attempt to which something came that is no answer of the operation.
func strangeDoubt(r plan.Run, st plan.StepState, came string) *plan.Failure {
	return r.Failure(codeInDoubt, locale.Say("step.in_doubt_strange", "target", targetOf(st), "came", locale.Say("step.came."+came)))
}

// namesOther reports whether a 404 speaks of something else than the thing of a call: of a project, of a key.
func namesOther(a tool.Answer, call prepared) bool {
	thing, _ := meaning.ThingOf(call.op.Path, call.args.Path)
	return meaning.NamesOther(a.Body, thing)
}

func (a attempt) ofAnswer(call prepared, answer tool.Answer) ending {
	r, step, st := a.run, a.step, a.state
	result := resultOf(answer)
	m, wait := answer.Meaning()
	strange := m == meaning.Done && !call.op.Answers(answer)
	if strange {
		m = meaning.Unknown
	}
	why := a.rejection(answer, m, result)
	failed := ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: why}
	switch {
	case m == meaning.Done && answer.Failed:
		failed.failure = toolFailure(r, result)
		return failed
	case m == meaning.Done:
		if e := a.failedCommand(call.args, result); e != nil {
			return *e
		}
		return ending{status: plan.StepDone, kind: plan.EventStepDone, result: result}
	case step.Method == "DELETE" && meaning.Missing(answer.Status) && (st.Lost || call.unanswered || step.ID.Undo()) &&
		!meaning.OfRouter(answer.Header("Content-Type"), answer.Body) && !namesOther(answer, call):
		// an earlier attempt, whose response was lost, did it; or there is nothing to undo
		return ending{status: plan.StepDone, kind: plan.EventStepDone, result: result}
	case m == meaning.Later:
		return a.later(result, why, wait)
	case m == meaning.Refused && call.unanswered && meaning.Conflicts(answer.Status): // with that of an earlier run
		return a.unknown(result)
	case m == meaning.Refused, meaning.Redirects(answer.Status) && step.Risk == plan.Read:
		return failed
	case meaning.Redirects(answer.Status): // it would be answered so again
		return a.unknown(result)
	case plan.Idempotent(step.Method):
		e := a.lost(result, why)
		e.lost = strange || !call.server.ErrorsReject()
		return e
	case call.server.ErrorsReject() && !strange: // a page is no error of the service
		return failed
	}
	return a.unknown(result)
}

// later returns the ending of an attempt that the server, or one before it, put off.
func (a attempt) later(result *plan.Result, why *plan.Failure, wait time.Duration) ending {
	e := a.retryOrFail(maxThrottled, Throttled, result, why)
	if e.status == plan.StepRunning && wait > 0 {
		e.notBefore = a.now.Add(wait)
	}
	return e
}

// lost returns the ending of an attempt whose response was lost and whose method may be
// repeated: the step stays open for another attempt. After the last attempt the outcome is unknown,
// unless the step only reads.
func (a attempt) lost(result *plan.Result, why *plan.Failure) ending {
	e := a.retryOrFail(maxTransient, Transient, result, why)
	e.lost = true
	return e
}

// unknown returns the ending of an attempt that may have been applied: in doubt, or a check
// by the next invocation when the step declares one.
func (a attempt) unknown(result *plan.Result) ending {
	e := a.doubt(result)
	if _, ok := a.run.Plan.CheckOf(a.step.ID); ok {
		e.status, e.kind, e.name, e.quiet, e.open = plan.StepRunning, plan.EventStepWait, Throttled, true, true
	}
	return e
}

// retryOrFail returns an ending that leaves the step open for another attempt, or fails it after
// the last.
func (a attempt) retryOrFail(limit int, name string, result *plan.Result, why *plan.Failure) ending {
	if a.state.Attempts >= limit || a.run.CancelAt != nil && !a.state.StepID.Undo() {
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: why}
	}
	return ending{name: name, status: plan.StepRunning, kind: plan.EventStepWait, result: result, failure: why, quiet: true}
}

// doubt returns the ending of an attempt whose outcome is unknown. It holds the response, if
// there was one.
func (a attempt) doubt(result *plan.Result) ending {
	r, st := a.run, a.state
	key, args := codeInDoubt, []any{"target", targetOf(st)}
	if result != nil && isPage(result) {
		return ending{status: plan.StepInDoubt, kind: plan.EventStepDoubt, result: result, failure: strangeDoubt(r, st, tool.CamePage)}
	}
	if result != nil {
		key, args = doubtAnswered(result, args)
		if to := tool.RedirectOrigin(st.Last.URL, result.Headers["Location"]); to != "" && meaning.Redirects(result.Status) {
			key, args = codeInDoubt+"_redirected", append(args, "to", to)
		}
	}
	return ending{
		status: plan.StepInDoubt, kind: plan.EventStepDoubt, result: result,
		failure: r.Failure(codeInDoubt, locale.Say(key, args...)),
	}
}

// doubtAnswered returns the sentence about an answer from which the outcome of its call is unknown, in the words of the server
// where it has some. One with a status of success is an error of JSON-RPC.
func doubtAnswered(result *plan.Result, args []any) (key string, all []any) {
	d := detail(result.Body)
	args = append(args, "status", strconv.Itoa(result.Status), "detail", d)
	switch {
	case meaning.Of(result.Status, false) == meaning.Done:
		return codeInDoubt + "_error", args
	case d == "" || d == http.StatusText(result.Status):
		return codeInDoubt + "_answered", args
	}
	return codeInDoubt + "_answered_because", args
}

// toolFailure returns the failure that a tool reported, in its own words.
func toolFailure(r plan.Run, result *plan.Result) *plan.Failure {
	if d := detail(result.Body); d != "" {
		return failure(r, "step.tool_failed_because", "detail", d)
	}
	return failure(r, "step.tool_failed")
}

// rejection returns the failure of an answer with a meaning.
func (a attempt) rejection(answer tool.Answer, m meaning.Meaning, result *plan.Result) *plan.Failure {
	r, st := a.run, a.state
	status := strconv.Itoa(answer.Status)
	switch {
	case m == meaning.Later:
		return failure(r, "step.throttled", "status", status)
	case answer.Code != "":
		return toolFailure(r, result)
	case m == meaning.Unknown && meaning.Of(answer.Status, false) == meaning.Done:
		return failure(r, "step.page", "target", targetOf(st))
	case meaning.Moved(answer.Status):
		to := tool.RedirectOrigin(st.Last.URL, answer.Headers["Location"])
		if to == "" {
			return failure(r, "step.moved", "status", status, "to", locale.Say("step.moved_somewhere"))
		}
		return failure(r, "step.moved", "status", status, "to", to)
	case meaning.Redirects(answer.Status):
		return failure(r, "step.redirected", "status", status)
	}
	if d := detail(result.Body); d != "" {
		return failure(r, "step.rejected_because", "status", status, "detail", d)
	}
	return failure(r, "step.rejected", "status", status)
}

// targetOf returns the origin to which the last request of a step went.
func targetOf(st plan.StepState) string { return cmp.Or(origin.Of(st.Last.URL), st.Last.URL) }
