package openapi

import (
	"fmt"
	"strings"

	"piloto/internal/tools/tool"
)

type parameter struct {
	name, in, style   string
	required, explode bool
	schema            *node
}

// ownHeader reports whether OpenAPI 3 ignores a header as a parameter.
func ownHeader(name string) bool {
	return strings.EqualFold(name, "accept") || strings.EqualFold(name, "content-type") || strings.EqualFold(name, "authorization")
}

// readParameters reads the parameters of a call, and returns those of its body in 2.0. One in a place that no call has refuses the
// operation if it is required.
func (s *skeleton) readParameters(c *call, parameters []*node) (parts bodyParts) {
	for _, p := range parameters {
		name, in := p.get("name").scalar(), p.get("in").str()
		switch {
		case s.version == swagger2 && in == "body":
			parts.bodies = append(parts.bodies, p)
		case s.version == swagger2 && in == "formData":
			parts.form = append(parts.form, p)
		case in == "header" && s.version != swagger2 && ownHeader(name):
		case in == "path" || in == "query" || in == "header" || in == "cookie":
			one := s.parameter(p)
			c.parameters = append(c.parameters, one)
			if unread := s.contentOfParameter(p).unread; s.version != swagger2 && one.required && unread != "" {
				c.refuseUnread(one.name, unread)
			}
			if style := p.get("style").str(); in == "path" && (style == "label" || style == "matrix") {
				c.refuse(tool.RefusedStyle, name)
			}
		default:
			s.leaveOut(c, p)
		}
	}
	return parts
}

// leaveOut leaves out a parameter that cannot be sent where it belongs, and refuses the operation if it is required.
func (s *skeleton) leaveOut(c *call, p *node) {
	name, in := clip(p.get("name").scalar(), 100), clip(p.get("in").str(), 50)
	if p.get("required").isTrue() {
		c.refuse(tool.RefusedUnread, name+" ("+in+")")
		return
	}
	s.warn("%s: the parameter %s is left out, because no call sends it in %s", c.where(), name, in)
}

// parameters resolves a list of parameters. unread is the first place of it that cannot be read, and may be required.
func (s *skeleton) parameters(n *node) (out []*node, unread string) {
	const place = "parameters"
	n, broken := s.resolve(n)
	switch {
	case broken != "":
		return nil, place + ": " + broken
	case n == nil, n.kind == null, n.kind == object && n.size() == 0:
		return nil, ""
	case n.kind != list:
		return nil, place
	}
	cannot := func(i int, what string) {
		if unread == "" {
			unread = strings.TrimSuffix(fmt.Sprintf("%s[%d]: %s", place, i, what), ": ")
		}
	}
	nodes := n.elements()
	for i := range nodes[:min(len(nodes), maxParameters)] {
		one, broken := s.resolve(&nodes[i])
		name, in := one.get("name").scalar(), one.get("in").str()
		switch {
		case broken != "":
			cannot(i, broken)
		case name != "" && in != "":
			out = append(out, one)
		case one.kind != null && !one.get("required").isFalse():
			cannot(i, clip(name, 100))
		}
	}
	if len(nodes) > maxParameters {
		cannot(maxParameters, "")
	}
	return out, unread
}

// merge replaces the parameters of a path by those of an operation.
func (s *skeleton) merge(shared, own []*node) []*node {
	type key struct{ name, in string }
	of := func(p *node) key { return key{p.get("name").scalar(), p.get("in").str()} }
	mine := make(map[key]bool, len(own))
	for _, p := range own {
		mine[of(p)] = true
	}
	var out []*node
	for _, p := range shared {
		if !mine[of(p)] {
			out = append(out, p)
		}
	}
	for _, p := range own {
		if k := of(p); mine[k] { // the first of several with one name
			out = append(out, p)
			delete(mine, k)
		}
	}
	return out
}

func (s *skeleton) parameter(p *node) parameter {
	in := p.get("in").str()
	out := parameter{name: clip(p.get("name").scalar(), 200), in: in, required: p.get("required").isTrue() || in == "path"}
	if s.version == swagger2 {
		out.style, out.explode, out.schema = style2(p)
	} else {
		out.style, out.explode, out.schema = s.style3(p)
		out.schema = described(out.schema, p.get("description"))
	}
	s.size += len(out.name)
	return out
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

// style3 returns the style of a parameter of 3.x. A parameter with a content of JSON is JSON text, and with any other content it
// is a text.
func (s *skeleton) style3(p *node) (style string, explode bool, schema *node) {
	if content := s.contentOfParameter(p); content.media != "" {
		if media, _ := rank(content.media); tool.WritingOf(media) == tool.AsJSON {
			style = "json"
		}
		return style, false, content.schema
	}
	switch style = p.get("style").str(); style {
	case "spaceDelimited", "pipeDelimited", "deepObject":
	default:
		style = ""
	}
	explode = style == "" && p.get("in").str() == "query"
	if e := p.get("explode"); e != nil && e.kind == boolean {
		explode = e.isTrue()
	}
	return style, explode, p.get("schema")
}

// contentOfParameter returns the only content of a parameter of 3.x. Its media is "" where there is none.
func (s *skeleton) contentOfParameter(p *node) content {
	const place = "content"
	all, broken := s.resolve(p.get("content"))
	switch {
	case p.get("schema") != nil:
		return content{}
	case broken != "":
		return content{unread: place + ": " + broken}
	case all == nil || all.kind == null || all.kind == object && all.size() == 0:
		return content{}
	case all.kind != object:
		return content{unread: place}
	}
	return s.contentOf(all.kids.names[0], &all.kids.nodes[0])
}

// style2 returns the style of a parameter of 2.0. The parameter is its own schema.
func style2(p *node) (style string, explode bool, schema *node) {
	switch p.get("collectionFormat").str() {
	case "multi":
		explode = true
	case "ssv":
		style = "spaceDelimited"
	case "pipes":
		style = "pipeDelimited"
	case "tsv":
		style = "tabDelimited"
	}
	return style, explode, withoutRequired(p)
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
