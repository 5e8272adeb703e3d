package openapi

import (
	"cmp"
	"mime"
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

const (
	jsonMedia  = "application/json"
	formMedia  = "application/x-www-form-urlencoded"
	partsMedia = "multipart/form-data"
)

// rank returns the normal form of a media type, with its parameters, and its preference: lower is better, -1 cannot be sent.
// A wildcard becomes a type that it allows.
func rank(media string) (string, int) {
	base, parameters, err := mime.ParseMediaType(media)
	if err != nil {
		return media, -1
	}
	switch charset := strings.ToLower(parameters["charset"]); charset {
	case "", "utf-8", "utf8", "us-ascii":
	default:
		return media, -1
	}
	delete(parameters, "q")
	switch {
	case base == "*/*" || base == "application/*" || strings.HasPrefix(base, "application/*+json"):
		return jsonMedia, 3
	case base == "text/*":
		return "text/plain", 6
	case strings.Contains(base, "*"):
		return media, -1
	case base == partsMedia: // the boundary is ours
		return base, 5
	}
	full := cmp.Or(mime.FormatMediaType(base, parameters), base)
	switch {
	case base == jsonMedia || base == "text/json":
		return full, 0
	case base == "application/merge-patch+json":
		return full, 1
	case strings.HasSuffix(base, "+json"):
		return full, 2
	case base == formMedia:
		return full, 4
	case isText(base):
		return full, 6
	}
	return full, -1
}

// textTypes are the types of texts that do not say so by their names.
var textTypes = []string{
	"application/xml", "application/yaml", "application/x-yaml", "application/jsonl", "application/x-ndjson", "application/ndjson",
	"application/graphql", "application/javascript", "application/sql", "application/jwt", "application/toml", "application/csv",
}

func isText(base string) bool {
	return strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "+xml") || strings.HasSuffix(base, "+yaml") || slices.Contains(textTypes, base)
}

// content is one of the forms in which a body may be sent. unread names its unreadable part, else "".
type content struct {
	media            string
	schema, encoding *node
	unread           string
}

// bodyReader reads the bodies of calls.
type bodyReader struct {
	document   *document
	parameters parameterReader
}

func (r bodyReader) body3(c *call, op *node) {
	const place = "requestBody"
	body, broken := r.document.resolve(op.get("requestBody"))
	switch {
	case !isSaid(op.get("requestBody")):
		return
	case broken != "" || body.kind != object:
		c.refuseUnread(place, broken)
		return
	}
	all, broken := r.document.resolve(body.get("content"))
	if broken != "" || all != nil && all.kind != object && all.kind != null {
		c.refuseUnread(place+".content", broken)
		return
	}
	c.readRequired(place, body)
	var contents []content
	all.each(func(name string, n *node) { contents = append(contents, r.document.contentOf(name, n)) })
	r.body(c, body.get("required"), contents)
}

func (d *document) contentOf(media string, n *node) content {
	n, broken := d.resolve(n)
	if broken != "" || n.kind != object && n.kind != null {
		return content{media: media, unread: strings.TrimSuffix(clip(media, 40)+": "+broken, ": ")}
	}
	return content{media: media, schema: n.get("schema"), encoding: n.get("encoding")}
}

// bodyParts are the parameters of 2.0 that are a body, or fields of a form.
type bodyParts struct{ bodies, form []*node }

func (r bodyReader) body2(c *call, op *node, parts bodyParts) {
	var body *node
	if n := len(parts.bodies); n > 0 { // a call has one body
		body = parts.bodies[n-1]
		for _, p := range append(parts.bodies[:n-1:n-1], parts.form...) {
			r.parameters.leaveOut(c, p)
		}
	}
	form := parts.form
	consumes := op.get("consumes")
	if consumes == nil {
		consumes = r.document.root.get("consumes")
	}
	var media []string
	for _, m := range consumes.elements() {
		if m.kind == text {
			media = append(media, m.text)
		}
	}
	var contents []content
	switch {
	case body != nil:
		media = slices.DeleteFunc(media, func(m string) bool { // a body is not a form
			way := tool.WritingOf(m)
			return way == tool.AsForm || way == tool.AsParts
		})
		if len(media) == 0 {
			media = []string{jsonMedia}
		}
		for _, m := range media {
			contents = append(contents, content{media: m, schema: body.get("schema")})
		}
		r.body(c, body.get("required"), contents)
	case len(form) > 0:
		name := formMedia
		isParts := func(m string) bool { return tool.WritingOf(m) == tool.AsParts }
		onlyParts := slices.ContainsFunc(media, isParts) && !slices.ContainsFunc(media, func(m string) bool { return tool.WritingOf(m) == tool.AsForm })
		if onlyParts || slices.ContainsFunc(form, func(p *node) bool { return p.get("type").str() == "file" }) {
			name = partsMedia
		}
		schema, encoding, required := formSchema(form)
		r.body(c, required, []content{{media: name, schema: schema, encoding: encoding}})
	}
}

