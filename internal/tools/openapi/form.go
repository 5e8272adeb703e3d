package openapi

import (
	"cmp"
	"mime"
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

// form completes the body of a form: how its members are written, and without those that cannot be sent and that the document
// does not require. A form that requires one cannot be sent.
func (r bodyReader) form(c *call, out *body, encoding *node) (*body, *tool.Refusal) {
	said := encoding
	if encoding = r.document.targetOf(said); isSaid(said) && (encoding == nil || encoding.kind != object) {
		return nil, &tool.Refusal{Reason: tool.RefusedPart, What: "encoding"}
	}
	m := r.membersOf(out.schema)
	out.encoding = map[string]tool.Encoding{}
	banned, sent := &kids{}, 0
	var why *tool.Refusal
	for _, name := range m.with(encoding) {
		made, refused := r.member(m.schemas[name], encoding.get(name), tool.WritingOf(out.media), c.where()+" "+clip(name, 100))
		if refused == nil {
			if m.isNamed(name) {
				sent++
			}
			if !made.IsUsual() {
				out.encoding[clip(name, 200)] = made
			}
			continue
		}
		refused.What = strings.TrimSuffix(name+": "+refused.What, ": ")
		if m.needs(name) {
			return nil, refused
		}
		why = firstRefusal(why, refused.Reason, refused.What)
		r.warnOfMember(c, name, refused)
		banned.add(name, booleanNode(false))
	}
	if why != nil {
		if sent == 0 {
			return nil, why
		}
		out.schema = (*node)(nil).with("properties", node{kind: object, kids: banned}).with("allOf", listOf(*out.schema))
	}
	return out, nil
}

// warnOfMember warns about a member of a form that is left out.
func (r bodyReader) warnOfMember(c *call, name string, why *tool.Refusal) {
	if why.Reason == tool.RefusedFile {
		r.document.warn("%s: the file %s is not sent", c.where(), clip(name, 100))
		return
	}
	r.document.warn("%s: the member %s is not sent, because the document writes it in a way that is not supported (%s)",
		c.where(), clip(name, 100), clip(why.What, 200))
}

// member returns how a member of a form is written, or why it is not.
func (r bodyReader) member(schema, encoding *node, way tool.Writing, where string) (tool.Encoding, *tool.Refusal) {
	e := r.document.targetOf(encoding)
	if isSaid(encoding) && (e == nil || e.kind != object) {
		return tool.Encoding{}, &tool.Refusal{Reason: tool.RefusedPart, What: "encoding"}
	}
	if r.isFile(schema, e) {
		return tool.Encoding{}, &tool.Refusal{Reason: tool.RefusedFile}
	}
	out, problem := r.encodingOf(schema, e, where)
	if problem == "" && way == tool.AsParts {
		out.Headers, problem = r.partHeaders(schema, e)
	}
	if problem != "" {
		return tool.Encoding{}, &tool.Refusal{Reason: tool.RefusedPart, What: problem}
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

// with returns the names of all members, also of those that only an encoding names.
func (m formMembers) with(encoding *node) []string {
	names := slices.Clone(m.names)
	encoding.each(func(name string, _ *node) {
		if m.schemas[name] == nil {
			names = append(names, name)
		}
	})
	return names
}

// isNamed reports whether a member is one of the form: one of its schema, where that has any.
func (m formMembers) isNamed(name string) bool { return len(m.names) == 0 || m.schemas[name] != nil }

// needs reports whether a form must have a member. Most documents do not say which members are required, and then a form
// has all of them.
func (m formMembers) needs(name string) bool {
	return slices.Contains(m.required, name) || !m.says && m.isNamed(name)
}

func (r bodyReader) membersOf(schema *node) formMembers {
	m := formMembers{schemas: map[string]*node{}}
	r.document.inPlace(schema, func(n *node) {
		n.get("properties").each(func(name string, value *node) {
			if m.schemas[name] == nil {
				m.names, m.schemas[name] = append(m.names, name), value
			}
		})
		required, _ := r.document.requiredOf(n)
		m.says = m.says || isSaid(n.get("required")) || len(required) > 0
		m.required = append(m.required, required...)
	})
	return m
}

// isFile reports whether a member of a form is a file: bytes that are no text.
func (r bodyReader) isFile(schema, encoding *node) bool {
	schema = r.document.targetOf(schema)
	const nested = 10 // a list may be one of itself
	for range nested {
		if slices.Contains(typesOf(schema), "array") {
			schema = r.document.targetOf(schema.get("items"))
		}
	}
	if r.document.isBinary(schema) {
		return true
	}
	said := encoding.get("contentType").str()
	for media := range strings.SplitSeq(said, ",") {
		if !isBytes(media) {
			return false
		}
	}
	return said != ""
}

// isBytes reports whether a type is one of bytes that are no text.
func isBytes(media string) bool {
	base, _, err := mime.ParseMediaType(media)
	return err == nil && strings.Contains(base, "/") && !maySend(base)
}

// maySend reports whether the value of a type can be written.
func maySend(media string) bool {
	_, r := rank(media)
	return r >= 0
}

// isBinary reports whether a schema is one of bytes that are no text.
func (d *document) isBinary(schema *node) bool {
	binary, other := false, false
	d.inPlace(schema, func(n *node) {
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

// encodingOf returns the encoding of a member of a form, or the part of it that is not supported. A style wins over a type
// (OpenAPI 3.1, §4.8.15). The value of a member whose type is JSON is JSON as a whole, also where it is a list. A text has
// the type of a text only. The members of a form of 2.0 are parameters.
func (r bodyReader) encodingOf(schema, e *node, where string) (tool.Encoding, string) {
	switch {
	case e.unreadFlag("allowReserved") != "":
		return tool.Encoding{}, e.unreadFlag("allowReserved")
	case r.document.version == swagger2 && e != nil:
		style, explode, problem := formatOf(e)
		return tool.Encoding{Style: cmp.Or(style, "form"), Explode: explode}, problem
	case isSaid(e.get("style")) || isSaid(e.get("explode")) || isSaid(e.get("allowReserved")):
		style, explode, problem := r.parameters.styleOf(e, "query", schema, where)
		return tool.Encoding{Style: style, Explode: explode}, problem
	}
	said := e.get("contentType")
	for media := range strings.SplitSeq(said.str(), ",") {
		media = strings.TrimSpace(media)
		full, at := rank(media)
		switch way := tool.WritingOf(full); {
		case at < 0 || way == tool.AsParts:
		case way == tool.AsJSON && strings.Contains(media, "*"): // as if it said nothing
			return tool.Encoding{}, ""
		case way == tool.AsJSON:
			return tool.Encoding{Style: "json", Media: full}, ""
		case r.document.mayBeTexts(schema):
			return tool.Encoding{Media: full}, ""
		}
	}
	if isSaid(said) && (said.kind != text || said.text != "") {
		return tool.Encoding{}, cmp.Or(strings.TrimSpace(clip(said.scalar(), 100)), "contentType")
	}
	return tool.Encoding{}, ""
}

// mayBeTexts reports whether a schema accepts a text, a number or a boolean, or a list of them.
func (d *document) mayBeTexts(schema *node) bool {
	may := d.mayBeText(schema)
	d.inPlace(schema, func(n *node) {
		isList := slices.Contains(typesOf(n), "array") || n.get("items") != nil
		may = may || isList && d.mayBeText(n.get("items"))
	})
	return may
}

// partHeaders returns the headers that a document requires of a part, each with its only value, or the name of one that may have
// others: a card does not show the headers of parts.
func (r bodyReader) partHeaders(schema, e *node) (headers map[string]string, problem string) {
	all := e.get("headers")
	if isSaid(all) && all.kind != object {
		return nil, "headers"
	}
	all.each(func(name string, n *node) {
		h := r.document.targetOf(n)
		if problem != "" || strings.EqualFold(name, "Content-Type") || h != nil && h.kind == object && !h.get("required").isTrue() && h.unreadFlag("required") == "" {
			return
		}
		value, known := r.document.onlyValue(h.get("schema"))
		encoded := r.document.targetOf(schema).get("contentEncoding").str()
		switch {
		case strings.EqualFold(name, "Content-Disposition") && h != nil && !known: // each part has one
		case known && (tool.MayHeadPart(name, value) || strings.EqualFold(name, "Content-Transfer-Encoding") && value != "" && value == encoded):
			if headers == nil {
				headers = map[string]string{}
			}
			headers[name] = value
		default:
			problem = "header " + clip(name, 100)
		}
	})
	return headers, problem
}

// onlyValue returns the only value that a schema allows.
func (d *document) onlyValue(schema *node) (value string, known bool) {
	if values := d.valuesOf(schema); len(values) == 1 {
		return values[0], true
	}
	return "", false
}
