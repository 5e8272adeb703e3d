package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// model is a provider with the OpenAI chat-completions protocol. A user's message names the script that it follows ("plan
// three"): it makes the calls of the script, one after the other, and then answers in words. The same conversation
// always gets the same calls.
type model struct {
	url    string
	server *http.Server

	mu      sync.Mutex
	scripts map[string][]toolCall
	asked   map[string]int // requests that follow a script, by the user's message
	answers int            // that were given to them
}

// toolCall is a call of one tool.
type toolCall struct{ tool, arguments string }

func newModel() (*model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + l.Addr().String() + "/v1", scripts: map[string][]toolCall{}, asked: map[string]int{}}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	go func() { _ = m.server.Serve(l) }()
	return m, nil
}

func (m *model) close() { _ = m.server.Close() }

// setServer gives the model the scripts, with the id of a server in place of its placeholder.
func (m *model) setServer(placeholder, server string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, calls := range scripts() {
		if was, ok := m.scripts[name]; ok {
			calls = was
		}
		for i := range calls {
			calls[i].arguments = strings.ReplaceAll(calls[i].arguments, placeholder, server)
		}
		m.scripts[name] = calls
	}
}

// timesAsked returns how often the model was asked to follow the script of a user's message.
func (m *model) timesAsked(message string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[message]
}

// follow returns the next call of the script that a message names, and a text that no other answer has. It returns nil
// when the message names none, or all calls were made.
func (m *model) follow(message string, done int) (next *toolCall, text string) {
	_, name, ok := strings.Cut(message, "plan ")
	name, _, _ = strings.Cut(name, " ")
	m.mu.Lock()
	defer m.mu.Unlock()
	script := m.scripts[name]
	if !ok || script == nil {
		return nil, "De acuerdo."
	}
	m.asked[message]++
	m.answers++
	text = fmt.Sprintf("De acuerdo, %d.", m.answers)
	if done < len(script) {
		next = &script[done]
	}
	return next, text
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
		Format json.RawMessage `json:"response_format"` // of a decision, or of an evaluation
		Tools  json.RawMessage `json:"tools"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || len(in.Messages) == 0 || r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	said, done, told := "", 0, 0 // told: answers in words
	for _, message := range in.Messages {
		switch message.Role {
		case "user":
			said, done, told = message.Content, 0, 0
		case "tool":
			done, told = done+1, 0
		case "assistant":
			told++
		}
	}
	message, finish := map[string]any{"role": "assistant"}, "stop"
	switch {
	case strings.Contains(string(in.Format), "confidence"): // an evaluation: the second answer is complete
		m.follow(said, done)
		message["content"] = object("completed", told > 1, "confidence", 0.9, "issues", []string{}, "suggestion", "Dilo otra vez.")
	case in.Format != nil:
		message["content"] = object("action", "delegate", "agent_name", agentName, "response", "")
	case in.Tools == nil && strings.Contains(in.Messages[0].Content, "ended"): // the conclusion of a run
		message["content"] = "Hecho."
	default:
		next, text := m.follow(said, done)
		message["content"] = text
		if next != nil {
			finish = "tool_calls"
			message["tool_calls"] = []any{map[string]any{
				"id": "call_1", "type": "function", "function": map[string]any{"name": next.tool, "arguments": next.arguments},
			}}
		}
	}
	answer(w, http.StatusOK, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "crash-1",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
	})
}
