// Package mcp wraps the SDK of the Model Context Protocol as a client of servers
// that somebody registered: it discovers their tools, and calls them.
//
// What stays true: a tool is called only while its live definition has the
// fingerprint that was approved; a tools/call is handed to the network once, and a
// second time only when the server refused the first because it forgot the session;
// what became of it is told exactly (not sent, lost, answered);
// a key goes to the server's own origin only, and is in no answer and no error;
// what a server asks of us (sampling, elicitation, roots) is declined; what it
// says of its tools can make them riskier and never safer; and every answer is
// bounded in size and time. Protocol versions 2024-11-05 to 2026-07-28 are spoken.
//
// The SDK negotiates and frames. All that touches the network goes through wire,
// which reads every answer itself: only there is it known what happened to a
// request.
package mcp

import (
	"context"
	"net/http"
	"time"

	"piloto/internal/tools/tool"
)

// Exchanger makes a credential that can be sent of one that cannot: what is in
// the place "oauth" becomes a bearer token, anything else stays as it is.
type Exchanger interface {
	// Exchange returns tool.ErrRefusedUs when the token endpoint refuses.
	Exchange(ctx context.Context, key tool.Credential) (tool.Credential, error)
	// Forget drops what Exchange gave for key, if it is still refused.
	Forget(key, refused tool.Credential)
}

// Options say how servers are called. HTTP must be guarded, and its transport an
// *http.Transport, of which calls get one that keeps no connection; redirects are not
// followed whatever it says. Bearer may be nil where no key is of the place "oauth".
type Options struct {
	HTTP     *http.Client
	Bearer   Exchanger
	Now      func() time.Time
	Timeout  time.Duration // of one exchange, its answer included; default that of HTTP, else 30 s
	Sessions int           // that are kept for reuse; default 64
	Idle     time.Duration // after which a session is closed; default 5 min
}
