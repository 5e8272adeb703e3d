package plan

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"piloto/internal/ground/ref"
)

// MaxEach is the greatest number of elements that a step may be done for.
const MaxEach = 50

// Reserved lists the names that no step may have, because references use them: the element that a
// step is done for (${item.name}), and the response to a check (${check.body.status}).
var Reserved = []string{ItemName, CheckName}

// The reserved names.
const (
	ItemName  = "item"
	CheckName = "check"
)

// Call is the call of an undo or a check.
type Call struct {
	MCPID  string          `json:"mcp_id"`
	Tool   string          `json:"tool,omitempty"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// Undo is the call that reverses the effect of its step. Its references may name the step itself
// (for a step that is done for each element: the result of the same element) and every step that
// the step could name. Suggested means that it was found in the server's document and written by no
// one.
type Undo struct {
	Call
	Suggested bool `json:"suggested,omitempty"`
}

// Check finds out whether a step was done although its response was lost. It is a call that only
// reads, and a condition on its response (${check.status}, ${check.body…}) that holds if the step
// was done.
type Check struct {
	Call
	Expect ref.Condition `json:"expect"`
}

// Ask is the reason why a step of a confirmed plan waits for an approval of its own.
type Ask struct {
	Reason  string `json:"reason"`            // a sentence, from the rule or from Piloto
	Rule    string `json:"rule,omitempty"`    // the id of the account's rule; empty: the step destroys something
	Another bool   `json:"another,omitempty"` // the approval must come from a person who does not own the run
	Minutes int    `json:"minutes"`           // how long the approval stays open
	Maybe   bool   `json:"maybe,omitempty"`   // only if the results of earlier steps match the rule
}

// Target is the value that a reference of a step had when the plan was proposed. Label describes
// the object around the Value ("Sala Norte, 6"). The step is refused when the reference has another
// value at execution.
type Target struct {
	Ref   string          `json:"ref"` // "s1.body.items[0].id"
	Value json.RawMessage `json:"value"`
	Label string          `json:"label"`
}

// EffectID identifies one effect of a run: a step ("s2"), one element of it ("s2[3]"), or the undo
// of either ("undo:s2", "undo:s2[3]").
type EffectID struct {
	Step string
	Item int // -1: the step as a whole
	Undo bool
}

const undoPrefix = "undo:"

// checkPrefix begins the id of a check's binding.
const checkPrefix = "check:"

// ParseEffect parses the id of an effect.
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

// String returns the id of an effect, as ParseEffect reads it.
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

// UndoOf returns the id of the undo of an effect.
func UndoOf(id string) string { return undoPrefix + id }

// ItemOf returns the id of one element of a step.
func ItemOf(stepID string, n int) string { return EffectID{Step: stepID, Item: n}.String() }

// Step returns the step of an effect, with the id of the effect. An element has the call of its
// step, without list, condition and approval. An undo has its own call, without Undo and Verify.
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

// CheckOf returns the check of a step as a step, so that it can be bound and built.
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

// Binding returns the binding of an effect: that of its step, of the undo of its step, or of the
// check of its step.
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

// Undoable counts the steps that change something, and how many of these can be undone.
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
