package step

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// MostElements is the greatest number of elements of all steps of one run. It is bounded by the
// history of an execution.
const MostElements = 500

// maxRounds is how often the elements of a step are started, when some of them do not end.
const maxRounds = 3

// each executes a step that is done for each element of a list: first the checks of the whole step,
// then the elements, each an effect of its own, and finally the collection of their results.
func (e *effect) each(ctx context.Context, step plan.Step) (Done, error) {
	r := e.journal.run
	st := r.State(step.ID)
	if st.Expanded {
		return e.collect(ctx, step)
	}
	answers := e.calls.results(ctx, r, step.ID)
	skipped, err := answers.skipped(step)
	switch {
	case err != nil:
		return Done{}, err
	case skipped != nil:
		return e.end(ctx, *skipped)
	}
	n, w, refused, err := e.calls.elements(ctx, r, step, answers)
	if err != nil {
		return Done{}, err
	}
	waits := false
	if refused == nil {
		waits, refused = w.gate(r, st, e.now())
	}
	switch {
	case refused != nil:
		return e.end(ctx, *failedEnding(refused))
	case waits:
		return continueWith(OutcomeApproval), nil
	}
	return e.round(ctx, n)
}

// elements counts the elements of a step and prepares all their requests, so that the step fails
// before anything is sent when one of them is invalid.
func (p preparer) elements(ctx context.Context, r plan.Run, step plan.Step, answers *results) (int, approvalRequest, *plan.Failure, error) {
	fail := func(f *plan.Failure, err error) (int, approvalRequest, *plan.Failure, error) {
		return 0, approvalRequest{}, f, err
	}
	list, err := answers.elements(step)
	switch {
	case answers.err != nil:
		return fail(nil, answers.err)
	case err != nil:
		return fail(unsendable(r, err), nil)
	case len(list) > plan.MaxEach:
		return fail(unsendable(r, tooMany(len(list))), nil)
	}
	moved := changedTarget(step, answers.lookup)
	switch {
	case answers.err != nil:
		return fail(nil, answers.err)
	case moved != nil:
		return fail(unsendable(r, moved), nil)
	}
	b, refused, err := p.bind(ctx, r, step)
	if err != nil || refused != nil {
		return fail(refused, err)
	}
	w := approvalRequest{method: cmp.Or(step.Tool, step.Method), url: b.binding.URL(step)}
	requests := make([]element, len(list))
	for i := range list {
		call, refused, err := p.element(ctx, r, step, b, answers, i, list[i])
		switch {
		case err != nil:
			return fail(nil, err)
		case refused != nil:
			return fail(failure(r, codeElement, "at", fmt.Sprint(i+1), "reason", refused.Message), nil)
		}
		w.ask = stricterAsk(w.ask, call.ask)
		requests[i] = element{URL: call.request.URL, Headers: call.args.Headers, Body: call.body, Request: call.hash}
		w.requests = append(w.requests, call.hash)
	}
	if w.body, err = json.Marshal(requests); err != nil {
		return fail(nil, err)
	}
	w.hash = plan.RequestHash(w.method, w.url, w.body)
	return len(list), w, nil, nil
}

// element prepares the request of one element. Its approval is that of its step. The results that
// it names are read once for all elements.
func (p preparer) element(ctx context.Context, r plan.Run, step plan.Step, b bound, answers *results, i int, value json.RawMessage) (prepared, *plan.Failure, error) {
	one, _ := r.Plan.Step(plan.ItemOf(step.ID, i))
	item := p.results(ctx, r, one.ID)
	item.read = answers.read
	item.read[plan.ItemName] = &ref.Result{Status: 200, Body: value}
	defer delete(answers.read, plan.ItemName)
	call, refused, err := p.fill(r, one, b, item)
	if err != nil || refused != nil {
		return call, refused, err
	}
	one.ID = step.ID
	call.ask, refused = call.checkRules(r, one, b)
	return call, refused, nil
}

// stricterAsk returns the stricter of two approval requests: another person before anyone, then the
// shorter time.
func stricterAsk(a, b *plan.Ask) *plan.Ask {
	switch {
	case a == nil || b == nil:
		if a == nil {
			return b
		}
		return a
	case a.Another != b.Another:
		if b.Another {
			return b
		}
		return a
	case b.Minutes < a.Minutes:
		return b
	}
	return a
}

