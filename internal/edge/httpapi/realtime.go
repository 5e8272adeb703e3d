package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// RealtimeAnswer is the address of the socket. The URL includes the ticket, because a browser cannot set a header
// on a socket.
type RealtimeAnswer struct {
	URL       string    `json:"url" doc:"to be opened as it is; it holds the ticket"`
	Ticket    string    `json:"ticket" doc:"good once"`
	ExpiresAt time.Time `json:"expires_at" doc:"of the ticket"`
}

func (a *api) realtime(ctx context.Context, _ *nothing) (*reply[RealtimeAnswer], error) {
	to := a.config.Realtime
	if to.URL == "" || to.Tickets == nil {
		return nil, errRealtime
	}
	ticket, expires, err := to.Tickets.Issue(ctx, caller(ctx), a.config.Now())
	if err != nil {
		return nil, err
	}
	address := requestInfoFrom(ctx).socket(to.URL) + "?" + url.Values{"ticket": {ticket}}.Encode()
	return answer(RealtimeAnswer{URL: address, Ticket: ticket, ExpiresAt: expires.UTC()}), nil
}

// socket completes an address that is only a path with the host of the request.
func (a requestInfo) socket(address string) string {
	if !strings.HasPrefix(address, "/") {
		return address
	}
	scheme := "ws://"
	if a.secure {
		scheme = "wss://"
	}
	return scheme + a.host + address
}

// isSecure reports whether the client uses TLS, also when a proxy terminates it.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
