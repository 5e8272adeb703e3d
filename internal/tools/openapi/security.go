package openapi

import (
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

const (
	maxSchemes      = 100 // each parameter is compared with each scheme
	maxRequirements = 20  // of one operation
)

// scheme is a security scheme: the place of its key, or what cannot be given for it.
type scheme struct {
	place       tool.KeyPlace
	unsupported string
}

// readSecurity reads the security schemes, and the places of their keys: first those that every operation requires.
func (s *skeleton) readSecurity() {
	schemes := s.root.get("components").get("securitySchemes")
	if s.version == swagger2 {
		schemes = s.root.get("securityDefinitions")
	}
	s.schemes = map[string]scheme{}
	asked := map[string]bool{}
	for _, requirement := range s.root.get("security").elements() {
		requirement.each(func(name string, _ *node) { asked[name] = true })
	}
	var first, rest []tool.KeyPlace
	schemes.each(func(name string, n *node) {
		if len(s.schemes) >= maxSchemes {
			return
		}
		if n = s.resolve(n, "security scheme "+clip(name, 100)); n == nil {
			return
		}
		one, known := readScheme(n)
		if !known {
			s.warn("the security scheme %s cannot be read", clip(name, 100))
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
		s.warn("only %d of the security schemes are read", maxSchemes)
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

// securityOf reads which keys an operation needs: its own requirements, else those of the document. It refuses the operation when
// every alternative needs what is not supported. A scheme that the document does not define gets no key, because nobody knows which.
func (s *skeleton) securityOf(c *call, op *node) {
	all := op.get("security")
	if all == nil {
		all = s.root.get("security")
	}
	if all == nil || all.kind == null {
		return
	}
	c.security = [][]tool.KeyPlace{}
	if all.kind != list {
		s.warn("%s: its security is no list, and it is called without a key", c.where())
		return
	}
	unsupported, unknown := "", false
	for _, requirement := range all.elements()[:min(all.size(), maxRequirements)] {
		var places []tool.KeyPlace
		usable := requirement.kind == object
		requirement.each(func(name string, _ *node) {
			one, known := s.schemes[name]
			switch {
			case !known:
				s.warn("%s: the security scheme %s is not defined, and gets no key", c.where(), clip(name, 100))
				unknown, usable = true, false
			case one.unsupported != "":
				unsupported, usable = one.unsupported, false
			case !slices.ContainsFunc(places, one.place.Is):
				places = append(places, one.place)
			}
		})
		if usable {
			c.security = append(c.security, slices.Clip(append([]tool.KeyPlace{}, places...)))
		}
	}
	switch {
	case all.size() == 0:
		c.security = [][]tool.KeyPlace{{}}
	case len(c.security) > 0:
	case unknown || unsupported == "": // called without a key
	default:
		c.refuse(tool.RefusedScheme, unsupported)
	}
}
