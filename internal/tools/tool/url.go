package tool

import (
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"piloto/internal/ground/fault"
)

// Policy lists the non-public addresses that a deployment allows.
type Policy struct {
	AllowLoopback bool     // 127.0.0.0/8, ::1 and localhost
	Private       Networks // when there is one, names that only private networks know are allowed too
}

// maxURL is the maximum length of a registered URL in bytes.
const maxURL = 2048

// NormalizeURL turns the text that a person wrote into the base URL of a service: scheme://host[:port][/prefix],
// without trailing slash. A missing scheme becomes http:// for loopback and private hosts where those are allowed,
// else https://. Trailing documentation paths (/docs, /openapi.json, …) are cut. It returns ErrURL with
// Args["reason"] for any other text, and ErrTarget for an address that the policy does not allow. The address that
// a name resolves to is checked again at every connection.
func NormalizeURL(raw string, policy Policy) (string, error) {
	text := strings.TrimSpace(raw)
	if reason := textProblem(text); reason != "" {
		return "", ErrURL.With("reason", reason)
	}
	guessed := !strings.Contains(text, "://")
	if guessed {
		if scheme, rest, ok := strings.Cut(text, ":"); ok && !startsWithPort(rest) && !strings.HasPrefix(text, "[") {
			return "", ErrURL.With("reason", "scheme").With("scheme", strings.ToLower(scheme))
		}
		text = "https://" + strings.TrimPrefix(text, "//")
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", ErrURL.With("reason", "form")
	}
	if reason := partsProblem(u, text); reason != "" {
		return "", ErrURL.With("reason", reason)
	}
	h, err := readHost(u.Hostname())
	if err != nil {
		return "", err
	}
	if err := h.check(policy); err != nil {
		if guessed && h.isWord() && strings.Trim(raw, " \t\r\n/") == u.Hostname() { // nobody means a host of a private network by it
			err = ErrURL.With("reason", "form")
		}
		return "", err
	}
	if guessed && h.isLocal() {
		u.Scheme = "http"
	}
	port, err := readPort(u)
	if err != nil {
		return "", err
	}
	prefix, err := readPrefix(u)
	if err != nil {
		return "", err
	}
	return strings.ToLower(u.Scheme) + "://" + h.text + port + prefix, nil
}

// withoutQuery returns an address without its fragment and query: an address copied from a browser may hold the
// state of the page there.
func withoutQuery(raw string) string {
	text, _, _ := strings.Cut(strings.TrimSpace(raw), "#")
	text, _, _ = strings.Cut(text, "?")
	return text
}

// normalizeDocumentURL returns the address of a document that a person named, without a fragment. The origin is
// written as by NormalizeURL; the path and the query are unchanged. It returns ErrURL and ErrTarget as NormalizeURL
// does, at the field.
func normalizeDocumentURL(raw string, policy Policy) (string, error) {
	at, err := wholeURL(raw, policy)
	if err != nil {
		return "", atDocument(err)
	}
	return at, nil
}

// HookURL returns the address to which messages are sent, with its path and query (secretURL). Its errors are at the field.
func HookURL(raw string, policy Policy) (string, error) {
	at, err := secretURL(raw, policy)
	if err != nil {
		return "", fault.Of(err).At(fault.Field{Loc: []any{"body", "url"}, Type: "value_error"})
	}
	return at, nil
}

// secretURL returns an address to which a secret or a message is sent, with its path and query. It is https; http is
// allowed where the policy allows the host and it is not public. It returns ErrURL and ErrTarget as NormalizeURL does.
func secretURL(raw string, policy Policy) (string, error) {
	at, err := wholeURL(raw, policy)
	if err != nil || !strings.HasPrefix(at, "http://") {
		return at, err
	}
	u, err := url.Parse(at)
	if err != nil {
		return "", ErrURL.With("reason", "form")
	}
	if h, err := readHost(u.Hostname()); err != nil || !h.isLocal() {
		return "", ErrURL.With("reason", "https")
	}
	return at, nil
}

