package mcp

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"piloto/internal/tools/tool"
)

// unauthorized returns the reason of a 401 or 403: ErrSignIn where the server wants OAuth, or else ErrUnauthorized. A
// server wants OAuth when it names the metadata of that (RFC 9728), or when it asks a request without a key for a bearer token.
// Before a call a bare 401 asks for one, too, as servers of the specification before that do. A key whose scope is too small is
// one that the server knows (RFC 6750).
func (e *exchanges) unauthorized(x *exchange) error {
	status := strconv.Itoa(x.status)
	asks := strings.ToLower(strings.Join(x.header.Values("WWW-Authenticate"), ", "))
	keyless := len(e.keys) == 0
	switch {
	case e.exchanged, !keyless && strings.Contains(asks, "insufficient_scope"):
	case strings.Contains(asks, "resource_metadata"), keyless && strings.Contains(asks, "bearer"),
		keyless && asks == "" && x.status == http.StatusUnauthorized && x.method != methodCall:
		return tool.ErrSignIn.With("status", status)
	}
	return tool.ErrUnauthorized.With("status", status)
}

// isUnauthorized reports whether a server refused a request because of who sent it.
func isUnauthorized(err error) bool {
	return errors.Is(err, tool.ErrUnauthorized) || errors.Is(err, tool.ErrSignIn)
}
