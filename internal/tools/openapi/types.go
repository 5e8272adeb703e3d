package openapi

import (
	"cmp"
	"encoding/json"
	"mime"
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

// maxTypes limits the types in which one body may be sent.
const maxTypes = 20

// typed is a body in one of its types, with the preference of the type.
type typed struct {
	body
	rank int
}

// typesOf combines the types in which a body can be sent, the preferred one first. Two spellings of one type are one, and a type
// of patches stays out where the schema says that the body is none.
func (r bodyReader) typesOf(c *call, list []typed) *body {
	slices.SortStableFunc(list, func(a, b typed) int { return cmp.Compare(a.rank, b.rank) })
	have := map[string]bool{}
	list = slices.DeleteFunc(list, func(b typed) bool {
		one := sameType(b.media)
		twice := have[one]
		have[one] = true
		return twice
	})
	if possible := slices.DeleteFunc(slices.Clone(list), r.document.isNoPatch); len(possible) > 0 {
		list = possible
	}
	if len(list) > maxTypes {
		r.document.warn("%s: only %d of the types of its body are read", c.where(), maxTypes)
		list = list[:maxTypes]
	}
	var all []body
	for _, b := range list {
		kinds := r.document.kindsOf(b.schema)
		silent := len(kinds) == 0
		if silent {
			kinds = patchKinds(b.media)
		}
		if silent || len(list) > 1 {
			b.kinds = kinds
		}
		if len(list) > 1 {
			b.sense = r.document.senseOf(b.body)
		}
		all = append(all, b.body)
	}
	first := all[0]
	first.others = all[1:]
	return &first
}

// sameType returns a media type in the form that all its spellings share.
func sameType(media string) string {
	base, parameters, err := mime.ParseMediaType(media)
	if err != nil {
		return media
	}
	if base == "text/json" {
		base = jsonMedia
	}
	delete(parameters, "charset") // it is the one that is sent
	return mime.FormatMediaType(base, parameters)
}

// patchKinds returns the types of JSON Schema that a patch can be; nil for another media type. A JSON Patch is a list of
// operations (RFC 6902). A merge patch that is no object replaces the whole resource (RFC 7396), which nobody means by a patch.
func patchKinds(media string) []string {
	switch base, _, _ := mime.ParseMediaType(media); base {
	case "application/json-patch+json":
		return []string{"array"}
	case "application/merge-patch+json", "application/strategic-merge-patch+json":
		return []string{"object"}
	}
	return nil
}

// isNoPatch reports whether a body has the type of a patch, and a schema that no such patch fits. Some programs write that type
// beside each JSON body.
func (d *document) isNoPatch(b typed) bool {
	patch, said := patchKinds(b.media), d.kindsOf(b.schema)
	return len(patch) > 0 && len(said) > 0 && !slices.Contains(said, patch[0])
}

// kindsOf returns the types of JSON Schema that a schema names or means; nil when it says nothing of them.
func (d *document) kindsOf(schema *node) (kinds []string) {
	add := func(kind string) {
		if kind == "integer" {
			kind = "number"
		}
		if kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	d.inPlace(schema, func(n *node) {
		types := typesOf(n)
		for _, one := range types {
			add(one)
		}
		if len(types) == 0 && n.get("properties") != nil {
			add("object")
		}
		if len(types) == 0 && n.get("items") != nil {
			add("array")
		}
	})
	slices.Sort(kinds)
	return kinds
}

// senseOf returns the media type of a body if the meaning of its value depends on that type alone. A patch of one type does
// another thing than a patch of another. A JSON type or a text whose schema says nothing of the value could be anything.
func (d *document) senseOf(b body) string {
	base, _, _ := mime.ParseMediaType(b.media)
	way := tool.WritingOf(b.media)
	switch {
	case strings.Contains(base, "patch"):
		return base
	case way == tool.AsJSON && d.isSilent(b.schema):
		return sameType(b.media)
	case way == tool.AsText && d.isSilent(b.schema):
		return base
	}
	return ""
}

// isSilent reports whether a schema says nothing about a value.
func (d *document) isSilent(schema *node) bool {
	silent := true
	d.inPlace(schema, func(n *node) {
		for _, name := range []string{"properties", "patternProperties", "required", "items", "prefixItems", "enum", "const", "format", "pattern"} {
			silent = silent && n.get(name) == nil
		}
		silent = silent && n.get("additionalProperties").get("type") == nil && n.get("additionalProperties").get("$ref") == nil &&
			!slices.ContainsFunc(typesOf(n), isPlain)
	})
	return silent
}

// bodies writes the types of a body, and the header in which a call names one of several.
func (e *extractor) bodies(out *tool.Operation, c *call) {
	where := c.where() + " body"
	first := e.bodyIn(*c.body, where)
	out.Body = &first
	if len(c.body.others) == 0 {
		return
	}
	for _, o := range c.body.others {
		if sameSchema(o.schema, c.body.schema) {
			o.schema = nil
			one := e.bodyIn(o, where)
			one.Schema = nil
			out.Others = append(out.Others, one)
			continue
		}
		out.Others = append(out.Others, e.bodyIn(o, where))
	}
	types, _ := json.Marshal(map[string]any{"type": "string", "enum": out.Types()}) // texts
	out.Parameters = append(out.Parameters, tool.Parameter{Name: "Content-Type", In: "header", Required: isChoice(out), Schema: types})
}

func (e *extractor) bodyIn(b body, where string) tool.Body {
	return tool.Body{
		Required: b.required, MediaType: b.media, Schema: e.schema(b.schema, where), Encoding: b.encoding, Kinds: b.kinds, Sense: b.sense,
	}
}

// sameSchema reports whether two bodies have one schema in the document.
func sameSchema(a, b *node) bool {
	return a == b || a.get("$ref").str() != "" && a.get("$ref").str() == b.get("$ref").str()
}

// isChoice reports whether a value may mean one thing in one of the types and another thing in another.
func isChoice(op *tool.Operation) bool {
	all := append([]tool.Body{*op.Body}, op.Others...)
	for i, a := range all {
		for _, b := range all[:i] {
			overlap := len(a.Kinds) == 0 || len(b.Kinds) == 0 || slices.ContainsFunc(a.Kinds, func(k string) bool { return slices.Contains(b.Kinds, k) })
			if a.Sense != "" && b.Sense != "" && a.Sense != b.Sense && overlap {
				return true
			}
		}
	}
	return false
}
