// Package outbound wraps net/http as a client for services somebody registered:
// hosts that may be hostile, slow, or in the wrong place.
//
// What stays true: no connection is opened to an address the deployment does not
// allow, however its name was resolved; nothing is redirected, proxied or
// remembered between requests; an unsafe request reaches the network at most
// once; a key leaves only towards the origin it was registered for and is in no
// error; and every answer is bounded in time and size.
package outbound

import (
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"

	"piloto/internal/tool"
)

// guard decides at every connection, on the address that was resolved.
type guard struct {
	always   []netip.Prefix
	guardian *ssrf.Guardian
}

func newGuard(allowLoopback, allowPrivate bool) guard {
	var v4, v6 []netip.Prefix
	if allowLoopback {
		v4 = append(v4, netip.MustParsePrefix("127.0.0.0/8"))
		v6 = append(v6, netip.MustParsePrefix("::1/128"))
	}
	if allowPrivate {
		v4 = append(v4, netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"))
		v6 = append(v6, netip.MustParsePrefix("fc00::/7"))
	}
	return guard{
		always: []netip.Prefix{ // whatever is allowed: the metadata services of clouds
			netip.MustParsePrefix("169.254.0.0/16"),
			netip.MustParsePrefix("168.63.129.16/32"),
			netip.MustParsePrefix("100.100.100.200/32"),
			netip.MustParsePrefix("192.0.0.192/32"),
			netip.MustParsePrefix("fd00:ec2::/32"),
			netip.MustParsePrefix("fd20:ce::/32"),
		},
		guardian: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)),
	}
}

// control is a net.Dialer's Control.
func (g guard) control(network, address string, c syscall.RawConn) error {
	if to, err := netip.ParseAddrPort(address); err == nil {
		for _, p := range g.always {
			if p.Contains(to.Addr().WithZone("")) {
				return tool.ErrTarget
			}
		}
	}
	if err := g.guardian.Safe(network, address, c); err != nil {
		return tool.ErrTarget.Because(err)
	}
	return nil
}
