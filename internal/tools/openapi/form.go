package openapi

import (
	"mime"
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

// form completes the body of a form: how its members are written, and without the files that the document does not require. A
// form that requires a file cannot be sent.
func (s *skeleton) form(c *call, out *body, encoding *node) (*body, *tool.Refusal) {
	m := s.membersOf(out.schema)
	out.encoding = map[string]tool.Encoding{}
	encoding.each(func(name string, _ *node) {
		if m.schemas[name] == nil {
			m.names = append(m.names, name)
		}
	})
	banned, left := &kids{}, 0
	for _, name := range m.names {
		e := encoding.get(name)
		if s.isFile(m.schemas[name], e) {
			if slices.Contains(m.required, name) || !m.says {
				return nil, &tool.Refusal{Reason: tool.RefusedFile, What: name}
			}
			s.warn("%s: the file %s is not sent", c.where(), clip(name, 100))
			banned.add(name, booleanNode(false))
			continue
		}
		left++
		made, ok := encodingOf(e)
		if !ok {
			return nil, &tool.Refusal{Reason: tool.RefusedBody, What: e.get("contentType").str()}
		}
		if e != nil && made != (tool.Encoding{}) {
			out.encoding[clip(name, 200)] = made
		}
	}
	if len(banned.names) > 0 {
		if left == 0 {
			return nil, &tool.Refusal{Reason: tool.RefusedFile, What: banned.names[0]}
		}
		out.schema = (*node)(nil).with("properties", node{kind: object, kids: banned}).with("allOf", listOf(*out.schema))
	}
	return out, nil
}

// formMembers are the members that a schema of a form names, and those that it requires. says reports that it says which are
// required.
type formMembers struct {
	names    []string
	schemas  map[string]*node
	required []string
	says     bool
}

func (s *skeleton) membersOf(schema *node) formMembers {
	m := formMembers{schemas: map[string]*node{}}
	s.inPlace(schema, func(n *node) {
		n.get("properties").each(func(name string, value *node) {
			if m.schemas[name] == nil {
				m.names, m.schemas[name] = append(m.names, name), value
			}
		})
		m.says = m.says || n.get("required") != nil
		for _, v := range n.get("required").elements() {
			m.required = append(m.required, v.str())
		}
	})
	return m
}

// isFile reports whether a member of a form is a file: bytes that are no text.
func (s *skeleton) isFile(schema, encoding *node) bool {
	schema = s.targetOf(schema)
	const nested = 10 // a list may be one of itself
	for range nested {
		if slices.Contains(typesOf(schema), "array") {
			schema = s.targetOf(schema.get("items"))
		}
	}
	if s.isBinary(schema) {
		return true
	}
	for media := range strings.SplitSeq(encoding.get("contentType").str(), ",") {
		if media = strings.TrimSpace(media); media == "" || maySend(media) {
			return false
		}
	}
	return true
}

// maySend reports whether the value of a type can be written.
func maySend(media string) bool {
	_, r := rank(media)
	return r >= 0
}

// isBinary reports whether a schema is one of bytes that are no text.
func (s *skeleton) isBinary(schema *node) bool {
	binary, other := false, false
	s.inPlace(schema, func(n *node) {
		media := n.get("contentMediaType").str()
		types := typesOf(n)
		switch {
		case n.get("format").str() == "binary" || slices.Contains(types, "file"):
			binary = true
		case media != "" && n.get("contentEncoding") == nil && !maySend(media):
			binary = true
		case slices.ContainsFunc(types, isPlain):
			other = true
		}
	})
	return binary && !other
}

// isPlain reports whether a type is that of texts, numbers or booleans.
func isPlain(typ string) bool {
	return typ == "string" || typ == "number" || typ == "integer" || typ == "boolean"
}

// typesOf returns the types that a schema names.
func typesOf(n *node) []string {
	t := n.get("type")
	if t.str() != "" {
		return []string{t.text}
	}
	var types []string
	for _, one := range t.elements() {
		types = append(types, one.str())
	}
	return types
}

// encodingOf reads how a document encodes a member of a form. A style wins over a type (OpenAPI 3.1, §4.8.15). The value of a
// member whose type is JSON is JSON as a whole, also where it is a list. It returns false for a part that cannot be sent.
func encodingOf(e *node) (tool.Encoding, bool) {
	style, explode := e.get("style"), e.get("explode")
	if style.str() != "" || explode != nil || e.get("allowReserved") != nil {
		out := tool.Encoding{Style: "form"}
		switch style.str() {
		case "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject":
			out.Style = style.text
		}
		out.Explode = out.Style == "form"
		if explode != nil && explode.kind == boolean {
			out.Explode = explode.isTrue()
		}
		return out, true
	}
	for media := range strings.SplitSeq(e.get("contentType").str(), ",") {
		media = strings.TrimSpace(media)
		full, r := rank(media)
		switch {
		case media == "" || r < 0:
			continue
		case strings.Contains(media, "*"): // as if it said nothing
			return tool.Encoding{}, true
		case tool.WritingOf(full) == tool.AsJSON:
			return tool.Encoding{Style: "json", Media: full}, true
		}
		if base, _, _ := mime.ParseMediaType(full); base == "text/plain" && full == base {
			full = ""
		}
		return tool.Encoding{Media: full}, true
	}
	return tool.Encoding{}, e.get("contentType").str() == ""
}
