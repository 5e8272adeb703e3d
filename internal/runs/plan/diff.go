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

// ChangeKind is what became of a part of a plan.
type ChangeKind string

// The kinds of change.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
	Moved   ChangeKind = "moved" // Before and After are its places, from 1
)

// Change is one difference between two plans, as small as a person reads it.
//
// Field is the name of a part of a step: title, server, tool, method, path, query,
// body, needs, risk, when, for_each, undo, verify, ask or targets, of which query,
// body, undo and verify go on with a JSON pointer ("body/date", "undo/path"); "step"
// of a whole one, of which Before or After is what it calls; or "binding", of which
// they are the members that differ. Without a StepID it is of the plan: goal,
// expires_at, ceiling, revision, replaces, reuse or plan_id.
//
// Before and After are JSON, empty where there was, or is, nothing.
type Change struct {
	StepID string          `json:"step_id,omitempty"`
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	Kind   ChangeKind      `json:"kind"`
}

// writtenParts are the parts of a plan that somebody writes.
var writtenParts = []string{
	"goal", "title", "server", "tool", "method", "path", "query", "body", "needs", "when", "for_each", "undo", "no_undo", "verify", "step",
}

// Edits returns how the plan after differs from the one before in what somebody
// wrote: what follows from it, or counts it, is left out.
func Edits(before, after Plan) []Change {
	return slices.DeleteFunc(Diff(before, after), func(c Change) bool {
		part, rest, _ := strings.Cut(c.Field, "/")
		return !slices.Contains(writtenParts, part) || part == "undo" && rest == "suggested"
	})
}

// Diff returns how the plan after differs from the one before: first of the plan
// itself, then step by step as they stand after, then what was removed, then
// bindings. It is empty exactly when both have the same digest.
func Diff(before, after Plan) []Change {
	if alike(jsonOf(before.itself()), jsonOf(after.itself())) {
		return nil
	}
	var d difference
	d.members("", planParts, partsOf(before.itself()), partsOf(after.itself()))
	d.steps(before.Steps, after.Steps)
	d.bindings(before.Bindings, after.Bindings)
	if len(d.changes) == 0 {
		d.add("", "plan", nil, nil) // two steps of one id, say: a plan that nothing here would have made
	}
	return d.changes
}

// itself is the plan in the form in which its digest is taken.
func (p Plan) itself() Plan {
	p.ExpiresAt = second(p.ExpiresAt)
	return p
}

// The parts of a plan and of a step, as JSON names them, in the order in which a
// person reads them. Those that are compared by themselves are left out.
var (
	planParts = []string{"goal", "expires_at", "ceiling", "reuse", "plan_id", "revision", "replaces"}
	stepParts = []string{
		"title", "mcp_id", "tool", "method", "path", "query", "body", "needs", "risk", "when", "for_each", "undo", "no_undo", "verify", "ask", "targets",
	}
	bindingParts = []string{"server_name", "base_url", "template", "fingerprint", "auth", "mcp_id"}
)

// deep are the parts that are compared member by member.
var deep = []string{"query", "body", "undo", "verify"}

type difference struct{ changes []Change }

func (d *difference) add(stepID, field string, before, after json.RawMessage) {
	c := Change{StepID: stepID, Field: field, Before: before, After: after, Kind: Changed}
	switch {
	case before == nil && after != nil:
		c.Kind = Added
	case before != nil && after == nil:
		c.Kind = Removed
	}
	d.changes = append(d.changes, c)
}

// members compares the parts of two objects that are named.
func (d *difference) members(stepID string, names []string, before, after map[string]json.RawMessage) {
	for _, name := range names {
		field := name
		if name == "mcp_id" {
			field = "server"
		}
		if slices.Contains(deep, name) {
			d.within(stepID, field, before[name], after[name])
		} else if !alike(before[name], after[name]) {
			d.add(stepID, field, before[name], after[name])
		}
	}
}

// maxDepth is how deep a change is looked for: nobody reads a pointer longer than
// that, and each level is compared whole.
const maxDepth = 12

// within compares two JSON values as deep as both are objects or lists. What a
// check expects is one sentence, and compared as one.
func (d *difference) within(stepID, field string, before, after json.RawMessage) {
	if alike(before, after) {
		return
	}
	if field == "verify/expect" || strings.Count(field, "/") >= maxDepth {
		d.add(stepID, field, before, after)
		return
	}
	if a, b := partsOf(before), partsOf(after); a != nil && b != nil {
		names := slices.Sorted(maps.Keys(a))
		for name := range maps.Keys(b) {
			if _, both := a[name]; !both {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			said := name
			if name == "mcp_id" && (field == "undo" || field == "verify") {
				said = "server"
			}
			d.within(stepID, field+"/"+pointer.Replace(said), a[name], b[name])
		}
		return
	}
	if a, b := elementsOf(before), elementsOf(after); a != nil && b != nil {
		for i := range max(len(a), len(b)) {
			d.within(stepID, field+"/"+strconv.Itoa(i), element(a, i), element(b, i))
		}
		return
	}
	d.add(stepID, field, before, after)
}

// pointer escapes one part of a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func element(list []json.RawMessage, i int) json.RawMessage {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func (d *difference) steps(before, after []Step) {
	moved := movedSteps(before, after)
	for i, s := range after {
		was := place(before, s.ID)
		if was < 0 {
			d.add(s.ID, "step", nil, jsonOf(s.Called()))
			continue
		}
		if slices.Contains(moved, s.ID) {
			d.changes = append(d.changes, Change{StepID: s.ID, Field: "step", Before: jsonOf(was + 1), After: jsonOf(i + 1), Kind: Moved})
		}
		d.members(s.ID, stepParts, partsOf(before[was]), partsOf(s))
	}
	for _, s := range before {
		if place(after, s.ID) < 0 {
			d.add(s.ID, "step", jsonOf(s.Called()), nil)
		}
	}
}

func place(steps []Step, id string) int {
	return slices.IndexFunc(steps, func(s Step) bool { return s.ID == id })
}

// movedSteps are the fewest steps of both plans whose move makes one order the other:
// all but the longest common subsequence.
func movedSteps(before, after []Step) []string {
	longest := make([][]int, len(before)+1) // of before[i:] and after[j:]
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
	var moved []string
	i, j := 0, 0
	for j < len(after) {
		switch {
		case i < len(before) && before[i].ID == after[j].ID:
			i, j = i+1, j+1
		case i < len(before) && longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			if place(before, after[j].ID) >= 0 {
				moved = append(moved, after[j].ID)
			}
			j++
		}
	}
	return moved
}

func (d *difference) bindings(before, after []Binding) {
	was := map[string]Binding{}
	for _, b := range before {
		was[b.StepID] = b
	}
	for i, b := range after {
		old, had := was[b.StepID]
		delete(was, b.StepID)
		switch {
		case !had:
			d.add(b.StepID, "binding", nil, jsonOf(b))
		case old != b:
			a, b2 := map[string]json.RawMessage{}, map[string]json.RawMessage{}
			x, y := partsOf(old), partsOf(b)
			for _, name := range bindingParts {
				if !alike(x[name], y[name]) {
					a[name], b2[name] = x[name], y[name]
				}
			}
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

// alike reports whether two JSON texts, or the lack of them, have one canonical form.
func alike(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 || bytes.Equal(a, b) {
		return bytes.Equal(a, b)
	}
	x, errX := jcs.Canonical(a)
	y, errY := jcs.Canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// jsonOf is v as JSON; nil when it has none.
func jsonOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// partsOf are the members of v as JSON; nil when it is no object.
func partsOf(v any) map[string]json.RawMessage {
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
