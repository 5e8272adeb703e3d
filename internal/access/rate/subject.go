package rate

import (
	"net"
	"net/netip"

	"piloto/internal/ground/ids"
)

// Subject is the owner of a quota.
type Subject struct {
	account ids.Account // "": no principal
	name    string
}

// User returns the subject of a user of an account, with all of their tokens and sessions: a
// token can create more sessions, but no more quota.
func User(account ids.Account, user string) Subject { return Subject{account, "user " + user} }

// Webhook returns the subject of a webhook of an account.
func Webhook(account ids.Account, id string) Subject { return Subject{account, "webhook " + id} }

// Socket returns the subject of one connection, by its ID.
func Socket(id string) Subject { return Subject{name: "socket " + id} }

// Address returns the subject of a remote address, with or without a port. For IPv6 it is the
// network of 64 bits, because a subscriber has at least one.
func Address(remote string) Subject {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		remote = host
	}
	ip, err := netip.ParseAddr(remote)
	if err != nil {
		return Subject{name: "address"} // all requests without an address share one subject
	}
	ip = ip.Unmap().WithZone("")
	if network, err := ip.Prefix(64); ip.Is6() && err == nil {
		return Subject{name: "address " + network.String()}
	}
	return Subject{name: "address " + ip.String()}
}

// Pages returns the subject for requests that other pages make a browser at the address send.
func (w Subject) Pages() Subject { return Subject{w.account, "pages at " + w.name} }

// Links returns the subject for addresses that other pages make a browser open. It is separate
// from Pages, so that loads without a click do not prevent a user from following a link.
func (w Subject) Links() Subject { return Subject{w.account, "links at " + w.name} }

// key returns the storage key of a quota. Keys have the same length, and contain no names.
func (w Subject) key(c Class) string {
	return string(c) + "#" + ids.Hash(string(w.account)+"\x00"+w.name)
}
