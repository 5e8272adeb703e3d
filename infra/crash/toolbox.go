package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agentName is the agent's name in decisions.
const agentName = "almacen"

// toolbox holds two servers with the Model Context Protocol: one with tools, and an agent. Each
// call is recorded in the service's ledger first.
type toolbox struct {
	url, agent string // URLs of the two
	server     *http.Server
	ledger     *service
}

// calledTool is the method of recorded calls.
const calledTool = "CALL"

func newToolbox(ledger *service) (*toolbox, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	origin := "http://" + l.Addr().String()
	b := &toolbox{url: origin + "/tools", agent: origin + "/agent", ledger: ledger}
	mux := http.NewServeMux()
	mux.Handle("/tools", b.recordCalls("", notes()))
	mux.Handle("/agent", b.recordCalls("agent:", concierge(ledger)))
	b.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = b.server.Serve(l) }()
	return b, nil
}

func (b *toolbox) close() { _ = b.server.Close() }

// notes returns a server with a tool that reads, one that must be called once, and one that it
// declares repeatable. The declaration alone must have no effect.
func notes() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	type note struct {
		ID   string `json:"id,omitempty"`
		Text string `json:"text,omitempty"`
	}
	said := func(_ context.Context, r *mcp.CallToolRequest, _ note) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hecho: " + r.Params.Name}}}, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "read_note", Description: "Lee una nota", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, said)
	mcp.AddTool(server, &mcp.Tool{Name: "add_note", Description: "Añade una nota"}, said)
	mcp.AddTool(server, &mcp.Tool{Name: "set_note", Description: "Cambia una nota", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}, said)
	return server
}

// concierge returns an agent that gives a different reply each time, even to the same message.
func concierge(ledger *service) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	type said struct {
		Message string         `json:"message"`
		Session string         `json:"session_id"`
		Context map[string]any `json:"context"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "chat", Description: "Pedidos del almacén"},
		func(_ context.Context, _ *mcp.CallToolRequest, in said) (*mcp.CallToolResult, any, error) {
			n, _ := ledger.record("asked", request{})
			before, _ := in.Context["historial"].([]any)
			text := fmt.Sprintf("%s: %d, tras %d", in.Message, n, len(before))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	return server
}

// recordCalls records the tool calls that reach a server, under their key; for the agent also under
// its session.
func (b *toolbox) recordCalls(prefix string, server *mcp.Server) http.Handler {
	protocol := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var message struct {
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if json.Unmarshal(body, &message) == nil && message.Method == "tools/call" {
			key, session := r.Header.Get("Idempotency-Key"), ""
			if prefix != "" {
				var in struct {
					Session string `json:"session_id"`
				}
				_ = json.Unmarshal(message.Params.Arguments, &in)
				session = prefix + in.Session + ":"
			}
			if key != "" {
				key = session + key
			}
			b.ledger.record(key, request{method: calledTool, path: message.Params.Name, body: strings.TrimSpace(string(message.Params.Arguments))})
		}
		protocol.ServeHTTP(w, r)
	})
}
