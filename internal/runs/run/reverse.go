package run

import (
	"context"
	"fmt"
	"slices"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// reversal finds the effects of a run that another run is to undo.
type reversal struct {
	runs      Runs
	catalogue Catalogue
	drafts    Drafts
	run       plan.Run
}

// plan returns the plan of undos of the run.
func (v reversal) plan(ctx context.Context, undos []plan.EffectID, tag locale.Tag) (plan.Plan, error) {
	r := v.run
	p := plan.Plan{Goal: clip.Runes(clip.Line(locale.Text(tag, "run.reversal", "goal", r.Plan.Goal)), plan.MaxGoal), Undoes: r.ID}
	rules, err := v.catalogue.Rules.Rules(ctx, r.Account)
	if err != nil {
		return p, err
	}
	for _, id := range undos[:min(len(undos), plan.MaxSteps)] {
		call, err := v.drafts.Resolved(ctx, r, id)
		if err != nil {
			return p, err
		}
		undo, _ := r.Plan.Step(id)
		binding, ok := r.Plan.Binding(id)
		if !ok {
			return p, fmt.Errorf("run %s: %s has no binding", r.ID, id)
		}
		step := plan.Step{
			ID: plan.ReversalStep(len(p.Steps)), Title: clip.Runes(clip.Line(locale.Text(tag, "run.reversal_step", "title", undo.Title)), plan.MaxTitle),
			MCPID: call.MCPID, Tool: call.Tool, Method: call.Method, Path: call.Path, Query: call.Query, Headers: call.Headers, Body: call.Body,
			Needs: []string{}, Risk: undo.Risk, NoUndo: true,
		}
		if n := len(p.Steps); n > 0 {
			step.Needs = []string{p.Steps[n-1].ID.Step()}
		}
		if binding.Query != "" { // it has the values that the call has
			if binding, err = v.rebound(ctx, r.Bound(undo), call); err != nil {
				return p, err
			}
		}
		binding.StepID = step.ID
		step.Ask, _ = rules.AskFor(step, rule.CallOf(step, binding.ServerName), "") // a denied call is found with the bindings
		p.Steps, p.Bindings = append(p.Steps, step), append(p.Bindings, binding)
	}
	if len(p.Steps) == 0 {
		return p, ErrNothingToUndo
	}
	return p, nil
}

// rebound returns the binding of a call whose values are known now. That of a call whose operation changed stays, and is
// refused later.
func (v reversal) rebound(ctx context.Context, of plan.Bound, c plan.Call) (plan.Binding, error) {
	b := of.Binding
	server, op, err := Bound(ctx, v.catalogue, of)
	if err == nil {
		_, b.Query, err = tool.Written(server, op, tool.Arguments{Method: c.Method, Path: c.Path, Query: c.Query})
	}
	if fault.KindOf(err) == fault.Internal && err != nil {
		return b, err
	}
	return b, nil
}

// left returns the undos of the run that are neither done nor under way, the newest change first.
func (v reversal) left(ctx context.Context) ([]plan.EffectID, error) {
	r := v.run
	over := map[plan.EffectID]bool{}
	for _, st := range r.Steps {
		over[st.StepID] = st.StepID.Undo() && st.WasDone()
	}
	for after := 0; ; {
		events, err := v.runs.Events(ctx, r.Account, r.ID, after, eventsPage)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			after = e.Seq
			of, ok := plan.ReversalOf(e)
			if !ok {
				continue
			}
			if err := v.addReversed(ctx, of, over); err != nil {
				return nil, err
			}
		}
		if len(events) < eventsPage {
			break
		}
	}
	return slices.DeleteFunc(r.Undos(), func(id plan.EffectID) bool { return over[id] }), nil
}

// eventsPage is the number of events that are read at once.
const eventsPage = 200

// addReversed adds the effects that a draft undid, if it was confirmed. One that was not does not matter: this one
// supersedes it.
func (v reversal) addReversed(ctx context.Context, of plan.Reversal, over map[plan.EffectID]bool) error {
	before, err := v.runs.Run(ctx, v.run.Account, of.RunID)
	if err == nil {
		before, err = plan.Newest(ctx, v.runs, before) // it may have been retried
	}
	switch {
	case fault.KindOf(err) == fault.NotFound: // it was not proposed after all
		return nil
	case err != nil:
		return err
	case before.Status.Active():
		return plan.OtherRunning("other", before)
	}
	if doubts := before.Doubts(); len(doubts) > 0 {
		step, _ := before.Plan.Step(doubts[0])
		return ErrUnresolved.With("step", step.Title)
	}
	for _, id := range of.DoneBy(before) {
		over[id] = true
	}
	return nil
}
