package plan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
)

// Proposal is a plan as somebody wrote it, before anything was checked.
type Proposal struct {
	Goal  string         `json:"goal"`
	Steps []ProposedStep `json:"steps"`
}

// ProposedStep is one step of a proposal. Needs that are absent mean the step
// before: steps are in order unless they say otherwise. An undo or a check that
// names no server is a call to the server of its step.
type ProposedStep struct {
	ID     string          `json:"id"`
	Title  string          `json:"title"`
	MCPID  string          `json:"mcp_id"`
	Tool   string          `json:"tool,omitempty"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Needs  *[]string       `json:"needs,omitempty"`

	When    *ref.Condition `json:"when,omitempty"`
	ForEach string         `json:"for_each,omitempty"`
	Undo    *Call          `json:"undo,omitempty"`
	NoUndo  bool           `json:"no_undo,omitempty"`
	Verify  *Check         `json:"verify,omitempty"`
}

var stepID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)
})

// Arrange checks the shape of a proposal and returns its steps with ids, needs
// and risks filled in; what a step's references name is among its needs. The
// second result lists everything that is wrong with it, each with its place:
// ["steps", 2, "undo", "path"].
func Arrange(p Proposal) ([]Step, []fault.Field) {
	if len(p.Steps) == 0 {
		return nil, []fault.Field{problem("missing", "a plan needs at least one step", "steps")}
	}
	if len(p.Steps) > MaxSteps {
		return nil, []fault.Field{problem("too_long", fmt.Sprintf("a plan has at most %d steps", MaxSteps), "steps")}
	}
	a := arrangement{steps: make([]Step, len(p.Steps)), at: map[string]int{}}
	for i, s := range p.Steps {
		a.steps[i] = a.step(i, s)
	}
	a.identify()
	for i := range a.steps {
		a.call([]any{"steps", i}, callOf(a.steps[i]), a.needed(i))
		a.condition(i)
		a.each(i)
		a.needs(i)
	}
	for i := range a.steps {
		a.undo(i)
		a.verify(i)
	}
	if len(a.wrong) == 0 {
		if _, err := Waves(a.steps); err != nil {
			a.say("cycle", err.Error(), "steps")
		}
	}
	return a.steps, a.wrong
}

// arrangement is a proposal that is being arranged.
type arrangement struct {
	steps []Step
	at    map[string]int // where the step of an id is
	wrong []fault.Field
}

func (a *arrangement) say(typ, msg string, loc ...any) {
	a.wrong = append(a.wrong, problem(typ, msg, loc...))
}

// step is a step as it was proposed, with what it did not say.
func (a *arrangement) step(i int, p ProposedStep) Step {
	s := Step{
		ID: p.ID, Title: cut(p.Title, MaxTitle), MCPID: p.MCPID, Tool: p.Tool, Method: strings.ToUpper(p.Method),
		Path: p.Path, Query: p.Query, Body: p.Body, When: p.When, ForEach: p.ForEach,
	}
	if s.ID == "" {
		s.ID = "s" + strconv.Itoa(i+1)
	}
	if s.Title == "" {
		s.Title = cut(s.Called(), MaxTitle)
	}
	s.Risk = RiskOf(s.Method)
	switch {
	case p.Needs != nil:
		s.Needs = append([]string{}, *p.Needs...)
	case i == 0:
		s.Needs = []string{}
	default:
		s.Needs = []string{a.steps[i-1].ID}
	}
	s.NoUndo = p.NoUndo && p.Undo == nil && s.Risk != Read
	if p.Undo != nil {
		s.Undo = &Undo{Call: p.Undo.normal(s)}
	}
	if p.Verify != nil {
		s.Verify = &Check{Call: p.Verify.normal(s), Expect: p.Verify.Expect}
	}
	return s
}

// normal is a call beside the one of a step, with what it did not say.
func (c Call) normal(s Step) Call {
	if c.MCPID == "" {
		c.MCPID = s.MCPID
	}
	c.Method = strings.ToUpper(c.Method)
	return c
}

func callOf(s Step) Call { return Call{Path: s.Path, Query: s.Query, Body: s.Body} }

// identify checks the ids. Two that differ in letter case only are one too many:
// people, and models, do not tell them apart.
func (a *arrangement) identify() {
	folded := map[string]string{}
	for i, s := range a.steps {
		fold := strings.ToLower(s.ID)
		switch other, twice := folded[fold]; {
		case !stepID().MatchString(s.ID):
			a.say("invalid", "an id is a letter followed by up to 31 letters, digits, - or _", "steps", i, "id")
		case slices.Contains(Reserved, fold):
			a.say("reserved", fmt.Sprintf("the id %q names something else in references", s.ID), "steps", i, "id")
		case twice && other == s.ID:
			a.say("duplicate", fmt.Sprintf("the id %q stands twice", s.ID), "steps", i, "id")
		case twice:
			a.say("duplicate", fmt.Sprintf("the ids %q and %q differ in letter case only", other, s.ID), "steps", i, "id")
		}
		folded[fold] = s.ID
		if _, known := a.at[s.ID]; !known {
			a.at[s.ID] = i
		}
	}
}

func (a *arrangement) needs(i int) {
	s := &a.steps[i]
	for _, n := range s.Needs {
		if _, known := a.at[n]; !known {
			a.say("unknown", fmt.Sprintf("needs %q, which is not in the plan", n), "steps", i, "needs")
		} else if n == s.ID {
			a.say("cycle", "a step cannot need itself", "steps", i, "needs")
		}
	}
	slices.Sort(s.Needs)
	s.Needs = slices.Compact(s.Needs)
}

func (a *arrangement) condition(i int) {
	when := a.steps[i].When
	if when == nil {
		return
	}
	if err := when.Check(); err != nil {
		a.say("invalid", err.Error(), "steps", i, "when")
		return
	}
	refs, err := when.References()
	use := a.needed(i)
	use.item = "is decided once, before there is an element"
	a.references([]any{"steps", i, "when"}, refs, err, use)
}

func (a *arrangement) each(i int) {
	s := a.steps[i]
	if s.ForEach == "" {
		return
	}
	loc := []any{"steps", i, "for_each"}
	refs, err := ref.InText(s.ForEach)
	switch {
	case err != nil:
		a.say("reference", err.Error(), loc...)
	case !ref.Whole(s.ForEach):
		a.say("reference", "it is one reference to a list of an earlier step and nothing else, such as ${s1.body.items}", loc...)
	case refs[0].Part != "body":
		a.say("reference", fmt.Sprintf("${%s} is no list: only a body can be one", refs[0]), loc...)
	default:
		use := a.needed(i)
		use.item = "is an element of this very list"
		a.references(loc, refs, nil, use)
	}
}

func (a *arrangement) undo(i int) {
	u := a.steps[i].Undo
	if u == nil {
		return
	}
	loc := []any{"steps", i, "undo"}
	if a.steps[i].Risk == Read {
		a.say("invalid", "a step that only reads leaves nothing to undo", loc...)
		return
	}
	if u.Tool == "" && RiskOf(u.Method) == Read {
		a.say("invalid", fmt.Sprintf("%s undoes nothing", u.Method), within(loc, "method")...)
	}
	use := a.earlier(i)
	use.itself = true
	a.call(loc, u.Call, use)
}

func (a *arrangement) verify(i int) {
	v := a.steps[i].Verify
	if v == nil {
		return
	}
	loc := []any{"steps", i, "verify"}
	switch {
	case v.Tool != "":
		a.say("invalid", "a check is a GET or a HEAD, not a tool", within(loc, "tool")...)
	case v.Method != "GET" && v.Method != "HEAD":
		a.say("invalid", "a check only reads: GET or HEAD", within(loc, "method")...)
	}
	a.call(loc, v.Call, a.earlier(i))
	loc = within(loc, "expect")
	if err := v.Expect.Check(); err != nil {
		a.say("invalid", err.Error(), loc...)
		return
	}
	refs, err := v.Expect.References()
	a.references(loc, refs, err, uses{step: i, check: true})
}

func problem(typ, msg string, loc ...any) fault.Field {
	return fault.Field{Loc: loc, Msg: msg, Type: typ}
}

func within(loc []any, more any) []any { return append(slices.Clone(loc), more) }

// twice says which member of a JSON text stands twice: what is shown could be one
// of them, and what the service reads the other.
func (a *arrangement) twice(raw json.RawMessage, loc []any) {
	if len(raw) == 0 {
		return
	}
	if err := jcs.Check(raw); err != nil {
		a.say("invalid", err.Error(), loc...)
	}
}

// Line makes a text one line; see ref.Line.
func Line(s string) string { return ref.Line(s) }

func cut(s string, most int) string {
	s = Line(s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
