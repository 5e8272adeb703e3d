package plan

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/ground/jcs"
)

// ChangeKind is the kind of a difference.
type ChangeKind string

// The kinds of change.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
	Moved   ChangeKind = "moved" // Before and After are positions, from 1
)

// Change is one difference between two plans, in a unit that a person can read.
//
// Field is the name of a field of a step: title, server, tool, method, path, query, headers, body,
// needs, risk, when, for_each, undo, verify, ask, targets or unanswered. query, headers, body, undo and verify are followed by
// a JSON pointer ("body/date", "undo/path"). Field is "step" for a whole step, whose Before or
// After is the name of its call, and "binding" for a binding, whose Before and After hold the
// members that differ. Without a StepID, Field is a field of the plan: goal, expires_at, ceiling,
// revision, replaces, reuse or plan_id.
//
// Before and After are JSON, empty when the value is absent.
type Change struct {
	StepID EffectID        `json:"step_id,omitzero"`
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	Kind   ChangeKind      `json:"kind"`
}

// authoredFields lists the fields of a plan that a person or a model writes.
var authoredFields = []string{
	"goal", "title", "server", "tool", "method", "path", "query", "headers", "body", "needs", "when", "for_each", "undo", "no_undo", "verify", "step",
}

// Edits returns the differences between two plans in the fields that an author writes. It leaves
// out fields that are derived from these.
func Edits(before, after Plan) []Change {
	return slices.DeleteFunc(Diff(before, after), func(c Change) bool {
		part, rest, _ := strings.Cut(c.Field, "/")
		return !slices.Contains(authoredFields, part) || part == "undo" && rest == "suggested"
	})
}

// Diff returns the differences between two plans: first those of the plan's own fields, then step
// by step in the order of after, then the removed steps, then the bindings. It is empty exactly
// when both plans have the same digest.
func Diff(before, after Plan) []Change {
	if sameJSON(jsonOf(before.digestForm()), jsonOf(after.digestForm())) {
		return nil
	}
	var d difference
	d.compareMembers(EffectID{}, planFields, membersOf(before.digestForm()), membersOf(after.digestForm()))
	d.compareSteps(before.Steps, after.Steps)
	d.compareBindings(before.Bindings, after.Bindings)
	if len(d.changes) == 0 {
		d.add(EffectID{}, "plan", nil, nil) // for example two steps with one id, which Arrange refuses
	}
	return d.changes
}

// digestForm returns the plan in the form in which its digest is computed.
func (p Plan) digestForm() Plan {
	p.ExpiresAt = wholeSeconds(p.ExpiresAt)
	return p
}

// The fields of a plan and of a step, by their JSON names, in the order in which a person reads
// them. Fields that are compared separately are left out.
var (
	planFields = []string{"goal", "expires_at", "ceiling", "reuse", "undoes", "plan_id", "revision", "replaces"}
	stepFields = []string{
		"title", "mcp_id", "tool", "method", "path", "query", "headers", "body", "needs", "risk", "when", "for_each", "undo", "no_undo", "verify", "ask", "targets", "unanswered",
	}
	// The names of a binding follow from its tool and the call, so that they are no change of their own.
	bindingFields = []string{"server_name", "base_url", "template", "fingerprint", "auth", "media", "query", "summary", "about", "mcp_id"}
)

// nestedFields lists the fields that are compared member by member.
var nestedFields = []string{"query", "headers", "body", "undo", "verify"}

type difference struct{ changes []Change }

func (d *difference) add(id EffectID, field string, before, after json.RawMessage) {
	c := Change{StepID: id, Field: field, Before: before, After: after, Kind: Changed}
	switch {
	case before == nil && after != nil:
		c.Kind = Added
	case before != nil && after == nil:
		c.Kind = Removed
	}
	d.changes = append(d.changes, c)
}

// compareMembers compares the named members of two objects.
func (d *difference) compareMembers(id EffectID, names []string, before, after map[string]json.RawMessage) {
	for _, name := range names {
		field := name
		if name == "mcp_id" {
			field = "server"
		}
		if slices.Contains(nestedFields, name) {
			d.compareValues(id, field, before[name], after[name])
		} else if !sameJSON(before[name], after[name]) {
			d.add(id, field, before[name], after[name])
		}
	}
}

// maxDepth limits the length of the JSON pointer of a change: people do not read a longer one, and
// each level is compared as a whole.
const maxDepth = 12