// formSchema combines form fields of 2.0 into one object schema, and their formats into an encoding. A file is required unless
// the document says that it is not.
func formSchema(form []*node) (schema, encoding, required *node) {
	properties, names, members := &kids{}, &kids{}, &kids{}
	for _, p := range form {
		name := p.get("name").scalar()
		properties.add(name, *withoutRequired(p))
		if isFile := p.get("type").str() == "file"; p.get("required").isTrue() || isFile && !isSaid(p.get("required")) {
			names.nodes = append(names.nodes, textNode(name))
		}
		if p.get("type").str() == "array" {
			members.add(name, *p)
		}
	}
	schema = (*node)(nil).with("type", textNode("object")).with("properties", node{kind: object, kids: properties}).
		with("required", node{kind: list, kids: names})
	isRequired := booleanNode(len(names.nodes) > 0)
	return schema, &node{kind: object, kids: members}, &isRequired
}

// body sets the request body, in the types in which it can be sent. An operation whose body cannot be sent is refused,
// unless the document says that it needs none. A GET, HEAD or TRACE has none, because the meaning of such a body is not
// defined.
func (r bodyReader) body(c *call, said *node, contents []content) {
	var schemas []*node
	for _, one := range contents {
		schemas = append(schemas, one.schema)
	}
	required := r.document.isRequired(said, schemas...)
	if len(contents) == 0 {
		if required {
			c.refuse(tool.RefusedNoType, "")
		}
		return
	}
	switch c.method {
	case "GET", "HEAD", "TRACE":
		if required {
			c.refuse(refusalOfMedia(contents[0].media))
		}
		return
	}
	var why *tool.Refusal
	var types []typed
	for _, one := range contents {
		media, at := rank(one.media)
		if at < 0 {
			reason, what := refusalOfMedia(one.media)
			why = firstRefusal(why, reason, what)
			continue
		}
		if unread := r.unreadIn(one, required); unread != "" {
			why = firstRefusal(why, tool.RefusedUnread, unread)
			continue
		}
		made, refused := r.written(c, media, one)
		if refused != nil {
			why = firstRefusal(why, refused.Reason, refused.What)
			continue
		}
		made.required = required
		types = append(types, typed{*made, at})
	}
	if len(types) > 0 {
		c.body = r.typesOf(c, types)
		return
	}
	if said.isFalse() {
		r.document.warn("%s: a body of type %s cannot be sent, and is left out", c.where(), cmp.Or(clip(strings.TrimSpace(contents[0].media), 100), "that the document does not name"))
		return
	}
	c.refuse(why.Reason, why.What)
}

// unreadIn returns the unreadable part of a content: of its schema only where the body is required.
func (r bodyReader) unreadIn(one content, required bool) string {
	if one.unread != "" || !required {
		return one.unread
	}
	if broken := r.document.brokenIn(one.schema, 0); broken != "" {
		return clip(one.media, 40) + ": " + broken
	}
	return ""
}

// refusalOfMedia returns why a body of a media type is not sent: the document names none, or one that cannot be written.
func refusalOfMedia(media string) (reason, what string) {
	if strings.TrimSpace(media) == "" {
		return tool.RefusedNoType, ""
	}
	base, _, err := mime.ParseMediaType(media)
	if kind, sub, _ := strings.Cut(base, "/"); err != nil || kind == "" || sub == "" {
		return tool.RefusedMedia, media
	}
	return tool.RefusedBody, media
}

func firstRefusal(have *tool.Refusal, reason, what string) *tool.Refusal {
	if have != nil {
		return have
	}
	return &tool.Refusal{Reason: reason, What: what}
}

// written returns the body of one content, or why it cannot be written.
func (r bodyReader) written(c *call, media string, one content) (*body, *tool.Refusal) {
	out := &body{media: clip(media, 200), schema: one.schema}
	switch tool.WritingOf(media) {
	case tool.AsForm, tool.AsParts:
		return r.form(c, out, one.encoding)
	case tool.AsText:
		if r.document.isBinary(one.schema) || !r.document.mayBeText(one.schema) {
			return nil, &tool.Refusal{Reason: tool.RefusedBody, What: one.media}
		}
	}
	return out, nil
}

// mayBeText reports whether a schema accepts a text, a number or a boolean.
func (d *document) mayBeText(schema *node) bool {
	known, plain := false, false
	d.inPlace(schema, func(n *node) {
		types := typesOf(n)
		known = known || len(types) > 0 || n.get("properties") != nil
		plain = plain || slices.ContainsFunc(types, isPlain)
	})
	return plain || !known
}
