package rate

import (
	"net"
	"net/netip"

	"piloto/internal/ground/ids"
)

// Subject is whose quota is taken from.
type Subject struct {
	account string // "": nobody was identified
	name    string
}

// User is a user of an account, with all of their tokens and sessions: what one token
// makes are more sessions, and no more quota.
func User(account, user string) Subject { return Subject{account, "user " + user} }

// Webhook is a webhook of an account.
func Webhook(account, id string) Subject { return Subject{account, "webhook " + id} }

// Socket is one connection, by its id.
func Socket(id string) Subject { return Subject{name: "socket " + id} }

// Address is where requests come from: an address, or "host:port". Of IPv6 it is the
// network of 64 bits, which is one subscriber's at least.
func Address(remote string) Subject {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		remote = host
	}
	ip, err := netip.ParseAddr(remote)
	if err != nil {
		return Subject{name: "address"} // all that say none share one
	}
	ip = ip.Unmap().WithZone("")
	if network, err := ip.Prefix(64); ip.Is6() && err == nil {
		return Subject{name: "address " + network.String()}
	}
	return Subject{name: "address " + ip.String()}
}

// Pages is whose quota is taken from by what other pages have a browser at an address send.
func (w Subject) Pages() Subject { return Subject{w.account, "pages at " + w.name} }

// Links is whose quota is taken from by the addresses that other pages have a browser open. What
// they have it load, which takes no click, keeps nobody from following a link.
func (w Subject) Links() Subject { return Subject{w.account, "links at " + w.name} }

// key is what a quota is stored under: of one length, and it names nobody.
func (w Subject) key(c Class) string {
	return string(c) + "#" + ids.Hash(w.account+"\x00"+w.name)
}
