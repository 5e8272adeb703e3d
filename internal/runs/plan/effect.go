package plan

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"piloto/internal/ground/ref"
)

// MaxEach is how many elements a step may be done for.
const MaxEach = 50

// Reserved are names that no step may have, since references use them: the
// element that a step is done for (${item.name}), and the answer of a check
// (${check.body.status}).
var Reserved = []string{ItemName, CheckName}

// The reserved names.
const (
	ItemName  = "item"
	CheckName = "check"
)

// Call is one call beside the one of its step: an undo, or a check.
type Call struct {
	MCPID  string          `json:"mcp_id"`
	Tool   string          `json:"tool,omitempty"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// Undo is the call that takes back what its step did. Its references may name the
// step itself (of a step that is done for each element: that element's own
// result) and whatever the step could name. Suggested says that nobody wrote it:
// it was found in the server's document.
type Undo struct {
	Call
	Suggested bool `json:"suggested,omitempty"`
}

// Check finds out whether a step whose answer was lost was done: a call that only
// reads, and what holds of its answer (${check.status}, ${check.body…}) when it
// was.
type Check struct {
	Call
	Expect ref.Condition `json:"expect"`
}

// Ask is why a step waits for an approval of its own after the plan was confirmed.
type Ask struct {
	Reason  string `json:"reason"`            // a sentence, of the rule or of ours
	Rule    string `json:"rule,omitempty"`    // the id of the account's rule; empty: it destroys something
	Another bool   `json:"another,omitempty"` // whoever confirmed may not approve
	Minutes int    `json:"minutes"`           // how long it waits
	Maybe   bool   `json:"maybe,omitempty"`   // only if what earlier steps answer is as the rule says
}

// Target is what a reference of a step was found to name when the plan was
// proposed: the Value, and what the thing around it is (Label: "Sala Norte, 6").
// The step is not done when it names another thing by then.
type Target struct {
	Ref   string          `json:"ref"` // "s1.body.items[0].id"
	Value json.RawMessage `json:"value"`
	Label string          `json:"label"`
}

// EffectID names one effect of a run: a step ("s2"), one element of it ("s2[3]"),
// or the undo of either ("undo:s2", "undo:s2[3]").
type EffectID struct {
	Step string
	Item int // -1: the step as a whole
	Undo bool
}

const undoPrefix = "undo:"

// checkPrefix names the binding of a step's check.
const checkPrefix = "check:"

// ParseEffect reads the name of an effect.
func ParseEffect(id string) EffectID {
	e := EffectID{Item: -1}
	id, e.Undo = strings.CutPrefix(id, undoPrefix)
	e.Step = id
	if name, rest, ok := strings.Cut(id, "["); ok {
		if n, err := strconv.Atoi(strings.TrimSuffix(rest, "]")); err == nil && n >= 0 {
			e.Step, e.Item = name, n
		}
	}
	return e
}

// String writes the name of an effect.
func (e EffectID) String() string {
	id := e.Step
	if e.Item >= 0 {
		id += "[" + strconv.Itoa(e.Item) + "]"
	}
	if e.Undo {
		return undoPrefix + id
	}
	return id
}

// UndoOf names the undo of an effect.
func UndoOf(id string) string { return undoPrefix + id }

// ItemOf names one element of a step.
func ItemOf(stepID string, n int) string { return EffectID{Step: stepID, Item: n}.String() }

// Step returns the step that an effect is: with the id of a step, an element or an
// undo. An element has its step's call; an undo has its own, and Undo and Verify
// of neither are kept where they do not apply.
func (p Plan) Step(id string) (Step, bool) {
	e := ParseEffect(id)
	for _, s := range p.Steps {
		if s.ID != e.Step {
			continue
		}
		if e.Item >= 0 {
			if s.ForEach == "" {
				return Step{}, false
			}
			s.ForEach, s.When, s.Ask = "", nil, nil
			s.Title = fmt.Sprintf("%s (%d)", s.Title, e.Item+1)
		}
		if e.Undo {
			if s.Undo == nil {
				return Step{}, false
			}
			u := s.Undo
			s = Step{
				Title: s.Title, MCPID: u.MCPID, Tool: u.Tool, Method: u.Method, Path: u.Path,
				Query: u.Query, Body: u.Body, Needs: []string{}, Risk: RiskOf(u.Method),
			}
		}
		s.ID = id
		return s, true
	}
	return Step{}, false
}

// CheckOf returns the check of a step as a step, to be bound and built.
func (p Plan) CheckOf(stepID string) (Step, bool) {
	s, ok := p.Step(stepID)
	if !ok || s.Verify == nil {
		return Step{}, false
	}
	v := s.Verify
	return Step{
		ID: checkPrefix + s.ID, Title: s.Title, MCPID: v.MCPID, Tool: v.Tool, Method: v.Method, Path: v.Path,
		Query: v.Query, Body: v.Body, Needs: []string{}, Risk: Read,
	}, true
}

// Binding returns what an effect is bound to: that of its step, of its step's undo,
// or of its step's check.
func (p Plan) Binding(id string) (Binding, bool) {
	name, check := strings.CutPrefix(id, checkPrefix)
	e := ParseEffect(name)
	e.Item = -1
	name = e.String()
	if check {
		name = checkPrefix + name
	}
	for _, b := range p.Bindings {
		if b.StepID == name {
			return b, true
		}
	}
	return Binding{}, false
}

// Undoable counts the steps that change something, and those of them that can be
// undone.
func (p Plan) Undoable() (undoable, changing int) {
	for _, s := range p.Steps {
		if s.Risk == Read {
			continue
		}
		changing++
		if s.Undo != nil {
			undoable++
		}
	}
	return undoable, changing
}
