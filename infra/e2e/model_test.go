package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// provider is a model provider that speaks the OpenAI chat-completions protocol. It answers each request with the
// next given reply, and a request beyond the last reply with an error that a test can recognise. What came of a run it
// tells with the next text that was given for that, and else with none, so that the final message stands alone.
type provider struct {
	*httptest.Server

	mu       sync.Mutex
	replies  []reply
	requests []received
	surplus  int // requests without a reply

	conclusions []reply
	concluded   []received
}

// reply is one answer of a provider.
type reply struct {
	text    string
	calls   []call
	status  int    // not 200: an error, with body
	body    string // of an error, or of a 200 without an answer
	cut     bool   // the connection ends in the middle of the answer
	release <-chan struct{}
}

type call struct{ name, arguments string }

// received is one request that a fake server got.
type received struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Query   string            `json:"query"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

func newProvider() *provider {
	p := &provider{}
	p.Server = httptest.NewServer(p)
	return p
}

// will adds a reply.
func (p *provider) will(r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies = append(p.replies, r)
}

// leftovers returns an error when replies of the script were not used, or were missing.
func (p *provider) leftovers() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conclusions) > 0 {
		return fmt.Errorf("the model has %d conclusions left", len(p.conclusions))
	}
	if len(p.replies) > 0 || p.surplus > 0 {
		return fmt.Errorf("the model has %d replies left, and %d requests were more than it had replies for", len(p.replies), p.surplus)
	}
	return nil
}

// allRequests returns every request.
func (p *provider) allRequests() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]received{}, p.requests...)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	got := record(r)
	if bytes.Contains(got.Body, []byte(`"tool_choice":"none"`)) && bytes.Contains(got.Body, []byte(`"[SYSTEM] The plan `)) {
		p.conclude(got).write(w)
		return
	}
	p.mu.Lock()
	p.requests = append(p.requests, got)
	var next reply
	if len(p.replies) == 0 {
		p.surplus++
		next = reply{status: http.StatusTeapot, body: `{"error":{"message":"the script has no reply left"}}`}
	} else {
		next, p.replies = p.replies[0], p.replies[1:]
	}
	p.mu.Unlock()
	if next.release != nil {
		select {
		case <-next.release:
		case <-r.Context().Done():
			return
		}
	}
	next.write(w)
}

// conclude returns the reply to a request for what came of a run.
func (p *provider) conclude(got received) reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.concluded = append(p.concluded, got)
	if len(p.conclusions) == 0 {
		return reply{}
	}
	next := p.conclusions[0]
	p.conclusions = p.conclusions[1:]
	return next
}

// allConclusions returns every request for what came of a run.
func (p *provider) allConclusions() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]received{}, p.concluded...)
}

func (r reply) write(w http.ResponseWriter) {
	body, status := r.body, max(r.status, http.StatusOK)
	if body == "" {
		body = r.completion()
	}
	w.Header().Set("Content-Type", "application/json")
	if r.cut {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		body = body[:len(body)/2]
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	if r.cut {
		panic(http.ErrAbortHandler)
	}
}

// completion writes the reply in the provider's format.
func (r reply) completion() string {
	message := map[string]any{"role": "assistant", "content": r.text}
	finish := "stop"
	if len(r.calls) > 0 {
		finish = "tool_calls"
		var calls []any
		for i, c := range r.calls {
			calls = append(calls, map[string]any{
				"id": fmt.Sprintf("call_%d", i+1), "type": "function",
				"function": map[string]any{"name": c.name, "arguments": c.arguments},
			})
		}
		message["tool_calls"] = calls
	}
	return object("id", "chatcmpl-1", "object", "chat.completion", "created", 1, "model", "fake-1",
		"choices", []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage", map[string]any{"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18})
}

// record reads a request completely.
func record(r *http.Request) received {
	body, _ := io.ReadAll(r.Body)
	got := received{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Headers: map[string]string{}, Body: body}
	if !json.Valid(body) {
		got.Body, _ = json.Marshal(string(body))
	}
	for name, values := range r.Header {
		got.Headers[name] = strings.Join(values, ", ")
	}
	return got
}

// readReply parses a reply of a script: its kind, then its parameters.
//
//	text WORDS          an answer in words; with a call after it, beside that call
//	call TOOL ARGUMENTS one tool call; ARGUMENTS are sent as they are, JSON or not.
//	                    More TOOL ARGUMENTS pairs are more calls of the same answer
//	status CODE BODY    an error of the provider
//	cut                 the connection ends in the middle of an answer
//	empty               200 without choices
//	error BODY          200 with an error for a body
func readReply(args []string) (reply, error) {
	switch {
	case len(args) == 2 && args[0] == "text":
		return reply{text: args[1]}, nil
	case len(args) > 3 && args[0] == "text": // beside calls
		r, err := readReply(args[2:])
		r.text = args[1]
		return r, err
	case len(args) >= 3 && len(args)%2 == 1 && args[0] == "call":
		var r reply
		for i := 1; i < len(args); i += 2 {
			r.calls = append(r.calls, call{args[i], args[i+1]})
		}
		return r, nil
	case len(args) == 3 && args[0] == "status":
		r := reply{body: args[2]}
		_, err := fmt.Sscan(args[1], &r.status)
		return r, err
	case len(args) == 1 && args[0] == "cut":
		return reply{text: "never seen", cut: true}, nil
	case len(args) == 1 && args[0] == "empty":
		return reply{body: `{"id":"x","object":"chat.completion","choices":[]}`}, nil
	case len(args) == 2 && args[0] == "error":
		return reply{body: args[1]}, nil
	}
	return reply{}, fmt.Errorf("not a reply: %q", args)
}
