package openapi

import (
	"cmp"
	"mime"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// keyForm notes how the document wants the Idempotency-Key that each change has. A schema that is not checked as a whole may ask for
// another form than the one that fits the rest of it. A read has no key, also where its path asks for one for all methods: it does
// nothing twice.
func (e *extractor) keyForm(out *tool.Operation, c *call, p parameter) {
	where := c.where() + " " + p.name
	if !tool.AddsHeader(c.method, p.name) {
		if p.required {
			e.document.warn("%s: it is not sent, because a read changes nothing", where)
		}
		return
	}
	unchecked := e.uncheckedIn(p.schema, map[*node]bool{})
	out.KeyForm = tool.KeyNone
	if unchecked == "" && p.problem == "" && e.isLine(p) {
		out.KeyForm = e.formOfKey(e.asHeader(p, where))
	}
	switch {
	case out.KeyForm != tool.KeyNone:
	case p.required && unchecked != "":
		c.refuseUnread(p.name, unchecked)
	case p.required:
		c.refuse(tool.RefusedKey, p.name)
	default:
		e.document.warn("%s: it is not sent, because no key can be written so", where)
	}
}

// formOfKey finds the form of a key, once for each schema: many are tried.
func (e *extractor) formOfKey(p tool.Parameter) tool.KeyForm {
	of := p.Style + " " + string(p.Schema)
	form, known := e.keyForms[of]
	if !known {
		form = tool.FormOfKey(schema.Compiler{}, p)
		e.keyForms[of] = form
	}
	return form
}

func (e *extractor) asHeader(p parameter, where string) tool.Parameter {
	return tool.Parameter{Name: p.name, In: p.in, Style: p.style, Schema: e.schema(p.schema, where)}
}

// isAdded reports whether each request has a header by itself, with a value that the document allows.
func (e *extractor) isAdded(c *call, p parameter) bool {
	if !tool.AddsHeader(c.method, p.name) {
		return false
	}
	if strings.EqualFold(p.name, "Content-Type") {
		return c.body == nil || slices.ContainsFunc(append([]body{*c.body}, c.body.others...), func(b body) bool { return e.allows(c, p, b.media) })
	}
	if value := tool.AddedValue(p.name); value != "" {
		return e.allows(c, p, value)
	}
	return len(e.document.valuesOf(p.schema)) == 0
}

// allows reports whether the document allows a text as the value of a header. The parameters of a type, such as its charset, do not
// matter.
func (e *extractor) allows(c *call, p parameter, text string) bool {
	base, _, _ := mime.ParseMediaType(text)
	if slices.ContainsFunc(e.document.valuesOf(p.schema), func(v string) bool { one, _, _ := mime.ParseMediaType(v); return base != "" && one == base }) {
		return true
	}
	return e.asHeader(p, c.where()+" "+p.name).Accepts(schema.Compiler{}, text) && e.uncheckedIn(p.schema, map[*node]bool{}) == ""
}

// uncheckedIn returns a constraint of a text that no check knows: a reference that cannot be followed, a pattern that is not
// compiled, a keyword of another form. It returns "" for a schema that is checked as a whole.
func (e *extractor) uncheckedIn(n *node, seen map[*node]bool) string {
	switch {
	case !isSaid(n) || n.kind == boolean || seen[n]:
		return ""
	case n.kind != object || !e.document.spend(1):
		return "schema"
	}
	seen[n] = true
	if r := n.get("$ref"); isSaid(r) {
		target := e.document.at(r.str())
		if !isSchema(target) {
			return clip(cmp.Or(r.scalar(), "$ref"), 150)
		}
		if unchecked := e.uncheckedIn(target, seen); unchecked != "" || e.document.version != openapi31 {
			return unchecked
		}
	}
	for _, name := range []string{"type", "format", "pattern", "minLength", "maxLength", "enum"} {
		if said := n.get(name); isSaid(said) && !e.isChecked(name, said) {
			return strings.TrimSpace(name + " " + clip(said.scalar(), 100))
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else"} {
		part := n.get(name)
		parts := part.elements()
		if part != nil && part.kind != list {
			parts = []node{*part}
		}
		for i := range parts {
			if unchecked := e.uncheckedIn(&parts[i], seen); unchecked != "" {
				return unchecked
			}
		}
	}
	return ""
}

// isChecked reports whether a keyword about texts has a form that a check knows.
func (e *extractor) isChecked(name string, said *node) bool {
	switch name {
	case "type":
		types := said.elements()
		if said.kind != list {
			types = []node{*said}
		}
		return !slices.ContainsFunc(types, func(t node) bool { return t.kind != null && !jsonTypes[t.str()] })
	case "format":
		return said.kind == text && len(said.text) <= maxFormat
	case "pattern":
		return said.kind == text && e.bundle.usablePattern(said.text)
	case "enum":
		return said.kind == list
	}
	_, err := strconv.ParseUint(said.text, 10, 31)
	return said.kind == number && err == nil
}
