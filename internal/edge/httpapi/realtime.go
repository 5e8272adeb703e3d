package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// RealtimeAnswer is where a client opens its socket. The URL carries the ticket
// already, since a browser can set no header on a socket.
type RealtimeAnswer struct {
	URL       string    `json:"url" doc:"to be opened as it is; it holds the ticket"`
	Ticket    string    `json:"ticket" doc:"good once"`
	ExpiresAt time.Time `json:"expires_at" doc:"of the ticket"`
}

func (s records) realtime(ctx context.Context, _ *nothing) (*reply[RealtimeAnswer], error) {
	to := s.config.Realtime
	if to.URL == "" || to.Tickets == nil {
		return nil, errRealtime
	}
	ticket, expires, err := to.Tickets.Issue(ctx, caller(ctx), s.config.Now())
	if err != nil {
		return nil, err
	}
	address := askedFrom(ctx).socket(to.URL) + "?" + url.Values{"ticket": {ticket}}.Encode()
	return answer(RealtimeAnswer{URL: address, Ticket: ticket, ExpiresAt: expires.UTC()}), nil
}

// socket completes an address that is only a path with the host that was asked.
func (a asked) socket(address string) string {
	if !strings.HasPrefix(address, "/") {
		return address
	}
	scheme := "ws://"
	if a.secure {
		scheme = "wss://"
	}
	return scheme + a.host + address
}

// secure reports whether the client came by TLS, also when it ended before us.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
