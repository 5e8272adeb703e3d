package rule

import (
	"slices"
	"strings"

	"piloto/internal/ground/fold"
	"piloto/internal/runs/plan"
)

// Call is the call that the rules judge. For a named tool, Tool is the name, and Method and Path are ignored. Query, Headers
// and Body are JSON. Resolved means that no reference is left: text of that form is literal.
type Call struct {
	ServerID   string
	ServerName string
	Method     string
	Path       string
	Tool       string
	Query      []byte
	Headers    []byte
	Body       []byte
	Resolved   bool
}

// CallOf returns the call of a step before its references are resolved. server is the name of its
// server.
func CallOf(s plan.Step, server string) Call {
	return Call{
		ServerID: s.MCPID, ServerName: server, Method: s.Method, Path: s.Path, Tool: s.Tool,
		Query: s.Query, Headers: s.Headers, Body: s.Body,
	}
}

// Verdict is the result of the rules for a call. Effect is empty when no rule matches. Rule is the
// deciding rule. Among rules that ask, one that requires another person comes first, then the one
// with the shortest wait, then the first in the list.
type Verdict struct {
	Effect Effect
	Rule   Rule
}

// Judge returns the verdict on a call: deny wins over ask, and ask over allow. If the result
// depends on an unresolved reference, a rule asks, and neither denies nor allows: the call is
// judged again after its references are resolved.
func (s Set) Judge(c Call) Verdict {
	var v Verdict
	if len(s.Rules) == 0 { // most accounts have none, and the forms of a call are many
		return v
	}
	seen := viewOf(c)
	for _, r := range s.Rules {
		if r.Effect != Allow && r.Effect != Ask && r.Effect != Deny || !seen.matches(r) {
			continue
		}
		if isStronger(r, v) {
			v = Verdict{Effect: r.Effect, Rule: r}
		}
	}
	return v
}

var strength = map[Effect]int{Allow: 1, Ask: 2, Deny: 3}

func isStronger(r Rule, than Verdict) bool {
	switch {
	case strength[r.Effect] != strength[than.Effect]:
		return strength[r.Effect] > strength[than.Effect]
	case r.Effect != Ask:
		return false
	case r.Another != than.Rule.Another:
		return r.Another
	}
	return waitMinutes(r) < waitMinutes(than.Rule)
}

// waitMinutes returns the number of minutes that a rule waits for an approval.
func waitMinutes(r Rule) int {
	if r.Minutes <= 0 || r.Minutes > MaxMinutes {
		return Minutes
	}
	return r.Minutes
}

// AskFor returns the approval that a step needs, or the rule that denies it. c is the step's call.
// why is the reason for a step that destroys something to wait without a rule; "" when it does not.
//
// A step that is done for each element of a list asks once for all elements; a single element can
// only be denied. An undo cannot wait, because it runs after the other steps have stopped: a rule
// that asks denies it. An undo that destroys something without a rule is allowed, because the user
// confirmed it with its step.
func (s Set) AskFor(step plan.Step, c Call, why string) (ask *plan.Ask, denied *Rule) {
	v := s.Judge(c)
	switch {
	case v.Effect == Deny, v.Effect == Ask && step.ID.Undo():
		return nil, &v.Rule
	case v.Effect == Allow, step.ID.Undo(), step.ID.Item() >= 0:
		return nil, nil
	case v.Effect == Ask:
		ask := &plan.Ask{Reason: v.Rule.Reason, Rule: v.Rule.ID, Another: v.Rule.Another, Minutes: waitMinutes(v.Rule)}
		ask.Maybe = !s.alwaysAsks(c) && (step.Risk != plan.Destructive || why == "")
		return ask, nil
	case step.Risk == plan.Destructive && why != "":
		return &plan.Ask{Reason: why, Minutes: Minutes}, nil
	}
	return nil, nil
}

// alwaysAsks reports whether a rule asks for every value of the call's references.
func (s Set) alwaysAsks(c Call) bool {
	seen := viewOf(c)
	return slices.ContainsFunc(s.Rules, func(r Rule) bool {
		asks := r.Effect == Ask
		r.Effect = Deny // a rule that denies matches only for certain
		return asks && seen.matches(r)
	})
}

// callView is a call in the forms that rules compare.
type callView struct {
	call      Call
	path      readings
	arguments map[string]*arguments // by the first name of a path
}

func viewOf(c Call) callView {
	v := callView{call: c, arguments: map[string]*arguments{
		"query": {raw: c.Query}, "headers": {raw: c.Headers}, "body": {raw: c.Body},
	}}
	if c.Tool != "" {
		v.path = readName(c.Tool)
	} else {
		v.path = readPath(c.Path, c.Resolved)
	}
	return v
}

// matches reports whether a rule applies to the call. A rule that allows must match for certain and
// exactly. A rule that asks may match possibly. A rule that denies must match for certain, in any
// reading of a receiver.
func (v callView) matches(r Rule) bool {
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
	over := r.Over.judge(v.arguments, v.call.Resolved)
	return over == overLimit || over == undecided && r.Effect == Ask
}

func (v callView) pathMatches(r Rule) bool {
	g := pathGlob(r.Path)
	if v.call.Tool != "" {
		if r.Effect != Allow && strings.Trim(r.Path, "/*") == "" {
			return true // "/**" means all tools
		}
		g = readGlob(r.Path, false)
	}
	if r.Effect == Allow {
		machines := g.machines()
		return !slices.ContainsFunc(v.path.plain, func(text []rune) bool { return !oneMatches(machines, text, false) })
	}
	may := r.Effect == Ask
	return anyMatches(g.machines(), v.path.loose, may) || anyMatches(g.foldGlob(false).machines(), v.path.folded, may) ||
		anyMatches(g.foldGlob(true).machines(), v.path.trimmed, may)
}

// nameMatches compares a name with a glob of names.
func nameMatches(pattern, name string) bool {
	return newMachine(readGlob(pattern, true)).matches([]rune(name), false)
}

// foldMatches compares a name with a glob of names, both as written and folded.
func foldMatches(pattern, name string) bool {
	return nameMatches(pattern, name) || newMachine(readGlob(pattern, true).foldGlob(false)).matches(fold.Runes([]rune(name)), false)
}
