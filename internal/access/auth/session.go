package auth

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Durations of a session: SessionIdle after its last use, and at most SessionLife. A session is
// renewed at most once in renewEvery, so it may end earlier by that time.
const (
	SessionIdle = 12 * time.Hour
	SessionLife = 7 * 24 * time.Hour
	renewEvery  = time.Hour
)

// SecureCookie is the name of the session cookie over TLS. Browsers accept it only from its own
// host, and send it only there.
const SecureCookie = "__Host-piloto_session"

// SessionCookie returns the name of the cookie with a session's secret, for a client with or
// without TLS and a host ("localhost:8080"). Cookies do not depend on the port. So without TLS
// the name contains the port, and two deployments on one machine have a session each.
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

// maxSessions bounds the number of cookies of one name that are checked.
const maxSessions = 8

// Sessions returns the secrets in the cookies of one name, in the order in which to check them:
// the last first. There may be several, because another server of the host, on another port, can
// set a cookie of the same name for a longer path. Browsers send those first, and ours, which is
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

// ByTLS reports whether, by X-Forwarded-Proto, the client used TLS. The first of several proxies
// is the one that the client connected to.
func ByTLS(forwardedProto string) bool {
	first, _, _ := strings.Cut(forwardedProto, ",")
	return strings.EqualFold(strings.TrimSpace(first), "https")
}

// end returns when a token expires; zero: never. A session ends at the latest SessionLife after
// its start.
func (t Token) end() time.Time {
	if t.Kind == KindSession {
		return earlier(t.ExpiresAt, t.CreatedAt.Add(SessionLife))
	}
	return t.ExpiresAt
}

// renew records the use of a session at a time: it then ends SessionIdle later, but within
// SessionLife.
func (t Token) renew(ctx context.Context, store Store, at time.Time) error {
	until := at.Add(SessionIdle)
	if t.Kind != KindSession || until.Sub(t.ExpiresAt) < renewEvery {
		return nil
	}
	return store.RenewToken(ctx, t.Hash, until)
}
