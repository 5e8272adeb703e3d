package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listen serves a handler on loopback until stop is called.
func listen(h http.Handler) (origin string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}

// model answers at once. It finds the kind of the answer in the last marked word of the request, and keeps the last
// request of each kind, so that the floors can repeat it.
type model struct {
	mu      sync.Mutex
	telling time.Duration       // that it takes to write the conclusion of a run
	answers map[string][][]byte // by kind: the looks that it asks for, and the last one
	asked   map[string][]byte
	over    chan struct{} // closed by the next last answer of looks; nil: nobody waits
}

// watch returns a channel that is closed when the model gives the next last answer.
func (m *model) watch() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = make(chan struct{})
	return m.over
}

// answer returns the answer to a request of a kind, by the number of results that the request has; nil: there is none.
func (m *model) answer(kind string, body []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[kind] = body
	list := m.answers[kind]
	if len(list) == 0 {
		return nil
	}
	n := min(bytes.Count(body, []byte(`"role":"tool"`)), len(list)-1)
	if n == len(list)-1 && m.over != nil {
		close(m.over)
		m.over = nil
	}
	return list[n]
}

// promptFor returns the message of a person that gets an answer of a kind.
func promptFor(kind string) string { return "Piloto, prueba/" + kind + "/ por favor." }

func kindOf(body []byte) string {
	at := bytes.LastIndex(body, []byte("prueba/"))
	if at < 0 {
		return ""
	}
	kind, _, _ := bytes.Cut(body[at+len("prueba/"):], []byte("/"))
	return string(kind)
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	kind := kindOf(body)
	if bytes.Contains(body, []byte(`"tool_choice":"none"`)) && bytes.Contains(body, []byte(`"[SYSTEM] The plan `)) {
		m.mu.Lock()
		telling := m.telling
		m.mu.Unlock()
		time.Sleep(telling)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, conclusion)
		return
	}
	answer := m.answer(kind, body)
	if answer == nil {
		http.Error(w, "no answer for "+kind, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// conclusion is the answer of the model that writes a conclusion.
const conclusion = `{"id":"c1","object":"chat.completion","created":1,"model":"script",
	"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hecho: pedido el 4711."}}],
	"usage":{"prompt_tokens":900,"completion_tokens":20,"total_tokens":920}}`

// last returns the last request of a kind.
func (m *model) last(kind string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[kind]
}

// script prepares the answers for a scenario: a text or a plan over the service, after its looks.
func (m *model) script(s scenario, mcpID string) error {
	var messages []map[string]any
	for n := range s.looks {
		call, err := lookCall(s, mcpID, n)
		if err != nil {
			return err
		}
		messages = append(messages, call)
	}
	message := map[string]any{"role": "assistant", "content": "El pedido 4711 salió ayer y llega mañana."}
	if s.routed {
		message["content"] = `{"action":"delegate","agent_name":"` + agentName + `","response":""}`
	}
	if s.steps > 0 {
		arguments, err := json.Marshal(proposal(s, mcpID))
		if err != nil {
			return err
		}
		message = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
			"id": "call_1", "type": "function",
			"function": map[string]any{"name": "propose_plan", "arguments": string(arguments)},
		}}}
	}
	var answers [][]byte
	for _, message := range append(messages, message) {
		answer, err := json.Marshal(map[string]any{
			"id": "c1", "object": "chat.completion", "created": 1, "model": "script",
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": message}},
			"usage":   map[string]any{"prompt_tokens": 900, "completion_tokens": 90, "total_tokens": 990},
		})
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[s.kind], m.telling = answers, s.telling
	return nil
}

// agentName is the name of the agent in decisions.
const agentName = "almacen"

// concierge is an agent that speaks the Model Context Protocol and answers at once. It keeps the last call, so that
// the floor can repeat it.
type concierge struct {
	handler http.Handler
	mu      sync.Mutex
	call    recorded
}

// recorded is a recorded request.
type recorded struct {
	header http.Header
	body   []byte
}

func newConcierge() *concierge {
	server := mcp.NewServer(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	type said struct {
		Message string         `json:"message"`
		Session string         `json:"session_id"`
		Context map[string]any `json:"context"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "chat", Description: "Orders of the warehouse"},
		func(context.Context, *mcp.CallToolRequest, said) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "El pedido 4711 llega mañana."}}}, nil, nil
		})
	return &concierge{handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})}
}

func (c *concierge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if bytes.Contains(body, []byte(`"tools/call"`)) {
		c.mu.Lock()
		c.call = recorded{r.Header.Clone(), body}
		c.mu.Unlock()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.handler.ServeHTTP(w, r)
}

func (c *concierge) last() recorded {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.call
}

func proposal(s scenario, mcpID string) map[string]any {
	steps := make([]any, s.steps)
	for i := range steps {
		needs := []string{}
		if !s.wide && i > 0 {
			needs = []string{fmt.Sprintf("s%d", i)}
		}
		steps[i] = map[string]any{
			"id": fmt.Sprintf("s%d", i+1), "title": fmt.Sprintf("Crear el pedido %d", i+1), "mcp_id": mcpID,
			"method": "POST", "path": "/orders", "body": json.RawMessage(order), "needs": needs,
		}
	}
	return map[string]any{"goal": "Crear los pedidos de la semana", "steps": steps}
}

// order is the body of every call, and of every answer except its id.
const order = `{"item":"cinta de embalar","quantity":12,"note":"entregar por la mañana, en recepción"}`

const document = `{"openapi":"3.0.3","info":{"title":"Orders","version":"1"},"paths":{"/orders":{"post":{
"operationId":"createOrder","summary":"Create an order","requestBody":{"required":true,"content":{"application/json":{"schema":{
"type":"object","required":["item","quantity"],"additionalProperties":false,"properties":{
"item":{"type":"string"},"quantity":{"type":"integer","minimum":1},"note":{"type":"string"}}}}}},
"responses":{"201":{"description":"created"}}}}}}`

// echo is the service that plans call. It counts the calls of each watched run by their Idempotency-Key, which
// begins with the run.
type echo struct {
	document string // empty: document
	extra    string // JSON that every answer has, too

	mu      sync.Mutex
	watched map[string]*watch
}

type watch struct {
	left int
	over chan struct{} // closed when the last call was answered
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/openapi.json" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, cmp.Or(e.document, document))
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != "/orders" {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	if e.extra == "" {
		_, _ = fmt.Fprintf(w, `{"id":"o-1","order":%s}`, body)
	} else {
		_, _ = fmt.Fprintf(w, `{"id":"o-1","order":%s,"rows":%s}`, body, e.extra)
	}
	run, _, _ := strings.Cut(r.Header.Get("Idempotency-Key"), ":")
	e.countCall(run)
}

func (e *echo) countCall(run string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := e.watched[run]
	if seen == nil {
		return
	}
	if seen.left--; seen.left == 0 {
		close(seen.over)
	}
}

// watch starts to count the calls of a run.
func (e *echo) watch(run string, calls int) *watch {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := &watch{left: calls, over: make(chan struct{})}
	e.watched[run] = seen
	return seen
}

// forget stops counting and returns the number of missing calls, negative for too many.
func (e *echo) forget(run string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	left := e.watched[run].left
	delete(e.watched, run)
	return left
}
