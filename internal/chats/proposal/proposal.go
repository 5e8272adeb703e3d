// Package proposal turns the calls that a model, or a person, wants into a plan: each call is bound to an operation of
// the catalogue, fits its schema, is denied by no rule, and stands in the form that is shown and sent. It owns the
// arguments of proposals, their errors, and their revision. It stores nothing and sends nothing.
package proposal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// commandCeiling bounds the tokens for another command that replaces a failed one. It is part of
// the confirmed plan.
const commandCeiling = 4000

// Drafter turns proposals of models and of persons into plans, from the listed tools and under
// the account's rules.
type Drafter struct {
	Operations tool.OperationReader
	Schemas    tool.Compiler
	IDs        *ids.Source
	Now        func() time.Time
	Life       time.Duration // of a draft
	Account    ids.Account
	Locale     locale.Tag
	Listed     []tool.Listed
	Files      []plan.Call // that change files, as the plan may have them
	Rules      rule.Set
	Denied     func(rule.Rule, plan.Step) // hears of each call that a rule denies; nil: nobody has to
}

// boundStep holds the calls of a step, each bound to a tool.
type boundStep struct{ own, undo, check boundCall }

// Draft turns a proposal into a plan in which every call is bound to a tool of the catalogue,
// fits that tool's schema and is denied by no rule. Otherwise it returns every error, at
// locations such as ["steps", 2, "undo", "path"].
func (d Drafter) Draft(ctx context.Context, p plan.Proposal) (plan.Plan, []fault.Field, error) {
	p.Steps = slices.Clone(p.Steps)
	all := make([]boundStep, len(p.Steps))
	titles := make([]string, len(p.Steps))
	var wrong []fault.Field
	for i := range p.Steps {
		bad, err := d.bindStep(ctx, &p.Steps[i], &all[i])
		if err != nil {
			return plan.Plan{}, nil, err
		}
		for _, f := range bad {
			f.Loc = append([]any{"steps", i}, f.Loc...)
			wrong = append(wrong, f)
		}
		if visible.Blank(p.Steps[i].Title) {
			p.Steps[i].Title = defaultTitle(all[i].own.op.Entry)
		}
		titles[i] = p.Steps[i].Title
	}
	steps, shape := plan.Arrange(p)
	if wrong = append(wrong, shape...); len(wrong) > 0 {
		return plan.Plan{}, unique(wrong), nil
	}
	at := d.Now()
	out := plan.Plan{
		ID: d.IDs.New(at), Revision: 1, Goal: planGoal(p.Goal, titles), Steps: steps,
		ExpiresAt: at.Add(d.Life).UTC().Truncate(time.Second),
	}
	for i := range out.Steps {
		if err := d.complete(ctx, &out, i, all[i]); err != nil {
			return plan.Plan{}, nil, err
		}
	}
	if wrong = d.judge(&out); len(wrong) > 0 {
		return plan.Plan{}, wrong, nil
	}
	if raw, err := json.Marshal(out); err != nil || len(raw) > plan.MaxPlanSize {
		return out, []fault.Field{{Loc: []any{"steps"}, Type: "too_long", Msg: fmt.Sprintf("the plan is larger than %d bytes", plan.MaxPlanSize)}}, err
	}
	return out, nil, nil
}

// bindStep binds all calls of a step, and brings each into the form that is shown and sent.
func (d Drafter) bindStep(ctx context.Context, s *plan.ProposedStep, to *boundStep) ([]fault.Field, error) {
	own := s.Call()
	wrong, err := d.bind(ctx, &own, &to.own)
	s.SetCall(own)
	if s.Undo != nil && err == nil {
		undo := *s.Undo
		var bad []fault.Field
		bad, err = d.bind(ctx, &undo, &to.undo)
		wrong, s.Undo = append(wrong, Under("undo", bad)...), &undo
	}
	if s.Verify != nil && err == nil {
		check := *s.Verify
		var bad []fault.Field
		bad, err = d.bind(ctx, &check.Call, &to.check)
		wrong, s.Verify = append(wrong, Under("verify", bad)...), &check
	}
	return wrong, err
}

