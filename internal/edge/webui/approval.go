package webui

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// approval is a step's wait for somebody's approval: exactly what would be sent,
// whole, and what came of it.
type approval struct {
	Run, Step string
	Key       string
	State     string // open, expired, approved or refused
	Reason    render.HTML
	Another   bool
	Method    render.HTML // or the name of a tool
	Target    target
	Path      render.HTML
	Body      *code
	Request   string // SHA-256 of what would be sent
	AskedAt   time.Time
	ExpiresAt time.Time
	By, Note  render.HTML
	At        time.Time
	Confirmer render.HTML
	May       bool // whoever sees it may decide
	Link      string
}

// doubt is an effect of which nobody knows whether it was done: what was sent and
// when, and what somebody said of it since.
type doubt struct {
	Run, Step string
	Key       string
	Method    render.HTML // or the name of a tool
	Target    target
	Path      render.HTML
	Body      *code
	SentAt    time.Time
	Attempts  int
	Undo      bool // it is not tried again
	Declared  bool // there is a check
	Checks    int  // how often it was asked
	Settled   *settled
	May       bool // the run is over: somebody may say what became of it
}

type settled struct {
	Outcome  plan.Outcome
	By, Note render.HTML
	At       time.Time
}

func (a arranger) approval(v *cardStep, state plan.StepState) *approval {
	p := state.Approval
	w := &approval{
		Run: a.run.ID, Step: v.ID, Key: v.Key, State: string(p.Decision), Reason: a.show(p.Reason), Another: p.Another,
		Method: a.show(p.Method), Body: a.code(jsonCode(p.Body, nil)), Request: p.Request, AskedAt: p.AskedAt, ExpiresAt: p.ExpiresAt,
		By: a.show(p.By), Note: a.show(p.Note), At: p.At, Confirmer: a.show(a.run.Confirmer),
		Link: "/?approve=" + a.run.ID + "&step=" + v.ID,
	}
	w.Target, w.Path = sentTo(p.URL)
	switch {
	case p.Decision != "":
	case state.Status == plan.StepWaiting && a.run.Status.Active() && a.run.CancelAt == nil && p.Open(a.now):
		w.State = "open"
		a.card.Waits++
	default:
		w.State = "expired"
	}
	return w
}

// doubt is nil for an effect that is in none. What may be settled is counted.
func (a arranger) doubt(id string, state plan.StepState) *doubt {
	if state.Status != plan.StepInDoubt {
		return nil
	}
	last := state.Last
	step, _ := a.run.Plan.Step(id)
	d := &doubt{
		Run: a.run.ID, Step: id, Key: a.run.ID + "-" + plain(id), Method: a.show(cmp.Or(step.Tool, step.Method)), Body: a.code(answerBody(last.Body)),
		SentAt: last.SentAt, Attempts: state.Attempts, Declared: step.Verify != nil, Checks: state.Checks,
		May: a.run.Status.Terminal() && state.Settled == nil, Undo: plan.ParseEffect(id).Undo,
	}
	d.Target, d.Path = sentTo(last.URL)
	if s := state.Settled; s != nil {
		d.Settled = &settled{Outcome: s.Outcome, By: a.show(s.By), Note: a.show(s.Note), At: s.At}
		return d
	}
	a.card.Doubts++
	return d
}

// seenBy says which of the card's approvals whoever looks at it may decide: of one
// that somebody else must give, nobody whose own the plan is or for whom the session of
// its chat speaks, and only with the scope for it.
func (c *card) seenBy(who auth.Principal, run plan.Run, speaksFor string, revisions []plan.Revision) {
	for i := range c.Steps {
		a := c.Steps[i].Approval
		if a == nil || a.State != "open" {
			continue
		}
		a.May = who.Allows(auth.ScopeChat) || who.Allows(auth.ScopeApprove)
		if a.Another {
			a.May = who.Allows(auth.ScopeApprove) && who.User != speaksFor && !run.Own(who.User, revisions)
		}
	}
}

// approve is the conversation of a run, at the step that a link asks about. It
// changes nothing: the card asks. A card that has gone up into older pages is
// brought to the end.
func (s *site) approve(ctx context.Context, v visit, runID, stepID string) (*chatView, error) {
	if !ids.Valid(runID) {
		return nil, plan.ErrRunNotFound
	}
	run, err := s.Runs.Run(ctx, v.who.Account, runID)
	if err != nil {
		return nil, err
	}
	view, err := s.chat(ctx, v, run.ChatID, "")
	if err != nil {
		return nil, err
	}
	view.Asked = "run-" + run.ID
	for _, l := range view.Lines {
		if l.Card != nil && l.Card.ID == run.ID {
			l.Card.Open = true
			view.Asked = l.Card.asks(stepID)
			return view, nil
		}
	}
	c, err := s.card(ctx, v, runID)
	if err != nil {
		return nil, err
	}
	c.Open = true
	view.Asked = c.asks(stepID)
	view.Lines = append(view.Lines, line{Message: conversation.Message{ID: "asked-" + run.ID, Kind: conversation.KindPlan, RunID: run.ID}, Card: c})
	return view, nil
}

// asks is the id of where a step waits; of the card when it does not.
func (c *card) asks(stepID string) string {
	for _, s := range c.Steps {
		if s.Approval != nil && s.Approval.State == "open" && (s.ID == stepID || stepID == "") {
			return "approval-" + s.Key
		}
	}
	return "run-" + c.ID
}

func (s *site) approveFragment(w http.ResponseWriter, v visit) error {
	view, err := s.approve(v.Context(), v, v.PathValue("id"), v.URL.Query().Get("step"))
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "chat", view)
	return nil
}
