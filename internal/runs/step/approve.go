package step

import (
	"context"
	"encoding/json"
	"time"

	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// maxAsked is how large a body may be that somebody approves, in bytes: it is shown
// whole.
const maxAsked = 128 << 10

// wanted is what somebody would approve, and whether somebody must.
type wanted struct {
	ask      *plan.Ask // nil: nobody
	method   string
	url      string
	body     json.RawMessage
	hash     string
	requests []string // of each element, when the step is done for some

	substitute *plan.Command // the other command in it, nil when it is the plan's
}

func (c prepared) wanted() wanted {
	w := wanted{ask: c.ask, method: c.request.Method, url: c.request.URL, body: c.body, hash: c.hash, substitute: c.substitute}
	if c.tool != nil {
		w.method = c.tool.Tool
	}
	return w
}

// gate says whether the step waits for an approval, or why it may not go on. What was
// approved is what is sent, or nothing is.
func (x *Executor) gate(r plan.Run, st plan.StepState, w wanted) (waits bool, refused *plan.Failure) {
	if e := plan.ParseEffect(st.StepID); e.Item >= 0 && !e.Undo {
		return false, x.amongApproved(r, e, w)
	}
	a := st.Approval
	switch {
	case a == nil && w.ask != nil && len(w.body) > maxAsked:
		return false, x.failure(r, "step.approval_too_large")
	case a == nil:
		return w.ask != nil, nil
	case a.Decision == plan.Refused && a.Note != "":
		return false, x.unapproved(r, st, x.failure(r, "step.refused_because", "by", a.By, "note", a.Note))
	case a.Decision == plan.Refused:
		return false, x.unapproved(r, st, x.failure(r, "step.refused", "by", a.By))
	case a.Decision == plan.Approved && a.Request != w.hash:
		return false, x.failure(r, "step.approval_changed")
	case a.Decision == plan.Approved && w.ask != nil && w.ask.Another && (a.By == r.Confirmer || a.By == r.User):
		// A rule that came since wants another person: an approval of one's own is none.
		step, _ := r.Plan.Step(st.StepID)
		return false, x.failure(r, "step.denied", "called", step.Called(), "reason", w.ask.Reason)
	case a.Decision == plan.Approved:
		return false, nil
	case a.Open(x.Now()):
		return true, nil
	}
	return false, x.unapproved(r, st, x.failure(r, "step.approval_expired"))
}

// element is one of the requests of a step that is done for several, as they are
// approved together.
type element struct {
	URL     string          `json:"url"`
	Body    json.RawMessage `json:"body,omitempty"`
	Request string          `json:"request"`
}

// amongApproved says that an element's request is not the one that was approved with
// its step, if that was.
// A person saw it together with its step, or it is not sent.
func (x *Executor) amongApproved(r plan.Run, e plan.EffectID, w wanted) *plan.Failure {
	a := r.State(e.Step).Approval
	if a == nil && w.ask == nil {
		return nil
	}
	var list []element
	if a != nil && a.Decision == plan.Approved && json.Unmarshal(a.Body, &list) == nil && e.Item < len(list) && list[e.Item].Request == w.hash {
		return nil
	}
	return x.failure(r, "step.approval_changed")
}

// Await notes that a step waits for an approval, and the token by which its execution
// goes on. Doing it again changes nothing; the token of a later invocation takes the
// place of the earlier one, whose wait is over. A step that waits for nothing any more
// goes on at once.
func (x *Executor) Await(ctx context.Context, t Task, token string) error {
	over := false
	err := x.decide(ctx, t, nil, func(r plan.Run, step plan.Step) error {
		over = true
		st := r.State(step.ID)
		if misplaced(r, step) != "" || r.CancelAt != nil || st.Status.Terminal() {
			return nil
		}
		w, refused, err := x.wanted(ctx, r, step)
		if err != nil {
			return err
		}
		waits := false
		if refused == nil {
			waits, refused = x.gate(r, st, w)
		}
		if refused != nil || !waits {
			return nil
		}
		over = false
		if st.Approval != nil && st.Approval.Token == token {
			return nil
		}
		return x.ask(ctx, r, step, w, token)
	})
	if err != nil || !over {
		return err
	}
	return x.Waker.Wake(ctx, token)
}

// wanted is what somebody would approve of a step.
func (x *Executor) wanted(ctx context.Context, r plan.Run, step plan.Step) (wanted, *plan.Failure, error) {
	look := x.results(ctx, r, step.ID)
	if step.ForEach != "" {
		_, w, refused, err := x.elements(ctx, r, step, look)
		return w, refused, err
	}
	call, refused, err := x.prepare(ctx, r, step, look)
	return call.wanted(), refused, err
}

// ask writes the wait, or another token into the one there is.
func (x *Executor) ask(ctx context.Context, r plan.Run, step plan.Step, w wanted, token string) error {
	at := x.Now()
	st := r.State(step.ID)
	a := plan.Approval{
		Method: w.method, URL: w.url, Body: w.body, Request: w.hash, AskedAt: at,
	}
	rec := run.Record{At: at, Type: plan.EventStepAsked, StepID: step.ID}
	if st.Approval != nil {
		a = *st.Approval
	} else {
		a.Ask = *w.ask
		a.ExpiresAt = at.Add(time.Duration(a.Minutes) * time.Minute)
		rec.Messages = x.say(r, step, at, "asked", "reason", a.Reason)
		if c := w.substitute; c != nil {
			rec.Messages = x.say(r, step, at, "asked_substitute", "reason", a.Reason, "was", command.Line(c.Was), "now", command.Line(c.Now), "because", c.Because)
		}
	}
	a.Token = token
	rec.Data = map[string]any{
		"title": step.Title, "request": a.Request, "method": a.Method, "url": a.URL,
		"reason": a.Reason, "rule": a.Rule, "another": a.Another, "expires_at": a.ExpiresAt,
	}
	if st.Approval != nil {
		rec.Data["again"] = true
	}
	if c := w.substitute; c != nil {
		rec.Data["was"], rec.Data["now"], rec.Data["because"] = c.Was, c.Now, c.Because
	}
	if len(w.requests) > 0 {
		rec.Data["requests"] = w.requests
	}
	st.Status, st.Approval, st.UpdatedAt = plan.StepWaiting, &a, at
	_, err := x.Store.AskApproval(ctx, r, st, run.LookAgain(r.With(st), at), rec)
	return err
}
