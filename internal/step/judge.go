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
//	a tool that is another by now        rejected, and nothing was called
//	429, or 503 with Retry-After         try again later
//	not sent                             try again
//	lost, or 502/503/504:
//	    the method may be repeated       try again
//	    lost, 502, 504 otherwise         in doubt, for good
//	anything else                        rejected
func (x *Executor) judge(r plan.Run, step plan.Step, st plan.StepState, a tool.Answer, err error) ending {
	repeatable := plan.Idempotent(step.Method)
	switch {
	case errors.Is(err, tool.ErrNotSent):
		return x.again(r, st, mostTransient, Transient, nil, x.failure(r, "step.unreachable", "target", origin(st.Last.URL)))
	case errors.Is(err, tool.ErrToolChanged):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: x.failure(r, "step.tool_changed", "tool", step.Called())}
	case errors.Is(err, tool.ErrRefusedUs):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: x.failure(r, "step.unauthorized", "target", origin(st.Last.URL))}
	case errors.Is(err, tool.ErrRequest):
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: x.failure(r, "step.arguments", "detail", told(err))}
	case err != nil && repeatable:
		return x.again(r, st, mostTransient, Transient, nil, x.failure(r, "step.transient"))
	case err != nil:
		return x.doubt(r, st)
	}
	result := storable(a)
	why := x.rejection(r, a)
	wait, asked := a.RetryAfter(x.Now())
	switch {
	case a.Failed && a.Status/100 == 2:
		return ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: x.failed(r, result)}
	case a.Status/100 == 2:
		return ending{status: plan.StepDone, kind: plan.EventStepDone, result: result}
	case step.Method == "DELETE" && st.Attempts > 1 && (a.Status == 404 || a.Status == 410):
		// An earlier attempt whose answer was lost did it.
		return ending{status: plan.StepDone, kind: plan.EventStepDone, result: result}
	case a.Status == 429, a.Status == 503 && asked:
		e := x.again(r, st, mostThrottled, Throttled, result, why)
		if e.status == plan.StepRunning && asked {
			e.notBefore = x.Now().Add(wait)
		}
		return e
	case repeatable && (a.Status == 502 || a.Status == 503 || a.Status == 504):
		return x.again(r, st, mostTransient, Transient, result, why)
	case a.Status == 502 || a.Status == 504: // a gateway speaks, not the server
		e := x.doubt(r, st)
		e.result = result
		return e
	}
	return ending{status: plan.StepFailed, kind: plan.EventStepFailed, result: result, failure: why}
}

// again leaves the step open for another attempt, or fails it after the last.
func (x *Executor) again(r plan.Run, st plan.StepState, most int, name string, result *plan.Result, why *plan.Failure) ending {
	if st.Attempts >= most || r.CancelAt != nil {
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
