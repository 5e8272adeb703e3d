package rate

import (
	"net"
	"net/netip"

	"piloto/internal/ground/ids"
)

// Who is whose quota is taken from.
type Who struct {
	account string // "": nobody was identified
	name    string
}

// User is a user of an account, with all of their tokens and sessions: what one token
// makes are more sessions, and no more quota.
func User(account, user string) Who { return Who{account, "user " + user} }

// Webhook is a webhook of an account.
func Webhook(account, id string) Who { return Who{account, "webhook " + id} }

// Socket is one connection, by its id.
func Socket(id string) Who { return Who{name: "socket " + id} }

// Address is where requests come from: an address, or "host:port". Of IPv6 it is the
// network of 64 bits, which is one subscriber's at least.
func Address(remote string) Who {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		remote = host
	}
	ip, err := netip.ParseAddr(remote)
	if err != nil {
		return Who{name: "address"} // all that say none share one
	}
	ip = ip.Unmap().WithZone("")
	if network, err := ip.Prefix(64); ip.Is6() && err == nil {
		return Who{name: "address " + network.String()}
	}
	return Who{name: "address " + ip.String()}
}

// Pages is whose quota is taken from by what other pages have a browser at an address send.
func (w Who) Pages() Who { return Who{w.account, "pages at " + w.name} }

// Links is whose quota is taken from by the addresses that other pages have a browser open. What
// they have it load, which takes no click, keeps nobody from following a link.
func (w Who) Links() Who { return Who{w.account, "links at " + w.name} }

// key is what a quota is stored under: of one length, and it names nobody.
func (w Who) key(c Class) string {
	return string(c) + "#" + ids.Hash(w.account+"\x00"+w.name)
}
