package openapi

import (
	"fmt"
	"slices"
)

// maxRequired limits the members that one schema requires.
const maxRequired = 1000

// requiredOf returns the members that a schema requires, and the unreadable part of that list, else "". Many documents say
// it at the member itself, as JSON Schema did before draft 4.
func (d *document) requiredOf(schema *node) (names []string, unread string) {
	said, seen := schema.get("required"), map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	all := said.elements()
	for i, v := range all[:min(len(all), maxRequired)] {
		switch {
		case v.kind == text || v.scalar() != "":
			add(v.text)
		case v.kind != null && unread == "":
			unread = fmt.Sprintf("required[%d]", i)
		}
	}
	switch {
	case len(all) > maxRequired && unread == "":
		unread = fmt.Sprintf("required[%d]", maxRequired)
	case isSaid(said) && said.kind != list:
		unread = schema.unreadFlag("required")
	}
	schema.get("properties").each(func(name string, member *node) {
		if d.requiresItself(member) {
			add(name)
		}
	})
	return names, unread
}

// requiresItself reports whether a schema says of itself that its value is required. A reference may lead to a parameter
// instead of a schema: its "required" is about that parameter.
func (d *document) requiresItself(schema *node) bool {
	target := d.targetOf(schema)
	return schema.get("required").isTrue() || target.get("required").isTrue() && target.get("in") == nil
}

// isRequired reports whether a parameter or a body is required: by its own statement, and else by one of its schemas.
func (d *document) isRequired(said *node, schemas ...*node) bool {
	if isSaid(said) {
		return said.isTrue()
	}
	return slices.ContainsFunc(schemas, d.requiresItself)
}
