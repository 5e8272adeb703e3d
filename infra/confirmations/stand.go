package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
)

// newService returns a stand-in for a service, with its document at /openapi.yaml.
func newService(d document, text []byte) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.yaml" {
			_, _ = w.Write(text)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		rows, found := d.answers[r.Method+" "+r.URL.Path] // an address is more than a pattern that matches it
		for at, of := range d.answers {
			method, pattern, _ := strings.Cut(at, " ")
			if match, err := path.Match(pattern, r.URL.Path); !found && err == nil && match && method == r.Method {
				rows, found = of, true
			}
		}
		if found {
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusCreated)
			}
			_, _ = io.WriteString(w, rows)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
}

// script is the model. It follows the present request: with each call it reads one more thing, and then writes, or
// answers.
type script struct {
	*httptest.Server
	mu      sync.Mutex
	servers map[string]string // ids by the name of the document
	now     request
	reads   bool // it may look
	read    int  // how many of the reads were asked for
	written bool
}

func newScript() *script {
	s := &script{servers: map[string]string{}}
	s.Server = httptest.NewServer(s)
	return s
}

// begin gives the model the next request.
func (s *script) begin(r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.read, s.written = r, 0, false
}

// done reports whether the model has asked for all that the request needs.
func (s *script) done() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read == len(s.now.reads) && (s.written || len(s.now.writes) == 0)
}

// ServeHTTP implements http.Handler, in the form of chat completions.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Tools []json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	message, finish := map[string]any{"role": "assistant", "content": "Ya está."}, "stop"
	if len(asked.Tools) > 0 { // without tools it writes the conclusion of a run
		if name, arguments := s.next(); name != "" {
			raw, _ := json.Marshal(arguments)
			message["content"], finish = nil, "tool_calls"
			message["tool_calls"] = []any{map[string]any{"id": "c1", "type": "function", "function": map[string]any{"name": name, "arguments": string(raw)}}}
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": finish, "message": message}}})
}

// next returns the next tool call; "" when the model answers in words.
func (s *script) next() (name string, arguments any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.now.reads[s.read:]
	switch {
	case len(left) > 0 && s.reads:
		s.read++
		return "look", s.arguments(left[0], "")
	case len(left) > 0:
		s.read = len(s.now.reads)
		if len(s.now.blind) > 0 {
			s.written = true
			left = append(append([]call{}, left...), s.now.blind...)
		}
		return "propose_plan", s.plan(left)
	case !s.written && len(s.now.writes) > 0:
		s.written = true
		return "propose_plan", s.plan(s.now.writes)
	}
	return "", nil
}

// plan returns the arguments of a plan of calls.
func (s *script) plan(calls []call) any {
	var steps []any
	for i, c := range calls {
		steps = append(steps, s.arguments(c, fmt.Sprint("s", i+1)))
	}
	return map[string]any{"goal": s.now.says, "steps": steps}
}

// arguments returns those of a read, or of the step with an id.
func (s *script) arguments(c call, id string) map[string]any {
	a := map[string]any{"mcp_id": s.servers[c.of], "path": c.path}
	if id != "" {
		a["id"], a["title"], a["method"] = id, c.method+" "+c.path, c.method
	}
	if c.query != nil {
		a["query"] = c.query
	}
	if c.body != nil {
		a["body"] = c.body
	}
	return a
}
