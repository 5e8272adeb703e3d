package webui

import (
	"net"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"piloto/internal/ground/render"
)

// target is the visible target of a request.
type target struct {
	Origin render.HTML // scheme, host in punycode, port
	Also   render.HTML // the host in its own letters, when they cannot mislead
	Prefix string      // path of the base URL, if any
	Marked bool
}

// targetOf parses a server's base URL. The host is shown as it is resolved: an international one in punycode, and
// in its own letters only when they are all of one alphabet.
func targetOf(base string) target {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil {
		return target{Origin: display(base)}
	}
	_, unicodeHost := hostForms(u.Hostname())
	t := target{Prefix: strings.TrimRight(u.EscapedPath(), "/")}
	p := visibleWriter{}
	p.text(u.Scheme + "://" + hostPort(u))
	t.Origin, t.Marked = p.html(), p.marked || unicodeHost != ""
	if unicodeHost != "" && isOneScript(unicodeHost) && plain(unicodeHost) == unicodeHost {
		t.Also = display(unicodeHost)
	}
	return t
}

// hostPort returns the authority of a URL with its host in ASCII.
func hostPort(u *url.URL) string {
	host, _ := hostForms(u.Hostname())
	switch {
	case u.Port() != "":
		return net.JoinHostPort(host, u.Port())
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}

// hostForms returns a host in ASCII, and in its own letters when they differ.
func hostForms(host string) (ascii, own string) {
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		if ascii, err = idna.Punycode.ToASCII(host); err != nil {
			ascii = host
		}
	}
	if own, err = idna.Punycode.ToUnicode(ascii); err != nil || own == ascii {
		return ascii, ""
	}
	return ascii, own
}

// isOneScript reports whether all letters of a host, except its last label, are of one alphabet.
func isOneScript(host string) bool {
	if i := strings.LastIndexByte(host, '.'); i >= 0 {
		host = host[:i]
	}
	var seen *unicode.RangeTable
	for _, r := range host {
		if !unicode.IsLetter(r) {
			continue
		}
		script := scriptOf(r)
		if script == nil || seen != nil && seen != script {
			return false
		}
		seen = script
	}
	return true
}
