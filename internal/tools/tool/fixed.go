package tool

import (
	"encoding/json"
	"slices"
	"strings"
)

// fixed returns the text of a required header that has only one value, or a default.
func (p Parameter) fixed() (string, bool) {
	var s valueSchema
	if p.In != "header" || !p.Required || json.Unmarshal(p.Schema, &s) != nil {
		return "", false
	}
	defs := s.Defs
	raw := s.find(defs, valueSchema.only)
	if raw == nil {
		raw = s.find(defs, valueSchema.usual)
	}
	if isAbsent(raw) {
		return "", false
	}
	text, why := headerText(raw, p.separator())
	return text, why == nil
}

// valueSchema has the keywords of a schema about the value of a header, its own or those of the only schema that it names.
type valueSchema struct {
	Const, Default json.RawMessage
	Enum           []json.RawMessage
	Ref            string        `json:"$ref"`
	AllOf          []valueSchema `json:"allOf"`
	OneOf          []valueSchema `json:"oneOf"`
	AnyOf          []valueSchema `json:"anyOf"`

	Defs map[string]valueSchema `json:"$defs"`
}

// only returns the only value that a schema allows itself. A header cannot be null.
func (s valueSchema) only() json.RawMessage {
	values := slices.DeleteFunc(slices.Clone(s.Enum), isAbsent)
	switch {
	case len(s.Const) > 0:
		return s.Const
	case len(values) == 1:
		return values[0]
	}
	return nil
}

func (s valueSchema) usual() json.RawMessage { return s.Default }

// find returns the first value that one of the schemas has which all have to hold.
func (s valueSchema) find(defs map[string]valueSchema, value func(valueSchema) json.RawMessage) json.RawMessage {
	const deepest = 20 // references of schemas may form a cycle
	next := []valueSchema{s}
	for i := 0; i < len(next) && i < deepest; i++ {
		one := next[i]
		if raw := value(one); len(raw) > 0 {
			return raw
		}
		next = append(next, one.AllOf...)
		if target, ok := defs[strings.TrimPrefix(one.Ref, "#/$defs/")]; ok {
			next = append(next, target)
		}
		for _, several := range [][]valueSchema{one.OneOf, one.AnyOf} {
			if len(several) == 1 {
				next = append(next, several[0])
			}
		}
	}
	return nil
}
