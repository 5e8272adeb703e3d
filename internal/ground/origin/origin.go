// Package origin owns the origin of an address: its scheme, host and port, as RFC 6454 has it.
package origin

import (
	"net/url"
	"strings"
)

// Of returns the origin of an address as it is written, without a password, a path and a query: https://example.com:8443.
// It returns "" when there is no host.
func Of(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Same reports whether two addresses have the same origin. One without a host is the same as none.
func Same(a, b string) bool {
	from := Of(a)
	return from != "" && strings.EqualFold(from, Of(b))
}
