package openapi

import "cmp"

// brokenIn returns an unreadable part on which each value of a schema depends: a reference that cannot be followed, or the
// list of required members. It returns "" where there is none. A reference of an optional member, or of one of several
// forms, is none.
func (d *document) brokenIn(schema *node, depth int) string {
	if schema == nil || schema.kind != object || depth > maxChain {
		return ""
	}
	broken, known := d.broken[schema]
	if !known {
		d.broken[schema] = "" // it may be a part of itself
		broken = d.findBroken(schema, depth+1)
		d.broken[schema] = broken
	}
	return broken
}

func (d *document) findBroken(schema *node, depth int) string {
	if r := schema.get("$ref").str(); r != "" {
		target := d.at(r)
		if !isSchema(target) {
			return clip(r, 150)
		}
		if broken := d.brokenIn(target, depth); broken != "" || d.version != openapi31 {
			return broken
		}
	}
	parts := schema.get("allOf").elements()
	for i := range parts {
		if broken := d.brokenIn(&parts[i], depth); broken != "" {
			return broken
		}
	}
	properties := schema.get("properties")
	required, unread := d.requiredOf(schema)
	if unread != "" {
		return unread
	}
	for _, name := range required {
		if member := properties.get(name); !d.isReadOnly(member) {
			if broken := d.brokenIn(member, depth); broken != "" {
				return broken
			}
		}
	}
	if n := schema.get("minItems").scalar(); n != "" && n != "0" {
		if broken := d.brokenIn(schema.get("items"), depth); broken != "" {
			return broken
		}
	}
	return cmp.Or(d.brokenForms(schema.get("anyOf").elements(), depth), d.brokenForms(schema.get("oneOf").elements(), depth))
}

// brokenForms returns a reference that cannot be followed where each of several forms has one.
func (d *document) brokenForms(forms []node, depth int) (broken string) {
	for i := range forms {
		one := d.brokenIn(&forms[i], depth)
		if one == "" {
			return ""
		}
		broken = cmp.Or(broken, one)
	}
	return broken
}
