package step

import (
	"errors"
	"net/url"
	"strconv"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// judge returns the ending of an attempt, from the response or the error.
//
//	2xx                                  done
//	a tool reports failure               rejected
//	a command reports failure            try again, a few times
//	the tool has changed                 rejected, and nothing was called
//	429, or 503 with Retry-After         try again later
//	not sent                             try again
//	301, 307, 308: sent to another URL   rejected
//	another 3xx:
//	    a read                           rejected
//	    otherwise                        in doubt, or checked when the step declares a check
//	lost, or 502/503/504:
//	    the method may be repeated       try again
//	    lost, 502, 504 otherwise         in doubt, or checked when the step declares a check
//	anything else                        rejected
func (x *Executor) judge(r plan.Run, step plan.Step, st plan.StepState, call prepared, a tool.Answer, err error) ending {
	if err != nil {
		return x.judgeError(r, step, st, err)
	}
	return x.judgeAnswer(r, step, st, call, a)
}

func (x *Executor) judgeError(r plan.Run, step plan.Step, st plan.StepState, err error) ending {
	if why, refused := filesRefused(r, step, err); refused {
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: why}
	}
	switch {
	case errors.Is(err, tool.ErrNotSent):
		return x.retryOrFail(r, st, maxTransient, Transient, nil, failure(r, "step.unreachable", "target", origin(st.Last.URL)))
	case errors.Is(err, tool.ErrToolChanged):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: failure(r, "step.tool_changed", "tool", step.Called())}
	case errors.Is(err, tool.ErrUnauthorized):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: failure(r, "step.unauthorized", "target", origin(st.Last.URL))}
	case errors.Is(err, tool.ErrSignIn):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: failure(r, "step.oauth_required", "target", origin(st.Last.URL))}
	case errors.Is(err, tool.ErrRequest):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: failure(r, "step.arguments", "detail", requestFault(err))}
	case plan.Idempotent(step.Method):
		return x.retryLost(r, st, nil, failure(r, "step.transient"))
	}
	return x.unknownEnding(r, step, st, nil)
}

func (x *Executor) judgeAnswer(r plan.Run, step plan.Step, st plan.StepState, call prepared, a tool.Answer) ending {
	repeatable := plan.Idempotent(step.Method)
	result := resultOf(a)
	switch {
	case a.Failed && a.Status/100 == 2:
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: x.toolFailure(r, result)}
	case a.Status/100 == 2:
		if e := x.failedCommandEnding(r, step, st, call.args, result); e != nil {
			return *e
		}
		return ending{status: plan.StepDone, kind: plan.EventStepDone, result: result}
	}
	why := x.rejection(r, st, a, result)
	wait, asked := a.RetryAfter(x.Now())
	switch {
	case step.Method == "DELETE" && (st.Lost || step.ID.Undo()) && (a.Status == 404 || a.Status == 410):
		// an earlier attempt, whose response was lost, did it; or there is nothing to undo
		return ending{status: plan.StepDone, kind: plan.EventStepDone, result: result}
	case a.Status == 429, a.Status == 503 && asked:
		e := x.retryOrFail(r, st, maxThrottled, Throttled, result, why)
		if e.status == plan.StepRunning && asked {
			e.notBefore = x.Now().Add(wait)
		}
		return e
	case repeatable && a.Status == 503:
		return x.retryOrFail(r, st, maxTransient, Transient, result, why)
	case repeatable && (a.Status == 502 || a.Status == 504):
		return x.retryLost(r, st, result, why)
	case a.Status == 502 || a.Status == 504, // the response is a gateway's, not the server's
		a.Status/100 == 3 && !isMoved(a.Status) && step.Risk != plan.Read: // the request was accepted, and perhaps done
		return x.unknownEnding(r, step, st, result)
	}
	return ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: why}
}

// retryLost returns the ending of an attempt whose response was lost and whose method may be
// repeated: the step stays open for another attempt. After the last attempt the outcome is unknown,
// unless the step only reads.
func (x *Executor) retryLost(r plan.Run, st plan.StepState, result *plan.Result, why *plan.Failure) ending {
	e := x.retryOrFail(r, st, maxTransient, Transient, result, why)
	e.lost = true
	return e
}

// unknownEnding returns the ending of an attempt that may have been applied: in doubt, or a check
// by the next invocation when the step declares one.
func (x *Executor) unknownEnding(r plan.Run, step plan.Step, st plan.StepState, result *plan.Result) ending {
	e := x.doubtEnding(r, st, result)
	if _, ok := r.Plan.CheckOf(step.ID); ok {
		e.status, e.kind, e.name, e.quiet, e.open = plan.StepRunning, plan.EventStepWait, Throttled, true, true
	}
	return e
}

// retryOrFail returns an ending that leaves the step open for another attempt, or fails it after
// the last.
func (x *Executor) retryOrFail(r plan.Run, st plan.StepState, limit int, name string, result *plan.Result, why *plan.Failure) ending {
	if st.Attempts >= limit || r.CancelAt != nil && !st.StepID.Undo() {
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: why}
	}
	return ending{name: name, status: plan.StepRunning, kind: plan.EventStepWait, result: result, failure: why, quiet: true}
}

// doubtEnding returns the ending of an attempt whose outcome is unknown. It holds the response, if
// there was one.
func (x *Executor) doubtEnding(r plan.Run, st plan.StepState, result *plan.Result) ending {
	const code = "step.in_doubt"
	key, args := code, []any{"target", origin(st.Last.URL)}
	if result != nil && result.Status/100 == 3 {
		key, args = code+"_answered", append(args, "status", strconv.Itoa(result.Status))
		if to := tool.RedirectOrigin(st.Last.URL, result.Headers["Location"]); to != "" {
			key, args = code+"_redirected", append(args, "to", to)
		}
	}
	return ending{
		status: plan.StepInDoubt, kind: plan.EventStepDoubt, result: result,
		failure: r.Failure(code, locale.Say(key, args...)),
	}
}

// isMoved reports whether a status means that the server did nothing and that the request belongs
// to another URL. Any other redirect may follow a request that took effect: 303 or 302 answers a
// form.
func isMoved(status int) bool { return status == 301 || status == 307 || status == 308 }

// toolFailure returns the failure that a tool reported, in its own words.
func (x *Executor) toolFailure(r plan.Run, result *plan.Result) *plan.Failure {
	if d := detail(result.Body); d != "" {
		return failure(r, "step.tool_failed_because", "detail", d)
	}
	return failure(r, "step.tool_failed")
}

func (x *Executor) rejection(r plan.Run, st plan.StepState, a tool.Answer, result *plan.Result) *plan.Failure {
	status := strconv.Itoa(a.Status)
	switch {
	case a.Status == 429:
		return failure(r, "step.throttled")
	case isMoved(a.Status):
		to := tool.RedirectOrigin(st.Last.URL, a.Headers["Location"])
		if to == "" {
			return failure(r, "step.moved", "status", status, "to", locale.Say("step.moved_somewhere"))
		}
		return failure(r, "step.moved", "status", status, "to", to)
	case a.Status/100 == 3:
		return failure(r, "step.redirected", "status", status)
	}
	if d := detail(result.Body); d != "" {
		return failure(r, "step.rejected_because", "status", status, "detail", d)
	}
	return failure(r, "step.rejected", "status", status)
}

func origin(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return rawURL
	}
	return u.Scheme + "://" + u.Host
}
