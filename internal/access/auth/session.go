package auth

import (
	"context"
	"slices"
	"strings"
	"time"
)

// How long a session lasts: SessionIdle after it was last used, and SessionLife in all.
// What is used all the time is written once in renewEvery, so a session may end that
// much sooner.
const (
	SessionIdle = 12 * time.Hour
	SessionLife = 7 * 24 * time.Hour
	renewEvery  = time.Hour
)

// SecureCookie is the name of the cookie of a session that came by TLS. Browsers take
// it from its own host alone, and send it there alone.
const SecureCookie = "__Host-piloto_session"

// SessionCookie is the name of the cookie that holds a session's secret, for a client
// that came by TLS or not, to a host ("localhost:8080"). Cookies do not know ports: what
// came without TLS has the port in its name, so that two deployments on one machine
// keep a session each.
func SessionCookie(secure bool, host string) string {
	if secure {
		return SecureCookie
	}
	port := host[strings.LastIndexByte(host, ':')+1:]
	if port == "" || port == host || strings.Trim(port, "0123456789") != "" {
		port = "80"
	}
	return "piloto_session_" + port
}

// maxSessions is how many cookies of one name are looked at.
const maxSessions = 8

// Sessions returns the secrets in the cookies of one name, in the order to look at them: the
// last first. There may be several, because another server of the host, on another port, can
// set one of the same name for a longer path. Browsers send those first, and ours, which is
// for every path, last.
func Sessions(cookies []string) []string {
	var secrets []string
	for _, secret := range slices.Backward(cookies) {
		if secret != "" && len(secrets) < maxSessions && !slices.Contains(secrets, secret) {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}

// ByTLS reports whether X-Forwarded-Proto says that the client came by TLS. Of several
// proxies the first one saw the client.
func ByTLS(forwardedProto string) bool {
	first, _, _ := strings.Cut(forwardedProto, ",")
	return strings.EqualFold(strings.TrimSpace(first), "https")
}

// end is when a token ends; zero: never. A session ends SessionLife after it began, however
// much it is used.
func (t Token) end() time.Time {
	if t.Kind == KindSession {
		return earlier(t.ExpiresAt, t.CreatedAt.Add(SessionLife))
	}
	return t.ExpiresAt
}

// renew notes that a session is used at a time: it then ends SessionIdle later, unless it is
// over before that.
func (t Token) renew(ctx context.Context, store Store, at time.Time) error {
	until := at.Add(SessionIdle)
	if t.Kind != KindSession || until.Sub(t.ExpiresAt) < renewEvery {
		return nil
	}
	return store.RenewToken(ctx, t.Hash, until)
}
