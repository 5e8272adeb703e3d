package proposal

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
)

// normalizeAll brings the steps of an edit into the canonical form that is shown and sent.
func normalizeAll(p plan.Proposal) (plan.Proposal, []fault.Field) {
	p.Steps = slices.Clone(p.Steps)
	var wrong []fault.Field
	for i := range p.Steps {
		for _, f := range normalize(&p.Steps[i]) {
			f.Loc = append([]any{"steps", i}, f.Loc...)
			wrong = append(wrong, f)
		}
	}
	return p, wrong
}

// Edit returns the plan of a draft after a person's change of its steps, and whether it differs.
func (d Drafter) Edit(ctx context.Context, r plan.Run, p plan.Proposal) (next plan.Plan, changed bool, wrong []fault.Field, err error) {
	p, wrong = normalizeAll(p)
	next, changed, bad, err := d.Revise(ctx, r, p)
	return next, changed, unique(append(wrong, bad...)), err
}

// Revise returns the plan of a draft after a change of its steps, and whether it differs.
func (d Drafter) Revise(ctx context.Context, r plan.Run, p plan.Proposal) (next plan.Plan, changed bool, wrong []fault.Field, err error) {
	before := r.Plan
	d.Files = FileCalls(before)
	p.Goal = cmp.Or(clip.Line(p.Goal), before.Goal)
	for i := range p.Steps {
		s := &p.Steps[i]
		old, ok := before.Step(plan.EffectOf(cmp.Or(s.ID, "s"+strconv.Itoa(i+1))))
		if ok && clip.Line(s.Title) == "" && s.MCPID == old.MCPID && s.Tool == old.Tool && s.Method == old.Method {
			s.Title = old.Title
		}
	}
	next, wrong, err = d.Draft(ctx, p)
	if err != nil || len(wrong) > 0 {
		return plan.Plan{}, false, wrong, err
	}
	next.ID, next.Reuse = before.ID, before.Reuse
	if wrong := changedDoneSteps(before, next); len(wrong) > 0 {
		return plan.Plan{}, false, wrong, nil
	}
	same := next
	same.Revision, same.ExpiresAt, same.Replaces = before.Revision, before.ExpiresAt, before.Replaces
	same.Steps = slices.Clone(next.Steps)
	for i := range same.Steps {
		if i < len(before.Steps) {
			same.Steps[i].Targets, same.Steps[i].Unanswered = before.Steps[i].Targets, before.Steps[i].Unanswered
		}
	}
	digest, err := same.Digest()
	next.Revision, next.Replaces = before.Revision+1, r.Digest
	return next, digest != r.Digest, nil, err
}

// changedDoneSteps returns an error for each step whose result comes from an earlier run and
// which the new plan changes or omits: a finished step cannot change.
func changedDoneSteps(before, next plan.Plan) []fault.Field {
	if before.Reuse == nil {
		return nil
	}
	var wrong []fault.Field
	for _, id := range before.Reuse.Steps {
		was, _ := before.Step(id)
		now, ok := next.Step(id)
		a, errA := json.Marshal(proposedStep(was))
		b, errB := json.Marshal(proposedStep(now))
		if ok && errA == nil && errB == nil && string(a) == string(b) {
			continue
		}
		at := max(0, slices.IndexFunc(next.Steps, func(s plan.Step) bool { return s.ID == id }))
		wrong = append(wrong, fault.Field{
			Loc: []any{"steps", at}, Type: "done", Msg: "the step " + id.String() + " was done before: it can neither be changed nor left out",
		})
	}
	return wrong
}

// Encode encodes a draft in the form in which the model reads and proposes plans: JSON in
// which no character can end a tag.
func Encode(r *plan.Run) (string, error) {
	if r == nil {
		return "", nil
	}
	p := plan.Proposal{Goal: r.Plan.Goal}
	for _, s := range r.Plan.Steps {
		step := proposedStep(s)
		step.Body = Masked(s.MCPID, step.Body)
		if step.Undo != nil {
			undo := *step.Undo
			undo.Body = Masked(undo.MCPID, undo.Body)
			step.Undo = &undo
		}
		p.Steps = append(p.Steps, step)
	}
	raw, err := json.Marshal(p)
	return string(raw), err
}

// proposedStep returns a step as a proposal. A suggested undo is omitted, because it is
// suggested again.
func proposedStep(s plan.Step) plan.ProposedStep {
	p := plan.ProposedStep{
		ID: s.ID.Step(), Title: s.Title, MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body,
		Needs: &s.Needs, When: s.When, ForEach: s.ForEach, Verify: s.Verify, NoUndo: s.NoUndo,
	}
	if s.Undo != nil && !s.Undo.Suggested {
		p.Undo = &s.Undo.Call
	}
	return p
}
