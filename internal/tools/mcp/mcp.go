// Package mcp is a client of registered servers that speak the Model Context Protocol. It wraps the official SDK,
// discovers the tools of a server, and calls them.
//
// These invariants hold. A tool is called only while its current definition has the approved fingerprint. A
// tools/call is handed to the network once, and a second time only when the server refused the first because it
// forgot the session. The outcome is reported exactly (not sent, lost, answered). A key goes only to the server's
// own origin, and no answer and no error contains it. Requests of the server (sampling, elicitation, roots) are
// declined. A server's description of its tools can raise their risk and never lower it. Every answer is limited in
// size and time. The protocol versions are 2024-11-05 to 2026-07-28.
//
// The SDK negotiates and frames. All network traffic goes through wire, which reads every answer itself, because
// only there it is known whether a request was sent.
package mcp

import (
	"context"
	"net/http"
	"time"

	"piloto/internal/tools/tool"
)

// Exchanger turns a credential into one that can be sent: it exchanges a credential of the place "oauth" for a
// bearer token, and returns any other unchanged.
type Exchanger interface {
	// Exchange returns tool.ErrUnauthorized when the token endpoint refuses.
	Exchange(ctx context.Context, key tool.Credential) (tool.Credential, error)
	// Forget drops the token that Exchange returned for key, if it is still the refused one.
	Forget(key tool.Credential, refused string)
}

// Options configures a Client. HTTP must be guarded, and its transport an *http.Transport: calls use a copy of it
// that keeps no connection. Redirects are never followed. Bearer may be nil when no key is of the place "oauth".
type Options struct {
	HTTP     *http.Client
	Bearer   Exchanger
	Now      func() time.Time
	Timeout  time.Duration // limit of one exchange with its answer, and of the preparation of a call; default that of HTTP, else 30 s; at most tool.PrepareTime
	Patience time.Duration // how long a call may take without news of its progress; default Timeout
	Sessions int           // maximum number of sessions kept for reuse; default 64
	Idle     time.Duration // idle time after which a session is closed; default 5 min
}
