package tool

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// reserved lists the address blocks that are not on the public Internet, beside those that netip recognises. The
// sources are the IANA special-purpose registries; 168.63.129.16 is the wire server of Azure.
var reserved = sync.OnceValue(func() []netip.Prefix {
	return parsePrefixes(
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
		"192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
		"240.0.0.0/4", "168.63.129.16/32",
		"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
	)
})

func parsePrefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

// lanNetworks returns the networks that a deployment may be configured to reach: networks of organisations (RFC
// 1918 and unique local addresses), and of carriers and VPNs (RFC 6598).
var lanNetworks = sync.OnceValue(func() Networks {
	return parsePrefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
})

// Metadata returns the addresses at which clouds serve the credentials of a machine, and the link-local block. No
// configuration allows them.
var Metadata = sync.OnceValue(func() Networks {
	return parsePrefixes("169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::/32")
})

// Networks lists the private networks that a deployment may reach.
type Networks []netip.Prefix

// AnyNetwork returns all private networks that a deployment can be configured to reach.
func AnyNetwork() Networks { return lanNetworks() }

// Contains reports whether one of the networks contains the address. It is false for every metadata address.
func (n Networks) Contains(a netip.Addr) bool {
	has := func(p netip.Prefix) bool { return p.Contains(a.WithZone("")) }
	return slices.ContainsFunc(n, has) && !slices.ContainsFunc(Metadata(), has)
}

// String writes the networks in the form that ParseNetworks reads.
func (n Networks) String() string {
	texts := make([]string, len(n))
	for i, p := range n {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}

// ParseNetworks reads networks (192.168.1.0/24) and addresses, separated by commas or blanks. Each must lie in a
// private network: 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10 or fc00::/7. Loopback, link-local,
// public and metadata addresses are errors.
func ParseNetworks(text string) (Networks, error) {
	var list Networks
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) }) {
		p, err := netip.ParsePrefix(word)
		if a, single := netip.ParseAddr(word); single == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no network: write one as 192.168.1.0/24", word)
		}
		if !slices.ContainsFunc(lanNetworks(), func(all netip.Prefix) bool { return all.Overlaps(p) && all.Bits() <= p.Bits() }) {
			return nil, fmt.Errorf("%s is not private: allowed are networks within %s", word, lanNetworks())
		}
		if slices.ContainsFunc(Metadata(), func(m netip.Prefix) bool { return m.Bits() <= p.Bits() && m.Overlaps(p) }) {
			return nil, fmt.Errorf("%s is of metadata, which is never reached", word)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Networks) UnmarshalText(text []byte) (err error) {
	*n, err = ParseNetworks(string(text))
	return err
}

// isPublic reports whether an address is on the public Internet: a deployment may reach it without any
// configuration. IPv4 inside IPv6 (mapped, NAT64, 6to4) is never public.
func isPublic(a netip.Addr) bool {
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
