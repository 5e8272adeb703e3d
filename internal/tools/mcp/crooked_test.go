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

// crooked is a server of 2025-06-18, written by hand, whose tools and whose answer
// to a call are what a test says. Once it is closed, whoever still waits in it goes.
type crooked struct {
	*httptest.Server
	tools   func() string                                           // the result of tools/list
	answers func(w http.ResponseWriter, r *http.Request, id string) // to tools/call
	gate    func(w http.ResponseWriter, method string) bool         // false: it answered by itself
	listed  func(w http.ResponseWriter, r *http.Request, id string) // to tools/list; nil: with tools
	rest    func(w http.ResponseWriter, r *http.Request)            // answers who resumes a stream; nil: nobody may

	handshake string // the result of any request before tools/list; "": a good one

	calls, lists, opened atomic.Int32
	done                 chan struct{}
	mu                   sync.Mutex
	said                 []string // what was posted that is no request
	headers              []http.Header
}

// behind puts a gate before everything else, while others may still be in there.
func (c *crooked) behind(gate func(w http.ResponseWriter, method string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = gate
}

const oneTool = `{"tools":[{"name":"do","description":"Does it","inputSchema":{"type":"object"}}]}`

func crookedServer(t *testing.T, answers func(w http.ResponseWriter, r *http.Request, id string)) *crooked {
	t.Helper()
	c := &crooked{tools: func() string { return oneTool }, answers: answers, done: make(chan struct{})}
	c.Server = httptest.NewServer(c)
	t.Cleanup(func() {
		close(c.done)
		c.Server.CloseClientConnections()
		c.Server.Close()
	})
	return c
}

func (c *crooked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// stream answers a call with events; ID in them is that of the call.
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

// forever answers a call with something again and again, until the server closes
// or nobody listens.
func (c *crooked) forever(head, piece string, pause func()) func(http.ResponseWriter, *http.Request, string) {
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

// do is the tool of oneTool, as a call of a crooked server.
func (c *crooked) do(t *testing.T) tool.Call {
	t.Helper()
	s, ops := registered(t, c.URL, nil)
	call := callOf(s, ops["do"], `{}`)
	call.Idempotency = "run-1"
	return call
}
