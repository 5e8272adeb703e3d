package tool

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxNames limits how many names of one kind a signature lists.
const maxNames = 12

// Signature writes an operation compactly for a model, such as "(capacity:integer, free_on:string)
// headers{If-Match:string*} body{room_id:string*, date:string*}". Query parameters stand in parentheses, the headers and the body's properties in braces; *
// marks a required name. A list of objects has the members of its elements: lines:[{id:string*}]. Required names come first; "…" follows the twelfth. Path parameters are visible in the
// path.
func Signature(op Operation) string {
	var params []string
	for _, required := range []bool{true, false} {
		for _, p := range op.Parameters {
			if p.In == "query" && p.Required == required {
				params = append(params, nameAndType(p.Name, typeName(p.Schema, nil), p.Required))
			}
		}
	}
	var parts []string
	if len(params) > 0 {
		parts = append(parts, "("+joinNames(params)+")")
	}
	if headers := headerNames(op); len(headers) > 0 {
		parts = append(parts, "headers{"+joinNames(headers)+"}")
	}
	if op.Body != nil {
		parts = append(parts, bodySignature(op.Body))
	}
	return strings.Join(parts, " ")
}

// headerNames lists the headers that a call may give. Those that are filled in are not among them.
func headerNames(op Operation) (names []string) {
	for _, required := range []bool{true, false} {
		for _, p := range op.Parameters {
			if _, filled := p.fixed(); p.In == "header" && p.Required == required && !filled {
				typ := typeName(p.Schema, nil)
				if p.Name == contentType {
					typ = strings.Join(op.Types(), "|")
				}
				names = append(names, nameAndType(p.Name, typ, p.Required))
			}
		}
	}
	return names
}

func nameAndType(name, typ string, required bool) string {
	s := name
	if typ != "" {
		s += ":" + typ
	}
	if required {
		s += "*"
	}
	return s
}

func joinNames(names []string) string {
	if len(names) > maxNames {
		names = append(names[:maxNames:maxNames], "…")
	}
	return strings.Join(names, ", ")
}

func bodySignature(b *Body) string {
	mark := ""
	if !b.Required {
		mark = "?"
	}
	root, defs := openSchema(b.Schema)
	left := max(leastRead, 4*len(b.Schema))
	names, types, listedAs := root.collect(defs, 0, &left)
	if len(names) == 0 {
		if t := typeName(b.Schema, defs); t != "" && t != "object" {
			return "body" + mark + ":" + t
		}
		return "body" + mark
	}
	return "body" + mark + "{" + memberNames(names, types, setOf(listedAs), defs, true) + "}"
}

