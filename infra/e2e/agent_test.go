package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolServer is a server that speaks the Model Context Protocol, built with the protocol's own SDK. A script sets
// its tools; at first it has only the agent's "chat". Every call is recorded before anything else happens.
type toolServer struct {
	addr   string
	server *http.Server
	sdk    *mcp.Server

	mu         sync.Mutex
	tools      []toolSpec
	calls      []received // Path is the tool, Body its arguments
	behaviours []behaviour
	held       chan struct{}
}

// toolSpec is a tool as a script writes it.
type toolSpec struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Destructive  bool            `json:"destructive"`
	ReadOnly     bool            `json:"readOnly"`
}

// Behaviours of a tool, besides those of a service.
const (
	behaveSays    = "says"    // text: the tool's answer
	behaveFails   = "fails"   // text: an error of the tool
	behaveResult  = "result"  // JSON: the unchanged result
	behaveGarbage = "garbage" // an answer that violates the protocol
)

var chatTool = toolSpec{
	Name: "chat", Description: "Talks about reservations",
	InputSchema: json.RawMessage(`{"type":"object","required":["message","session_id"],"properties":{
		"message":{"type":"string"},"session_id":{"type":"string"},"context":{"type":"object"}}}`),
}

func newToolServer(addr string) *toolServer {
	s := &toolServer{addr: addr, held: make(chan struct{})}
	s.sdk = mcp.NewServer(&mcp.Implementation{Name: "tools of a script", Version: "1"}, nil)
	s.offer([]toolSpec{chatTool})
	return s
}

func (s *toolServer) url() string { return "http://" + s.addr + "/mcp" }

// offer replaces the tools.
func (s *toolServer) offer(list []toolSpec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tools {
		s.sdk.RemoveTools(t.Name)
	}
	s.tools = list
	for _, spec := range list {
		t := &mcp.Tool{Name: spec.Name, Description: spec.Description, InputSchema: spec.InputSchema}
		if spec.OutputSchema != nil {
			t.OutputSchema = spec.OutputSchema
		}
		if spec.Destructive || spec.ReadOnly {
			t.Annotations = &mcp.ToolAnnotations{DestructiveHint: &spec.Destructive, ReadOnlyHint: spec.ReadOnly}
		}
		s.sdk.AddTool(t, s.answer)
	}
}

// answer answers a call that reached its tool.
func (s *toolServer) answer(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.mu.Lock()
	how := behaviour{}
	if len(s.behaviours) > 0 {
		how = s.behaviours[0]
		if len(s.behaviours) > 1 {
			s.behaviours = s.behaviours[1:]
		}
	}
	held, n := s.held, len(s.calls)
	s.mu.Unlock()
	said := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	switch how.kind {
	case behaveSays:
		return said(how.value), nil
	case behaveFails:
		r := said(how.value)
		r.IsError = true
		return r, nil
	case behaveResult:
		r := &mcp.CallToolResult{}
		return r, json.Unmarshal([]byte(how.value), r)
	case behaveHuge:
		size, err := strconv.Atoi(how.value)
		return said(strings.Repeat("x", size)), err
	case behaveHold:
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
	var in struct{ Message string }
	_ = json.Unmarshal(req.Params.Arguments, &in)
	return said(fmt.Sprintf("%d: %s", n, in.Message)), nil
}

// ServeHTTP records calls, and cuts or corrupts those whose behaviour concerns the connection.
func (s *toolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		got := record(&http.Request{Method: "CALL", URL: r.URL, Header: r.Header, Body: io.NopCloser(bytes.NewReader(message.Params.Arguments))})
		got.Path = message.Params.Name
		if s.sendCorrupt(w, got) {
			return
		}
	}
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{Stateless: true}).ServeHTTP(w, r)
}

