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

	"piloto/internal/tools/tool"
)

// guard decides at every connection, on the address that was resolved.
type guard struct {
	never    tool.Networks // whatever is allowed
	guardian *ssrf.Guardian
}

func newGuard(allowLoopback bool, private tool.Networks) guard {
	var v4, v6 []netip.Prefix
	if allowLoopback {
		v4 = append(v4, netip.MustParsePrefix("127.0.0.0/8"))
		v6 = append(v6, netip.MustParsePrefix("::1/128"))
	}
	for _, p := range private {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return guard{
		never:    tool.Metadata(),
		guardian: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)),
	}
}

// control is a net.Dialer's Control.
func (g guard) control(network, address string, c syscall.RawConn) error {
	if to, err := netip.ParseAddrPort(address); err == nil {
		for _, p := range g.never {
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