// memberNames lists the members of an object with their types, the required ones first; of the elements of a list of objects
// their members, when deep is set.
func memberNames(names []string, types map[string]json.RawMessage, required map[string]bool, defs map[string]json.RawMessage, deep bool) string {
	var shown []string
	for _, must := range []bool{true, false} {
		for _, name := range names {
			switch {
			case required[name] != must || string(types[name]) == "false":
			case len(shown) == maxNames:
				return joinNames(append(shown, ""))
			default:
				typ := typeName(types[name], defs)
				if deep && typ == "object[]" {
					typ = elementType(types[name], defs)
				}
				shown = append(shown, nameAndType(name, typ, must))
			}
		}
	}
	return joinNames(shown)
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// elementType returns the type of a list of objects with the members of its elements: [{product_id:string*, quantity:integer*}].
func elementType(raw json.RawMessage, defs map[string]json.RawMessage) string {
	o, own := openSchema(raw)
	if defs == nil {
		defs = own
	}
	o, _ = o.follow(defs)
	item, _ := openSchema(o.Items)
	left := leastRead
	names, types, required := item.collect(defs, 0, &left)
	if len(names) == 0 {
		return "object[]"
	}
	return "[{" + memberNames(names, types, setOf(required), defs, false) + "}]"
}

// leastRead is the minimum number of bytes that may be read from the parts of a schema. A part can refer to its own
// parent more than once, so the bytes are limited, not the nesting.
const leastRead = 64 << 10

// outline holds the keywords of a schema that a signature needs.
type outline struct {
	Ref        string                     `json:"$ref"`
	Type       json.RawMessage            `json:"type"`
	Format     string                     `json:"format"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	Items      json.RawMessage            `json:"items"`
	Properties json.RawMessage            `json:"properties"`
	Required   []string                   `json:"required"`
	AllOf      []json.RawMessage          `json:"allOf"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	Defs       map[string]json.RawMessage `json:"$defs"`
}

func openSchema(raw json.RawMessage) (outline, map[string]json.RawMessage) {
	var o outline
	_ = json.Unmarshal(raw, &o) // a schema that is no object has no outline
	return o, o.Defs
}

// follow returns the schema that $ref names, and how many bytes were read.
func (o outline) follow(defs map[string]json.RawMessage) (to outline, read int) {
	for range 8 {
		name, ok := strings.CutPrefix(o.Ref, "#/$defs/")
		if !ok || len(o.Properties) > 0 {
			break
		}
		raw := defs[strings.NewReplacer("~1", "/", "~0", "~").Replace(Unescape(name))]
		o, _ = openSchema(raw)
		read += len(raw)
	}
	return o, read
}

// collect returns the top-level properties of a schema, including those of its $ref and allOf parts, in the order
// written. It stops when left is used up.
func (o outline) collect(defs map[string]json.RawMessage, depth int, left *int) (names []string, types map[string]json.RawMessage, required []string) {
	o, read := o.follow(defs)
	*left -= read
	types = map[string]json.RawMessage{}
	list, _ := members(o.Properties)
	for _, m := range list {
		names = append(names, m.name)
		types[m.name] = m.value
	}
	required = o.Required
	if depth > 8 {
		return names, types, required
	}
	for _, part := range o.AllOf {
		if *left -= len(part); *left < 0 {
			break
		}
		sub, _ := openSchema(part)
		n, t, r := sub.collect(defs, depth+1, left)
		for _, name := range n {
			have, known := types[name]
			if !known {
				names = append(names, name)
			}
			if !known || string(have) == "true" { // a closed part only names the members that the parts beside it describe
				types[name] = t[name]
			}
		}
		required = append(required, r...)
	}
	return names, types, required
}

// typeName returns a short name of a type: a|b for a small enum, x[] for a list, date or date-time for such a text.
func typeName(raw json.RawMessage, defs map[string]json.RawMessage) string {
	o, own := openSchema(raw)
	if defs == nil {
		defs = own
	}
	return o.word(defs, 0)
}

func (o outline) word(defs map[string]json.RawMessage, depth int) string {
	o, _ = o.follow(defs)
	if s := enumWord(o); s != "" {
		return s
	}
	var types []string
	var one string
	if json.Unmarshal(o.Type, &one) == nil {
		types = []string{one}
	} else {
		_ = json.Unmarshal(o.Type, &types) // a missing or unusual type gives no word
	}
	types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	if len(types) > 0 {
		if types[0] == "array" && depth < 3 {
			item, _ := openSchema(o.Items)
			if w := item.word(defs, depth+1); w != "" && !strings.ContainsAny(w, "|") {
				return w + "[]"
			}
		}
		if types[0] == "string" && len(types) == 1 && (o.Format == "date" || o.Format == "date-time") {
			return o.Format
		}
		return strings.Join(types, "|")
	}
	switch {
	case len(o.Properties) > 0:
		return "object"
	case depth < 3 && len(o.AllOf) > 0:
		sub, _ := openSchema(o.AllOf[0])
		return sub.word(defs, depth+1)
	case depth < 3 && len(o.AnyOf)+len(o.OneOf) > 0:
		sub, _ := openSchema(append(o.AnyOf[:len(o.AnyOf):len(o.AnyOf)], o.OneOf...)[0])
		return sub.word(defs, depth+1)
	}
	return ""
}

func enumWord(o outline) string {
	values := o.Enum
	if len(o.Const) > 0 {
		values = []json.RawMessage{o.Const}
	}
	if len(values) == 0 || len(values) > 6 {
		return ""
	}
	var words []string
	for _, v := range values {
		w, ok := scalarText(v)
		if !ok || len(w) > 24 {
			return ""
		}
		words = append(words, w)
	}
	return strings.Join(words, "|")
}
