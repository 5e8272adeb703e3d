package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"piloto/internal/tools/tool"
)

// faultyServer is a hand-written server of 2025-06-18. The test sets its tools and its answer to a call. After it
// is closed, its handlers return.
type faultyServer struct {
	*httptest.Server
	tools   func() string                                           // the result of tools/list
	answers func(w http.ResponseWriter, r *http.Request, id string) // to tools/call
	gate    func(w http.ResponseWriter, method string) bool         // false: the gate answered
	listed  func(w http.ResponseWriter, r *http.Request, id string) // answers tools/list; nil: with tools
	rest    func(w http.ResponseWriter, r *http.Request)            // answers a request that resumes a stream; nil: none may resume

	handshake string // the result of any request before tools/list; "": a valid one

	calls, lists, opened atomic.Int32
	done                 chan struct{}
	mu                   sync.Mutex
	said                 []string // posted messages that are no request
	headers              []http.Header
}

// behind installs a gate, while other requests may still be in progress.
func (c *faultyServer) behind(gate func(w http.ResponseWriter, method string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = gate
}

const oneTool = `{"tools":[{"name":"do","description":"Does it","inputSchema":{"type":"object"}}]}`

func newFaultyServer(t *testing.T, answers func(w http.ResponseWriter, r *http.Request, id string)) *faultyServer {
	t.Helper()
	c := &faultyServer{tools: func() string { return oneTool }, answers: answers, done: make(chan struct{})}
	c.Server = httptest.NewServer(c)
	t.Cleanup(func() {
		close(c.done)
		c.Server.CloseClientConnections()
		c.Server.Close()
	})
	return c
}

func (c *faultyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &m)
	c.mu.Lock()
	c.headers = append(c.headers, r.Header.Clone())
	gate := c.gate
	c.mu.Unlock()
	if m.Method == "tools/call" {
		c.calls.Add(1)
	}
	if gate != nil && !gate(w, m.Method) {
		return
	}
	switch {
	case r.Method == http.MethodGet && c.rest != nil:
		c.rest(w, r)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case c.handshake != "" && (m.Method == "initialize" || m.Method == "server/discover"):
		say(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+c.handshake+`}`)
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("session-%d", c.opened.Add(1)))
		say(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"crooked","version":"1"}}}`)
	case m.Method == "tools/list" && c.listed != nil:
		c.listed(w, r, string(m.ID))
	case m.Method == "tools/list":
		c.lists.Add(1)
		say(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+c.tools()+`}`)
	case m.Method == "tools/call":
		c.answers(w, r, string(m.ID))
	case len(m.ID) > 0 && m.Method != "":
		say(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32601,"message":"no such method"}}`)
	default:
		c.mu.Lock()
		c.said = append(c.said, string(body))
		c.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
	}
}

func say(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// result answers a call with a result.
func result(text string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		say(w, `{"jsonrpc":"2.0","id":`+id+`,"result":`+text+`}`)
	}
}

// status answers a call with a status and a body.
func status(code int, body string, header ...string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", id))
	}
}

// stream answers a call with events; the text ID in them becomes the call's id.
func stream(text string) func(http.ResponseWriter, *http.Request, string) {
	return status(http.StatusOK, text, "Content-Type", "text/event-stream")
}

// bytesOf answers a call with raw bytes, and hangs up.
func bytesOf(text string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer func(c net.Conn) { _ = c.Close() }(conn)
		_, _ = io.WriteString(conn, strings.ReplaceAll(text, "ID", id))
	}
}

// forever answers a call with the same piece again and again, until the server closes or the client leaves.
func (c *faultyServer) forever(head, piece string, pause func()) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, err = io.WriteString(conn, head)
		for err == nil {
			select {
			case <-c.done:
				return
			default:
				_, err = io.WriteString(conn, strings.ReplaceAll(piece, "ID", id))
				pause()
			}
		}
	}
}

// do returns a call of the tool of oneTool on the server.
func (c *faultyServer) do(t *testing.T) tool.Call {
	t.Helper()
	s, ops := register(t, c.URL, nil)
	call := callOf(s, ops["do"], `{}`)
	call.Idempotency = "run-1"
	return call
}
