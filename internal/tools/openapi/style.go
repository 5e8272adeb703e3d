package openapi

import (
	"cmp"
	"slices"

	"piloto/internal/tools/tool"
)

// styles lists, by the place of a value, the styles of OpenAPI 3 in which it can be written, the usual one first.
var styles = map[string][]string{
	"query":  {"form", "spaceDelimited", "pipeDelimited", "deepObject"},
	"header": {"simple"},
	"path":   {"simple"},
	"cookie": {"form"},
}

// plainStyles are the styles in which a text, a number or a boolean is written as it is.
var plainStyles = []string{"form", "simple", "spaceDelimited", "pipeDelimited", "deepObject"}

// listFormats lists, by the place of a list of 2.0, the formats in which it can be written. The one who calls writes a path, and
// writes commas.
var listFormats = map[string][]string{
	"query":    {"csv", "ssv", "tsv", "pipes", "multi"},
	"formData": {"csv", "ssv", "tsv", "pipes", "multi"},
	"header":   {"csv", "ssv", "tsv", "pipes"},
	"path":     {"csv"},
}

// styleOfFormat is the style of each format of 2.0 that is not the usual one.
var styleOfFormat = map[string]string{"ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}

func (r parameterReader) parameter(p *node, where string) parameter {
	in := p.get("in").str()
	out := parameter{name: clip(p.get("name").scalar(), 200), in: in, required: in == "path"}
	content, _ := r.document.resolve(p.get("content")) // one that cannot be followed refuses the operation
	switch {
	case r.document.version == swagger2:
		out.style, out.explode, out.problem = formatOf(p)
		out.schema = withoutRequired(p)
	case content != nil && content.kind == object && content.size() > 0 && p.get("schema") == nil:
		out.style, out.schema, out.problem = r.contentStyle(content, in)
		out.schema = described(out.schema, p.get("description"))
	default:
		out.schema = p.get("schema")
		out.style, out.explode, out.problem = r.styleOf(p, in, out.schema, where+" "+out.name)
		if out.style == styles[in][0] {
			out.style = ""
		}
		out.schema = described(out.schema, p.get("description"))
	}
	schema := out.schema
	if r.document.version == swagger2 { // it is the parameter
		schema = nil
	}
	out.required = out.required || r.document.isRequired(p.get("required"), schema)
	return out
}

// styleOf returns the style in which 3.x writes a value in a place, or the part of it that is not supported.
func (r parameterReader) styleOf(n *node, in string, schema *node, where string) (style string, explode bool, problem string) {
	style = styles[in][0]
	if said := n.get("style"); isSaid(said) && said.kind != text || said.str() != "" {
		style = said.scalar()
	}
	if !slices.Contains(styles[in], style) {
		if !slices.Contains(plainStyles, style) || !r.document.isPlainOnly(schema) {
			return "", false, "style " + clip(style, 50)
		}
		style = styles[in][0]
	}
	explode = style == "form"
	switch said := n.get("explode"); {
	case !isSaid(said):
	case said.isTrue(), said.isFalse():
		explode = said.isTrue()
		if said.kind != boolean {
			r.document.warn("%s: explode is %q, and is read as %v", where, said.text, explode)
		}
	case style != "deepObject" && !r.document.isPlainOnly(schema):
		return "", false, "explode " + clip(said.scalar(), 50)
	}
	return style, explode, ""
}

// isPlainOnly reports whether the values of a schema are texts, numbers and booleans only.
func (d *document) isPlainOnly(schema *node) bool {
	kinds := d.kindsOf(schema)
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind string) bool { return !isPlain(kind) && kind != "null" })
}

// contentStyle returns the style and the schema of a parameter with a content, the first that can be written: JSON, or a text. A path
// is written as it is typed, so that a text of JSON would have no quotes in it.
func (r parameterReader) contentStyle(content *node, in string) (style string, schema *node, problem string) {
	for i, name := range content.kids.names {
		one, _ := r.document.resolve(&content.kids.nodes[i])
		schema = one.get("schema")
		media, at := rank(name)
		switch way := tool.WritingOf(media); {
		case at < 0:
		case way == tool.AsJSON && (in != "path" || isBare(r.document.kindsOf(schema))):
			return "json", schema, ""
		case way == tool.AsText && r.document.mayBeText(schema) && !r.document.isBinary(schema):
			return "", r.document.asText(schema), ""
		}
	}
	return "", schema, "content " + clip(content.kids.names[0], 100)
}

// isBare reports whether the JSON of all such values is the text that they are elsewhere, too.
func isBare(kinds []string) bool {
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind string) bool { return kind != "number" && kind != "boolean" })
}

// asText returns a schema of which only the texts, numbers and booleans are left.
func (d *document) asText(schema *node) *node {
	if d.isPlainOnly(schema) {
		return schema
	}
	text := (*node)(nil).with("type", listOf(textNode("string"), textNode("number"), textNode("boolean")))
	if schema == nil {
		return text
	}
	return text.with("allOf", listOf(*schema))
}

// formatOf returns the style in which 2.0 writes a parameter, or the part of it that is not supported. Only a list has a format.
func formatOf(p *node) (style string, explode bool, problem string) {
	said, types := p.get("collectionFormat"), typesOf(p)
	format := cmp.Or(said.scalar(), "csv")
	if isList := len(types) == 0 || slices.Contains(types, "array"); isList {
		switch known := slices.Contains(listFormats[p.get("in").str()], format); {
		case !known || isSaid(said) && said.kind != text:
			return "", false, "collectionFormat " + clip(format, 50)
		case slices.Contains(typesOf(p.get("items")), "array"):
			return "", false, "lists in a list"
		}
	}
	return styleOfFormat[format], format == "multi", ""
}

// described returns a schema with the description that stands beside it, when it has none of its own.
func described(schema, description *node) *node {
	if schema == nil || schema.kind != object || description.str() == "" || schema.get("description") != nil || schema.get("$ref") != nil {
		return schema
	}
	k := &kids{names: []string{"description"}, nodes: []node{*description}}
	schema.each(func(name string, value *node) { k.names, k.nodes = append(k.names, name), append(k.nodes, *value) })
	return &node{kind: object, kids: k}
}

// withoutRequired returns a parameter of 2.0 as a schema: its "required" is not the schema keyword, and its
// description describes the parameter.
func withoutRequired(p *node) *node {
	k := &kids{}
	p.each(func(name string, value *node) {
		switch name {
		case "required", "name", "in", "collectionFormat", "allowEmptyValue":
		default:
			k.names, k.nodes = append(k.names, name), append(k.nodes, *value)
		}
	})
	return &node{kind: object, kids: k}
}
