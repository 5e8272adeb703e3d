package openapi

import "fmt"

// maxRequired limits the members that one schema requires.
const maxRequired = 1000

// requiredOf returns the members that a schema requires, and what it says of them that cannot be read; "" for nothing. Many documents
// say it at the member itself, as JSON Schema did before draft 4.
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
		if member.get("required").isTrue() || d.targetOf(member).get("required").isTrue() {
			add(name)
		}
	})
	return names, unread
}
