package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

// posts records the messages that are posted to a server: their methods, the ids of the calls, and what was cancelled.
type posts struct {
	http.Handler
	mu              sync.Mutex
	methods         []string
	called, cancels []string
}

func (p *posts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ RequestID json.RawMessage }
	}
	_ = json.Unmarshal(body, &m)
	p.mu.Lock()
	p.methods = append(p.methods, r.Method+" "+m.Method)
	switch m.Method {
	case "tools/call":
		p.called = append(p.called, string(m.ID))
	case "notifications/cancelled":
		p.cancels = append(p.cancels, string(m.Params.RequestID))
	}
	p.mu.Unlock()
	p.Handler.ServeHTTP(w, r)
}

// A server hears that nobody waits for a call any more, once, by the id of the call: it may stop what it does. Since 2026-07-28
// the end of the connection says it. The call is in doubt all the same, and is not sent again.
func TestACallThatNobodyWaitsForIsCancelled(t *testing.T) {
	for _, v := range versions {
		for name, c := range map[string]struct {
			slow  bool
			leave bool // the caller leaves, and does not wait for the end of the time
			want  int
		}{"it is too slow": {true, false, 1}, "its caller leaves": {true, true, 1}, "it answers": {false, false, 0}} {
			t.Run(v.name+", "+name, func(t *testing.T) {
				t.Parallel()
				over := make(chan struct{})
				defer close(over)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				server := sdk.NewServer(&sdk.Implementation{Name: "slow", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: v.only})
				server.AddTool(&sdk.Tool{Name: "do", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(of context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					if c.leave {
						cancel()
					}
					if c.slow {
						select {
						case <-over:
						case <-of.Done():
						}
					}
					return text("done"), nil
				})
				p := &posts{Handler: mount("/mcp", v.via, v.only == nil, server)} // which speaks the newest version where it keeps no session
				s := serve(t, p)
				at, ops := register(t, s.URL+"/mcp", nil)
				caller := client(t, func(o *mcp.Options) { o.Patience = 3 * time.Second })
				_, err := caller.CallTool(ctx, callOf(at, ops["do"], `{}`))
				if c.slow != errors.Is(err, tool.ErrLost) {
					t.Errorf("%v", err)
				}
				_ = caller.Close()
				want := c.want
				if v.name == "2026-07-28" {
					want = 0
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				if len(p.called) != 1 || len(p.cancels) != want || want == 1 && p.cancels[0] != p.called[0] {
					t.Errorf("called %v, cancelled %v: %q", p.called, p.cancels, p.methods)
				}
			})
		}
	}
}
