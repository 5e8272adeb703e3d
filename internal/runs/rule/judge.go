package rule

import (
	"slices"
	"strings"

	"piloto/internal/ground/fold"
	"piloto/internal/runs/plan"
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
	call        Call
	path        readings
	query, body *arguments
}

func view(c Call) seen {
	v := seen{call: c, query: &arguments{raw: c.Query}, body: &arguments{raw: c.Body}}
	if c.Tool != "" {
		v.path = readName(c.Tool)
	} else {
		v.path = readPath(c.Path, c.Resolved)
	}
	return v
}

// matches reports whether a rule is about the call. One that allows must be so
// for sure, letter by letter; one that asks, perhaps; one that denies for sure, but
// whatever a receiver takes the call for.
func (v seen) matches(r Rule) bool {
	same := nameMatches
	if r.Effect != Allow {
		same = foldMatches
	}
	if r.Server != "" && !same(r.Server, v.call.ServerID) && !same(r.Server, v.call.ServerName) {
		return false
	}
	method := strings.ToUpper(v.call.Method)
	if v.call.Tool != "" {
		method = ""
	}
	if r.Method != "" && !same(strings.ToUpper(r.Method), method) {
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
	g := pathGlob(r.Path)
	if v.call.Tool != "" {
		if r.Effect != Allow && strings.Trim(r.Path, "/*") == "" {
			return true // whoever writes "/**" means everything
		}
		g = readGlob(r.Path, false)
	}
	if r.Effect == Allow {
		machines := g.machines()
		return !slices.ContainsFunc(v.path.plain, func(text []rune) bool { return !oneMatches(machines, text, false) })
	}
	may := r.Effect == Ask
	return anyMatches(g.machines(), v.path.loose, may) || anyMatches(g.folded(false).machines(), v.path.folded, may) ||
		anyMatches(g.folded(true).machines(), v.path.trimmed, may)
}

// nameMatches compares a name with a glob of names.
func nameMatches(pattern, name string) bool {
	return newMachine(readGlob(pattern, true)).matches([]rune(name), false)
}

// foldMatches compares a name with a glob of names, whatever takes them for the same.
func foldMatches(pattern, name string) bool {
	return nameMatches(pattern, name) || newMachine(readGlob(pattern, true).folded(false)).matches(fold.Runes([]rune(name)), false)
}
