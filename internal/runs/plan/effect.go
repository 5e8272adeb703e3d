package plan

import (
	"encoding/json"
	"fmt"
	"slices"
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

	Headers json.RawMessage `json:"headers,omitempty"`
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
	About []ref.Fact      `json:"about,omitempty" doc:"the other members of the thing that it names, as the answer had them"`
}

// EffectID identifies one effect of a run: a step ("s2"), one element of it ("s2[3]"), the undo of
// either ("undo:s2", "undo:s2[3]"), or the check of either ("check:s2"). It is a text where it is
// stored or sent. The zero value identifies nothing, and its text is empty.
type EffectID struct {
	step     string
	position int // of an element, from 1; 0: the step as a whole
	kind     string
}

// The kinds of effect besides a step, as the beginnings of their texts.
const (
	undoKind  = "undo:"
	checkKind = "check:"
)

// EffectOf returns the id of a step as a whole.
func EffectOf(step string) EffectID { return EffectID{step: step} }

// ItemOf returns the id of one element of a step. The first one is number 0.
func ItemOf(step EffectID, n int) EffectID { return EffectID{step: step.step, position: n + 1} }

// UndoOf returns the id of the undo of a step or an element.
func UndoOf(id EffectID) EffectID { id.kind = undoKind; return id }

// CheckOf returns the id of the check of a step or an element.
func CheckOf(id EffectID) EffectID { id.kind = checkKind; return id }

// ParseEffect parses the text of an id from outside: of a request, a stored row, an input of the state machine. It accepts
// every text, and String returns the same text. A text of another form becomes a step of that name, which no plan has, so
// Plan.Step refuses it.
func ParseEffect(text string) EffectID {
	for _, kind := range []string{undoKind, checkKind} {
		if name, ok := strings.CutPrefix(text, kind); ok {
			id := parseStep(name)
			id.kind = kind
			return id
		}
	}
	return parseStep(text)
}

func parseStep(text string) EffectID {
	if name, rest, ok := strings.Cut(text, "["); ok {
		if n, err := strconv.Atoi(strings.TrimSuffix(rest, "]")); err == nil && n >= 0 {
			if id := (EffectID{step: name, position: n + 1}); id.String() == text { // "s2[03]" and "s2[3" are no elements
				return id
			}
		}
	}
	return EffectID{step: text}
}

// Step returns the name of the step.
func (id EffectID) Step() string { return id.step }

// Item returns the number of the element, from 0; -1 for a step as a whole.
func (id EffectID) Item() int { return id.position - 1 }

// Undo reports whether the effect is an undo.
func (id EffectID) Undo() bool { return id.kind == undoKind }

// Check reports whether the effect is a check.
func (id EffectID) Check() bool { return id.kind == checkKind }

// Base returns the id of the step or the element that an undo or a check belongs to.
func (id EffectID) Base() EffectID { id.kind = ""; return id }

// Whole reports whether the effect is a step as a whole: no element, undo or check.
func (id EffectID) Whole() bool { return id == EffectOf(id.step) }

// IsZero reports whether the id identifies nothing.
func (id EffectID) IsZero() bool { return id == EffectID{} }

// String returns the text of the id.
func (id EffectID) String() string {
	if id.position > 0 {
		return id.kind + id.step + "[" + strconv.Itoa(id.Item()) + "]"
	}
	return id.kind + id.step
}

// MarshalText implements encoding.TextMarshaler.
func (id EffectID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *EffectID) UnmarshalText(text []byte) error { *id = ParseEffect(string(text)); return nil }

// Step returns the step of an effect, with the id of the effect. An element has the call of its
// step, without list, condition and approval. An undo has its own call, without Undo and Verify. A
// check has none, because it does not run by itself: see CheckOf.
func (p Plan) Step(id EffectID) (Step, bool) {
	for _, s := range p.Steps {
		if s.ID != EffectOf(id.step) || id.Check() {
			continue
		}
		if id.Item() >= 0 {
			if s.ForEach == "" {
				return Step{}, false
			}
			s.ForEach, s.When, s.Ask = "", nil, nil
			s.Title = fmt.Sprintf("%s (%d)", s.Title, id.Item()+1)
		}
		if id.Undo() {
			if s.Undo == nil {
				return Step{}, false
			}
			u := s.Undo
			s = Step{
				Title: s.Title, MCPID: u.MCPID, Tool: u.Tool, Method: u.Method, Path: u.Path,
				Query: u.Query, Headers: u.Headers, Body: u.Body, Needs: []string{}, Risk: RiskOf(u.Method),
			}
		}
		s.ID = id
		return s, true
	}
	return Step{}, false
}

// Place returns the position of an effect's step in the plan, counted from 1; 0 when there is no such step.
func (p Plan) Place(id EffectID) int {
	return 1 + slices.IndexFunc(p.Steps, func(s Step) bool { return s.ID.Step() == id.Step() })
}

// CheckOf returns the check of a step as a step, so that it can be bound and built.
func (p Plan) CheckOf(id EffectID) (Step, bool) {
	s, ok := p.Step(id)
	if !ok || s.Verify == nil {
		return Step{}, false
	}
	v := s.Verify
	return Step{
		ID: CheckOf(s.ID), Title: s.Title, MCPID: v.MCPID, Tool: v.Tool, Method: v.Method, Path: v.Path,
		Query: v.Query, Headers: v.Headers, Body: v.Body, Needs: []string{}, Risk: Read,
	}, true
}

// Binding returns the binding of an effect: that of its step, of the undo of its step, or of the
// check of its step.
func (p Plan) Binding(id EffectID) (Binding, bool) {
	id.position = 0 // the elements of a step share its binding
	for _, b := range p.Bindings {
		if b.StepID == id {
			return b, true
		}
	}
	return Binding{}, false
}
