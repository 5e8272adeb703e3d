package webui

import (
	"net"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"piloto/internal/ground/render"
)

// target is where a request goes, as it is shown.
type target struct {
	Origin render.HTML // scheme, host in punycode, port
	Also   render.HTML // the host as written, when that can mislead nobody
	Prefix string      // the path of the base URL, if any
	Marked bool
}

// targetOf reads a server's base URL. The host is shown as it is resolved: an
// international one in punycode, with its own letters beside it only when they
// are all of one alphabet.
func targetOf(base string) target {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil {
		return target{Origin: display(base)}
	}
	_, unicodeHost := hostForms(u.Hostname())
	t := target{Prefix: strings.TrimRight(u.EscapedPath(), "/")}
	p := pen{}
	p.text(u.Scheme + "://" + hostPort(u))
	t.Origin, t.Marked = p.html(), p.marked || unicodeHost != ""
	if unicodeHost != "" && oneScript(unicodeHost) && plain(unicodeHost) == unicodeHost {
		t.Also = display(unicodeHost)
	}
	return t
}

// hostPort is the authority of a URL with its host in ASCII.
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

// oneScript reports whether all letters of a host, its last label aside, are of
// one alphabet.
func oneScript(host string) bool {
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
