package openapi

import (
	"strconv"
	"strings"

	"piloto/internal/tools/tool"
)

// Limits of what is listed.
const (
	maxOperations = 10_000
	maxParameters = 500      // of one operation or path
	maxInAll      = 100_000  // parameters of all operations: one path item may stand for many
	maxSkeleton   = 16 << 20 // bytes
	maxProse      = 2000
)

// methods are the operations of a path item, in the order they are listed.
var methods = []string{"get", "post", "put", "patch", "delete", "head", "options", "trace"}

// handle is the extension that stands for a schema in the skeleton.
const handle = "x-schema"

// skeleton is what of a document decides which calls there are, as an OpenAPI
// 3.0 document in which every member has the right form, every reference was
// followed, and every schema is a handle: little enough for any loader.
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
	return `{"` + handle + `":` + strconv.Itoa(len(s.schemas)-1) + `}`
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
		return refused("paths is not an object")
	}
	first := true
	var err error
	paths.each(func(path string, item *node) {
		if err != nil || strings.HasPrefix(path, "x-") {
			return
		}
		if err = s.ctx.Err(); err == nil && s.count > maxOperations {
			err = refused("more than %d operations", maxOperations)
		}
		if s.inAll > maxInAll || s.b.Len() > maxSkeleton {
			err = refused("its operations are too large together")
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

// ownHeader names the headers OpenAPI says to ignore as parameters.
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

// merge lets an operation's parameters replace those of its path.
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
		if k := of(p); mine[k] { // the first of those with one name
			out = append(out, p)
			delete(mine, k)
		}
	}
	return out
}

func (s *skeleton) parameter(p *node) {
	in := p.get("in").str()
	s.b.WriteString(`{"name":` + quote(clip(p.get("name").scalar(), 200)) + `,"in":"` + in + `"`)
	if p.get("required").truth() || in == "path" {
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

// style3 reads how a 3.x parameter is written; one with a content is JSON text.
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
		explode = e.truth()
	}
	return style, explode, p.get("schema")
}

// style2 reads how a 2.0 parameter is written; it is its own schema.
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

// withoutRequired returns a 2.0 parameter as a schema: "required" there is not
// the schema keyword, and a description is the parameter's.
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