// sendCorrupt sends answers that the SDK's server never sends.
func (s *toolServer) sendCorrupt(w http.ResponseWriter, got received) bool {
	s.mu.Lock()
	s.calls = append(s.calls, got)
	var how behaviour
	if len(s.behaviours) > 0 {
		switch how = s.behaviours[0]; how.kind {
		case behaveDrop, behaveStatus, behaveThrottle, behaveGarbage:
			if len(s.behaviours) > 1 {
				s.behaviours = s.behaviours[1:]
			}
		}
	}
	s.mu.Unlock()
	switch how.kind {
	case behaveDrop:
		panic(http.ErrAbortHandler)
	case behaveThrottle:
		w.Header().Set("Retry-After", how.value)
		w.WriteHeader(http.StatusTooManyRequests)
	case behaveStatus:
		code, _ := strconv.Atoi(how.value)
		w.WriteHeader(code)
	case behaveGarbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"hello":`)
	default:
		return false
	}
	return true
}

func (s *toolServer) start() error {
	l, err := listenOn(s.addr)
	if err != nil {
		return err
	}
	s.server = &http.Server{Handler: s}
	go func() { _ = s.server.Serve(l) }()
	return nil
}

func (s *toolServer) stop() {
	if s.server != nil {
		_ = s.server.Close()
	}
}

func (s *toolServer) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.held)
	s.held, s.behaviours = make(chan struct{}), nil
}

func (s *toolServer) got() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received{}, s.calls...)
}

// toolServers is the command «tools» of the scripts for servers that speak the protocol.
//
//	tools NAME start [FILE]         with the tools in FILE, a JSON list; or "chat" alone
//	tools NAME stop|again|release
//	tools NAME offer FILE           other tools from now on
//	tools NAME does BEHAVIOUR…      one for each call, the last for those that follow:
//	                                says=, fails=, result=, huge=, hold, drop, status=,
//	                                throttle=, garbage, ok
//	tools NAME got N | waits N      the number of calls of its tools
//	tools NAME call N               the arguments of its Nth call, for json
func (s *stage) toolServers(args []string) error {
	if len(args) < 2 {
		return usage("tools NAME start|stop|again|release|offer|does|got|waits|call …")
	}
	name, verb, args := args[0], args[1], args[2:]
	if verb == "start" {
		server := newToolServer(freeAddress(s.t))
		s.tools[name] = server
		s.ts.Setenv(strings.ToUpper(name)+"_URL", server.url())
		if len(args) == 1 {
			if err := s.offer(server, args[0]); err != nil {
				return err
			}
		}
		return server.start()
	}
	server := s.tools[name]
	if server == nil {
		return fmt.Errorf("there are no tools %s yet", name)
	}
	switch {
	case verb == "stop":
		server.stop()
		return nil
	case verb == "again":
		return server.start()
	case verb == "release":
		server.release()
		return nil
	case verb == "offer" && len(args) == 1:
		return s.offer(server, args[0])
	case verb == "does":
		var list []behaviour
		for _, arg := range args {
			kind, value, _ := strings.Cut(arg, "=")
			list = append(list, behaviour{kind, value})
		}
		server.mu.Lock()
		defer server.mu.Unlock()
		server.behaviours = list
		return nil
	case verb == "got" && len(args) == 1:
		if n := len(server.got()); strconv.Itoa(n) != args[0] {
			return fmt.Errorf("the tools of %s were called %d times, not %s: %v", name, n, args[0], server.got())
		}
		return nil
	case verb == "waits" && len(args) == 1:
		return eventually(patience, func() error { return s.toolServers([]string{name, "got", args[0]}) })
	case verb == "call" && len(args) == 1:
		return s.subject(server.got(), args[0])
	}
	return usage("tools NAME start|stop|again|release|offer|does|got|waits|call …")
}

func (s *stage) offer(server *toolServer, file string) error {
	text, err := os.ReadFile(s.ts.MkAbs(file))
	if err != nil {
		return err
	}
	var list []toolSpec
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	server.offer(list)
	return nil
}
