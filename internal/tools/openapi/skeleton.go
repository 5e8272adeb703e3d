package openapi

import (
	"cmp"
	"slices"
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
	document   *document
	origins    origins
	security   security
	parameters parameterReader
	bodies     bodyReader
	calls      []call
	inAll      int // parameters
	size       int // bytes of names and prose
}

func newSkeleton(d *document) *skeleton {
	p := parameterReader{d}
	return &skeleton{document: d, origins: origins{document: d}, security: security{document: d}, parameters: p, bodies: bodyReader{d, p}}
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
		c.refused = &tool.Refusal{Reason: reason, What: clipLine(what, 200)}
	}
}

// refuseUnread refuses the operation because of a place in its document that cannot be read, and may have requirements of a
// call; "" for none. broken is the reference there that cannot be followed, or "".
func (c *call) refuseUnread(place, broken string) {
	if place != "" {
		c.refuse(tool.RefusedUnread, strings.TrimSuffix(place+": "+broken, ": "))
	}
}

// readRequired refuses the operation where nobody can read whether it requires n.
func (c *call) readRequired(place string, n *node) {
	if unread := n.unreadFlag("required"); unread != "" {
		c.refuseUnread(place, unread)
	}
}

func (c call) where() string { return c.method + " " + c.path }

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
	s.origins.readServers()
	s.security.readSecurity()
	paths := s.document.root.get("paths")
	if paths != nil && paths.kind != object && paths.kind != null {
		return documentError("paths is not an object")
	}
	var err error
	paths.each(func(path string, item *node) {
		if err != nil || strings.HasPrefix(path, "x-") {
			return
		}
		if err = s.document.ctx.Err(); err == nil && len(s.calls) > maxOperations {
			err = documentError("more than %d operations", maxOperations)
		}
		if s.inAll > maxInAll || s.size > maxSkeleton {
			err = documentError("its operations are too large together")
		}
		if reason := tool.TemplateProblem(path); reason != "" {
			s.document.warn("%s is left out: %s", clip(path, 200), reason)
			return
		}
		target, broken := s.document.resolve(item)
		if broken != "" {
			s.document.warn("%s is left out: the reference %s cannot be followed", clip(path, 200), broken)
		}
		if target != nil && target.kind == object {
			s.item(path, item, target)
		}
	})
	return err
}

// item reads the operations of a path. target is the target of its references.
func (s *skeleton) item(path string, item, target *node) {
	shared := s.sharedOf(item)
	for _, method := range methods {
		if op := target.get(method); op != nil && op.kind == object {
			s.operation(path, method, op, shared)
		}
	}
}

// shared has the fields of a path for all its operations. unread and noServers are places of it that cannot be read, else "".
type shared struct {
	parameters []*node
	servers    []string
	unread     string
	noServers  string // they cannot be read
}

// sharedOf reads the fields of a path beside each of its references, and at the target of the last one.
func (s *skeleton) sharedOf(item *node) (out shared) {
	if at := s.document.at(item.get("$ref").str()); at != nil {
		out = s.sharedOf(at)
	}
	own, unread := s.parameters.parameters(item.get("parameters"))
	out.parameters, out.unread = s.parameters.merge(out.parameters, own), cmp.Or(out.unread, unread)
	if servers, unread := s.origins.ownServers(item); len(servers) > 0 || unread != "" {
		out.servers, out.noServers = servers, unread
	}
	return out
}

// ownServers reads the servers of a path or an operation. unread says that it has some, and that none can be read.
func (o *origins) ownServers(n *node) (servers []string, unread string) {
	if have := n.get("servers"); o.document.version != swagger2 && have != nil && have.kind != null {
		if servers = o.serversOf(n); len(servers) == 0 && (have.kind != list || have.size() > 0) {
			unread = "servers"
		}
	}
	return servers, unread
}

func (s *skeleton) operation(path, method string, op *node, all shared) {
	own := op
	op, broken := s.document.resolve(op)
	c := call{
		path: path, method: strings.ToUpper(method), operationID: clip(op.get("operationId").scalar(), 200),
		summary: clip(op.get("summary").scalar(), 300), description: clip(op.get("description").scalar(), maxProse),
	}
	if broken != "" || op.kind != object || op != own && hasRequirements(own) {
		c.refuseUnread("$ref", broken)
	}
	c.refuseUnread(all.unread, "")
	servers, unread := s.origins.ownServers(op)
	if len(servers) == 0 {
		servers, unread = all.servers, cmp.Or(unread, all.noServers)
	}
	c.servers = servers
	c.refuseUnread(unread, "")
	if s.document.version == swagger2 {
		s.origins.ownSchemes(&c, op)
	}
	s.security.securityOf(&c, op)
	parameters, unread := s.parameters.parameters(op.get("parameters"))
	c.refuseUnread(unread, "")
	parameters = s.parameters.merge(all.parameters, parameters)
	s.inAll += len(all.parameters) + len(parameters)
	if s.document.version == swagger2 {
		s.bodies.body2(&c, op, s.parameters.readParameters(&c, parameters))
	} else {
		s.parameters.readParameters(&c, parameters)
		s.bodies.body3(&c, op)
	}
	s.calls = append(s.calls, c)
	for _, p := range c.parameters {
		s.size += len(p.name)
	}
	s.size += len(path) + len(c.operationID) + len(c.summary) + len(c.description)
}

// hasRequirements reports whether an operation has requirements of a call beside a reference: the standard does not define
// which of the two counts.
func hasRequirements(op *node) bool {
	return slices.ContainsFunc([]string{"parameters", "requestBody", "security", "servers"}, func(name string) bool { return op.get(name) != nil })
}
