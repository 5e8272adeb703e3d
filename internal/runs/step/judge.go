package step

import (
	"cmp"
	"errors"
	"net/url"
	"strconv"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// judge says what an answer, or its absence, means for the step.
//
//	answered 2xx                         done
//	a tool that says it failed           rejected
//	a command that says it failed        try again, a few times
//	a tool that is another by now        rejected, and nothing was called
//	429, or 503 with Retry-After         try again later
//	not sent                             try again
//	301, 307, 308: to be sent elsewhere  rejected
//	another 3xx:
//	    a read                           rejected
//	    otherwise                        in doubt, or looked for when the step says how
//	lost, or 502/503/504:
//	    the method may be repeated       try again
//	    lost, 502, 504 otherwise         in doubt, or looked for when the step says how
//	anything else                        rejected
func (x *Executor) judge(r plan.Run, step plan.Step, st plan.StepState, call prepared, a tool.Answer, err error) ending {
	if err != nil {
		return x.judgeError(r, step, st, err)
	}
	return x.judgeAnswer(r, step, st, call, a)
}

func (x *Executor) judgeError(r plan.Run, step plan.Step, st plan.StepState, err error) ending {
	switch {
	case errors.Is(err, tool.ErrNotSent):
		return x.again(r, st, mostTransient, Transient, nil, x.failure(r, "step.unreachable", "target", origin(st.Last.URL)))
	case errors.Is(err, tool.ErrToolChanged):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: x.failure(r, "step.tool_changed", "tool", step.Called())}
	case errors.Is(err, tool.ErrRefusedUs):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: x.failure(r, "step.unauthorized", "target", origin(st.Last.URL))}
	case errors.Is(err, tool.ErrRequest):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: x.failure(r, "step.arguments", "detail", told(err))}
	case plan.Idempotent(step.Method):
		return x.lost(r, st, nil, x.failure(r, "step.transient"))
	}
	return x.unknown(r, step, st, nil)
}

func (x *Executor) judgeAnswer(r plan.Run, step plan.Step, st plan.StepState, call prepared, a tool.Answer) ending {
	repeatable := plan.Idempotent(step.Method)
	result := storable(a)
	why := x.rejection(r, st, a)
	wait, asked := a.RetryAfter(x.Now())
	switch {
	case a.Failed && a.Status/100 == 2:
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: x.failed(r, result)}
	case a.Status/100 == 2:
		if e := x.commandFailed(r, step, st, call.args, result); e != nil {
			return *e
		}
		return ending{status: plan.StepDone, kind: plan.EventStepDone, result: result}
	case step.Method == "DELETE" && (st.Lost || plan.ParseEffect(step.ID).Undo) && (a.Status == 404 || a.Status == 410):
		// An earlier attempt whose answer was lost did it; or there is nothing to undo.
		return ending{status: plan.StepDone, kind: plan.EventStepDone, result: result}
	case a.Status == 429, a.Status == 503 && asked:
		e := x.again(r, st, mostThrottled, Throttled, result, why)
		if e.status == plan.StepRunning && asked {
			e.notBefore = x.Now().Add(wait)
		}
		return e
	case repeatable && a.Status == 503:
		return x.again(r, st, mostTransient, Transient, result, why)
	case repeatable && (a.Status == 502 || a.Status == 504):
		return x.lost(r, st, result, why)
	case a.Status == 502 || a.Status == 504, // a gateway speaks, not the server
		a.Status/100 == 3 && !elsewhere(a.Status) && step.Risk != plan.Read: // it was taken, and perhaps done
		return x.unknown(r, step, st, result)
	}
	return ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: why}
}

// lost leaves a step whose method may be repeated open for another attempt. After the
// last, nobody knows whether one of them was applied, unless it only reads.
func (x *Executor) lost(r plan.Run, st plan.StepState, result *plan.Result, why *plan.Failure) ending {
	e := x.again(r, st, mostTransient, Transient, result, why)
	e.lost = true
	return e
}

// unknown is the ending of an attempt that may have been applied: in doubt, unless the
// step says how to find out, which the next invocation has time for.
func (x *Executor) unknown(r plan.Run, step plan.Step, st plan.StepState, result *plan.Result) ending {
	e := x.doubt(r, st, result)
	if _, ok := r.Plan.CheckOf(step.ID); ok {
		e.status, e.kind, e.name, e.quiet, e.open = plan.StepRunning, plan.EventStepWait, Throttled, true, true
	}
	return e
}

// again leaves the step open for another attempt, or fails it after the last.
func (x *Executor) again(r plan.Run, st plan.StepState, most int, name string, result *plan.Result, why *plan.Failure) ending {
	if st.Attempts >= most || r.CancelAt != nil && !plan.ParseEffect(st.StepID).Undo {
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: why}
	}
	return ending{name: name, status: plan.StepRunning, kind: plan.EventStepWait, result: result, failure: why, quiet: true}
}

// doubt is the ending of what nobody knows about. It says what was answered, if
// anything was.
func (x *Executor) doubt(r plan.Run, st plan.StepState, result *plan.Result) ending {
	const code = "step.in_doubt"
	key, args := code, []string{"target", origin(st.Last.URL)}
	if result != nil && result.Status/100 == 3 {
		key, args = code+"_answered", append(args, "status", strconv.Itoa(result.Status))
		if to := tool.LeadsTo(st.Last.URL, result.Headers["Location"]); to != "" {
			key, args = code+"_redirected", append(args, "to", to)
		}
	}
	return ending{
		status: plan.StepInDoubt, kind: plan.EventStepDoubt, result: result,
		failure: &plan.Failure{Code: code, Message: locale.Text(locale.Tag(r.Locale), key, args...)},
	}
}

// elsewhere reports whether a server says that it did nothing, and that the request is
// to be sent to another address. Any other redirect may come after it was done: the
// answer of a form is 303, or 302.
func elsewhere(status int) bool { return status == 301 || status == 307 || status == 308 }

// failed says, in a tool's own words, that it did not succeed.
func (x *Executor) failed(r plan.Run, result *plan.Result) *plan.Failure {
	if d := detail(result.Body); d != "" {
		return x.failure(r, "step.tool_failed_because", "detail", d)
	}
	return x.failure(r, "step.tool_failed")
}

func (x *Executor) rejection(r plan.Run, st plan.StepState, a tool.Answer) *plan.Failure {
	status := strconv.Itoa(a.Status)
	switch {
	case a.Status == 429:
		return x.failure(r, "step.throttled")
	case elsewhere(a.Status):
		to := tool.LeadsTo(st.Last.URL, a.Headers["Location"])
		return x.failure(r, "step.moved", "status", status, "to", cmp.Or(to, locale.Text(locale.Tag(r.Locale), "step.moved_somewhere")))
	case a.Status/100 == 3:
		return x.failure(r, "step.redirected", "status", status)
	}
	if d := detail(storable(a).Body); d != "" {
		return x.failure(r, "step.rejected_because", "status", status, "detail", d)
	}
	return x.failure(r, "step.rejected", "status", status)
}

func origin(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return rawURL
	}
	return u.Scheme + "://" + u.Host
}
