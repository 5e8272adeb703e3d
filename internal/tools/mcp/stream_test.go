package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

// old is a hand-written server of 2024-11-05: requests are posted, and answers arrive on one stream. The test sets
// its answer to a call.
type old struct {
	answers  func(w http.ResponseWriter, id string, send func(string)) // may write a status, or send events
	endpoint string
	calls    atomic.Int32
	mu       sync.Mutex
	streams  map[string]chan string
	said     []string
	heard    chan struct{} // one value for each answer of the client
	n        int
}

func (o *old) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		o.stream(w, r)
		return
	}
	o.mu.Lock()
	out := o.streams[r.URL.Query().Get("session")]
	o.mu.Unlock()
	if out == nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &m)
	send := func(text string) {
		select {
		case out <- text:
		case <-r.Context().Done():
		}
	}
	event := func(result string) {
		send("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":" + string(m.ID) + ",\"result\":" + result + "}\n\n")
	}
	switch m.Method {
	case "initialize":
		event(`{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
	case "tools/list":
		event(oneTool)
	case "tools/call":
		o.calls.Add(1)
		o.answers(w, string(m.ID), send)
		return
	default:
		o.mu.Lock()
		o.said = append(o.said, string(body))
		o.mu.Unlock()
		if m.Method == "" {
			o.heard <- struct{}{}
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

func (o *old) stream(w http.ResponseWriter, r *http.Request) {
	out := make(chan string)
	o.mu.Lock()
	o.n++
	id := fmt.Sprint(o.n)
	if o.streams == nil {
		o.streams = map[string]chan string{}
	}
	o.streams[id] = out
	o.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s?session=%s\n\n", o.endpoint, id)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case text := <-out:
			if text == "" {
				return
			}
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func TestCallToolReportsExactOutcomeOverSSE(t *testing.T) {
	answer := func(text string) func(http.ResponseWriter, string, func(string)) {
		return func(w http.ResponseWriter, id string, send func(string)) {
			w.WriteHeader(http.StatusAccepted)
			send(strings.ReplaceAll(text, "ID", id))
		}
	}
	refuse := func(code int) func(http.ResponseWriter, string, func(string)) {
		return func(w http.ResponseWriter, _ string, _ func(string)) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(code)
		}
	}
	huge := "data: " + strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		answers func(http.ResponseWriter, string, func(string))
		err     error
		reason  string
		status  int
		calls   int32
	}{
		"plain": {answer("data: " + fine + "\n\n"), nil, "", 200, 1},
		"after other things": {answer(": x\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":null}\n\n" +
			"event: endpoint\ndata: http://127.0.0.1:1/\n\ndata: }{\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":9ID,\"result\":{}}\n\ndata: " + fine + "\n\n"), nil, "", 200, 1},
		"before the status": {func(w http.ResponseWriter, id string, send func(string)) { answer("data: "+fine+"\n\n")(w, id, send) }, nil, "", 200, 1},
		"never":             {answer(": x\n\n"), tool.ErrLost, "timeout", 0, 1},
		"wrong id":          {answer("data: {\"jsonrpc\":\"2.0\",\"id\":9ID,\"result\":{\"content\":[]}}\n\n"), tool.ErrLost, "timeout", 0, 1},
		"stream ends":       {answer(""), tool.ErrLost, "", 0, 1},
		"too much": {func(w http.ResponseWriter, _ string, send func(string)) {
			w.WriteHeader(http.StatusAccepted)
			for range 30 {
				send(huge)
			}
		}, tool.ErrLost, "", 0, 1},
		"throttled": {refuse(429), nil, "", 429, 1},
		"busy":      {refuse(503), nil, "", 503, 1},
		"refused":   {refuse(401), tool.ErrUnauthorized, "", 0, 1},
		"forgotten": {refuse(404), nil, "", 404, 2},
		"broken":    {refuse(500), nil, "", 500, 1},
		"malformed": {refuse(400), nil, "", 400, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &old{answers: c.answers, endpoint: "/sse"}
			s := serve(t, o)
			at, ops := register(t, s.URL+"/sse", nil)
			if at.Transport != tool.TransportSSE {
				t.Fatalf("%+v", at)
			}
			call := callOf(at, ops["do"], `{}`)
			a, err := client(t, func(o *mcp.Options) { o.Timeout = 3 * time.Second }).CallTool(t.Context(), call)
			if f := fault.Of(err); c.err != nil && (!errors.Is(err, c.err) || c.reason != "" && f.Args["reason"] != c.reason) {
				t.Errorf("%v, want %v %s", err, c.err, c.reason)
			}
			if c.err == nil && (err != nil || a.Status != c.status) {
				t.Errorf("%+v %v", a, err)
			}
			if n := o.calls.Load(); n != c.calls {
				t.Errorf("%d calls arrived, want %d", n, c.calls)
			}
		})
	}
}

func TestSSERefusesEndpointOnOtherOrigin(t *testing.T) {
	other := serve(t, http.NotFoundHandler())
	o := &old{endpoint: "/sse"}
	s := serve(t, o)
	at, ops := register(t, s.URL+"/sse", nil)
	for _, endpoint := range []string{other.URL + "/x", strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/sse", "//" + strings.TrimPrefix(other.URL, "http://"), strings.Replace(s.URL, "://", "://u:p@", 1)} {
		o.endpoint = endpoint
		call := callOf(at, ops["do"], `{}`)
		call.Keys = tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}
		if _, err := client(t).CallTool(t.Context(), call); !errors.Is(err, tool.ErrNotSent) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	if other.requests(func(*http.Request) bool { return true }) != 0 || o.calls.Load() != 0 {
		t.Error("it was")
	}
}

// asking holds requests that a server sends during its work.
const asking = `data: {"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n\n" +
	`data: {"jsonrpc":"2.0","id":71,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"the key?"}}],"maxTokens":9}}` + "\n\n" +
	`data: {"jsonrpc":"2.0","id":72,"method":"elicitation/create","params":{"message":"the key?","requestedSchema":{"type":"object","properties":{}}}}` + "\n\n" +
	`data: {"jsonrpc":"2.0","id":73,"method":"roots/list"}` + "\n\n"

func TestServerRequestsAreDeclined(t *testing.T) {
	check := func(name string, said []string) {
		t.Helper()
		for _, id := range []string{`"p"`, "71", "72", "73"} {
			n := 0
			for _, text := range said {
				var m struct {
					ID, Result, Error json.RawMessage
				}
				_ = json.Unmarshal([]byte(text), &m)
				if string(m.ID) != id {
					continue
				}
				n++
				if (string(m.Result) == "{}") != (id == `"p"`) || (m.Error != nil) == (id == `"p"`) {
					t.Errorf("%s: %s", name, text)
				}
			}
			if n != 1 {
				t.Errorf("%s: %s was answered %d times: %q", name, id, n, said)
			}
		}
	}
	s := newFaultyServer(t, stream(asking+"data: "+fine+"\n\n"))
	call := s.do(t)
	if a, err := client(t).CallTool(t.Context(), call); err != nil || a.Failed {
		t.Fatalf("%+v %v", a, err)
	}
	s.mu.Lock()
	check("streamable", s.said)
	s.mu.Unlock()

	o := &old{endpoint: "/sse", heard: make(chan struct{}, 4)}
	o.answers = func(w http.ResponseWriter, id string, send func(string)) {
		w.WriteHeader(http.StatusAccepted)
		send(asking)
		for range 4 {
			<-o.heard
		}
		send("data: " + strings.ReplaceAll(fine, "ID", id) + "\n\n")
	}
	at, ops := register(t, serve(t, o).URL+"/sse", nil)
	o.said = nil
	if a, err := client(t).CallTool(t.Context(), callOf(at, ops["do"], `{}`)); err != nil || a.Failed {
		t.Fatalf("%+v %v", a, err)
	}
	o.mu.Lock()
	check("stream", o.said)
	o.mu.Unlock()
}

func TestCallToolRepeatsArgumentsAsHeaders(t *testing.T) {
	server := echo()
	server.AddTool(&sdk.Tool{Name: "route", InputSchema: json.RawMessage(`{"type":"object","properties":{
		"city":{"type":"string","x-mcp-header":"City"},"n":{"type":"integer","x-mcp-header":"N"},"yes":{"type":"boolean","x-mcp-header":"Yes"},
		"in":{"type":"object","properties":{"deep":{"type":"string","x-mcp-header":"Deep"}}}}}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("ok"), nil })
	s := serve(t, mount("/", tool.TransportStreamable, true, server)) // the SDK's server checks the headers
	at, ops := register(t, s.URL, nil)
	c := client(t)
	for arguments, want := range map[string]map[string]string{
		`{"city":"Lima","n":7,"yes":true,"in":{"deep":"x y"}}`: {"City": "Lima", "N": "7", "Yes": "true", "Deep": "x y"},
		`{"city":"Bogotá\r\nX-Evil: 1","n":null}`:              {"City": "=?base64?Qm9nb3TDoQ0KWC1FdmlsOiAx?=", "N": "", "Deep": ""},
		`{"city":" =?base64?x?="}`:                             {"City": "=?base64?ID0/YmFzZTY0P3g/PQ==?="},
		`{}`:                                                   {"City": ""},
	} {
		call := callOf(at, ops["route"], arguments)
		call.Trust = time.Hour
		a, err := c.CallTool(t.Context(), call)
		if err != nil || a.Failed {
			t.Errorf("%s: %v %s", arguments, err, a.Body)
		}
		for name, value := range want {
			if got := s.last().Header.Get("Mcp-Param-" + name); got != value {
				t.Errorf("%s: %s is %q, want %q", arguments, name, got, value)
			}
		}
	}
	for _, arguments := range []string{`{"n":1.5}`, `{"city":{}}`, `{"city":"` + strings.Repeat("x", 5000) + `"}`} {
		if _, err := c.CallTool(t.Context(), callOf(at, ops["route"], arguments)); !errors.Is(err, tool.ErrRequest) {
			t.Errorf("%.30s: %v", arguments, err)
		}
	}
}

func TestCallToolEndsWithContext(t *testing.T) {
	arrived := make(chan struct{}, 2)
	s := newFaultyServer(t, nil)
	s.answers = func(http.ResponseWriter, *http.Request, string) { arrived <- struct{}{}; <-s.done }
	call := s.do(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	c := client(t)
	if _, err := c.CallTool(ctx, call); !errors.Is(err, tool.ErrLost) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want lost and cancelled", err)
	}
	if _, err := c.CallTool(ctx, call); !errors.Is(err, tool.ErrNotSent) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want not sent", err)
	}
	if s.calls.Load() != 1 {
		t.Errorf("%d calls", s.calls.Load())
	}
}

func TestSSECallsDoNotShareStream(t *testing.T) {
	const callers = 8
	o := &old{endpoint: "/", heard: make(chan struct{}, 16), answers: func(w http.ResponseWriter, id string, send func(string)) {
		send("data: {\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":{\"content\":[]}}\n\n")
		w.WriteHeader(http.StatusAccepted)
	}}
	var meet atomic.Bool
	var here atomic.Int32
	all := make(chan struct{}) // all streams are opened at the same time, or the test blocks
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && meet.Load() {
			if here.Add(1) == callers {
				close(all)
			}
			select {
			case <-all:
			case <-r.Context().Done():
				return
			}
		}
		o.ServeHTTP(w, r)
	}))
	at, ops := register(t, s.URL, nil)
	if at.Transport != tool.TransportSSE {
		t.Fatalf("found over %s", at.Transport)
	}
	meet.Store(true)
	c := client(t)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if _, err := c.CallTool(t.Context(), callOf(at, ops["do"], `{}`)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := o.calls.Load(); n != callers {
		t.Errorf("%d calls", n)
	}
}
