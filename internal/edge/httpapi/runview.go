package httpapi

import (
	"time"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// View returns the view of a run as a client was answered it. Nothing in it is over because of a deadline: the deployment
// decides that, by its own clock.
func (r Run) View() view.View {
	of := plan.Run{Status: r.Status, CreatedAt: r.CreatedAt, Plan: r.plan()}
	if r.Stopping {
		of.CancelAt = &r.UpdatedAt
	}
	if r.Undoing {
		of.UndoAt = &r.UpdatedAt
	}
	for _, s := range r.Steps {
		id := plan.ParseEffect(s.ID)
		st := Effect{Status: s.Status, Attempts: s.Attempts, Resolved: s.Resolved}.state(id)
		st.Expanded, st.Reused = s.Elements != nil, s.Reused
		if a := s.Approval; a != nil {
			st.Approval = &plan.Approval{Request: a.Request, AskedAt: a.AskedAt, ExpiresAt: a.ExpiresAt, Decision: a.Decision}
		}
		of.Steps = append(of.Steps, st)
		for _, item := range s.Items {
			of.Steps = append(of.Steps, item.state(plan.ItemOf(id, item.N)))
			if item.UndoState != nil {
				of.Steps = append(of.Steps, item.UndoState.state(plan.UndoOf(plan.ItemOf(id, item.N))))
			}
		}
		if s.UndoState != nil {
			of.Steps = append(of.Steps, s.UndoState.state(plan.UndoOf(id)))
		}
	}
	return view.Of(of, time.Time{})
}

// Crossings returns the crossings of a step, of its undo or of its check, as view.Crossings does.
func (r Run) Crossings(id plan.EffectID) []view.Crossing { return view.Crossings(r.plan(), id) }

// plan returns the plan with the calls and their addresses.
func (r Run) plan() plan.Plan {
	p := plan.Plan{ExpiresAt: r.ExpiresAt}
	for _, s := range r.Steps {
		step := plan.Step{
			ID: plan.ParseEffect(s.ID), Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body,
			Risk: s.Risk, ForEach: s.ForEach, Ask: s.Ask, Unanswered: s.Unanswered,
		}
		p.Bindings = append(p.Bindings, plan.Binding{StepID: step.ID, BaseURL: s.Base})
		if s.Undo != nil {
			step.Undo = &s.Undo.Undo
			p.Bindings = append(p.Bindings, plan.Binding{StepID: plan.UndoOf(step.ID), BaseURL: s.Undo.Base})
		}
		if s.Verify != nil {
			step.Verify = &s.Verify.Check
			p.Bindings = append(p.Bindings, plan.Binding{StepID: plan.CheckOf(step.ID), BaseURL: s.Verify.Base})
		}
		p.Steps = append(p.Steps, step)
	}
	return p
}

func (e Effect) state(id plan.EffectID) plan.StepState {
	return plan.StepState{StepID: id, Status: e.Status, Attempts: e.Attempts, Resolved: e.Resolved}
}
