package openapi

import (
	"net/url"
	"slices"
	"strings"

	"piloto/internal/tools/tool"
)

const (
	maxServer  = 1000 // bytes of a server's URL
	maxSchemes = 100  // each parameter is compared with each scheme
)

// readServers reads the document's servers, with values for their variables.
func (s *skeleton) readServers() {
	if s.version == swagger2 {
		if p := s.root.get("basePath").str(); p != "" && p != "/" {
			s.servers = []string{"/" + strings.Trim(clip(p, 500), "/")}
		}
		return
	}
	for i, v := range s.root.get("servers").elements() {
		raw := v.get("url").str()
		if raw == "" || i >= 50 {
			continue
		}
		url := ""
		if len(raw) <= 10*maxServer {
			url = fillVariables(raw, v.get("variables"))
		}
		if url == "" || len(url) > maxServer {
			s.warn("the server %s cannot be read and is not used", clip(raw, 200))
			continue
		}
		s.servers = append(s.servers, url)
	}
}

// fillVariables returns a server's URL with the defaults of its variables. It stops when the URL is too long,
// because a short template can expand to a very long text.
func fillVariables(raw string, variables *node) string {
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

// baseURL returns the address of calls: always on the registered origin. Only a path prefix is taken from the
// document, from the first server that is relative or on the same host. A server on another origin causes a warning
// and is never called.
func (s *skeleton) baseURL(registered, documentURL string) string {
	origin, err := url.Parse(registered)
	if err != nil {
		return registered
	}
	s.foreignHost(origin)
	at, err := url.Parse(documentURL)
	if err != nil {
		at = origin
	}
	for _, raw := range s.servers {
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

// foreignHost warns about a host of 2.0 that is not the registered one. Its basePath is still used.
func (s *skeleton) foreignHost(origin *url.URL) {
	if h := s.root.get("host").str(); s.version == swagger2 && h != "" && !strings.EqualFold(h, origin.Host) {
		s.warn("the document names the host %s: calls go to %s://%s, where it was registered", clip(h, 200), origin.Scheme, origin.Host)
	}
}

// readSecurity reads the places of a key in the security schemes. The schemes that every operation requires come first.
func (s *skeleton) readSecurity() {
	schemes := s.root.get("components").get("securitySchemes")
	if s.version == swagger2 {
		schemes = s.root.get("securityDefinitions")
	}
	asked := map[string]bool{}
	for _, requirement := range s.root.get("security").elements() {
		requirement.each(func(name string, _ *node) { asked[name] = true })
	}
	var first, rest []tool.KeyPlace
	schemes.each(func(name string, n *node) {
		if len(first)+len(rest) >= maxSchemes {
			return
		}
		if n = s.resolve(n, "security scheme "+clip(name, 100)); n == nil {
			return
		}
		place, ok := s.keyPlace(name, n)
		switch {
		case ok && asked[name]:
			first = append(first, place)
		case ok:
			rest = append(rest, place)
		}
	})
	if schemes.size() > maxSchemes {
		s.warn("only %d of the security schemes are read", maxSchemes)
	}
	for _, place := range slices.Concat(first, rest) {
		if !slices.Contains(s.places, place) {
			s.places = append(s.places, place)
		}
	}
}

// keyPlace returns where a security scheme puts a key, and false when a key is of no use for it.
func (s *skeleton) keyPlace(name string, n *node) (tool.KeyPlace, bool) {
	kind := n.get("type").str()
	if kind == "http" {
		kind = strings.ToLower(n.get("scheme").str())
	}
	switch kind {
	case "apiKey":
		in, key := n.get("in").str(), n.get("name").str()
		if key == "" || in != "header" && in != "query" {
			s.warn("the security scheme %s puts its key in %s, which is not supported", clip(name, 100), clip(in, 20))
			return tool.KeyPlace{}, false
		}
		return tool.KeyPlace{In: in, Name: clip(key, 100)}, true
	case "basic":
		return tool.KeyPlace{In: "header", Name: "Authorization"}, true
	case "bearer", "oauth2", "openIdConnect":
		return tool.KeyPlace{In: "bearer"}, true
	}
	return tool.KeyPlace{}, false
}
