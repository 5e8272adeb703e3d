package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// versions lists all supported versions, and how their servers are reached.
var versions = []struct {
	name string
	via  tool.Transport
	only []string // of the SDK's server; nil: all
}{
	{"2026-07-28", tool.TransportStreamable, nil},
	{"2025-11-25", tool.TransportStreamable, []string{"2025-11-25"}},
	{"2025-06-18", tool.TransportStreamable, []string{"2025-06-18"}},
	{"2025-03-26", tool.TransportStreamable, []string{"2025-03-26"}},
	{"2024-11-05", tool.TransportStreamable, []string{"2024-11-05"}},
	{"2024-11-05 SSE", tool.TransportSSE, []string{"2024-11-05"}},
}

// site is a real server that records its requests.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
}

func (s *site) requests(match func(*http.Request) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.seen {
		if match(r) {
			n++
		}
	}
	return n
}

func (s *site) last() *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[len(s.seen)-1]
}

func serve(t *testing.T, h http.Handler) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Clone(context.WithoutCancel(r.Context())))
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// mount serves an SDK server at a path, over one transport.
func mount(at string, via tool.Transport, stateless bool, server *sdk.Server) http.Handler {
	get := func(*http.Request) *sdk.Server { return server }
	mux := http.NewServeMux()
	if via == tool.TransportSSE {
		mux.Handle(at, sdk.NewSSEHandler(get, nil))
	} else {
		mux.Handle(at, sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: stateless}))
	}
	return mux
}

func client(t *testing.T, change ...func(*mcp.Options)) *mcp.Client {
	t.Helper()
	transport := &http.Transport{}
	opts := mcp.Options{HTTP: &http.Client{Transport: transport, Timeout: 5 * time.Second}, Now: time.Now}
	for _, f := range change {
		f(&opts)
	}
	c := mcp.NewClient(opts)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	return c
}

func discoverer(t *testing.T) mcp.Discoverer {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return mcp.Discoverer{Client: &http.Client{Transport: transport}, Each: 2 * time.Second, Total: 5 * time.Second}
}

// register discovers a server as registration does.
func register(t *testing.T, base string, key tool.Keys) (tool.Server, map[string]tool.Operation) {
	t.Helper()
	found, err := discoverer(t).Discover(t.Context(), tool.Target{Base: base, Keys: key})
	if err != nil {
		t.Fatalf("discovery: %v", err)
	}
	return asServer(found), byName(found)
}

func asServer(f tool.Found) tool.Server {
	return tool.Server{ID: "s1", Kind: tool.KindMCP, BaseURL: f.BaseURL, Transport: f.Transport, Active: true}
}

func byName(f tool.Found) map[string]tool.Operation {
	ops := map[string]tool.Operation{}
	for _, op := range f.Operations {
		op.Fingerprint = tool.Fingerprint(f.BaseURL, op)
		ops[op.Name] = op
	}
	return ops
}

func callOf(s tool.Server, op tool.Operation, arguments string) tool.Call {
	return tool.Call{Server: s, Tool: op.Name, Fingerprint: op.Fingerprint, Arguments: json.RawMessage(arguments), Limit: 1 << 20}
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// echo returns a server whose tool returns its arguments as they were written.
func echo(only ...string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "echo", Title: "Echo", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: slices.Clone(only)})
	s.AddTool(&sdk.Tool{
		Name: "echo", Title: "Says it again", Description: "First line.\nSecond line.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
	}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{
			Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}},
			Meta:    sdk.Meta{"seen": r.Params.Meta["piloto/idempotency-key"]},
		}, nil
	})
	return s
}

func isCall(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Idempotency-Key"), "run-") }
