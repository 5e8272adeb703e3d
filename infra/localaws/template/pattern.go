package template

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

func (t *Template) file() string { return filepath.Base(t.Path) }

// Pattern is an EventBridge pattern of exact values: each leaf is the list of the allowed texts of
// a field.
type Pattern struct {
	fields map[string]Pattern
	values []string
}

// Matches reports whether an event has, in every field of the pattern, one of its values. In a
// field that is a list, one item is enough.
func (p Pattern) Matches(event json.RawMessage) bool {
	if p.fields == nil {
		var list []string
		if json.Unmarshal(event, &list) == nil {
			return slices.ContainsFunc(list, func(v string) bool { return slices.Contains(p.values, v) })
		}
		var text *string
		return json.Unmarshal(event, &text) == nil && text != nil && slices.Contains(p.values, *text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(event, &object) != nil || object == nil {
		return false
	}
	for name, field := range p.fields {
		value, ok := object[name]
		if !ok || !field.Matches(value) {
			return false
		}
	}
	return true
}

// checkPattern checks that Matches supports a pattern: mappings whose leaves are lists of texts.
func checkPattern(n node) {
	if intrinsic(n.node) {
		n.fail("a pattern's fields are known before the deployment")
		return
	}
	switch n.node.Kind {
	case yaml.MappingNode:
		for _, field := range n.members() {
			checkPattern(field)
		}
	case yaml.SequenceNode:
		for _, item := range n.items() {
			if item.node.Kind != yaml.ScalarNode || (item.node.Tag != "!!str" && !intrinsic(item.node)) {
				item.fail("only texts are compared here, exactly: no content filters, numbers or null")
			}
		}
		if len(n.node.Content) == 0 {
			n.fail("an empty list matches nothing")
		}
	default:
		n.fail("must be a list of texts")
	}
}

// pattern evaluates a checked pattern.
func (s *scope) pattern(v Value) Pattern {
	return s.toPattern(v.node, v.path)
}

func (s *scope) toPattern(n *yaml.Node, path string) Pattern {
	if n.Kind == yaml.SequenceNode {
		p := Pattern{}
		for _, item := range n.Content {
			if text, ok := s.text(Value{item, path}); ok {
				p.values = append(p.values, text)
			}
		}
		return p
	}
	p := Pattern{fields: map[string]Pattern{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		p.fields[name] = s.toPattern(n.Content[i+1], join(path, name))
	}
	return p
}