// compareValues compares two JSON values recursively while both are objects or both are lists. The
// expected condition of a check is one sentence, so it is compared as a whole.
func (d *difference) compareValues(id EffectID, field string, before, after json.RawMessage) {
	if sameJSON(before, after) {
		return
	}
	if field == "verify/expect" || strings.Count(field, "/") >= maxDepth {
		d.add(id, field, before, after)
		return
	}
	if a, b := membersOf(before), membersOf(after); a != nil && b != nil {
		names := slices.Sorted(maps.Keys(a))
		for name := range maps.Keys(b) {
			if _, both := a[name]; !both {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			label := name
			if name == "mcp_id" && (field == "undo" || field == "verify") {
				label = "server"
			}
			d.compareValues(id, field+"/"+pointer.Replace(label), a[name], b[name])
		}
		return
	}
	if a, b := elementsOf(before), elementsOf(after); a != nil && b != nil {
		for i := range max(len(a), len(b)) {
			d.compareValues(id, field+"/"+strconv.Itoa(i), elementAt(a, i), elementAt(b, i))
		}
		return
	}
	d.add(id, field, before, after)
}

// pointer escapes one part of a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func elementAt(list []json.RawMessage, i int) json.RawMessage {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func (d *difference) compareSteps(before, after []Step) {
	moved := movedSteps(before, after)
	for i, s := range after {
		was := stepIndex(before, s.ID)
		if was < 0 {
			d.add(s.ID, "step", nil, jsonOf(s.Called()))
			continue
		}
		if slices.Contains(moved, s.ID) {
			d.changes = append(d.changes, Change{StepID: s.ID, Field: "step", Before: jsonOf(was + 1), After: jsonOf(i + 1), Kind: Moved})
		}
		d.compareMembers(s.ID, stepFields, membersOf(before[was]), membersOf(s))
	}
	for _, s := range before {
		if stepIndex(after, s.ID) < 0 {
			d.add(s.ID, "step", jsonOf(s.Called()), nil)
		}
	}
}

func stepIndex(steps []Step, id EffectID) int {
	return slices.IndexFunc(steps, func(s Step) bool { return s.ID == id })
}

// movedSteps returns the smallest set of steps whose move turns one order into the other: all but
// the longest common subsequence.
func movedSteps(before, after []Step) []EffectID {
	longest := make([][]int, len(before)+1) // longest[i][j] is the length for before[i:] and after[j:]
	for i := range longest {
		longest[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if before[i].ID == after[j].ID {
				longest[i][j] = 1 + longest[i+1][j+1]
			}
		}
	}
	var moved []EffectID
	i, j := 0, 0
	for j < len(after) {
		switch {
		case i < len(before) && before[i].ID == after[j].ID:
			i, j = i+1, j+1
		case i < len(before) && longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			if stepIndex(before, after[j].ID) >= 0 {
				moved = append(moved, after[j].ID)
			}
			j++
		}
	}
	return moved
}

func (d *difference) compareBindings(before, after []Binding) {
	was := map[EffectID]Binding{}
	for _, b := range before {
		was[b.StepID] = b
	}
	for i, b := range after {
		old, had := was[b.StepID]
		delete(was, b.StepID)
		a, b2 := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		x, y := membersOf(old), membersOf(b)
		for _, name := range bindingFields {
			if !sameJSON(x[name], y[name]) {
				a[name], b2[name] = x[name], y[name]
			}
		}
		switch {
		case !had:
			d.add(b.StepID, "binding", nil, jsonOf(b))
		case len(a) > 0:
			d.add(b.StepID, "binding", jsonOf(a), jsonOf(b2))
		case i < len(before) && len(before) == len(after) && before[i].StepID != b.StepID:
			d.changes = append(d.changes, Change{StepID: b.StepID, Field: "binding", Kind: Moved})
		}
	}
	for _, b := range before {
		if _, gone := was[b.StepID]; gone {
			d.add(b.StepID, "binding", jsonOf(b), nil)
			delete(was, b.StepID)
		}
	}
}

// sameJSON reports whether two JSON texts have the same canonical form, or are both absent.
func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 || bytes.Equal(a, b) {
		return bytes.Equal(a, b)
	}
	x, errX := jcs.Canonical(a)
	y, errY := jcs.Canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// jsonOf returns v as JSON; nil when v cannot be encoded.
func jsonOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// membersOf returns the members of v as JSON; nil when v is not an object.
func membersOf(v any) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(jsonOf(v), &members) != nil {
		return nil
	}
	return members
}

func elementsOf(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}
