package webui

import (
	"cmp"
	"context"
	"slices"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/render"
	"piloto/internal/live/hook"
	"piloto/internal/runs/plan"
)

// approval is a step's approval, pending or decided, with the complete request.
type approval struct {
	Run, Step string
	Key       string
	State     string // open, expired, approved or refused
	Reason    render.HTML
	Another   bool
	Method    render.HTML // or the name of a tool
	Target    target
	Path      render.HTML
	Headers   *code
	Body      *code
	Request   string // SHA-256 of the request
	ExpiresAt time.Time
	By, Note  render.HTML
	At        time.Time
	Confirmer render.HTML
	May       bool // the viewer may decide
	Link      string
	Other     bool // the viewer followed a link to another request of this step
}

// doubt is an effect whose result is unknown: the request that was sent, and a person's verdict.
type doubt struct {
	Run, Step string
	Key       string
	Method    render.HTML // or the name of a tool
	Target    target
	Path      render.HTML
	Headers   *code
	Body      *code
	SentAt    time.Time
	Attempts  int
	Undo      bool // an undo, which is not retried
	Declared  bool // the step has a check
	Checks    int  // number of checks made
	Resolved  *resolution
	May       bool // the run is over, so the viewer may resolve it
}

type resolution struct {
	Outcome  plan.Outcome
	By, Note render.HTML
	At       time.Time
}

func (a cardBuilder) approval(v *cardStep, state plan.StepState) *approval {
	p := state.Approval
	w := &approval{
		Run: a.run.ID, Step: v.ID, Key: v.Key, State: string(p.Decision), Reason: a.pen.show(p.Reason), Another: p.Another,
		Method: a.pen.show(p.Method), Headers: a.pen.code(jsonCode(p.Headers, nil)), Body: a.pen.code(jsonCode(p.Body, nil)), Request: p.Request, ExpiresAt: p.ExpiresAt,
		By: a.pen.show(p.By), Note: a.pen.show(p.Note), At: p.At, Confirmer: a.pen.show(a.run.Confirmer),
		Link: hook.ApprovalPath(a.run.ID, hook.ApprovalData{StepID: v.ID, Request: p.Request}),
	}
	w.Target, w.Path = sentTo(p.URL)
	switch {
	case p.Decision != "":
	case slices.ContainsFunc(a.card.Waits, func(w plan.Wait) bool { return w.Kind == plan.WaitApproval && w.StepID == state.StepID }):
		w.State = "open"
	default:
		w.State = "expired"
	}
	return w
}

// doubt returns nil for an effect that is not in doubt.
func (a cardBuilder) doubt(id plan.EffectID, state plan.StepState) *doubt {
	if state.Status != plan.StepInDoubt {
		return nil
	}
	last := state.Last
	step, _ := a.run.Plan.Step(id)
	d := &doubt{
		Run: a.run.ID, Step: id.String(), Key: a.run.ID + "-" + plain(id.String()), Method: a.pen.show(cmp.Or(step.Tool, step.Method)), Headers: a.pen.code(jsonCode(last.Headers, nil)), Body: a.pen.code(answerBody(last.Body)),
		SentAt: last.SentAt, Attempts: state.Attempts, Declared: step.Verify != nil, Checks: state.Checks,
		May: a.run.Status.Terminal() && state.Resolved == nil, Undo: id.Undo(),
	}
	d.Target, d.Path = sentTo(last.URL)
	if s := state.Resolved; s != nil {
		d.Resolved = &resolution{Outcome: s.Outcome, By: a.pen.show(s.By), Note: a.pen.show(s.Note), At: s.At}
	}
	return d
}

// setPermissions decides which approvals of the card the viewer may give. An approval that needs another person may
// not be given by an owner of the plan, nor by the user for whom the chat's session speaks, and it needs the scope
// approve.
func (c *card) setPermissions(who auth.Principal, run plan.Run, speaksFor string, revisions []plan.Revision) {
	for i := range c.Steps {
		a := c.Steps[i].Approval
		if a == nil || a.State != "open" {
			continue
		}
		a.May = who.Allows(auth.ScopeChat) || who.Allows(auth.ScopeApprove)
		if a.Another {
			a.May = who.Allows(auth.ScopeApprove) && !plan.SamePerson(who.User, speaksFor) && !run.Own(who.User, revisions)
		}
	}
}

// asked returns the conversation of a run, at the step that a link refers to. It changes nothing; the viewer
// decides on the card. A card that is only on older pages is added at the end. ?step= names the step; ?request_digest= is
// the digest of the request for which the link was made, or "".
func (r chatReader) asked(ctx context.Context, v visit, runID string) (*chatView, error) {
	stepID, request := v.req.URL.Query().Get("step"), v.req.URL.Query().Get("request_digest")
	if !ids.Valid(runID) {
		return nil, plan.ErrRunNotFound
	}
	run, err := r.cards.runs.Run(ctx, v.who.Account, runID)
	if err != nil {
		return nil, err
	}
	view, err := r.one(ctx, v, run.ChatID, "")
	if err != nil {
		return nil, err
	}
	view.Asked = "run-" + run.ID
	for _, l := range view.Lines {
		if l.Card != nil && l.Card.ID == run.ID {
			l.Card.Open = true
			view.Asked = l.Card.linked(stepID, request)
			return view, nil
		}
	}
	c, err := r.cards.card(ctx, v, runID)
	if err != nil {
		return nil, err
	}
	c.Open = true
	view.Asked = c.linked(stepID, request)
	view.Lines = append(view.Lines, line{Message: conversation.Message{ID: "asked-" + run.ID, Kind: conversation.KindPlan, RunID: run.ID}, Card: c})
	return view, nil
}

// linked returns the id of the element where the step of a link waits, or of the card when it does not wait. It marks
// an approval that asks about another request than the link.
func (c *card) linked(stepID, request string) string {
	for _, s := range c.Steps {
		if s.Approval != nil && s.Approval.State == "open" && (s.ID == stepID || stepID == "") {
			s.Approval.Other = request != "" && request != s.Approval.Request
			return "approval-" + s.Key
		}
	}
	return "run-" + c.ID
}
