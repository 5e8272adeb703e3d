package step

import (
	"errors"
	"net/url"
	"strconv"

	"piloto/internal/plan"
	"piloto/internal/tool"
)

// judge says what an answer, or its absence, means for the step.
//
//	answered 2xx                         done
//	a tool that says it failed           rejected
//	a command that says it failed        try again, a few times
//	a tool that is another by now        rejected, and nothing was called
//	429, or 503 with Retry-After         try again later
//	not sent                             try again
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
	return x.unknown(r, step, st)
}

func (x *Executor) judgeAnswer(r plan.Run, step plan.Step, st plan.StepState, call prepared, a tool.Answer) ending {
	repeatable := plan.Idempotent(step.Method)
	result := storable(a)
	why := x.rejection(r, a)
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
	case a.Status == 502 || a.Status == 504: // a gateway speaks, not the server
		e := x.unknown(r, step, st)
		e.result = result
		return e
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
func (x *Executor) unknown(r plan.Run, step plan.Step, st plan.StepState) ending {
	e := x.doubt(r, st)
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

func (x *Executor) doubt(r plan.Run, st plan.StepState) ending {
	return ending{
		status: plan.StepInDoubt, kind: plan.EventStepDoubt,
		failure: x.failure(r, "step.in_doubt", "target", origin(st.Last.URL)),
	}
}

// failed says, in a tool's own words, that it did not succeed.
func (x *Executor) failed(r plan.Run, result *plan.Result) *plan.Failure {
	if d := detail(result.Body); d != "" {
		return x.failure(r, "step.tool_failed_because", "detail", d)
	}
	return x.failure(r, "step.tool_failed")
}

func (x *Executor) rejection(r plan.Run, a tool.Answer) *plan.Failure {
	status := strconv.Itoa(a.Status)
	switch {
	case a.Status == 429:
		return x.failure(r, "step.throttled")
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