// round records a round over the elements, the first or a further one, and returns the elements
// that have not ended.
func (e *effect) round(ctx context.Context, n int) (Done, error) {
	var left []plan.EffectID
	var over *ending
	err := e.journal.decide(ctx, e.id, func(r plan.Run) ([]run.Move, error) {
		step, _ := r.Plan.Step(e.id)
		st := r.State(step.ID)
		left, over = unfinishedElements(r, step.ID, n), nil
		sum := 0
		for _, other := range r.Steps {
			if other.StepID != step.ID {
				sum += other.Items
			}
		}
		switch {
		case misplacedReason(r, step) != "" || st.Status.Terminal() || r.CancelAt != nil && !st.Expanded:
			return nil, &Error{Name: Transient, Message: "the step moved while it was prepared"}
		case sum+n > MostElements:
			over = failedEnding(unsendable(r, tooManyInAll(sum+n)))
			return nil, nil
		case n == 0:
			over = collectedEnding(nil)
			return nil, nil
		case st.Attempts >= maxRounds:
			over = failedEnding(failure(r, "step.interrupted"))
			return nil, nil
		}
		at := e.now()
		moves := e.journal.begins(r)
		rec := run.Record{At: at, Type: plan.EventStepExpanded, StepID: step.ID, Data: map[string]any{
			"title": step.Title, "items": n, "left": len(left), "attempt": st.Attempts + 1,
		}}
		if st.Attempts == 0 {
			rec.Messages = e.notes.messages(r, step, at, "expanded", "items", fmt.Sprint(n))
		}
		st.Status, st.Expanded, st.Items, st.Attempts, st.UpdatedAt = plan.StepRunning, true, n, st.Attempts+1, at
		return append(moves, run.Move{Record: rec, State: &st}), nil
	})
	switch {
	case err != nil:
		return Done{}, err
	case over != nil:
		return e.end(ctx, *over)
	}
	return continueWith(OutcomeEach, left...), nil
}

// unfinishedElements returns the ids of the elements that have not ended.
func unfinishedElements(r plan.Run, step plan.EffectID, n int) []plan.EffectID {
	var left []plan.EffectID
	for i := range n {
		if id := plan.ItemOf(step, i); !r.State(id).Status.Terminal() {
			left = append(left, id)
		}
	}
	return left
}

// collect joins the results of all elements, or ends the step by the worst of its elements when not
// all were done.
func (e *effect) collect(ctx context.Context, step plan.Step) (Done, error) {
	r := e.journal.run
	st := r.State(step.ID)
	if len(unfinishedElements(r, step.ID, st.Items)) > 0 {
		return e.round(ctx, st.Items)
	}
	states := make([]plan.StepState, st.Items)
	for i := range states {
		states[i] = r.State(plan.ItemOf(step.ID, i))
	}
	if worst := worstOf(r, states); worst != nil {
		return e.end(ctx, *worst)
	}
	bodies := make([]json.RawMessage, len(states))
	truncated := false
	for i, item := range states {
		bodies[i] = json.RawMessage("null")
		if item.Result == nil || len(item.Result.Body) == 0 {
			continue
		}
		res := *item.Result
		if res.Apart > 0 {
			whole, err := e.calls.stores.Runs.Whole(ctx, r, item.StepID, res)
			if err != nil {
				return Done{}, err
			}
			res = whole
		}
		bodies[i], truncated = res.Body, truncated || res.Truncated
	}
	all := collectedEnding(bodies)
	all.result.Truncated = all.result.Truncated || truncated
	return e.end(ctx, *all)
}

// worstOf returns the ending of a step whose elements were not all done; nil when all were.
func worstOf(r plan.Run, states []plan.StepState) *ending {
	for _, c := range []struct {
		status plan.StepStatus
		kind   string
		code   string
	}{
		{plan.StepInDoubt, plan.EventStepDoubt, "step.elements_in_doubt"},
		{plan.StepFailed, plan.EventStepFailed, "step.elements_failed"},
		{plan.StepCancelled, plan.EventStepFailed, "step.elements_cancelled"},
	} {
		has := func(st plan.StepState) bool { return st.Status == c.status }
		first := slices.IndexFunc(states, has)
		if first < 0 {
			continue
		}
		failed := 0
		for _, st := range states {
			if has(st) {
				failed++
			}
		}
		why := failure(r, c.code, "failed", fmt.Sprint(failed), "n", fmt.Sprint(len(states)), "reason", messageOf(states[first]))
		return &ending{status: c.status, kind: c.kind, failure: why, data: map[string]any{"items": len(states), "failed": failed}}
	}
	return nil
}

// collectedEnding returns the ending of a step whose elements are all done, with their results.
func collectedEnding(bodies []json.RawMessage) *ending {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, body := range bodies {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(body)
	}
	b.WriteByte(']')
	sum := sha256.Sum256(b.Bytes())
	res := plan.Result{Status: 200, Body: b.Bytes(), Bytes: b.Len(), SHA256: hex.EncodeToString(sum[:])}
	res = res.Shortened(maxAnswer)
	return &ending{
		status: plan.StepDone, kind: plan.EventStepDone, result: &res, message: "gathered",
		data: map[string]any{"items": len(bodies)},
	}
}
