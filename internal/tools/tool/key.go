package tool

import (
	"slices"
	"strings"

	"piloto/internal/ground/fault"
)

// ownHeaders lists the headers that a key must not replace: they decide where a request goes, how it is framed, or
// its meaning.
var ownHeaders = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "expect",
	"forwarded", "host", "idempotency-key", "keep-alive", "last-event-id", "origin", "proxy-authorization", "proxy-connection", "referer",
	"te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-trace-id",
}

// cookieText reports whether a text can be the name or the value of a cookie (RFC 6265 §4.1.1).
func cookieText(s string) bool {
	return s != "" && len(s) <= maxSecret && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= 0x20 || r >= 0x7f || strings.ContainsRune(`",;\`, r)
	})
}

// placeKey checks a key and decides where it goes in a request: in the place that its owner chose, else in the
// first place that the document names, else as a bearer token. The address that exchanges it is judged as that of a
// service (secretURL), at the field whose parents are given. It returns nil for nil.
func (p Policy) placeKey(key *Credential, places []KeyPlace, parents ...any) (*Credential, error) {
	if key == nil {
		return nil, nil
	}
	c := *key
	if c.Place.In == "" {
		c.Place = KeyPlace{In: "bearer"}
		if len(places) > 0 {
			c.Place = places[0]
		}
	}
	if reason := c.problem(); reason != "" {
		return nil, ErrKey.With("reason", reason)
	}
	if c.Place.In == "oauth" {
		at, err := secretURL(c.Place.TokenURL, p)
		if err != nil {
			return nil, fault.Of(err).At(fault.Field{Loc: append(parents, "token_url"), Type: "value_error"})
		}
		c.Place.TokenURL = at
	}
	return &c, nil
}

func (c Credential) problem() string {
	switch c.Place.In {
	case "bearer":
		if c.Place.Name != "" {
			return "place"
		}
	case "header":
		if !headerName(c.Place.Name) || slices.Contains(ownHeaders, strings.ToLower(c.Place.Name)) ||
			strings.HasPrefix(strings.ToLower(c.Place.Name), "x-forwarded-") || strings.HasPrefix(strings.ToLower(c.Place.Name), "mcp-") {
			return "name"
		}
	case "query":
		if c.Place.Name == "" || len(c.Place.Name) > 100 || strings.ContainsFunc(c.Place.Name, isControl) {
			return "name"
		}
	case "cookie":
		if !headerName(c.Place.Name) {
			return "name"
		}
		if !cookieText(c.Secret) {
			return "secret"
		}
	case "oauth":
		if c.Place.Name == "" || len(c.Place.Name)+len(c.Place.Scope) > 1000 || strings.ContainsFunc(c.Place.Name+c.Place.Scope, isControl) {
			return "name"
		}
	default:
		return "place"
	}
	if c.Place.In != "oauth" && c.Place.TokenURL+c.Place.Scope != "" {
		return "place"
	}
	for _, b := range []byte(c.Secret) {
		if b < 0x20 || b > 0x7e {
			return "secret"
		}
	}
	if c.Secret == "" || len(c.Secret) > maxSecret || strings.TrimSpace(c.Secret) != c.Secret {
		return "secret"
	}
	return ""
}

func headerName(s string) bool {
	if s == "" || len(s) > 100 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return true
}
