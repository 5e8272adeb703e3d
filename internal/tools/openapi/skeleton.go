package openapi

import (
	"strings"

	"piloto/internal/tools/tool"
)

// Limits of the operations.
const (
	maxOperations = 10_000
	maxParameters = 500      // of one operation or path
	maxInAll      = 100_000  // parameters of all operations: one path item may be used many times
	maxSkeleton   = 16 << 20 // bytes of names and prose
	maxProse      = 2000
)

// methods lists the methods of a path item, in the order of the catalogue.
var methods = []string{"get", "post", "put", "patch", "delete", "head", "options", "trace"}

// skeleton is the part of a document that defines the calls. Every reference in it is followed, except those of
// schemas.
type skeleton struct {
	*document
	calls     []call
	places    []tool.KeyPlace // of a key, preferred first
	servers   []string
	schemes   map[string]scheme // of security, by their names
	elsewhere bool              // the service was registered on none of the servers
	unread    string            // the first of the servers, where none can be read; else ""
	inAll     int               // parameters
	size      int               // bytes of names and prose
}

// call is one operation of a document.
type call struct {
	path, method                      string // the method in upper case
	operationID, summary, description string
	parameters                        []parameter
	body                              *body
	servers                           []string          // of its own, or of its path; nil: those of the document
	security                          [][]tool.KeyPlace // see tool.Operation
	refused                           *tool.Refusal
}

// refuse notes the first reason why the operation cannot be called.
func (c *call) refuse(reason, what string) {
	if c.refused == nil {
		c.refused = &tool.Refusal{Reason: reason, What: clip(strings.Join(strings.Fields(what), " "), 200)}
	}
}

func (c call) where() string { return c.method + " " + c.path }

type parameter struct {
	name, in, style   string
	required, explode bool
	schema            *node
}

type body struct {
	media    string
	required bool
	schema   *node
	encoding map[string]tool.Encoding
	kinds    []string // see tool.Body
	sense    string
	others   []body // in other types
}

// build reads the document.
func (s *skeleton) build() error {
	s.readServers()
	s.readSecurity()
	paths := s.root.get("paths")
	if paths != nil && paths.kind != object && paths.kind != null {
		return documentError("paths is not an object")
	}
	var err error
	paths.each(func(path string, item *node) {
		if err != nil || strings.HasPrefix(path, "x-") {
			return
		}
		if err = s.ctx.Err(); err == nil && len(s.calls) > maxOperations {
			err = documentError("more than %d operations", maxOperations)
		}
		if s.inAll > maxInAll || s.size > maxSkeleton {
			err = documentError("its operations are too large together")
		}
		if reason := tool.TemplateProblem(path); reason != "" {
			s.warn("%s is left out: %s", clip(path, 200), reason)
			return
		}
		item = s.resolve(item, clip(path, 200))
		if item != nil && item.kind == object {
			s.item(path, item)
		}
	})
	return err
}

func (s *skeleton) item(path string, item *node) {
	shared := s.parameters(item.get("parameters"), path)
	servers := s.serversOf(item)
	for _, method := range methods {
		if op := item.get(method); op != nil && op.kind == object {
			s.operation(path, method, op, shared, servers)
		}
	}
}

func (s *skeleton) operation(path, method string, op *node, shared []*node, servers []string) {
	c := call{
		path: path, method: strings.ToUpper(method), operationID: clip(op.get("operationId").scalar(), 200),
		summary: clip(op.get("summary").scalar(), 300), description: clip(op.get("description").scalar(), maxProse),
	}
	where := c.where()
	if c.servers = servers; op.get("servers").size() > 0 {
		c.servers = s.serversOf(op)
	}
	if s.version == swagger2 {
		s.ownSchemes(&c, op)
	}
	s.securityOf(&c, op)
	all := s.merge(shared, s.parameters(op.get("parameters"), where))
	s.inAll += len(shared) + len(all)
	var form []*node
	var body *node
	for _, p := range all {
		switch in := p.get("in").str(); {
		case s.version == swagger2 && in == "body":
			body = p
		case s.version == swagger2 && in == "formData":
			form = append(form, p)
		case in == "header" && s.version != swagger2 && ownHeader(p.get("name").scalar()):
		case in == "path" || in == "query" || in == "header" || in == "cookie":
			c.parameters = append(c.parameters, s.parameter(p))
			if style := p.get("style").str(); in == "path" && (style == "label" || style == "matrix") {
				c.refuse(tool.RefusedStyle, p.get("name").scalar())
			}
		}
	}
	if s.version == swagger2 {
		s.body2(&c, op, body, form)
	} else {
		s.body3(&c, op)
	}
	s.calls = append(s.calls, c)
	s.size += len(path) + len(c.operationID) + len(c.summary) + len(c.description)
}

// ownHeader reports whether OpenAPI 3 ignores a header as a parameter.
func ownHeader(name string) bool {
	return strings.EqualFold(name, "accept") || strings.EqualFold(name, "content-type") || strings.EqualFold(name, "authorization")
}

// parameters resolves a list of parameters.
func (s *skeleton) parameters(n *node, where string) []*node {
	nodes := n.elements()
	var out []*node
	for i := range nodes {
		if len(out) >= maxParameters {
			s.warn("%s: only the first %d parameters are read", where, maxParameters)
			break
		}
		if p := s.resolve(&nodes[i], where); p != nil && p.kind == object && p.get("name").scalar() != "" {
			out = append(out, p)
		}
	}
	return out
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
	if content := p.get("content"); content.size() > 0 && p.get("schema") == nil {
		if media, _ := rank(content.kids.names[0]); tool.WritingOf(media) == tool.AsJSON {
			style = "json"
		}
		return style, false, content.kids.nodes[0].get("schema")
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