// wholeURL returns an address with its path and query, without its fragment, and its origin as NormalizeURL writes it.
func wholeURL(raw string, policy Policy) (string, error) {
	text, _, _ := strings.Cut(strings.TrimSpace(raw), "#")
	if reason := textProblem(text); reason != "" {
		return "", ErrURL.With("reason", reason)
	}
	path, query, asks := strings.Cut(text, "?")
	authority := path
	if _, rest, ok := strings.Cut(path, "://"); ok {
		authority = rest
	}
	_, place, _ := strings.Cut(authority, "/")
	origin, err := NormalizeURL(strings.TrimSuffix(path, "/"+place), policy)
	if err != nil {
		return "", err
	}
	at := origin + "/" + place
	if asks {
		at += "?" + query
	}
	if _, err := url.Parse(at); err != nil {
		return "", ErrURL.With("reason", "form")
	}
	return at, nil
}

// atDocument attributes an error to the field of the document's address.
func atDocument(err error) error {
	return fault.Of(err).At(fault.Field{Loc: []any{"body", "document_url"}, Type: "value_error"})
}

// RedirectOrigin resolves the Location header of a response against the requested URL, and returns its origin for a
// person: scheme://host[:port]. The path and the query are left out, because they may hold secrets. It returns ""
// when the location is no HTTP address.
func RedirectOrigin(asked, location string) string {
	from, err := url.Parse(asked)
	if err != nil || location == "" {
		return ""
	}
	to, err := from.Parse(location)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" {
		return ""
	}
	h, err := readHost(to.Hostname())
	if err != nil {
		return ""
	}
	port, err := readPort(to)
	if err != nil {
		return ""
	}
	return to.Scheme + "://" + h.text + port
}

func textProblem(s string) string {
	switch {
	case s == "":
		return "empty"
	case len(s) > maxURL:
		return "too_long"
	case !utf8.ValidString(s):
		return "characters"
	case strings.ContainsFunc(s, func(r rune) bool { return isControl(r) || r == ' ' || r == '\\' || r == 0xa0 || r == 0xfeff }):
		return "characters"
	case strings.ContainsAny(s, "<>\"`{}|^"):
		return "characters"
	}
	return ""
}

func startsWithPort(s string) bool { return s != "" && '0' <= s[0] && s[0] <= '9' }

func partsProblem(u *url.URL, text string) string {
	authority := text[strings.Index(text, "://")+3:]
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "scheme"
	case u.User != nil || strings.Contains(authority, "@"):
		return "credentials"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "fragment"
	case u.RawQuery != "" || u.ForceQuery:
		return "query"
	case u.Opaque != "" || u.Hostname() == "":
		return "host"
	case strings.Contains(authority, "%"):
		return "host"
	}
	return ""
}

func readPort(u *url.URL) (string, error) {
	text := u.Port()
	if text == "" {
		if strings.HasSuffix(u.Host, ":") {
			return "", ErrURL.With("reason", "port")
		}
		return "", nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != text {
		return "", ErrURL.With("reason", "port")
	}
	if u.Scheme == "http" && n == 80 || u.Scheme == "https" && n == 443 {
		return "", nil
	}
	return ":" + text, nil
}

// documentation lists last segments that name documentation rather than a service.
var documentation = map[string]bool{
	"docs": true, "redoc": true, "swagger": true, "swagger-ui": true, "swagger-ui.html": true, "index.html": true,
	"openapi.json": true, "openapi.yaml": true, "openapi.yml": true, "swagger.json": true, "swagger.yaml": true,
	"swagger.yml": true, "api-docs": true, "api-docs.json": true, "api-docs.yaml": true,
}

func readPrefix(u *url.URL) (string, error) {
	escaped := u.EscapedPath()
	for part := range strings.SplitSeq(strings.Trim(escaped, "/"), "/") {
		if escaped == "" || strings.Trim(escaped, "/") == "" {
			break
		}
		if reason := unsafeSegment(Unescape(part)); reason != "" {
			return "", ErrURL.With("reason", "path")
		}
	}
	p := strings.TrimRight(escaped, "/")
	for p != "" && documentation[strings.ToLower(path.Base(p))] {
		cut := strings.ToLower(path.Base(p))
		p = strings.TrimRight(p[:strings.LastIndexByte(p, '/')], "/")
		last := path.Base(p)
		switch {
		case cut == "api-docs" && (last == "v2" || last == "v3"): // springdoc: /v3/api-docs
			p = p[:len(p)-len(last)-1]
		case strings.HasPrefix(cut, "swagger.") && strings.HasSuffix(p, "/swagger/"+last): // /swagger/v1/swagger.json
			p = strings.TrimSuffix(p, "/swagger/"+last)
		}
	}
	if p == "" {
		return "", nil
	}
	var b strings.Builder
	for part := range strings.SplitSeq(p[1:], "/") {
		b.WriteString("/" + escapeText(Unescape(part), pathMarks))
	}
	return b.String(), nil
}

// names returns the profile of IDNA 2008 that resolvers apply, with the length limits of DNS.
var names = sync.OnceValue(func() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(true))
})

