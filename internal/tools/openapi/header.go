package openapi

import (
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

// mayGive reports whether a header is an argument of a call. In 2.0 Accept is one where the document says which: OpenAPI 3 ignores
// it as a parameter.
func (e *extractor) mayGive(p parameter) bool {
	accepts := e.document.version == swagger2 && p.required && strings.EqualFold(p.name, "Accept")
	return tool.MaySetHeader(p.name) || accepts && (len(e.document.valuesOf(p.schema)) > 0 || p.schema.get("default") != nil)
}

// valuesOf returns the only values that a schema allows; nil for any.
func (d *document) valuesOf(schema *node) (values []string) {
	schema = d.targetOf(schema)
	for _, v := range schema.get("enum").elements() {
		values = append(values, v.scalar())
	}
	if only := schema.get("const"); only != nil {
		values = []string{only.scalar()}
	}
	return values
}

// isLine reports whether a value of a header can be written on one line, so that its receiver reads the same value: a text, a number,
// a boolean, or a list of them.
func (e *extractor) isLine(p parameter) bool {
	kinds := e.document.kindsOf(p.schema)
	if p.style == "json" { // a text of JSON stands in quotes
		return isBare(kinds)
	}
	if len(kinds) == 0 || slices.ContainsFunc(kinds, isPlain) {
		return true
	}
	if !slices.Contains(kinds, "array") || p.style == "tabDelimited" { // no header has a tab
		return false
	}
	of := e.document.kindsOf(e.document.targetOf(p.schema).get("items"))
	return len(of) == 0 || slices.ContainsFunc(of, isPlain)
}
