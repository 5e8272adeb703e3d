package openapi

import (
	"slices"
	"strconv"
	"strings"
)

// Limits of a schema's texts, in bytes.
const (
	maxText   = 200 // a description
	maxFormat = 40  // the name of a format
	maxTitle  = 160 // a title
)

// converted is one schema as JSON Schema 2020-12, twice: with descriptions (full) and without (lean). deps lists
// the definitions that it refers to. inPlace lists those among them that apply to the same value, not to a property
// or element of it.
type converted struct {
	full, lean string
	deps       []string
	inPlace    []string
	schemas    int
}

// converter turns schemas of any version into JSON Schema 2020-12. It keeps only keywords whose value has the right
// form, so that the result compiles.
type converter struct {
	document *document
	bundle   *bundle
	where    string   // for warnings
	known    []string // properties that the parts beside the schema name, sorted
	part     bool     // the schema is a part of a child, which chooses nothing among children

	full, lean strings.Builder
	out        converted
}

func (c *converter) write(s string) {
	c.full.WriteString(s)
	c.lean.WriteString(s)
}

// convert writes one schema. below means that the schema applies to a part of the value.
func (c *converter) convert(n *node, below bool, depth int) {
	c.out.schemas++
	if n != nil && n.kind == boolean {
		c.write(n.text)
		return
	}
	if n == nil || n.kind != object || depth > maxDepth {
		c.write("{}")
		return
	}
	if c.isNullable(n) && combines(n) {
		c.write(`{"anyOf":[`)
		c.object(n, below, depth)
		c.write(`,{"type":"null"}]}`)
		return
	}
	c.object(n, below, depth)
}

// isNullable reports whether a schema says before 3.1 that a value may be null.
func (c *converter) isNullable(n *node) bool { return c.says(n, "nullable") || c.says(n, "x-nullable") }

// says reports whether a keyword is true, and warns where it is neither true nor false.
func (c *converter) says(n *node, name string) bool {
	if unread := n.unreadFlag(name); unread != "" {
		c.document.warn("%s: %s cannot be read", c.where, unread)
	}
	return n.get(name).isTrue()
}

// isSchema reports whether a node is a schema. YAML writes an empty one as nothing.
func isSchema(n *node) bool {
	return n != nil && (n.kind == object || n.kind == boolean || n.kind == null)
}

func combines(n *node) bool {
	for _, k := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
		if n.get(k) != nil {
			return true
		}
	}
	return false
}

func (c *converter) object(n *node, below bool, depth int) {
	w := members{c: c}
	c.write("{")
	chosen := c.choices(n)
	beside := c.besideOf(n, chosen)
	if r := n.get("$ref"); r.str() != "" {
		if name, ok := c.bundle.name(c.document, r.text, c.where, variant{beside.ref, c.part}); ok {
			w.raw("$ref", quote("#/$defs/"+pointerToken(name)))
			c.out.deps = append(c.out.deps, name)
			if !below {
				c.out.inPlace = append(c.out.inPlace, name)
			}
		}
		if c.document.version != openapi31 { // before 3.1 the siblings of $ref have no meaning
			c.write("}")
			return
		}
	}
	c.types(n, &w)
	c.numbers(n, &w)
	c.texts(n, &w)
	known, part := c.known, c.part
	c.known, c.part = nil, false
	c.lists(n, depth, &w)
	c.objects(n, beside.own, below, depth, &w)
	c.combinations(n, chosen, beside, below, depth, &w)
	c.known, c.part = known, part
	c.write("}")
}

// members writes the members of one schema.
type members struct {
	c   *converter
	any struct{ full, lean bool }
}

func (w *members) name(name string) {
	if w.any.full {
		w.c.full.WriteByte(',')
	}
	if w.any.lean {
		w.c.lean.WriteByte(',')
	}
	w.any.full, w.any.lean = true, true
	w.c.write(quote(name) + ":")
}

func (w *members) raw(name, value string) {
	w.name(name)
	w.c.write(value)
}

// fullOnly writes a member into the full form only.
func (w *members) fullOnly(name, value string) {
	if w.any.full {
		w.c.full.WriteByte(',')
	}
	w.any.full = true
	w.c.full.WriteString(quote(name) + ":" + quote(value))
}