// host is a host as it is written in a base URL. addr is set when the host is an address.
type host struct {
	text string
	addr netip.Addr
}

func readHost(name string) (host, error) {
	if strings.Contains(name, ":") { // IPv6, which url.Parse has taken out of its brackets
		a, err := netip.ParseAddr(name)
		if err != nil || a.Zone() != "" {
			return host{}, ErrURL.With("reason", "host")
		}
		return host{"[" + a.String() + "]", a}, nil
	}
	ascii, err := names().ToASCII(strings.TrimSuffix(name, "."))
	if err != nil {
		if ascii, err = plainName(name); err != nil {
			return host{}, err
		}
	}
	ascii = strings.ToLower(ascii)
	if len(ascii) > 253 || ascii == "" || strings.HasSuffix(name, "..") {
		return host{}, ErrURL.With("reason", "host")
	}
	if a, err := netip.ParseAddr(ascii); err == nil {
		return host{a.String(), a}, nil
	}
	if looksNumeric(ascii) { // 127.1, 0x7f000001, 017700000001, 2130706433: addresses in disguise
		return host{}, ErrURL.With("reason", "host")
	}
	return host{text: ascii}, nil
}

// plainName accepts names that IDNA refuses but networks use: letters, digits, hyphens and underscores.
func plainName(name string) (string, error) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.HasPrefix(label, "xn--") {
			return "", ErrURL.With("reason", "host")
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", ErrURL.With("reason", "host")
			}
		}
	}
	return name, nil
}

// looksNumeric reports whether resolvers could read a name as an IPv4 address: its last label is a number.
func looksNumeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if digits := strings.TrimPrefix(last, "0x"); digits != last {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func (h host) isLoopback() bool {
	if h.addr.IsValid() {
		return h.addr.IsLoopback() && !h.addr.Is4In6()
	}
	return h.text == "localhost" || strings.HasSuffix(h.text, ".localhost")
}

func (h host) isPrivate() bool {
	if h.addr.IsValid() {
		return h.addr.IsPrivate() && !h.addr.Is4In6()
	}
	return h.isWord() || strings.HasSuffix(h.text, ".local") ||
		strings.HasSuffix(h.text, ".internal") || strings.HasSuffix(h.text, ".lan") || strings.HasSuffix(h.text, ".home.arpa")
}

// isWord reports whether the host is a name without a dot, such as one that only a private network knows.
func (h host) isWord() bool {
	return !h.addr.IsValid() && !strings.Contains(h.text, ".") && !h.isLoopback()
}

func (h host) isLocal() bool { return h.isLoopback() || h.isPrivate() }

func (h host) check(p Policy) error {
	switch {
	case h.isLoopback():
		if p.AllowLoopback {
			return nil
		}
	case h.addr.IsValid() && p.Private.Contains(h.addr):
		return nil
	case h.text == "metadata.google.internal" || h.text == "instance-data.ec2.internal":
	case h.isPrivate():
		if !h.addr.IsValid() && len(p.Private) > 0 {
			return nil
		}
	case !h.addr.IsValid() || isPublic(h.addr):
		return nil
	}
	return ErrTarget.With("host", h.text)
}
