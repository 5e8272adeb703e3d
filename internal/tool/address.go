package tool

import (
	"net/netip"
	"sync"
)

// reserved are the address blocks that are not the public Internet, beside those
// netip names (IANA special-purpose registries, and Azure's wire server).
var reserved = sync.OnceValue(func() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
		"192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
		"240.0.0.0/4", "168.63.129.16/32",
		"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
	)
})

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

// public reports whether an address is on the public Internet: what a deployment
// may reach without saying so. IPv4 inside IPv6 (mapped, NAT64, 6to4) never is.
func public(a netip.Addr) bool {
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return false
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range reserved() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
