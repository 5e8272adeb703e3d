package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// deepestSchema is how deep a schema is read; what is deeper may be anything.
const deepestSchema = 12

// mostSchemas is how many schemas within a schema are read, with those that it refers to again and again.
const mostSchemas = 10_000

// Common returns the schema of a tool in the words that all providers know: an object with properties, whose values have one
// type each. Google refuses a list of types, with it the tool, and with it each message; others refuse a union at the root.
// So of several types the first is kept, variants that are objects are one object that has what all of them require, and of
// other variants the first is kept: what fits then, fits the schema, but for the bounds that are left out. A text that is no
// JSON object is returned as it is.
func Common(raw json.RawMessage) json.RawMessage {
	var root map[string]any
	if json.Unmarshal(raw, &root) != nil || root == nil {
		return raw
	}
	c := &common{root: root, left: mostSchemas}
	out := c.of(root, 0)
	out["type"] = "object"
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	return inOrder(out, orderOf(raw))
}

// orderOf returns the place at which each name of a member stands first in a text. Models write what they were shown first
// first, and a path before its body.
func orderOf(raw json.RawMessage) map[string]int {
	order := map[string]int{}
	in := json.NewDecoder(bytes.NewReader(raw))
	var open []json.Delim
	key := false // the next text of the object is a name
	for {
		token, err := in.Token()
		if err != nil {
			return order
		}
		name, isText := token.(string)
		switch delim, isDelim := token.(json.Delim); {
		case isDelim && (delim == '{' || delim == '['):
			open = append(open, delim)
			key = delim == '{'
			continue
		case isDelim:
			open = open[:len(open)-1]
		case isText && key:
			if _, has := order[name]; !has {
				order[name] = len(order)
			}
			key = false
			continue
		}
		key = len(open) > 0 && open[len(open)-1] == '{'
	}
}

// inOrder encodes a value that came from JSON.
func inOrder(v any, order map[string]int) json.RawMessage {
	object, ok := v.(schema)
	if !ok {
		encoded, _ := json.Marshal(v) // it came from JSON
		return encoded
	}
	place := func(name string) int {
		if at, has := order[name]; has {
			return at
		}
		return len(order)
	}
	names := slices.SortedFunc(maps.Keys(object), func(a, b string) int { return cmp.Or(place(a)-place(b), strings.Compare(a, b)) })
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(name) // a string can be encoded
		out = append(append(append(out, key...), ':'), inOrder(object[name], order)...)
	}
	return append(out, '}')
}

// Plain returns the schema of a tool as a list of its members, each with its type; what more there is to say of one is in its
// description. An object in it is a text with its JSON, because an object without members is refused too.
func Plain(raw json.RawMessage) json.RawMessage {
	var root schema
	if json.Unmarshal(Common(raw), &root) != nil {
		return raw
	}
	all := schema{}
	properties, _ := root["properties"].(schema)
	for name, v := range properties {
		p, _ := v.(schema)
		one, items := schema{"type": plainType(p["type"])}, schema{}
		if list, ok := p["items"].(schema); ok {
			items = list
			one["items"] = schema{"type": plainType(items["type"])}
		}
		about, _ := p["description"].(string)
		if p["type"] == "object" || items["type"] == "object" {
			about = strings.TrimSpace(about + " JSON")
		}
		if more := without(p, "type", "description"); len(more) > 0 {
			about = strings.TrimSpace(about + " " + string(inOrder(more, orderOf(raw))))
		}
		if about != "" {
			one["description"] = about
		}
		all[name] = one
	}
	out := schema{"type": "object", "properties": all}
	if root["required"] != nil {
		out["required"] = root["required"]
	}
	return inOrder(out, orderOf(raw))
}

func plainType(kind any) any {
	if kind == "object" {
		return "string"
	}
	return kind
}

type common struct {
	root map[string]any
	left int // schemas that are read; what is beyond may be anything
}

type schema = map[string]any

