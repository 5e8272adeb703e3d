package openapi

import (
	"cmp"
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

const (
	maxSchemes      = 100 // each parameter is compared with each scheme
	maxRequirements = 20  // of one operation
)

// scheme is a security scheme: the place of its key, or the name of its unsupported type, or its unreadable part.
type scheme struct {
	place       tool.KeyPlace
	unsupported string
	unread      string
}

// security decides which keys calls need.
type security struct {
	document *document
	schemes  map[string]scheme // by their names
	places   []tool.KeyPlace   // of a key, preferred first
}

// readSecurity reads the security schemes, and the places of their keys: first those that every operation requires.
func (s *security) readSecurity() {
	schemes, place := s.document.root.get("components").get("securitySchemes"), "securitySchemes."
	if s.document.version == swagger2 {
		schemes, place = s.document.root.get("securityDefinitions"), "securityDefinitions."
	}
	s.schemes = map[string]scheme{}
	asked := map[string]bool{}
	for _, requirement := range requirementsOf(s.document.root.get("security")) {
		requirement.each(func(name string, _ *node) { asked[name] = true })
	}
	var first, rest []tool.KeyPlace
	schemes.each(func(name string, n *node) {
		at := place + clip(name, 50)
		if len(s.schemes) >= maxSchemes {
			s.schemes[name] = scheme{unread: at}
			return
		}
		n, broken := s.document.resolve(n)
		if broken != "" {
			s.schemes[name] = scheme{unread: at + ": " + broken}
			return
		}
		one, known := readScheme(n)
		if !known {
			s.document.warn("the security scheme %s cannot be read", clip(name, 100))
			return
		}
		s.schemes[name] = one
		switch {
		case one.unsupported != "":
		case asked[name]:
			first = append(first, one.place)
		default:
			rest = append(rest, one.place)
		}
	})
	if schemes.size() > maxSchemes {
		s.document.warn("only %d of the security schemes are read", maxSchemes)
	}
	for _, place := range slices.Concat(first, rest) {
		if !slices.ContainsFunc(s.places, place.Is) {
			s.places = append(s.places, place)
		}
	}
}

// readScheme reads a security scheme.
func readScheme(n *node) (one scheme, known bool) {
	kind := n.get("type").str()
	switch kind {
	case "apiKey":
		place := tool.KeyPlace{In: n.get("in").str(), Name: clip(n.get("name").str(), 100)}
		return scheme{place: place}, place.Name != "" && slices.Contains([]string{"header", "query", "cookie"}, place.In)
	case "basic":
		return scheme{place: tool.KeyPlace{In: "header", Name: "Authorization"}}, true
	case "oauth2", "openIdConnect":
		return scheme{place: tool.KeyPlace{In: "bearer"}}, true
	case "mutualTLS":
		return scheme{unsupported: kind}, true
	case "http":
		switch kind = strings.ToLower(n.get("scheme").str()); kind {
		case "bearer":
			return scheme{place: tool.KeyPlace{In: "bearer"}}, true
		case "digest", "dpop", "hoba", "mutual", "negotiate", "scram-sha-1", "scram-sha-256": // each request has a proof of its own
			return scheme{unsupported: kind}, true
		}
		return scheme{place: tool.KeyPlace{In: "header", Name: "Authorization"}}, kind != ""
	}
	return scheme{}, false
}

// requirementsOf returns the alternatives of a security. One that is no list is taken for the only one.
func requirementsOf(security *node) []node {
	if security != nil && security.kind == object {
		return []node{*security}
	}
	return security.elements()
}

// securityOf reads which keys an operation needs: its own requirements, else those of the document. It refuses the operation
// when every alternative needs a scheme that is not supported or cannot be read. A scheme that the document does not define
// gets no key, because nobody knows which.
func (s *security) securityOf(c *call, op *node) {
	all := op.get("security")
	if all == nil {
		all = s.document.root.get("security")
	}
	if all == nil || all.kind == null {
		return
	}
	c.security = [][]tool.KeyPlace{}
	requirements := requirementsOf(all)
	if len(requirements) == 0 && all.kind == list {
		c.security = [][]tool.KeyPlace{{}}
		return
	}
	why, unknown := scheme{unread: "security"}, false
	for i, requirement := range requirements[:min(len(requirements), maxRequirements)] {
		places, missing := s.requirement(c, &requirement)
		switch {
		case missing == nil:
			c.security = append(c.security, slices.Clip(append([]tool.KeyPlace{}, places...)))
		case *missing == scheme{}:
			unknown = true
		case i == 0:
			why = *missing
		}
	}
	switch {
	case len(c.security) > 0:
	case unknown: // called without a key
	case why.unsupported != "":
		c.refuse(tool.RefusedScheme, why.unsupported)
	default:
		c.refuse(tool.RefusedUnread, why.unread)
	}
}

// requirement returns the places of the keys that one alternative needs, or the scheme of which none can be given: an empty one where the
// document does not define it.
func (s *security) requirement(c *call, n *node) (places []tool.KeyPlace, missing *scheme) {
	if n.kind != object {
		return nil, &scheme{unread: "security"}
	}
	n.each(func(name string, _ *node) {
		one, known := s.schemes[name]
		switch {
		case !known:
			s.document.warn("%s: the security scheme %s is not defined, and gets no key", c.where(), clip(name, 100))
			missing = &scheme{}
		case one.unsupported != "" || one.unread != "":
			missing = cmp.Or(missing, &one)
		case !slices.ContainsFunc(places, one.place.Is):
			places = append(places, one.place)
		}
	})
	return places, missing
}
