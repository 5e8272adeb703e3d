package mcp

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"piloto/internal/tools/tool"
)

// unauthorized returns the reason of a 401 or 403: ErrSignIn where the server wants OAuth, or else ErrUnauthorized. A
// server wants OAuth when it names the metadata of that (RFC 9728), or when it answers a handshake without a key with a
// bare 401, as servers of the specification before it do.
func (e *exchanges) unauthorized(x *exchange) error {
	status := strconv.Itoa(x.status)
	handshake := x.method != methodList && x.method != methodCall
	asks := strings.ToLower(strings.Join(x.header.Values("WWW-Authenticate"), ", "))
	switch {
	case x.status != http.StatusUnauthorized, e.exchanged:
	case strings.Contains(asks, "resource_metadata"), handshake && len(e.keys) == 0 && (asks == "" || strings.Contains(asks, "bearer")):
		return tool.ErrSignIn.With("status", status)
	}
	return tool.ErrUnauthorized.With("status", status)
}

// isUnauthorized reports whether a server refused a request because of who sent it.
func isUnauthorized(err error) bool {
	return errors.Is(err, tool.ErrUnauthorized) || errors.Is(err, tool.ErrSignIn)
}
