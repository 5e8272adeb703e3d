package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// result is a decision in the shapes of chat completions.
type result struct {
	decision
	id           string
	created      int64 // Unix seconds
	promptTokens int
}

type wireFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type wireCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function wireFunction `json:"function"`
}

type wireUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// tokenCount estimates tokens at four characters each; there is no tokenizer.
func tokenCount(text string) int { return (len([]rune(text)) + 3) / 4 }

func (r result) usage() wireUsage {
	n := tokenCount(r.text)
	if r.call != nil {
		n = tokenCount(r.call.Name + r.call.Arguments)
	}
	return wireUsage{r.promptTokens, n, r.promptTokens + n}
}

func (r result) finish() string {
	if r.call != nil {
		return "tool_calls"
	}
	return "stop"
}

func (r result) envelope(object string, choices []any) map[string]any {
	return map[string]any{
		"id": "chatcmpl-" + r.id, "object": object, "created": r.created, "model": ModelName,
		"system_fingerprint": "piloto-demo-rules", "choices": choices,
	}
}

// wholeResponse returns the answer as one chat.completion.
func (r result) wholeResponse() map[string]any {
	message := map[string]any{"role": "assistant", "content": r.text, "refusal": nil}
	if r.call != nil {
		message["content"] = nil
		message["tool_calls"] = []wireCall{{ID: "call_" + r.id, Type: "function", Function: wireFunction{r.call.Name, r.call.Arguments}}}
	}
	out := r.envelope("chat.completion", []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": r.finish()}})
	out["usage"] = r.usage()
	return out
}

// stream writes the answer as server-sent chat.completion.chunk events.
func (r result) stream(w http.ResponseWriter, withUsage bool) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	flusher := http.NewResponseController(w)
	send := func(value any) {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", encode(value))
		_ = flusher.Flush()
	}
	chunk := func(delta map[string]any, finish any) {
		out := r.envelope("chat.completion.chunk", []any{map[string]any{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}})
		if withUsage {
			out["usage"] = nil
		}
		send(out)
	}
	if r.call != nil {
		zero := 0
		chunk(map[string]any{"role": "assistant", "content": nil, "tool_calls": []wireCall{{Index: &zero, ID: "call_" + r.id, Type: "function", Function: wireFunction{Name: r.call.Name}}}}, nil)
		for _, piece := range pieces(r.call.Arguments) {
			chunk(map[string]any{"tool_calls": []wireCall{{Index: &zero, Function: wireFunction{Arguments: piece}}}}, nil)
		}
	} else {
		chunk(map[string]any{"role": "assistant", "content": ""}, nil)
		for _, piece := range pieces(r.text) {
			chunk(map[string]any{"content": piece}, nil)
		}
	}
	chunk(map[string]any{}, r.finish())
	if withUsage {
		out := r.envelope("chat.completion.chunk", []any{})
		out["usage"] = r.usage()
		send(out)
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
	_ = flusher.Flush()
}

// pieces cuts text after each space, so that no rune is split.
func pieces(text string) []string { return strings.SplitAfter(text, " ") }

// refuse answers with the protocol's error object.
func refuse(w http.ResponseWriter, status int, code, text string) {
	answer(w, reply{Status: status, Body: encode(map[string]any{"error": map[string]any{
		"message": text, "type": "invalid_request_error", "param": json.RawMessage("null"), "code": code,
	}})})
}
