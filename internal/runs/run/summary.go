package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Limits of the result in the final message.
const (
	summaryItems  = 5
	summaryFields = 6
	summaryText   = 80 // characters of a value
)

// summary returns the result of the last step that was done, for a person who reads the chat; the
// run holds the whole result. It is untrusted data, so each value is written as text on one line.
func summary(r plan.Run) locale.Phrase {
	if id, ok := Told(r); ok {
		return describe(r.State(id).Result.Body)
	}
	return locale.Verbatim("")
}

// Told returns the step whose result the final message tells: the last one that was done, of those whose results are
// whole. DoneMove needs all of its body.
func Told(r plan.Run) (plan.EffectID, bool) {
	for _, step := range slices.Backward(r.Plan.Steps) {
		st := r.State(step.ID)
		if st.Status == plan.StepDone && st.Result != nil && !st.Result.Truncated && (st.Result.Apart == 0 || st.Result.Near) {
			return step.ID, true
		}
	}
	return plan.EffectID{}, false
}

func describe(body json.RawMessage) locale.Phrase {
	list, ok := listIn(body)
	if !ok {
		return locale.Verbatim(fields(body))
	}
	lines := []locale.Phrase{locale.Say("run.items", "n", len(list))}
	for i, item := range list {
		if i == summaryItems {
			lines = append(lines, locale.Verbatim("…"))
			break
		}
		if text := fields(item); text != "" {
			lines = append(lines, locale.Verbatim("- "+text))
		}
	}
	return locale.Lines(lines...)
}

// listIn returns body as a list, or the only list among the members of an object.
func listIn(body json.RawMessage) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && list != nil {
		return list, true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return nil, false
	}
	lists := 0
	for _, v := range object {
		var inner []json.RawMessage
		if bytes.HasPrefix(bytes.TrimSpace(v), []byte("[")) && json.Unmarshal(v, &inner) == nil {
			list, lists = inner, lists+1
		}
	}
	return list, lists == 1
}

// fields returns the plain values of an object, in their original order.
func fields(body json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	first, err := dec.Token()
	if err != nil {
		return ""
	}
	if first != json.Delim('{') {
		if _, container := first.(json.Delim); container || first == nil {
			return ""
		}
		return plain(first)
	}
	var parts []string
	for dec.More() && len(parts) < summaryFields {
		name, err := dec.Token()
		if err != nil {
			break
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			break
		}
		var v any
		inner := json.NewDecoder(bytes.NewReader(raw))
		inner.UseNumber()
		if inner.Decode(&v) != nil {
			break
		}
		switch v.(type) {
		case map[string]any, []any, nil:
		default:
			parts = append(parts, fmt.Sprintf("%v: %s", name, plain(v)))
		}
	}
	return strings.Join(parts, " · ")
}

func plain(v any) string {
	text := strings.Join(strings.Fields(fmt.Sprint(v)), " ")
	if runes := []rune(text); len(runes) > summaryText {
		return string(runes[:summaryText]) + "…"
	}
	return text
}
