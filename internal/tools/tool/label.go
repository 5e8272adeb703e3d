package tool

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
)

// Limits of labels.
const (
	mostLabels   = 24
	longestLabel = 40 // characters
)

// Labels returns the members of a call that the document describes, in its order: the parameters, then the members of the body.
func (op Operation) Labels(a Arguments) (list []ref.Named) {
	add := func(name string, schema json.RawMessage) {
		if len(list) < mostLabels && len(name) <= 2*longestLabel && !slices.ContainsFunc(list, func(l ref.Named) bool { return l.Name == name }) {
			list = append(list, ref.Named{Name: name, Label: labelOf(schema)})
		}
	}
	has := func(object json.RawMessage) func(name string) bool {
		members, _ := jcs.Members(object)
		return func(name string) bool {
			return slices.ContainsFunc(members, func(m jcs.Member) bool { return m.Name == name })
		}
	}
	inQuery, inHeaders, inBody := has(a.Query), has(a.Headers), has(a.Body)
	for _, p := range op.Parameters {
		if p.In == "path" || p.In == "query" && inQuery(p.Name) || p.In == "header" && inHeaders(p.Name) {
			add(p.Name, p.Schema)
		}
	}
	var s struct {
		Properties json.RawMessage
		Defs       map[string]json.RawMessage `json:"$defs"`
		Ref        string                     `json:"$ref"`
	}
	body := op.BodyOf(a)
	if body == nil || json.Unmarshal(body.Schema, &s) != nil {
		return list
	}
	if defs := s.Defs; s.Ref != "" && len(s.Properties) == 0 {
		_ = json.Unmarshal(defs[strings.TrimPrefix(s.Ref, "#/$defs/")], &s)
	}
	members, _ := jcs.Members(s.Properties)
	for _, m := range members {
		if inBody(m.Name) {
			add(m.Name, m.Value)
		}
	}
	return list
}

// labelOf returns the title of a schema, or the beginning of its description: "Hora de fin" of "Hora de fin (HH:MM); una
// hora después si falta". It returns "" when neither is short.
func labelOf(schema json.RawMessage) string {
	var s struct{ Title, Description string }
	_ = json.Unmarshal(schema, &s) // a schema may be true
	for _, text := range []string{s.Title, s.Description} {
		if i := strings.IndexAny(text, "(;:\n"); i >= 0 {
			text = text[:i]
		}
		if i := strings.Index(text, ". "); i >= 0 {
			text = text[:i]
		}
		if text = strings.TrimRight(clip.Line(text), ". "); text != "" && utf8.RuneCountInString(text) <= longestLabel {
			return text
		}
	}
	return ""
}
