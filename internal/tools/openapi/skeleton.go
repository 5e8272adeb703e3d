package openapi

import (
	"strconv"
	"strings"

	"piloto/internal/tools/tool"
)

// Limits of the operations.
const (
	maxOperations = 10_000
	maxParameters = 500      // of one operation or path
	maxInAll      = 100_000  // parameters of all operations: one path item may be used many times
	maxSkeleton   = 16 << 20 // bytes
	maxProse      = 2000
)

// methods lists the methods of a path item, in the order of the catalogue.
var methods = []string{"get", "post", "put", "patch", "delete", "head", "options", "trace"}

// handleKey is the extension that replaces a schema in the skeleton.
const handleKey = "x-schema"

// skeleton is the part of a document that defines the calls, written as an OpenAPI 3.0 document. Every member has
// the right form, every reference is followed, and every schema is a handle, so that any loader can read it.
type skeleton struct {
	*document
	b       strings.Builder
	schemas []*node
	paths   []string
	schemes []string // security schemes, preferred first
	count   int
	inAll   int // parameters
}

func (s *skeleton) schema(n *node) string {
	s.schemas = append(s.schemas, n)
	return `{"` + handleKey + `":` + strconv.Itoa(len(s.schemas)-1) + `}`
}

// build writes the skeleton.
func (s *skeleton) build() error {
	s.b.WriteString(`{"openapi":"3.0.3","info":{"title":`)
	s.b.WriteString(quote(clip(s.root.get("info").get("title").scalar(), 200)))
	s.b.WriteString(`,"version":"0"},"servers":[`)
	s.servers()
	s.b.WriteString(`],"components":{"securitySchemes":{`)
	s.security()
	s.b.WriteString(`}},"paths":{`)
	paths := s.root.get("paths")
	if paths != nil && paths.kind != object && paths.kind != null {
		return documentError("paths is not an object")
	}
	first := true
	var err error
	paths.each(func(path string, item *node) {
		if err != nil || strings.HasPrefix(path, "x-") {
			return
		}
		if err = s.ctx.Err(); err == nil && s.count > maxOperations {
			err = documentError("more than %d operations", maxOperations)
		}
		if s.inAll > maxInAll || s.b.Len() > maxSkeleton {
			err = documentError("its operations are too large together")
		}
		if reason := tool.TemplateProblem(path); reason != "" {
			s.warn("%s is left out: %s", clip(path, 200), reason)
			return
		}
		item = s.resolve(item, clip(path, 200))
		if item == nil || item.kind != object {
			return
		}
		if !first {
			s.b.WriteByte(',')
		}
		first = false
		s.b.WriteString(quote(path) + ":")
		s.item(path, item)
		s.paths = append(s.paths, path)
	})
	s.b.WriteString("}}")
	return err
}

func (s *skeleton) item(path string, item *node) {
	shared := s.parameters(item.get("parameters"), path)
	if item.get("servers").size() > 0 {
		s.warn("%s: the document names a server of its own for it, which is not used", path)
	}
	s.b.WriteByte('{')
	first := true
	for _, method := range methods {
		op := item.get(method)
		if op == nil || op.kind != object {
			continue
		}
		if !first {
			s.b.WriteByte(',')
		}
		first = false
		s.count++
		s.b.WriteString(`"` + method + `":`)
		s.operation(path, method, op, shared)
	}
	s.b.WriteByte('}')
}

func (s *skeleton) operation(path, method string, op *node, shared []*node) {
	where := strings.ToUpper(method) + " " + path
	if op.get("servers").size() > 0 {
		s.warn("%s: the document names a server of its own for it, which is not used", where)
	}
	s.b.WriteString(`{"responses":{}`)
	for _, f := range []struct {
		name string
		most int
	}{{"operationId", 200}, {"summary", 300}, {"description", maxProse}} {
		if v := op.get(f.name).scalar(); v != "" {
			s.b.WriteString(`,"` + f.name + `":` + quote(clip(v, f.most)))
		}
	}
	all := s.merge(shared, s.parameters(op.get("parameters"), where))
	s.inAll += len(shared) + len(all)
	s.b.WriteString(`,"parameters":[`)
	var form []*node
	var body *node
	first := true
	for _, p := range all {
		switch in := p.get("in").str(); {
		case s.version == swagger2 && in == "body":
			body = p
		case s.version == swagger2 && in == "formData":
			form = append(form, p)
		case in == "path" || in == "query" || in == "header" || in == "cookie":
			if in == "header" && ownHeader(p.get("name").scalar()) {
				continue
			}
			if !first {
				s.b.WriteByte(',')
			}
			first = false
			s.parameter(p)
		}
	}
	s.b.WriteByte(']')
	if s.version == swagger2 {
		s.body2(op, body, form, where)
	} else {
		s.body3(op, where)
	}
	s.b.WriteByte('}')
}

// ownHeader reports whether OpenAPI ignores a header as a parameter.
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

func (s *skeleton) parameter(p *node) {
	in := p.get("in").str()
	s.b.WriteString(`{"name":` + quote(clip(p.get("name").scalar(), 200)) + `,"in":"` + in + `"`)
	if p.get("required").isTrue() || in == "path" {
		s.b.WriteString(`,"required":true`)
	}
	style, explode, schema := s.style3(p)
	if s.version == swagger2 {
		style, explode, schema = style2(p)
	}
	if style != "" {
		s.b.WriteString(`,"x-style":"` + style + `"`)
	}
	s.b.WriteString(`,"explode":` + strconv.FormatBool(explode) + `,"schema":` + s.schema(schema) + `}`)
}

// style3 returns the style of a parameter of 3.x. A parameter with a content is JSON text.
func (s *skeleton) style3(p *node) (style string, explode bool, schema *node) {
	if content := p.get("content"); content.size() > 0 && p.get("schema") == nil {
		return "json", false, content.kids.nodes[0].get("schema")
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
