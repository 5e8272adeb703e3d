package openapi

import (
	"net/url"
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

const (
	maxServer  = 1000 // bytes of a server's URL
	maxSchemes = 100  // security schemes: each parameter is compared with each
)

// servers writes the document's servers with their variables filled in.
func (s *skeleton) servers() {
	if s.version == swagger2 {
		if p := s.root.get("basePath").str(); p != "" && p != "/" {
			s.b.WriteString(`{"url":` + quote("/"+strings.Trim(clip(p, 500), "/")) + `}`)
		}
		return
	}
	first := true
	for i, v := range s.root.get("servers").elements() {
		raw := v.get("url").str()
		if raw == "" || i >= 50 {
			continue
		}
		url := ""
		if len(raw) <= 10*maxServer {
			url = filled(raw, v.get("variables"))
		}
		if url == "" || len(url) > maxServer {
			s.warn("the server %s cannot be read and is not used", clip(raw, 200))
			continue
		}
		if !first {
			s.b.WriteByte(',')
		}
		first = false
		s.b.WriteString(`{"url":` + quote(url) + `}`)
	}
}

// filled returns a server's URL with the defaults of its variables. It stops where the
// URL is too long to be one, because a few bytes may stand for very many.
func filled(raw string, variables *node) string {
	var b strings.Builder
	for b.Len() <= maxServer {
		before, rest, ok := strings.Cut(raw, "{")
		b.WriteString(before)
		if !ok {
			break
		}
		name, after, ok := strings.Cut(rest, "}")
		variable := variables.get(name)
		if !ok || variable == nil {
			b.WriteByte('{')
			raw = rest
			continue
		}
		b.WriteString(clip(variable.get("default").scalar(), 2*maxServer))
		raw = after
	}
	return b.String()
}

// baseURL decides where calls go: always the origin that was registered. Only a
// path prefix is taken from the document, from the first server that is relative
// or on the same host; another origin is named in a warning and never called.
func (s *skeleton) baseURL(registered, documentURL string, servers []string) string {
	origin, err := url.Parse(registered)
	if err != nil {
		return registered
	}
	s.foreignHost(origin)
	at, err := url.Parse(documentURL)
	if err != nil {
		at = origin
	}
	for _, raw := range servers {
		u, err := at.Parse(raw)
		if err != nil || strings.ContainsAny(raw, "{}") {
			s.warn("the server %s cannot be read and is not used", clip(raw, 200))
			continue
		}
		if !strings.EqualFold(u.Hostname(), origin.Hostname()) || u.Port() != origin.Port() && u.Scheme == origin.Scheme {
			s.warn("the document names the server %s: calls go to %s://%s, where it was registered", clip(raw, 200), origin.Scheme, origin.Host)
			continue
		}
		prefix := "/" + strings.Trim(u.EscapedPath(), "/")
		full := origin.Scheme + "://" + origin.Host + strings.TrimSuffix(prefix, "/")
		clean, err := tool.NormalizeURL(full, tool.Policy{AllowLoopback: true, Private: tool.AnyNetwork()})
		if err != nil || u.RawQuery != "" || u.User != nil {
			s.warn("the server %s cannot be read and is not used", clip(raw, 200))
			continue
		}
		return clean
	}
	return registered
}

// foreignHost warns of a 2.0 host that is not the registered one; its basePath
// holds wherever the service runs.
func (s *skeleton) foreignHost(origin *url.URL) {
	if h := s.root.get("host").str(); s.version == swagger2 && h != "" && !strings.EqualFold(h, origin.Host) {
		s.warn("the document names the host %s: calls go to %s://%s, where it was registered", clip(h, 200), origin.Scheme, origin.Host)
	}
}

// security writes the security schemes as those of 3.0.
func (s *skeleton) security() {
	schemes := s.root.get("components").get("securitySchemes")
	if s.version == swagger2 {
		schemes = s.root.get("securityDefinitions")
	}
	first := true
	schemes.each(func(name string, n *node) {
		if len(s.schemes) >= maxSchemes {
			return
		}
		if n = s.resolve(n, "security scheme "+clip(name, 100)); n == nil {
			return
		}
		var scheme string
		switch n.get("type").str() {
		case "apiKey":
			in, key := n.get("in").str(), n.get("name").str()
			if key == "" || in != "header" && in != "query" {
				s.warn("the security scheme %s puts its key in %s, which is not supported", clip(name, 100), clip(in, 20))
				return
			}
			scheme = `{"type":"apiKey","in":"` + in + `","name":` + quote(clip(key, 100)) + `}`
		case "basic":
			scheme = `{"type":"http","scheme":"basic"}`
		case "http":
			scheme = `{"type":"http","scheme":` + quote(strings.ToLower(clip(n.get("scheme").str(), 40))) + `}`
		case "oauth2", "openIdConnect":
			scheme = `{"type":"http","scheme":"bearer"}`
		default:
			return
		}
		if !first {
			s.b.WriteByte(',')
		}
		first = false
		s.b.WriteString(quote(name) + ":" + scheme)
		s.schemes = append(s.schemes, name)
	})
	if schemes.size() > maxSchemes {
		s.warn("only %d of the security schemes are read", maxSchemes)
	}
	s.preferred()
}

// preferred puts the schemes that all operations ask for first.
func (s *skeleton) preferred() {
	var first, rest []string
	asked := map[string]bool{}
	for _, requirement := range s.root.get("security").elements() {
		requirement.each(func(name string, _ *node) { asked[name] = true })
	}
	for _, name := range s.schemes {
		if asked[name] {
			first = append(first, name)
		} else {
			rest = append(rest, name)
		}
	}
	s.schemes = slices.Concat(first, rest)
}
