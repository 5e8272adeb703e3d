package plan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
)

// Proposal is a plan as a model or a user wrote it, before any check.
type Proposal struct {
	Goal  string         `json:"goal"`
	Steps []ProposedStep `json:"steps"`
}

// ProposedStep is one step of a proposal. Without Needs it needs the step before, because steps run
// in order by default. An undo or a check without a server calls the server of its step.
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

	Headers json.RawMessage `json:"headers,omitempty"`

	When    *ref.Condition `json:"when,omitempty"`
	ForEach string         `json:"for_each,omitempty"`
	Undo    *Call          `json:"undo,omitempty"`
	NoUndo  bool           `json:"no_undo,omitempty"`
	Verify  *Check         `json:"verify,omitempty"`
}

// Call returns the call of the step itself.
func (s ProposedStep) Call() Call {
	return Call{MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body}
}

// SetCall sets the call of the step itself.
func (s *ProposedStep) SetCall(c Call) {
	s.MCPID, s.Tool, s.Method, s.Path, s.Query, s.Headers, s.Body = c.MCPID, c.Tool, c.Method, c.Path, c.Query, c.Headers, c.Body
}

var stepID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)
})

// Arrange checks the shape of a proposal. It returns its steps with ids, needs and risks filled in;
// every step that a step refers to is among its needs. The second result lists all faults, each
// with its location, such as ["steps", 2, "undo", "path"].
func Arrange(p Proposal) ([]Step, []fault.Field) {
	if len(p.Steps) == 0 {
		return nil, []fault.Field{problem("missing", "a plan needs at least one step", "steps")}
	}
	if len(p.Steps) > MaxSteps {
		return nil, []fault.Field{problem("too_long", fmt.Sprintf("a plan has at most %d steps", MaxSteps), "steps")}
	}
	a := arranger{steps: make([]Step, len(p.Steps)), at: map[string]int{}}
	for i, s := range p.Steps {
		a.steps[i] = a.completeStep(i, s)
	}
	a.checkIDs()
	for i := range a.steps {
		a.checkCall([]any{"steps", i}, a.steps[i].Call(), a.scopeBefore(i))
		a.checkCondition(i)
		a.checkForEach(i)
		a.checkNeeds(i)
	}
	for i := range a.steps {
		a.checkUndo(i)
		a.checkVerify(i)
	}
	if len(a.wrong) == 0 {
		if _, err := Waves(a.steps); err != nil {
			a.report("cycle", err.Error(), "steps")
		}
	}
	return a.steps, a.wrong
}

// ArrangeCall is Arrange for a call that is in no plan. The location of a fault is one in the call, such as ["path"].
func ArrangeCall(c Call) (Step, []fault.Field) {
	var p ProposedStep
	p.SetCall(c)
	a := arranger{steps: make([]Step, 1)}
	a.steps[0] = a.completeStep(0, p)
	a.checkCall(nil, c, a.scopeBefore(0))
	return a.steps[0], a.wrong
}

// arranger holds the state of one call of Arrange.
type arranger struct {
	steps []Step
	at    map[string]int // index of the step with this id
	wrong []fault.Field
}

func (a *arranger) report(typ, msg string, loc ...any) {
	a.wrong = append(a.wrong, problem(typ, msg, loc...))
}

// completeStep returns the proposed step i with the defaults of its absent fields.
func (a *arranger) completeStep(i int, p ProposedStep) Step {
	s := Step{
		ID: EffectOf(p.ID), Title: clip.Runes(clip.Line(p.Title), MaxTitle), MCPID: p.MCPID, Tool: p.Tool, Method: strings.ToUpper(p.Method),
		Path: p.Path, Query: p.Query, Headers: p.Headers, Body: p.Body, When: p.When, ForEach: p.ForEach,
	}
	if p.ID == "" {
		s.ID = EffectOf("s" + strconv.Itoa(i+1))
	}
	if s.Title == "" {
		s.Title = clip.Runes(clip.Line(s.Called()), MaxTitle)
	}
	s.Risk = RiskOf(s.Method)
	switch {
	case p.Needs != nil:
		s.Needs = append([]string{}, *p.Needs...)
	case i == 0:
		s.Needs = []string{}
	default:
		s.Needs = []string{a.steps[i-1].ID.Step()}
	}
	s.NoUndo = p.NoUndo && p.Undo == nil && s.Risk != Read
	if p.Undo != nil {
		s.Undo = &Undo{Call: p.Undo.withDefaults(s)}
	}
	if p.Verify != nil {
		s.Verify = &Check{Call: p.Verify.withDefaults(s), Expect: p.Verify.Expect}
	}
	return s
}

// withDefaults returns the call of an undo or a check with the defaults of its absent fields.
func (c Call) withDefaults(s Step) Call {
	if c.MCPID == "" {
		c.MCPID = s.MCPID
	}
	c.Method = strings.ToUpper(c.Method)
	return c
}