// complete adds a step's bindings, its risk, and the suggested undo when the proposal has none.
func (d Drafter) complete(ctx context.Context, p *plan.Plan, i int, all boundStep) error {
	s := &p.Steps[i]
	s.Risk = s.Risk.Raised(all.own.op.Hints.Destroys())
	if _, ok := command.Of(s.Arguments()); ok {
		p.Ceiling = commandCeiling
	}
	// Nobody has reviewed a result that the command will contain.
	s.Risk = s.Risk.Raised(slices.ContainsFunc(command.Texts(s.Arguments()), ref.Contains) || command.Destroys(s.Arguments()))
	add := func(b boundCall, id plan.EffectID) {
		b.binding.StepID = id
		p.Bindings = append(p.Bindings, b.binding)
	}
	add(all.own, s.ID)
	suggested, taken, err := d.suggestUndo(ctx, *s, all.own)
	switch {
	case err != nil:
		return err
	case s.Undo != nil:
		s.Undo.Suggested = suggested != nil && sameCall(s.Undo.Call, suggested.Call)
		add(all.undo, plan.UndoOf(s.ID))
	case suggested != nil && !d.denies(*p, *s, suggested, taken):
		s.Undo = suggested
		add(taken, plan.UndoOf(s.ID))
	}
	if check, ok := p.CheckOf(s.ID); ok {
		add(all.check, check.ID)
	}
	return nil
}

// judge sets which steps will wait for an approval, and returns an error for each call that a
// rule denies. The error has the rule's reason: the model can avoid the call, and the user
// learns the cause.
func (d Drafter) judge(p *plan.Plan) []fault.Field {
	var wrong []fault.Field
	why := ""
	if p.StopsToDestroy() {
		why = locale.Say("turn.destroys").In(d.Locale)
	}
	denied := func(by rule.Rule, call plan.Step, loc ...any) {
		wrong = append(wrong, fault.Field{Loc: append([]any{"steps"}, loc...), Type: toolcall.Denied, Msg: "denied: " + by.Reason})
		if d.Denied != nil {
			d.Denied(by, call)
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		ask, no := d.Rules.AskFor(*s, d.callOf(*p, *s), why)
		if s.Ask = ask; no != nil {
			denied(*no, *s, i)
		}
		if undo, ok := p.Step(plan.UndoOf(s.ID)); ok {
			if _, no := d.Rules.AskFor(undo, d.callOf(*p, undo), why); no != nil {
				denied(*no, undo, i, "undo")
			}
		}
		if check, ok := p.CheckOf(s.ID); ok { // a check cannot wait, so a rule that asks denies it
			if v := d.Rules.Judge(d.callOf(*p, check)); v.Effect == rule.Deny || v.Effect == rule.Ask {
				denied(v.Rule, check, i, "verify")
			}
		}
	}
	return wrong
}

// denies reports whether a rule denies a suggested undo.
func (d Drafter) denies(p plan.Plan, s plan.Step, u *plan.Undo, b boundCall) bool {
	s.Undo = u
	p.Steps = []plan.Step{s}
	undo, _ := p.Step(plan.UndoOf(s.ID))
	_, no := d.Rules.AskFor(undo, rule.CallOf(undo, b.binding.ServerName), "")
	return no != nil
}

func (d Drafter) callOf(p plan.Plan, s plan.Step) rule.Call {
	b, _ := p.Binding(s.ID)
	return rule.CallOf(s, b.ServerName)
}

// Under puts a name before the location of each error.
func Under(name string, wrong []fault.Field) []fault.Field {
	for i, f := range wrong {
		wrong[i].Loc = append([]any{name}, f.Loc...)
	}
	return wrong
}

// unique removes repeated errors.
func unique(wrong []fault.Field) []fault.Field {
	var some []fault.Field
	seen := map[string]bool{}
	for _, f := range wrong {
		if name := fmt.Sprint(f.Loc, f.Msg); !seen[name] {
			seen[name] = true
			some = append(some, f)
		}
	}
	return some
}

// planGoal returns the goal without its full stop, because sentences name it; the steps' titles when it is empty. It has at
// most plan.MaxGoal characters.
func planGoal(text string, titles []string) string {
	if text = clip.Line(text); text == "" {
		text = clip.Line(strings.Join(slices.Compact(titles), "; "))
	}
	if !strings.HasSuffix(text, "..") {
		text = strings.TrimSuffix(text, ".")
	}
	return clip.Runes(text, plan.MaxGoal)
}

// defaultTitle returns the title of a step without one.
func defaultTitle(e tool.Entry) string {
	if title := toolcall.OneLine(e.Summary); title != "" {
		return title
	}
	return e.String()
}