// of returns a schema in the common words.
func (c *common) of(v any, depth int) schema {
	in, _ := v.(schema) // true is anything
	if depth > deepestSchema || in == nil {
		return schema{"type": "string"}
	}
	in = c.merged(in, depth)
	out := schema{}
	for _, word := range []string{"description", "minItems", "maxItems", "minimum", "maximum"} {
		if value, has := in[word]; has {
			out[word] = value
		}
	}
	kind := typeOf(in)
	out["type"] = kind
	switch kind {
	case "object":
		if properties, ok := in["properties"].(schema); ok {
			all := schema{}
			for name, p := range properties {
				all[name] = c.of(p, depth+1)
			}
			out["properties"] = all
			if required := known(texts(in["required"]), all); len(required) > 0 {
				out["required"] = required
			}
		}
	case "array":
		out["items"] = schema{"type": "string"}
		if in["items"] != nil {
			out["items"] = c.of(in["items"], depth+1)
		}
	case "string":
		values := in["enum"]
		if one, has := in["const"]; has {
			values = []any{one}
		}
		if list := texts(values); len(list) > 0 && !slices.Contains(list, "") {
			out["enum"] = list
		}
	}
	return out
}

// merged returns a schema with what it refers to and with its variants in it.
func (c *common) merged(in schema, depth int) schema {
	if c.left--; c.left < 0 {
		return schema{}
	}
	if at, ok := in["$ref"].(string); ok && depth < deepestSchema {
		return c.merged(merge(c.at(at), without(in, "$ref"), true), depth+1)
	}
	out := without(in, "allOf", "anyOf", "oneOf")
	for _, part := range list(in["allOf"]) {
		if s, ok := part.(schema); ok && depth < deepestSchema {
			out = merge(c.merged(s, depth+1), out, true)
		}
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		var variants []schema
		for _, part := range list(in[word]) {
			if s, ok := part.(schema); ok && depth < deepestSchema {
				if s = c.merged(s, depth+1); s["type"] != "null" {
					variants = append(variants, s)
				}
			}
		}
		if len(variants) == 0 {
			continue
		}
		one := variants[0]
		if typeOf(one) == "object" {
			for _, s := range variants[1:] {
				if typeOf(s) == "object" {
					one = merge(one, s, false)
				}
			}
		}
		out = merge(one, out, true)
	}
	return out
}

// at returns what a reference within the schema names.
func (c *common) at(ref string) schema {
	var v any = c.root
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for name := range strings.SplitSeq(path, "/") {
		s, _ := v.(schema)
		v = s[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	s, _ := v.(schema)
	return s
}

// merge returns both schemas as one; b counts where both say something else. It requires what one of them requires (both), or
// only what each of them requires.
func merge(a, b schema, both bool) schema {
	out := maps.Clone(a)
	if out == nil {
		out = schema{}
	}
	maps.Copy(out, b)
	pa, _ := a["properties"].(schema)
	pb, _ := b["properties"].(schema)
	if pa != nil || pb != nil {
		all := schema{}
		maps.Copy(all, pa)
		maps.Copy(all, pb)
		out["properties"] = all
	}
	var required []any
	ra, rb := texts(a["required"]), texts(b["required"])
	for _, name := range ra {
		if both || slices.Contains(rb, name) {
			required = append(required, name)
		}
	}
	for _, name := range rb {
		if both && !slices.Contains(ra, name) {
			required = append(required, name)
		}
	}
	out["required"] = required
	return out
}

// typeOf returns the one type of a schema: the first that is not null, or what its words say.
func typeOf(in schema) string {
	kinds := texts(in["type"])
	if one, ok := in["type"].(string); ok {
		kinds = []string{one}
	}
	for _, kind := range kinds {
		if kind != "null" {
			return kind
		}
	}
	switch {
	case in["properties"] != nil:
		return "object"
	case in["items"] != nil:
		return "array"
	}
	return "string"
}

func list(v any) []any {
	all, _ := v.([]any)
	return all
}

// texts returns the texts of a list.
func texts(v any) (all []string) {
	for _, one := range list(v) {
		if s, ok := one.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// known returns the names that are properties, each once.
func known(names []string, properties schema) (all []string) {
	for _, name := range names {
		if properties[name] != nil && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

func without(in schema, words ...string) schema {
	out := maps.Clone(in)
	for _, w := range words {
		delete(out, w)
	}
	return out
}