// checkIDs checks the ids. Two ids that differ only in letter case are refused, because people and
// models confuse them.
func (a *arranger) checkIDs() {
	folded := map[string]string{}
	for i, s := range a.steps {
		name := s.ID.Step()
		fold := strings.ToLower(name)
		switch other, twice := folded[fold]; {
		case !stepID().MatchString(name):
			a.report("invalid", "an id is a letter followed by up to 31 letters, digits, - or _", "steps", i, "id")
		case slices.Contains(Reserved, fold):
			a.report("reserved", fmt.Sprintf("the id %q names something else in references", name), "steps", i, "id")
		case twice && other == name:
			a.report("duplicate", fmt.Sprintf("the id %q stands twice", name), "steps", i, "id")
		case twice:
			a.report("duplicate", fmt.Sprintf("the ids %q and %q differ in letter case only", other, name), "steps", i, "id")
		}
		folded[fold] = name
		if _, known := a.at[name]; !known {
			a.at[name] = i
		}
	}
}

func (a *arranger) checkNeeds(i int) {
	s := &a.steps[i]
	for _, n := range s.Needs {
		if _, known := a.at[n]; !known {
			a.report("unknown", fmt.Sprintf("needs %q, which is not in the plan", n), "steps", i, "needs")
		} else if n == s.ID.Step() {
			a.report("cycle", "a step cannot need itself", "steps", i, "needs")
		}
	}
	slices.Sort(s.Needs)
	s.Needs = slices.Compact(s.Needs)
}

func (a *arranger) checkCondition(i int) {
	when := a.steps[i].When
	if when == nil {
		return
	}
	if err := when.Check(); err != nil {
		a.report("invalid", err.Error(), "steps", i, "when")
		return
	}
	refs, err := when.References()
	use := a.scopeBefore(i)
	use.item = "is decided once, before there is an element"
	a.checkReferences([]any{"steps", i, "when"}, refs, err, use)
}

func (a *arranger) checkForEach(i int) {
	s := a.steps[i]
	if s.ForEach == "" {
		return
	}
	loc := []any{"steps", i, "for_each"}
	refs, err := ref.InText(s.ForEach)
	switch {
	case err != nil:
		a.report("reference", err.Error(), loc...)
	case !ref.Whole(s.ForEach):
		a.report("reference", "it is one reference to a list of an earlier step and nothing else, such as ${s1.body.items}", loc...)
	case refs[0].Part != "body":
		a.report("reference", fmt.Sprintf("${%s} is no list: only a body can be one", refs[0]), loc...)
	default:
		use := a.scopeBefore(i)
		use.item = "is an element of this very list"
		a.checkReferences(loc, refs, nil, use)
	}
}

func (a *arranger) checkUndo(i int) {
	u := a.steps[i].Undo
	if u == nil {
		return
	}
	loc := []any{"steps", i, "undo"}
	if a.steps[i].Risk == Read {
		a.report("invalid", "a step that only reads leaves nothing to undo", loc...)
		return
	}
	if u.Tool == "" && RiskOf(u.Method) == Read {
		a.report("invalid", fmt.Sprintf("%s undoes nothing", u.Method), appendLoc(loc, "method")...)
	}
	use := a.scopeAfter(i)
	use.itself = true
	a.checkCall(loc, u.Call, use)
}

func (a *arranger) checkVerify(i int) {
	v := a.steps[i].Verify
	if v == nil {
		return
	}
	loc := []any{"steps", i, "verify"}
	switch {
	case v.Tool != "":
		a.report("invalid", "a check is a GET or a HEAD, not a tool", appendLoc(loc, "tool")...)
	case v.Method != "GET" && v.Method != "HEAD":
		a.report("invalid", "a check only reads: GET or HEAD", appendLoc(loc, "method")...)
	}
	a.checkCall(loc, v.Call, a.scopeAfter(i))
	loc = appendLoc(loc, "expect")
	if err := v.Expect.Check(); err != nil {
		a.report("invalid", err.Error(), loc...)
		return
	}
	refs, err := v.Expect.References()
	a.checkReferences(loc, refs, err, scope{step: i, check: true})
}

func problem(typ, msg string, loc ...any) fault.Field {
	return fault.Field{Loc: loc, Msg: msg, Type: typ}
}

func appendLoc(loc []any, more any) []any { return append(slices.Clone(loc), more) }

// checkJSON refuses a JSON text with a duplicate member: a reader could see the one value, and the
// service could use the other.
func (a *arranger) checkJSON(raw json.RawMessage, loc []any) {
	if len(raw) == 0 {
		return
	}
	if err := jcs.Check(raw); err != nil {
		a.report("invalid", err.Error(), loc...)
	}
}
