package visible

import (
	"net"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// An Address is the address to which a request goes, in the form in which it is resolved.
type Address struct {
	Origin string // scheme, host in punycode, port
	Own    string // the host in its own letters, when it has others than ASCII and they cannot mislead
	Prefix string // path of the address, if any, as it is sent
	Marked bool   // the host is not ASCII, or has a character that is invisible
}

// AddressOf parses the base URL of a server. ok is false when it has no host, or a password.
func AddressOf(base string) (a Address, ok bool) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil {
		return a, false
	}
	_, own := hostForms(u.Hostname())
	a = Address{Origin: u.Scheme + "://" + HostPort(u), Prefix: strings.TrimRight(u.EscapedPath(), "/"), Marked: own != ""}
	if own != "" && isOneScript(own) && Line(own) == own {
		a.Own = own
	}
	a.Marked = a.Marked || Line(a.Origin) != a.Origin
	return a, true
}

// HostPort returns the authority of a URL with its host in ASCII.
func HostPort(u *url.URL) string {
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
