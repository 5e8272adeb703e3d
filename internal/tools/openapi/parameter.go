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
	problem           string // the part of its style that is not supported, else ""
}

// parameterReader reads the parameters of calls.
type parameterReader struct{ document *document }

// ownHeader reports whether OpenAPI 3 ignores a header as a parameter.
func ownHeader(name string) bool {
	return strings.EqualFold(name, "accept") || strings.EqualFold(name, "content-type") || strings.EqualFold(name, "authorization")
}

// readParameters reads the parameters of a call, and returns those of its body in 2.0. A required one in a part that no
// call has refuses the operation.
func (r parameterReader) readParameters(c *call, parameters []*node) (parts bodyParts) {
	for _, p := range parameters {
		name, in := p.get("name").scalar(), p.get("in").str()
		switch {
		case r.document.version == swagger2 && in == "body":
			parts.bodies = append(parts.bodies, p)
			c.readRequired(clip(name, 100), p)
		case r.document.version == swagger2 && in == "formData":
			parts.form = append(parts.form, p)
			c.readRequired(clip(name, 100), p)
		case in == "header" && r.document.version != swagger2 && ownHeader(name):
		case in == "path" || in == "query" || in == "header" || in == "cookie":
			one := r.parameter(p, c.where())
			c.parameters = append(c.parameters, one)
			if in != "path" { // one of a path is always required
				c.readRequired(clip(name, 100), p)
			}
			if unread := r.contentOfParameter(p).unread; r.document.version != swagger2 && one.required && unread != "" {
				c.refuseUnread(one.name, unread)
			}
		default:
			r.leaveOut(c, p)
		}
	}
	return parts
}

// leaveOut leaves out a parameter that cannot be sent where it belongs, and refuses the operation if it is required.
func (r parameterReader) leaveOut(c *call, p *node) {
	name, in := clip(p.get("name").scalar(), 100), clip(p.get("in").str(), 50)
	if p.get("required").isTrue() || p.unreadFlag("required") != "" {
		c.refuse(tool.RefusedUnread, name+" ("+in+")")
		return
	}
	r.document.warn("%s: the parameter %s is left out, because no call sends it in %s", c.where(), name, in)
}

// parameters resolves a list of parameters. unread is the first place of it that cannot be read, and may be required.
func (r parameterReader) parameters(n *node) (out []*node, unread string) {
	const place = "parameters"
	n, broken := r.document.resolve(n)
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
		one, broken := r.document.resolve(&nodes[i])
		name, in := one.get("name").scalar(), one.get("in").str()
		switch {
		case broken != "":
			cannot(i, broken)
		case name != "" && in != "":
			out = append(out, one)
		case nodes[i].kind != null && !one.get("required").isFalse():
			cannot(i, clip(name, 100))
		}
	}
	if len(nodes) > maxParameters {
		cannot(maxParameters, "")
	}
	return out, unread
}

// merge replaces the parameters of a path by those of an operation.
func (r parameterReader) merge(shared, own []*node) []*node {
	type key struct{ name, in string }
	of := func(p *node) key {
		k := key{p.get("name").scalar(), p.get("in").str()}
		if k.in == "header" { // a header has one name in all spellings
			k.name = strings.ToLower(k.name)
		}
		return k
	}
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

// contentOfParameter returns the only content of a parameter of 3.x. Its media is "" where there is none.
func (r parameterReader) contentOfParameter(p *node) content {
	const place = "content"
	all, broken := r.document.resolve(p.get("content"))
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
	return r.document.contentOf(all.kids.names[0], &all.kids.nodes[0])
}