var jsonTypes = map[string]bool{
	"string": true, "number": true, "integer": true, "boolean": true, "array": true, "object": true, "null": true,
}

func (c *converter) types(n *node, w *members) {
	var types []string
	names := n.get("type").elements()
	if t := n.get("type"); t.str() != "" {
		names = []node{*t}
	}
	for i := range names {
		t := names[i].str()
		if t == "file" {
			t = "string"
		}
		if names[i].kind == null {
			t = "null"
		}
		if jsonTypes[t] && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	nullable := c.isNullable(n)
	if nullable && len(types) > 0 && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	switch len(types) {
	case 0:
	case 1:
		w.raw("type", quote(types[0]))
	default:
		w.raw("type", `["`+strings.Join(types, `","`)+`"]`)
	}
	c.enum(n, types, nullable, w)
	if v := n.get("const"); v != nil {
		w.raw("const", render(v))
	}
	if f := n.get("format").str(); f != "" && len(f) <= maxFormat {
		w.raw("format", quote(f))
	}
	if v := n.get("default"); v != nil && v.kind != list && v.kind != object && len(v.text) <= 100 {
		w.raw("default", render(v))
	}
	if s := n.get("title").str(); s != "" && len(s) <= maxTitle {
		w.fullOnly("title", s)
	}
	if s := n.get("description").str(); s != "" {
		w.fullOnly("description", clip(s, maxText))
	}
}

// enum writes the allowed values. YAML may read 1 and true where a text was meant; when only texts are allowed,
// they are written as texts.
func (c *converter) enum(n *node, types []string, nullable bool, w *members) {
	values := n.get("enum").elements()
	if len(values) == 0 {
		return
	}
	onlyText := len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return t != "string" && t != "null" })
	var parts []string
	have := map[string]bool{}
	for i := range values {
		v := values[i]
		if onlyText && (v.kind == number || v.kind == boolean) {
			v.kind = text
		}
		if s := render(&v); !have[s] {
			have[s] = true
			parts = append(parts, s)
		}
		if len(parts) > 5000 {
			return
		}
	}
	if nullable && !have["null"] {
		parts = append(parts, "null")
	}
	w.raw("enum", "["+strings.Join(parts, ",")+"]")
}

func render(n *node) string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func isNumber(n *node) bool { return n != nil && n.kind == number && isUsable(n.text) }

func (c *converter) numbers(n *node, w *members) {
	for _, side := range []struct{ plain, exclusive string }{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
		limit, exclusive := n.get(side.plain), n.get(side.exclusive)
		switch {
		case isNumber(limit) && !isNumber(exclusive) && exclusive.isTrue():
			w.raw(side.exclusive, limit.text)
			continue
		case isNumber(limit):
			w.raw(side.plain, limit.text)
		}
		if isNumber(exclusive) {
			w.raw(side.exclusive, exclusive.text)
		}
	}
	if v := n.get("multipleOf"); isNumber(v) {
		if f, err := strconv.ParseFloat(v.text, 64); err == nil && f > 0 {
			w.raw("multipleOf", v.text)
		}
	}
	for _, name := range []string{
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
	} {
		if v := n.get(name); v != nil && v.kind == number {
			if i, err := strconv.ParseInt(v.text, 10, 32); err == nil && i >= 0 {
				w.raw(name, strconv.FormatInt(i, 10))
			}
		}
	}
}

func (c *converter) texts(n *node, w *members) {
	if p := n.get("pattern").str(); p != "" {
		if c.bundle.usablePattern(p) {
			w.raw("pattern", quote(p))
		} else {
			c.document.warn("%s: the pattern %s is not checked", c.where, clip(p, 60))
		}
	}
}

func (c *converter) lists(n *node, depth int, w *members) {
	switch items := n.get("items"); {
	case items == nil:
	case items.kind == list:
		if items.size() > 0 && n.get("prefixItems") == nil {
			c.writeSchemaList("prefixItems", items, true, depth, w)
		}
	default:
		c.writeSchema("items", items, true, depth, w)
	}
	c.writeSchemaList("prefixItems", n.get("prefixItems"), true, depth, w)
	if c.says(n, "uniqueItems") {
		w.raw("uniqueItems", "true")
	}
	if c.document.version == openapi31 {
		c.writeSchema("contains", n.get("contains"), true, depth, w)
		c.writeSchema("unevaluatedItems", n.get("unevaluatedItems"), true, depth, w)
	}
}

