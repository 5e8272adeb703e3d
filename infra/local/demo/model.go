package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// ModelName is the name of the demonstration model.
const ModelName = "piloto-demo"

// NewModel returns the demonstration model: POST /v1/chat/completions, streaming or not, and GET
// /v1/models. It accepts any model name and any key. «Mañana» is relative to now, in its own zone.
func NewModel(now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		card := map[string]any{"id": ModelName, "object": "model", "created": 1767225600, "owned_by": "piloto"}
		answer(w, reply{Status: http.StatusOK, Body: encode(map[string]any{"object": "list", "data": []any{card}})})
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
		if err != nil {
			refuse(w, http.StatusRequestEntityTooLarge, "too_large", "The request is larger than 16 MiB.")
			return
		}
		complete(w, raw, now())
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "unknown_url", "Unknown request URL: "+r.Method+" "+r.URL.Path)
	})
	return mux
}

// completion is a request for a chat completion; other members are accepted and have no effect.
type completion struct {
	Messages      []openai.ChatCompletionMessage       `json:"messages"`
	Tools         []openai.Tool                        `json:"tools"`
	ToolChoice    any                                  `json:"tool_choice"`
	Format        *openai.ChatCompletionResponseFormat `json:"response_format"`
	Stream        bool                                 `json:"stream"`
	StreamOptions openai.StreamOptions                 `json:"stream_options"`
}

func complete(w http.ResponseWriter, raw []byte, at time.Time) {
	var c completion
	if err := json.Unmarshal(raw, &c); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_json", "The body is not a chat completion request: "+err.Error())
		return
	}
	if len(c.Messages) == 0 {
		refuse(w, http.StatusBadRequest, "empty_messages", "messages must hold at least one message.")
		return
	}
	d, err := c.decide(at)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	sum := sha256.Sum256(raw)
	d.write(w, c, hex.EncodeToString(sum[:12]), at, tokenCount(string(raw)))
}

// tokenCount estimates tokens at four characters each; there is no tokenizer.
func tokenCount(text string) int { return (len([]rune(text)) + 3) / 4 }

// decide answers under the tool choice and the response format. It returns an error when the rules
// cannot answer so.
func (c completion) decide(today time.Time) (decision, error) {
	if ended, d, ok := c.readEnded(today); ok {
		return decision{text: d.speech.conclude(ended)}, nil
	}
	tools := slices.DeleteFunc(c.Tools, func(t openai.Tool) bool { return t.Function == nil || c.ToolChoice == "none" })
	var names []string
	for _, t := range tools {
		names = append(names, t.Function.Name)
		if agents, ok := agentNames(t.Function.Parameters); ok {
			return callDecision(t.Function.Name, newRouting(newDialogue(c.Messages, nil, today), agents).decide()), nil
		}
	}
	if c.Format != nil && c.Format.JSONSchema != nil {
		agents, ok := agentNames(c.Format.JSONSchema.Schema)
		if !ok {
			return decision{}, errors.New("response_format: the demonstration model only fills the form of a router, which has agent_name")
		}
		return decision{text: string(encode(newRouting(newDialogue(c.Messages, nil, today), agents).decide()))}, nil
	}
	d := newDialogue(c.Messages, names, today).decide()
	if choice := c.ToolChoice; d.tool == "" && choice != nil && choice != "auto" && choice != "none" {
		return decision{}, errors.New("tool_choice: the demonstration model calls a tool only where the message asks for one")
	}
	return d, nil
}

// agentNames returns the agents that the schema of a router's decision allows, and whether it is one.
func agentNames(schema any) (names []string, ok bool) {
	var form struct {
		Properties map[string]struct{ Enum []any }
	}
	if raw, err := json.Marshal(schema); err != nil || json.Unmarshal(raw, &form) != nil {
		return nil, false
	}
	property, ok := form.Properties["agent_name"]
	for _, one := range property.Enum {
		if name, isName := one.(string); isName && name != "none" { // «none» is no agent: the router answers itself
			names = append(names, name)
		}
	}
	return names, ok
}

// write answers with one chat.completion, or with server-sent chat.completion.chunk events: the
// message, its end and the usage.
func (d decision) write(w http.ResponseWriter, c completion, id string, at time.Time, promptTokens int) {
	message, finish := map[string]any{"role": "assistant", "content": d.text}, openai.FinishReasonStop
	if d.tool != "" {
		first := 0
		call := openai.ToolCall{Index: &first, ID: "call_" + id, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: d.tool, Arguments: d.arguments}}
		message, finish = map[string]any{"role": "assistant", "content": nil, "tool_calls": []openai.ToolCall{call}}, openai.FinishReasonToolCalls
	}
	own := tokenCount(d.text + d.tool + d.arguments)
	usage := openai.Usage{PromptTokens: promptTokens, CompletionTokens: own, TotalTokens: promptTokens + own}
	with := func(object string, usage any, choices ...any) json.RawMessage {
		return encode(map[string]any{
			"id": "chatcmpl-" + id, "object": object, "created": at.Unix(), "model": ModelName, "system_fingerprint": "piloto-demo-rules",
			"choices": append([]any{}, choices...), "usage": usage,
		})
	}
	if !c.Stream {
		answer(w, reply{Status: http.StatusOK, Body: with("chat.completion", usage, map[string]any{"index": 0, "message": message, "finish_reason": finish})})
		return
	}
	const chunk = "chat.completion.chunk"
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	fmt.Fprintf(w, "data: %s\n\n", with(chunk, nil, map[string]any{"index": 0, "delta": message, "finish_reason": nil}))
	fmt.Fprintf(w, "data: %s\n\n", with(chunk, nil, map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}))
	if c.StreamOptions.IncludeUsage {
		fmt.Fprintf(w, "data: %s\n\n", with(chunk, usage))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// refuse answers with the protocol's error object.
func refuse(w http.ResponseWriter, status int, code, text string) {
	answer(w, reply{Status: status, Body: encode(map[string]any{"error": map[string]any{
		"message": text, "type": "invalid_request_error", "param": nil, "code": code,
	}})})
}
