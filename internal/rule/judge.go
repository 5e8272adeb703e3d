package rule

import (
	"slices"
	"strings"

	"piloto/internal/plan"
)

// Call is what is judged. Of a tool with a name, Tool is it and Method and Path are
// not looked at. Query and Body are JSON. Resolved says that no reference stands in
// any of it: what looks like one is text.
type Call struct {
	ServerID   string
	ServerName string
	Method     string
	Path       string
	Tool       string
	Query      []byte
	Body       []byte
	Resolved   bool
}

// CallOf is a step's call before its references are resolved, of a server with a
// name.
func CallOf(s plan.Step, server string) Call {
	return Call{
		ServerID: s.MCPID, ServerName: server, Method: s.Method, Path: s.Path, Tool: s.Tool, Query: s.Query, Body: s.Body,
	}
}

// Verdict is what the rules say of a call. Effect is empty when none matches;
// Rule is the one that decides: of several that ask, one that wants another person
// before one that does not, then the one that waits least, then the first.
type Verdict struct {
	Effect Effect
	Rule   Rule
}

// Judge says what becomes of a call: deny wins over ask, and ask over allow. Of one
// that is not resolved, what a reference decides is taken as asking, and neither as
// denied nor as allowed: it is judged again when it is known.
func (s Set) Judge(c Call) Verdict {
	var v Verdict
	seen := view(c)
	for _, r := range s.Rules {
		if r.Effect != Allow && r.Effect != Ask && r.Effect != Deny || !seen.matches(r) {
			continue
		}
		if stronger(r, v) {
			v = Verdict{Effect: r.Effect, Rule: r}
		}
	}
	return v
}

var strength = map[Effect]int{Allow: 1, Ask: 2, Deny: 3}

func stronger(r Rule, than Verdict) bool {
	switch {
	case strength[r.Effect] != strength[than.Effect]:
		return strength[r.Effect] > strength[than.Effect]
	case r.Effect != Ask:
		return false
	case r.Another != than.Rule.Another:
		return r.Another
	}
	return wait(r) < wait(than.Rule)
}

// wait is how many minutes a rule waits for an approval.
func wait(r Rule) int {
	if r.Minutes <= 0 || r.Minutes > MaxMinutes {
		return Minutes
	}
	return r.Minutes
}

// AskFor says whether a step waits for an approval of its own, and why; or which
// rule denies it. c is the step's call; why is the sentence for a step that waits
// without a rule, because it destroys something inside a plan of several steps.
//
// A step that is done for each element of a list asks once, for all of it: an
// element is only denied. An undo cannot wait, since it runs when the rest has
// stopped: what a rule asks for is denied as one, and what destroys something
// without a rule is not, since it was confirmed as what takes its step back.
func (s Set) AskFor(step plan.Step, p plan.Plan, c Call, why string) (ask *plan.Ask, denied *Rule) {
	v := s.Judge(c)
	effect := plan.ParseEffect(step.ID)
	switch {
	case v.Effect == Deny, v.Effect == Ask && effect.Undo:
		return nil, &v.Rule
	case v.Effect == Allow, effect.Undo, effect.Item >= 0:
		return nil, nil
	case v.Effect == Ask:
		ask := &plan.Ask{Reason: v.Rule.Reason, Rule: v.Rule.ID, Another: v.Rule.Another, Minutes: wait(v.Rule)}
		ask.Maybe = !s.certain(c) && (step.Risk != plan.Destructive || len(p.Steps) == 1)
		return ask, nil
	case step.Risk == plan.Destructive && len(p.Steps) > 1:
		return &plan.Ask{Reason: why, Minutes: Minutes}, nil
	}
	return nil, nil
}

// certain reports whether a rule asks whatever the call's references come to.
func (s Set) certain(c Call) bool {
	seen := view(c)
	return slices.ContainsFunc(s.Rules, func(r Rule) bool {
		asks := r.Effect == Ask
		r.Effect = Deny // which holds only for sure
		return asks && seen.matches(r)
	})
}

// seen is a call as rules look at it.
type seen struct {
	call         Call
	plain, loose [][]rune
	query, body  *arguments
}

func view(c Call) seen {
	v := seen{call: c, query: &arguments{raw: c.Query}, body: &arguments{raw: c.Body}}
	if c.Tool != "" {
		v.plain = [][]rune{[]rune(c.Tool)}
		v.loose = v.plain
		return v
	}
	v.plain, v.loose = readings(c.Path, c.Resolved)
	return v
}

// matches reports whether a rule is about the call. One that allows must be so
// for sure; one that asks, perhaps; one that denies for sure, but however a receiver
// reads the path.
func (v seen) matches(r Rule) bool {
	if r.Server != "" && !nameMatches(r.Server, v.call.ServerID) && !nameMatches(r.Server, v.call.ServerName) {
		return false
	}
	method := v.call.Method
	if v.call.Tool != "" {
		method = ""
	}
	if r.Method != "" && !nameMatches(r.Method, method) {
		return false
	}
	if r.Path != "" && !v.pathMatches(r) {
		return false
	}
	if r.Over == nil {
		return true
	}
	over := r.Over.judge(v.query, v.body, v.call.Resolved)
	return over == isOver || over == isOpen && r.Effect == Ask
}

func (v seen) pathMatches(r Rule) bool {
	if v.call.Tool != "" {
		if r.Effect != Allow && strings.Trim(r.Path, "/*") == "" {
			return true // whoever writes "/**" means everything
		}
		return readGlob(r.Path, false).matchesPath(v.plain[0], false)
	}
	g := pathGlob(r.Path)
	if r.Effect == Allow {
		for _, text := range v.plain {
			if !g.matchesPath(text, false) {
				return false
			}
		}
		return true
	}
	for _, text := range v.loose {
		if g.matchesPath(text, r.Effect == Ask) {
			return true
		}
	}
	return false
}

// nameMatches compares a name with a glob of names, without letter case.
func nameMatches(pattern, name string) bool {
	return readGlob(strings.ToLower(pattern), true).matches([]rune(strings.ToLower(name)), false)
}