func (c *converter) objects(n *node, known []string, below bool, depth int, w *members) {
	properties := n.get("properties")
	if closes(n) && len(known) > 0 {
		properties = withNames(properties, known)
	}
	c.writeSchemaMap("properties", properties, true, depth, w)
	required, unread := c.document.requiredOf(n)
	if unread != "" {
		c.document.warn("%s: %s cannot be read", c.where, unread)
	}
	required = slices.DeleteFunc(required, func(name string) bool { return c.document.isReadOnly(properties.get(name)) })
	if len(required) > 0 {
		w.raw("required", quoteAll(required))
	}
	switch v := n.get("additionalProperties"); {
	case v.isFalse():
		w.raw("additionalProperties", "false")
	default:
		c.writeSchema("additionalProperties", v, true, depth, w)
	}
	if c.document.version != openapi31 {
		return
	}
	c.writeSchemaMap("patternProperties", n.get("patternProperties"), true, depth, w)
	c.writeSchemaMap("dependentSchemas", n.get("dependentSchemas"), below, depth, w)
	c.writeSchema("propertyNames", n.get("propertyNames"), true, depth, w)
	c.writeSchema("unevaluatedProperties", n.get("unevaluatedProperties"), true, depth, w)
}

// isReadOnly reports whether the service sets a property: a request then need not contain it.
func (d *document) isReadOnly(n *node) bool {
	if n.get("readOnly").isTrue() {
		return true
	}
	r := n.get("$ref").str()
	return r != "" && d.at(r).get("readOnly").isTrue()
}

func (c *converter) combinations(n *node, chosen choice, beside beside, below bool, depth int, w *members) {
	c.writeParts(n.get("allOf").elements(), beside.all, below, depth, w)
	for _, name := range []string{"anyOf", "oneOf"} {
		c.known = beside.parts[name]
		if name == chosen.instead {
			c.writeChoice(chosen, below, depth, w)
		} else {
			c.writeSchemaList(name, n.get(name), below, depth, w)
		}
	}
	c.known = nil
	c.writeSchema("not", n.get("not"), below, depth, w)
	if c.document.version == openapi31 {
		for _, name := range []string{"if", "then", "else"} {
			c.writeSchema(name, n.get(name), below, depth, w)
		}
	}
}

func (c *converter) writeSchema(name string, n *node, below bool, depth int, w *members) {
	if n == nil || n.kind != object && n.kind != boolean {
		return
	}
	w.name(name)
	c.convert(n, below, depth+1)
}

func (c *converter) writeSchemaList(name string, n *node, below bool, depth int, w *members) {
	nodes := n.elements()
	if len(nodes) == 0 {
		return
	}
	w.name(name)
	c.write("[")
	for i := range nodes {
		if i > 0 {
			c.write(",")
		}
		c.convert(&nodes[i], below, depth+1)
	}
	c.write("]")
}

// writeParts writes the parts of an allOf; known are the properties that the others name, of each.
func (c *converter) writeParts(nodes []node, known [][]string, below bool, depth int, w *members) {
	if len(nodes) == 0 {
		return
	}
	w.name("allOf")
	c.write("[")
	for i := range nodes {
		if i > 0 {
			c.write(",")
		}
		c.known, c.part = nil, true
		if i < len(known) {
			c.known = known[i]
		}
		c.convert(&nodes[i], below, depth+1)
	}
	c.known, c.part = nil, false
	c.write("]")
}

func (c *converter) writeSchemaMap(name string, n *node, below bool, depth int, w *members) {
	if n.size() == 0 || n.kind != object {
		return
	}
	w.name(name)
	c.write("{")
	first := true
	n.each(func(member string, value *node) {
		if name == "patternProperties" && !c.bundle.usablePattern(member) {
			return
		}
		if !first {
			c.write(",")
		}
		first = false
		c.write(quote(member) + ":")
		c.convert(value, below, depth+1)
	})
	c.write("}")
}

var toToken = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25")

func pointerToken(name string) string { return toToken.Replace(name) }
