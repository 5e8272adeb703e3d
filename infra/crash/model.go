package main

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// model is a provider with the OpenAI chat-completions protocol. A user's message names the plan
// that it proposes ("plan three"). The same message always gets the same response.
type model struct {
	url    string
	server *http.Server

	mu    sync.Mutex
	plans map[string]string // the arguments of propose_plan, by name
}

func newModel() (*model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + l.Addr().String() + "/v1", plans: map[string]string{}}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	go func() { _ = m.server.Serve(l) }()
	return m, nil
}

func (m *model) close() { _ = m.server.Close() }

// setServer gives the model the plans, with the id of a server in place of its placeholder.
func (m *model) setServer(placeholder, server string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, p := range plans {
		if was, ok := m.plans[name]; ok {
			p = was
		}
		m.plans[name] = strings.ReplaceAll(p, placeholder, server)
	}
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Format json.RawMessage `json:"response_format"` // of a decision
		Tools  json.RawMessage `json:"tools"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	said := ""
	for _, message := range in.Messages {
		if message.Role == "user" {
			said = string(message.Content)
		}
	}
	message, finish := map[string]any{"role": "assistant", "content": "De acuerdo."}, "stop"
	if len(in.Messages) > 0 && strings.Contains(string(in.Messages[0].Content), "ended") && in.Format == nil && in.Tools == nil {
		message["content"] = "Hecho."
	} else if in.Format != nil {
		message["content"] = object("action", "delegate", "agent_name", agentName, "response", "")
	} else if _, name, ok := strings.Cut(said, "plan "); ok {
		name, _, _ = strings.Cut(strings.Trim(name, `"\ `), " ")
		name = strings.TrimFunc(name, func(r rune) bool { return r < 'a' || r > 'z' })
		m.mu.Lock()
		arguments := m.plans[name]
		m.mu.Unlock()
		if arguments != "" {
			finish = "tool_calls"
			message["tool_calls"] = []any{map[string]any{
				"id": "call_1", "type": "function", "function": map[string]any{"name": "propose_plan", "arguments": arguments},
			}}
		}
	}
	answer(w, http.StatusOK, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "crash-1",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
	})
}
