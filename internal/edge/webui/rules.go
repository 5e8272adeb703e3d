package webui

import (
	"context"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// rulesView is the account's rules for plans.
type rulesView struct {
	Set     rule.Set
	Rules   []ruleRow
	Servers []tool.Server
	Minutes int // default of the waiting time
	Most    int // longest waiting time
	Full    bool
	Facts   Facts
	Admin   bool
}

// ruleRow is a rule with its sentence.
type ruleRow struct {
	Rule     rule.Rule
	Effect   rule.Effect // as it is shown
	Sentence render.HTML
	Waits    string // waiting time of an ask rule
}

var errNoRules = fault.New(fault.NotFound, "page.not_found")

// ruleReader reads the view of rules; rules is nil when there is none.
type ruleReader struct {
	rules   rule.Reader
	servers tool.ServerLister
	answers responders
}

func (r ruleReader) all(ctx context.Context, v visit) (*rulesView, error) {
	if r.rules == nil {
		return nil, errNoRules
	}
	view := &rulesView{Minutes: rule.Minutes, Most: rule.MaxMinutes, Admin: v.who.Allows(auth.ScopeAdmin)}
	var who responder
	err := runAll(
		func() (err error) { view.Set, err = r.rules.Rules(ctx, v.who.Account); return },
		func() (err error) { view.Servers, err = r.servers.Servers(ctx, v.who.Account); return },
		func() (err error) { who, err = r.answers.of(ctx, v, ""); return },
	)
	if err != nil {
		return nil, err
	}
	view.Facts, view.Full = who.Facts, len(view.Set.Rules) >= rule.MaxRules
	for _, r := range view.Set.Rules {
		row := ruleRow{Rule: r, Effect: shownEffect(r.Effect), Sentence: ruleSentence(r, view.Servers, v.tag)}
		if r.Effect == rule.Ask {
			n := r.Minutes
			if n == 0 {
				n = rule.Minutes
			}
			row.Waits = formatMinutes(n)
		}
		view.Rules = append(view.Rules, row)
	}
	return view, nil
}

// shownEffect returns the effect that is shown for a rule. An unknown effect is not shown as harmless.
func shownEffect(e rule.Effect) rule.Effect {
	if e == rule.Ask || e == rule.Allow {
		return e
	}
	return rule.Deny
}

// ruleSentence returns a rule as a sentence: «Pregunta antes de POST /orders* cuando body.total pasa de 500».
func ruleSentence(r rule.Rule, servers []tool.Server, tag locale.Tag) render.HTML {
	code := func(text string) render.HTML { return "<code>" + display(text) + "</code>" }
	what := render.HTML(locale.Text(tag, "page.rule.anything"))
	switch {
	case r.Method != "" && r.Path != "":
		what = code(r.Method + " " + r.Path)
	case r.Method != "":
		what = code(r.Method)
	case r.Path != "":
		what = code(r.Path)
	}
	if r.Server != "" {
		name := r.Server
		for _, s := range servers {
			if s.ID == r.Server {
				name = s.Name
			}
		}
		what = fill(tag, "page.rule.at", "what", what, "server", code(name))
	}
	if r.Over != nil {
		what = fill(tag, "page.rule.over", "what", what, "at", code(r.Over.At), "most", code(r.Over.Most))
	}
	said := fill(tag, "page.rule."+string(shownEffect(r.Effect)), "what", what)
	if r.Effect == rule.Ask && r.Another {
		said = fill(tag, "page.rule.another", "said", said)
	}
	return said
}
