package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// commandCeiling is how many tokens may be spent on another command in the place of
// one that failed. It is part of what is confirmed.
const commandCeiling = 4000

// drafting makes plans of proposals, whoever wrote them: of what may be called, and
// under the account's rules.
type drafting struct {
	*Service
	account string
	tag     locale.Tag
	listed  []tool.Listed
	rules   rule.Set
}

// drafted is a step with its other calls, each bound to a tool.
type drafted struct{ own, undo, check bound }

// draft turns a proposal into a plan in which every call is bound to a tool of the
// catalogue, fits that tool's own schema and is denied by no rule; or says
// everything that keeps it from being one, at ["steps", 2, "undo", "path"].
func (d drafting) draft(ctx context.Context, p plan.Proposal) (plan.Plan, []fault.Field, error) {
	p.Steps = slices.Clone(p.Steps)
	all := make([]drafted, len(p.Steps))
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
		titles[i] = titled(all[i].own.op.Entry)
		if strings.TrimSpace(p.Steps[i].Title) == "" {
			p.Steps[i].Title = titles[i]
		}
	}
	steps, shape := plan.Arrange(p)
	if wrong = append(wrong, shape...); len(wrong) > 0 {
		return plan.Plan{}, unique(wrong), nil
	}
	at := d.Now()
	out := plan.Plan{
		ID: d.IDs.New(at), Revision: 1, Goal: goal(p.Goal, titles), Steps: steps,
		ExpiresAt: at.Add(d.DraftLife).UTC().Truncate(time.Second),
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

// bindStep binds all calls of a step, and brings each into the form that is shown
// and sent.
func (d drafting) bindStep(ctx context.Context, s *plan.ProposedStep, to *drafted) ([]fault.Field, error) {
	own := plan.Call{MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Body: s.Body}
	wrong, err := d.bind(ctx, &own, &to.own)
	s.Path, s.Query, s.Body = own.Path, own.Query, own.Body
	if s.Undo != nil && err == nil {
		undo := *s.Undo
		var bad []fault.Field
		bad, err = d.bind(ctx, &undo, &to.undo)
		wrong, s.Undo = append(wrong, within("undo", bad)...), &undo
	}
	if s.Verify != nil && err == nil {
		check := *s.Verify
		var bad []fault.Field
		bad, err = d.bind(ctx, &check.Call, &to.check)
		wrong, s.Verify = append(wrong, within("verify", bad)...), &check
	}
	return wrong, err
}

// complete fills in what a step's calls are bound to, its risk, and the undo that
// nobody wrote.
func (d drafting) complete(ctx context.Context, p *plan.Plan, i int, all drafted) error {
	s := &p.Steps[i]
	s.Risk = s.Risk.Raised(all.own.op.Destructive)
	if _, ok := command.Of(s.Method, s.Path, s.Body); ok {
		p.Ceiling = commandCeiling
	}
	// What a result says is nothing that anybody has read yet.
	s.Risk = s.Risk.Raised(slices.ContainsFunc(command.Texts(s.Method, s.Path, s.Body), ref.Contains) || command.Destroys(s.Method, s.Path, s.Body))
	add := func(b bound, id string) {
		b.binding.StepID = id
		p.Bindings = append(p.Bindings, b.binding)
	}
	add(all.own, s.ID)
	suggested, taken, err := d.suggest(ctx, *s, all.own)
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

// judge notes which steps will wait for an approval, and says which calls a rule
// denies. It tells the reason: the model can do without, and the person learns why.
func (d drafting) judge(p *plan.Plan) []fault.Field {
	var wrong []fault.Field
	why := locale.Text(d.tag, "turn.destroys")
	denied := func(reason string, loc ...any) {
		wrong = append(wrong, fault.Field{Loc: append([]any{"steps"}, loc...), Type: "denied", Msg: "denied: " + reason})
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		ask, no := d.rules.AskFor(*s, *p, d.callOf(*p, *s), why)
		if s.Ask = ask; no != nil {
			denied(no.Reason, i)
		}
		if undo, ok := p.Step(plan.UndoOf(s.ID)); ok {
			if _, no := d.rules.AskFor(undo, *p, d.callOf(*p, undo), why); no != nil {
				denied(no.Reason, i, "undo")
			}
		}
		if check, ok := p.CheckOf(s.ID); ok { // it cannot wait: what asks is denied
			if v := d.rules.Judge(d.callOf(*p, check)); v.Effect == rule.Deny || v.Effect == rule.Ask {
				denied(v.Rule.Reason, i, "verify")
			}
		}
	}
	return wrong
}

// denies reports whether a rule denies the undo that would be suggested.
func (d drafting) denies(p plan.Plan, s plan.Step, u *plan.Undo, b bound) bool {
	s.Undo = u
	p.Steps = []plan.Step{s}
	undo, _ := p.Step(plan.UndoOf(s.ID))
	_, no := d.rules.AskFor(undo, p, rule.CallOf(undo, b.binding.ServerName), "")
	return no != nil
}

func (d drafting) callOf(p plan.Plan, s plan.Step) rule.Call {
	b, _ := p.Binding(s.ID)
	return rule.CallOf(s, b.ServerName)
}

// within puts a name before the places of what is wrong.
func within(name string, wrong []fault.Field) []fault.Field {
	for i, f := range wrong {
		wrong[i].Loc = append([]any{name}, f.Loc...)
	}
	return wrong
}

// unique leaves out what was said already.
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

func goal(said string, titles []string) string {
	if said = plan.Line(said); said == "" {
		said = plan.Line(strings.Join(slices.Compact(titles), "; "))
	}
	if runes := []rune(said); len(runes) > plan.MaxGoal {
		said = string(runes[:plan.MaxGoal-1]) + "…"
	}
	return said
}

// titled is what a step is called that has no title.
func titled(e tool.Entry) string {
	if title := oneLine(e.Summary); title != "" {
		return title
	}
	return e.String()
}
