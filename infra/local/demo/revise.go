package demo

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// toolRevise is offered while a plan waits to be confirmed.
const toolRevise = "revise_plan"

var (
	draftText = regexp.MustCompile(`(?s)<draft>\s*(\{.*?\})\s*</draft>`)
	rather    = regexp.MustCompile(`^\W*(?:mejor|no,? mejor|en vez|en lugar|que sea|ponlo|ponla|instead|rather|make it|better)\b`)
)

// draft is the plan that waits. It keeps the other members of its steps.
type draft struct {
	Goal  string                       `json:"goal,omitempty"`
	Steps []map[string]json.RawMessage `json:"steps"`
}

// revise changes the waiting plan: it sets the values of its steps that the message gives. It
// reports false when the message asks for no change.
func (d dialogue) revise(ops []operation) (decision, bool) {
	found := draftText.FindStringSubmatch(d.system)
	if found == nil || !d.hasTool(toolRevise) {
		return decision{}, false
	}
	var p draft
	if json.Unmarshal([]byte(found[1]), &p) != nil {
		return decision{}, false
	}
	f := readFacts(d.text, parameterNames(ops), d.today)
	if kind, _ := intentOf(f.rest); kind != updates && !rather.MatchString(fold(d.text)) {
		return decision{}, false
	}
	changed := false
	for _, step := range p.Steps {
		for _, part := range []string{"query", "body"} {
			if now, ok := f.revisedObject(step[part]); ok {
				step[part], changed = now, true
			}
		}
	}
	return callDecision(toolRevise, p), changed
}

// revisedObject returns an object with the values that the facts give; references stay.
func (f facts) revisedObject(raw json.RawMessage) (json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil, false
	}
	changed := false
	start := jsonString(object["start"])
	for name, was := range object {
		if strings.Contains(string(was), "${") || strings.HasSuffix(fold(name), "id") {
			continue
		}
		kind := "string"
		if strings.IndexByte("-0123456789", was[0]) >= 0 {
			kind = "number"
		}
		if now, ok := f.value(operation{}, parameter{Name: name, Type: kind}); ok {
			if raw := encode(now); string(raw) != string(was) {
				object[name], changed = raw, true
			}
		}
	}
	if f.start != "" && f.end == "" { // keeps its duration
		from, wrong := time.Parse("15:04", start)
		until, unclear := time.Parse("15:04", jsonString(object["end"]))
		if wrong == nil && unclear == nil {
			object["end"] = encode(addMinutes(f.start, int(until.Sub(from).Minutes())))
		}
	}
	return encode(object), changed
}

// jsonString returns the value of a JSON string; "" for anything else.
func jsonString(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
