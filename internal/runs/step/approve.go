package step

import (
	"context"
	"encoding/json"
	"time"

	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// maxApprovalBody is the greatest size, in bytes, of a body that a person can approve, because it
// is shown whole.
const maxApprovalBody = 128 << 10

// approvalRequest holds the request that a person would approve, and whether an approval is needed.
type approvalRequest struct {
	ask      *plan.Ask // nil: no approval is needed
	method   string
	url      string
	headers  json.RawMessage
	body     json.RawMessage
	hash     string
	requests []string // the request hash of each element, for a step that is done for each element

	substitute *plan.Command // the replacement of a failed command; nil when the command is the plan's
}

func (call prepared) approvalRequest() approvalRequest {
	w := approvalRequest{ask: call.ask, method: call.request.Method, url: call.request.URL, headers: call.args.Headers, body: call.body, hash: call.hash, substitute: call.substitute}
	if call.tool != nil {
		w.method = call.tool.Tool
	}
	return w
}

// gate reports whether the step waits for an approval, or the reason why it may not continue. Only
// the approved request is sent.
func (w approvalRequest) gate(r plan.Run, st plan.StepState, now time.Time) (waits bool, refused *plan.Failure) {
	if st.StepID.Item() >= 0 && !st.StepID.Undo() {
		return false, w.checkElementApproved(r, st.StepID)
	}
	a := st.Approval
	switch {
	case a == nil && w.ask != nil && len(w.headers)+len(w.body) > maxApprovalBody:
		return false, failure(r, "step.approval_too_large")
	case a == nil:
		return w.ask != nil, nil
	case a.Decision == plan.Refused && a.Note != "":
		return false, approvalFailure(r, st, failure(r, "step.refused_because", "by", a.By, "note", a.Note))
	case a.Decision == plan.Refused:
		return false, approvalFailure(r, st, failure(r, "step.refused", "by", a.By))
	case a.Decision == plan.Approved && a.Request != w.hash:
		return false, failure(r, "step.approval_changed")
	case a.Decision == plan.Approved && w.ask != nil && w.ask.Another && r.Own(a.By, nil):
		// A rule that was added later asks for another person: the user's own approval does not
		// count.
		step, _ := r.Plan.Step(st.StepID)
		return false, failure(r, "step.denied", "called", step.Called(), "reason", w.ask.Reason, "rule", w.ask.Rule)
	case a.Decision == plan.Approved:
		return false, nil
	case a.Open(now):
		return true, nil
	}
	return false, approvalFailure(r, st, failure(r, "step.approval_expired"))
}

// element is the request of one element. The requests of all elements are approved together.
type element struct {
	URL     string          `json:"url"`
	Headers json.RawMessage `json:"headers,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Request string          `json:"request"`
}

// checkElementApproved returns a failure when an element's request is not among those that were
// approved with its step, although an approval was needed.
func (w approvalRequest) checkElementApproved(r plan.Run, id plan.EffectID) *plan.Failure {
	a, n := r.State(plan.EffectOf(id.Step())).Approval, id.Item()
	if a == nil && w.ask == nil {
		return nil
	}
	var list []element
	if a != nil && a.Decision == plan.Approved && json.Unmarshal(a.Body, &list) == nil && n < len(list) && list[n].Request == w.hash {
		return nil
	}
	return failure(r, "step.approval_changed")
}

// Await records that steps wait for approvals, with the token that resumes their execution: the step
// of the task, or, when the task names none, every step of the run that could run now. A repeated
// call with the same token changes nothing. The token of a later invocation replaces the earlier
// one, whose wait is over. If one of the steps does not have to wait, the execution is resumed at
// once.
func (x *Executor) Await(ctx context.Context, t Task, token string) error {
	j := x.journal(t)
	a := asking{calls: x.preparer(), notes: notes{x.IDs}, token: token}
	resume := false
	err := j.decide(ctx, t.StepID, func(r plan.Run) ([]run.Move, error) {
		steps := []plan.EffectID{t.StepID}
		if t.StepID == (plan.EffectID{}) {
			steps, _ = open(r)
		}
		resume = len(steps) == 0
		first := j.begins(r)
		var moves []run.Move
		after := r
		for _, id := range steps {
			m, waits, err := a.await(ctx, after, id)
			if err != nil {
				return nil, err
			}
			resume = resume || !waits
			if m != nil {
				after = after.With(*m.State)
				m.Due = run.NextCheck(after, m.At)
				moves = append(moves, *m)
			}
		}
		if len(moves) == 0 {
			return nil, nil
		}
		return append(first, moves...), nil
	})
	if err != nil || !resume {
		return err
	}
	return x.Waker.Wake(ctx, token)
}

// asking records the approvals that the steps of a run wait for.
type asking struct {
	calls preparer
	notes notes
	token string // it resumes the execution
}

// await reports whether a step waits for an approval, and returns the move that records it; nil when
// it is recorded with this token.
func (a asking) await(ctx context.Context, r plan.Run, id plan.EffectID) (*run.Move, bool, error) {
	step, ok := r.Plan.Step(id)
	st := r.State(id)
	if !ok || !mayBegin(r, step) || st.Status.Terminal() {
		return nil, false, nil
	}
	w, refused, err := a.calls.approvalRequest(ctx, r, step)
	if err != nil || refused != nil {
		return nil, false, err
	}
	waits, refused := w.gate(r, st, a.calls.now())
	if !waits || refused != nil || st.Approval != nil && st.Approval.Token == a.token {
		return nil, waits && refused == nil, nil
	}
	return a.ask(r, step, w), true, nil
}

// approvalRequest returns the request that a person would approve for a step.
func (p preparer) approvalRequest(ctx context.Context, r plan.Run, step plan.Step) (approvalRequest, *plan.Failure, error) {
	answers := p.results(ctx, r, step.ID)
	if step.ForEach != "" {
		_, w, refused, err := p.elements(ctx, r, step, answers)
		return w, refused, err
	}
	call, refused, err := p.prepare(ctx, r, step, answers)
	return call.approvalRequest(), refused, err
}

// ask returns the move that requests an approval, or replaces the token of the present request.
func (a asking) ask(r plan.Run, step plan.Step, w approvalRequest) *run.Move {
	at := a.calls.now()
	st := r.State(step.ID)
	approval := plan.Approval{
		Method: w.method, URL: w.url, Headers: w.headers, Body: w.body, Request: w.hash, AskedAt: at,
	}
	rec := run.Record{At: at, Type: plan.EventStepAsked, StepID: step.ID}
	if st.Approval != nil {
		approval = *st.Approval
	} else {
		approval.Ask = *w.ask
		approval.ExpiresAt = at.Add(time.Duration(approval.Minutes) * time.Minute)
		rec.Messages = a.notes.messages(r, step, at, "asked", "reason", approval.Reason)
		if c := w.substitute; c != nil {
			rec.Messages = a.notes.messages(r, step, at, "asked_substitute", "reason", approval.Reason, "was", command.Line(c.Was), "now", command.Line(c.Now), "because", c.Because)
		}
	}
	approval.Token = a.token
	rec.Data = map[string]any{
		"title": step.Title, "request": approval.Request, "method": approval.Method, "url": approval.URL,
		"reason": approval.Reason, "rule": approval.Rule, "another": approval.Another, "expires_at": approval.ExpiresAt,
	}
	if st.Approval != nil {
		rec.Data["again"] = true
	}
	if len(approval.Headers) > 0 {
		rec.Data["headers"] = approval.Headers
	}
	if c := w.substitute; c != nil {
		rec.Data["was"], rec.Data["now"], rec.Data["because"] = c.Was, c.Now, c.Because
	}
	if len(w.requests) > 0 {
		rec.Data["requests"] = w.requests
	}
	st.Status, st.Approval, st.UpdatedAt = plan.StepWaiting, &approval, at
	return &run.Move{Record: rec, To: plan.Waiting, State: &st, Begins: true}
}
