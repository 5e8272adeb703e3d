package openapi

import (
	"net/url"
	"strings"

	"piloto/internal/tools/tool"
)

const maxServer = 1000 // bytes of a server's URL

// origins decides where calls are sent.
type origins struct {
	document  *document
	servers   []string
	elsewhere bool   // the service was registered on none of the servers
	unread    string // the first of the servers, where none can be read; else ""
}

// readServers reads the document's servers, with values for their variables.
func (o *origins) readServers() {
	if o.document.version == swagger2 {
		if p := o.document.root.get("basePath").str(); p != "" && p != "/" {
			o.servers = []string{"/" + strings.Trim(clip(p, 500), "/")}
		}
		return
	}
	o.servers = o.serversOf(o.document.root)
}

// serversOf reads the servers of a document, of a path or of an operation; nil when it names none. One that is too long is a text
// that no address has.
func (o *origins) serversOf(n *node) (servers []string) {
	if o.document.version == swagger2 {
		return nil
	}
	for i, v := range n.get("servers").elements() {
		raw := v.get("url").str()
		if raw == "" || i >= 50 {
			continue
		}
		url := ""
		if len(raw) <= 10*maxServer {
			url = fillVariables(raw, v.get("variables"))
		}
		if url == "" || len(url) > maxServer {
			o.document.warn("the server %s cannot be read and is not used", clip(raw, 200))
			url = unreadableServer
		}
		servers = append(servers, url)
	}
	return servers
}

const unreadableServer = "{}"

// ownSchemes refuses an operation of 2.0 that is not sent over HTTP.
func (o *origins) ownSchemes(c *call, op *node) {
	schemes, other := op.get("schemes"), ""
	if schemes == nil {
		schemes = o.document.root.get("schemes")
	}
	for _, one := range schemes.elements() {
		switch strings.ToLower(one.str()) {
		case "http", "https":
			return
		}
		other = one.str()
	}
	if other != "" {
		c.refuse(tool.RefusedServer, other+"://")
	}
}

// ownBase returns the address that the path of an operation follows where that is not the base of the document, else "". An
// operation whose servers are all on another origin is refused: nobody registered that one, and no key is for it. So is one whose
// servers, or else those of the document, cannot be read: another path is another operation.
func (o *origins) ownBase(c *call, base, documentURL string) string {
	if len(c.servers) == 0 {
		if o.unread != "" {
			o.refuseServer(c, documentURL, o.unread)
		}
		return ""
	}
	origin, err := url.Parse(base)
	if err != nil {
		return ""
	}
	at, err := url.Parse(documentURL)
	if err != nil {
		at = origin
	}
	for _, raw := range c.servers {
		if o.elsewhere && raw == o.servers[0] { // it is the document's own, which the registered address replaces
			return ""
		}
		if own, ok := onOrigin(origin, at, raw); ok {
			if own == base {
				return ""
			}
			return own
		}
	}
	o.refuseServer(c, at.String(), c.servers[0])
	return ""
}

// refuseServer refuses an operation whose server is another one than the registered, or has an address that cannot be read.
func (o *origins) refuseServer(c *call, documentURL, raw string) {
	at, err := url.Parse(documentURL)
	if err != nil || isBelow(at, raw) {
		c.refuse(tool.RefusedAddress, raw)
		return
	}
	if u, err := at.Parse(raw); err == nil {
		raw = u.String()
	}
	c.refuse(tool.RefusedServer, raw)
}

// isBelow reports whether a server is a path of the host of an address, readable or not.
func isBelow(at *url.URL, raw string) bool {
	host, there := authority(raw)
	if !there {
		return true
	}
	u, err := url.Parse("//" + host)
	return err == nil && isWeb(raw) && strings.EqualFold(u.Hostname(), at.Hostname()) &&
		(u.Port() == at.Port() || !strings.HasPrefix(raw, at.Scheme+":"))
}

// authority returns the host and port that a server names, and false for one that is relative.
func authority(raw string) (string, bool) {
	scheme, rest, there := strings.Cut(raw, "//")
	if !there || scheme != "" && !strings.HasSuffix(scheme, ":") {
		return "", false
	}
	if end := strings.IndexAny(rest, `/?#\`); end >= 0 {
		rest = rest[:end]
	}
	return rest[strings.LastIndexByte(rest, '@')+1:], true
}

// isWeb reports whether a server is spoken to in HTTP.
func isWeb(raw string) bool {
	scheme, _, there := strings.Cut(raw, "//")
	return !there || scheme == "" || !strings.HasSuffix(scheme, ":") || strings.EqualFold(scheme, "http:") || strings.EqualFold(scheme, "https:")
}

// onOrigin returns the address of a server on the registered origin, and false for a server elsewhere. raw may be relative to the
// document. A server on the same host with the other of http and https is the registered one.
func onOrigin(origin, document *url.URL, raw string) (string, bool) {
	u, err := document.Parse(raw)
	if err != nil || strings.ContainsAny(raw, "{}") || u.RawQuery != "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	if !strings.EqualFold(u.Hostname(), origin.Hostname()) || u.Port() != origin.Port() && u.Scheme == origin.Scheme {
		return "", false
	}
	prefix := "/" + strings.Trim(u.EscapedPath(), "/")
	full := origin.Scheme + "://" + origin.Host + strings.TrimSuffix(prefix, "/")
	clean, err := tool.NormalizeURL(full, tool.Policy{AllowLoopback: true, Private: tool.AnyNetwork()})
	return clean, err == nil
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
		value := variable.get("default")
		if choices := variable.get("enum").elements(); value == nil && len(choices) > 0 {
			value = &choices[0]
		}
		b.WriteString(clip(value.scalar(), 2*maxServer))
		raw = after
	}
	return b.String()
}

// baseURL returns the address of calls: always on the registered origin. Only a path prefix is taken from the
// document, from the first server that is relative or on the same host. A server on another origin causes a warning
// and is never called: the registered address replaces it. Where no server is one of these, no path is known.
func (o *origins) baseURL(registered, documentURL string) string {
	origin, err := url.Parse(registered)
	if err != nil {
		return registered
	}
	o.foreignHost(origin)
	at, err := url.Parse(documentURL)
	if err != nil {
		at = origin
	}
	for _, raw := range o.servers {
		if clean, ok := onOrigin(origin, at, raw); ok {
			return clean
		}
		switch {
		case raw == unreadableServer: // the warning exists
		case isWeb(raw) && !isBelow(at, raw):
			o.elsewhere = true
			o.document.warn("the document names the server %s: calls go to %s://%s, where it was registered", clip(raw, 200), origin.Scheme, origin.Host)
		default:
			o.document.warn("the server %s cannot be read and is not used", clip(raw, 200))
		}
	}
	if !o.elsewhere && len(o.servers) > 0 {
		o.unread = o.servers[0]
	}
	return registered
}

// foreignHost warns about a host of 2.0 that is not the registered one. Its basePath is still used.
func (o *origins) foreignHost(origin *url.URL) {
	if h := o.document.root.get("host").str(); o.document.version == swagger2 && h != "" && !strings.EqualFold(h, origin.Host) {
		o.document.warn("the document names the host %s: calls go to %s://%s, where it was registered", clip(h, 200), origin.Scheme, origin.Host)
	}
}
