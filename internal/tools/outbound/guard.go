// Package outbound wraps net/http as a client for registered services: hosts that may be hostile, slow, or at a
// wrong address.
//
// These invariants hold. No connection is opened to an address that the deployment does not allow, however its name
// was resolved. No request is redirected or proxied, and no state is kept between requests. An unsafe request
// reaches the network at most once. A key is sent only to the origin that it was registered for, and no error
// contains it. Every answer is limited in time and size.
package outbound

import (
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"

	"piloto/internal/tools/tool"
)

// guard checks the resolved address of every connection.
type guard struct {
	never    tool.Networks // refused even when other options allow them
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

// control implements Control of net.Dialer.
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
