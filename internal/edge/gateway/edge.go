package gateway

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// Edge is the distribution in front of the API, which people's browsers talk to. The zero Edge is no distribution.
//
// The distribution adds a secret to each request. Without it anybody could write the name of the page's host, and the
// address of another client, into a request to the API's own host, which stays reachable.
type Edge struct {
	Domain string // host of the page
	Secret string // value of SecretHeader; empty: no request came through the distribution
}

// SecretHeader is the header in which the distribution proves that it sent a request.
const SecretHeader = "X-Edge-Secret"

// sender returns the host that the client asked for, and the address of the client. Both are those of the connection
// unless the distribution sent the request. It removes the secret from the header.
func (edge Edge) sender(h http.Header, host, address string) (string, string) {
	said := strings.Join(h.Values(SecretHeader), ",")
	h.Del(SecretHeader)
	if edge.Secret == "" || subtle.ConstantTimeCompare([]byte(said), []byte(edge.Secret)) != 1 {
		return host, address
	}
	if client := forwardedFor(h.Values("X-Forwarded-For"), address); client != "" {
		address = client
	}
	return edge.Domain, address
}

// forwardedFor returns the address that a proxy put at the end of X-Forwarded-For. Addresses before that are the client's
// own statement. API Gateway adds the address of the proxy, which is dropped.
func forwardedFor(values []string, proxy string) string {
	for _, address := range slices.Backward(strings.Split(strings.Join(values, ","), ",")) {
		if address = strings.TrimSpace(address); address != proxy {
			return address
		}
	}
	return ""
}
