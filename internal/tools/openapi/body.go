package openapi

import (
	"mime"
	"slices"
	"strings"
)

const (
	jsonMedia = "application/json"
	formMedia = "application/x-www-form-urlencoded"
)

// rank returns the normal form of a media type and its preference: lower is better, -1 cannot be sent.
func rank(media string) (string, int) {
	base, _, err := mime.ParseMediaType(media)
	if err != nil {
		return media, -1
	}
	switch {
	case base == jsonMedia:
		return base, 0
	case base == "application/merge-patch+json":
		return base, 1
	case strings.HasSuffix(base, "+json"):
		return base, 2
	case base == "*/*" || base == "application/*":
		return jsonMedia, 3
	case base == formMedia:
		return base, 4
	}
	return base, -1
}

// choose returns the best of some media types and its index. When none can be sent, it returns the first, so that a
// message can name it.
func choose(media []string) (string, int) {
	best, at, bestRank := "", -1, -1
	for i, m := range media {
		name, r := rank(m)
		if at < 0 || r >= 0 && (bestRank < 0 || r < bestRank) {
			best, at, bestRank = name, i, r
		}
	}
	return best, at
}

func (s *skeleton) body3(c *call, op *node) {
	body := op.get("requestBody")
	if body == nil {
		return
	}
	if body = s.resolve(body, c.where()); body == nil {
		return
	}
	content := body.get("content")
	var media []string
	content.each(func(name string, _ *node) { media = append(media, name) })
	name, at := choose(media)
	if at < 0 {
		return
	}
	s.body(c, name, body.get("required").isTrue(), content.kids.nodes[at].get("schema"))
}

func (s *skeleton) body2(c *call, op, body *node, form []*node) {
	consumes := op.get("consumes")
	if consumes == nil {
		consumes = s.root.get("consumes")
	}
	var media []string
	for _, m := range consumes.elements() {
		if m.kind == text {
			media = append(media, m.text)
		}
	}
	switch {
	case body != nil:
		if len(media) == 0 {
			media = []string{jsonMedia}
		}
		name, _ := choose(media)
		if name == formMedia {
			name = jsonMedia
		}
		s.body(c, name, body.get("required").isTrue(), body.get("schema"))
	case len(form) > 0:
		name := formMedia
		onlyMultipart := len(media) > 0 && !slices.Contains(media, formMedia) && slices.Contains(media, "multipart/form-data")
		if onlyMultipart || slices.ContainsFunc(form, func(p *node) bool { return p.get("type").str() == "file" }) {
			name = "multipart/form-data"
		}
		schema, required := formSchema(form)
		s.body(c, name, required, schema)
	}
}

// formSchema combines form fields of 2.0 into one object schema.
func formSchema(form []*node) (schema *node, required bool) {
	properties, names := &kids{}, &kids{}
	for _, p := range form {
		name := p.get("name").scalar()
		properties.names, properties.nodes = append(properties.names, name), append(properties.nodes, *withoutRequired(p))
		if p.get("required").isTrue() {
			names.nodes = append(names.nodes, node{kind: text, text: name})
		}
	}
	k := &kids{
		names: []string{"type", "properties"},
		nodes: []node{{kind: text, text: "object"}, {kind: object, kids: properties}},
	}
	if len(names.nodes) > 0 {
		k.names, k.nodes = append(k.names, "required"), append(k.nodes, node{kind: list, kids: names})
	}
	return &node{kind: object, kids: k}, len(names.nodes) > 0
}

// body sets the request body. A GET, HEAD or TRACE has none, because the meaning of such a body is not defined.
func (s *skeleton) body(c *call, media string, required bool, schema *node) {
	switch c.method {
	case "GET", "HEAD", "TRACE":
		if required {
			s.warn("%s: the body it asks for is not sent with this method", c.where())
		}
		return
	}
	if _, r := rank(media); r < 0 {
		s.warn("%s: a body of type %s cannot be sent", c.where(), clip(media, 100))
		schema = nil
	}
	c.body = &body{clip(media, 100), required, schema}
}
