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
	out := result{decision: d, id: hex.EncodeToString(sum[:12]), created: at.Unix()}
	out.usage.PromptTokens, out.usage.CompletionTokens = tokenCount(string(raw)), tokenCount(d.text+d.tool+d.arguments)
	out.usage.TotalTokens = out.usage.PromptTokens + out.usage.CompletionTokens
	if c.Stream {
		out.stream(w, c.StreamOptions.IncludeUsage)
		return
	}
	out.write(w)
}

// tokenCount estimates tokens at four characters each; there is no tokenizer.
func tokenCount(text string) int { return (len([]rune(text)) + 3) / 4 }

// form holds the parts of a JSON Schema that the rules read.
type form struct {
	Properties struct {
		Agent *struct {
			Enum []any `json:"enum"`
		} `json:"agent_name"`
	} `json:"properties"`
}

// decide answers under the tool choice and the response format. It returns an error when the rules
// cannot answer so.
func (c completion) decide(today time.Time) (decision, error) {
	tools := slices.DeleteFunc(c.Tools, func(t openai.Tool) bool { return t.Function == nil || c.ToolChoice == "none" })
	var names []string
	for _, t := range tools {
		names = append(names, t.Function.Name)
		if f := readForm(t.Function.Parameters); f.Properties.Agent != nil {
			return callDecision(t.Function.Name, newRouting(newDialogue(c.Messages, nil, today), f).decide()), nil
		}
	}
	if c.Format != nil && c.Format.Type == openai.ChatCompletionResponseFormatTypeJSONSchema && c.Format.JSONSchema != nil {
		f := readForm(c.Format.JSONSchema.Schema)
		if f.Properties.Agent == nil {
			return decision{}, errors.New("response_format: the demonstration model only fills the form of a router, which has agent_name")
		}
		return decision{text: string(encode(newRouting(newDialogue(c.Messages, nil, today), f).decide()))}, nil
	}
	d := newDialogue(c.Messages, names, today).decide()
	if choice := c.ToolChoice; d.tool == "" && choice != nil && choice != "auto" && choice != "none" {
		return decision{}, errors.New("tool_choice: the demonstration model calls a tool only where the message asks for one")
	}
	return d, nil
}

func readForm(schema any) (f form) {
	raw, err := json.Marshal(schema)
	if err == nil {
		_ = json.Unmarshal(raw, &f) // a schema of another form has no agents
	}
	return f
}

// result is a decision in the shapes of chat completions.
type result struct {
	decision
	id      string
	created int64 // Unix seconds
	usage   openai.Usage
}

func (r result) finish() openai.FinishReason {
	if r.tool != "" {
		return openai.FinishReasonToolCalls
	}
	return openai.FinishReasonStop
}

// message returns the answer as a message, or as the only delta of a stream.
func (r result) message() map[string]any {
	if r.tool == "" {
		return map[string]any{"role": "assistant", "content": r.text}
	}
	at := 0
	call := openai.ToolCall{Index: &at, ID: "call_" + r.id, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: r.tool, Arguments: r.arguments}}
	return map[string]any{"role": "assistant", "content": nil, "tool_calls": []openai.ToolCall{call}}
}

func (r result) envelope(object string, choices ...any) map[string]any {
	return map[string]any{
		"id": "chatcmpl-" + r.id, "object": object, "created": r.created, "model": ModelName,
		"system_fingerprint": "piloto-demo-rules", "choices": append([]any{}, choices...),
	}
}

// write answers with one chat.completion.
func (r result) write(w http.ResponseWriter) {
	out := r.envelope("chat.completion", map[string]any{"index": 0, "message": r.message(), "finish_reason": r.finish()})
	out["usage"] = r.usage
	answer(w, reply{Status: http.StatusOK, Body: encode(out)})
}

// stream answers with server-sent chat.completion.chunk events: the message, and the usage.
func (r result) stream(w http.ResponseWriter, withUsage bool) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	events := []map[string]any{
		r.envelope("chat.completion.chunk", map[string]any{"index": 0, "delta": r.message(), "finish_reason": nil}),
		r.envelope("chat.completion.chunk", map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": r.finish()}),
	}
	if withUsage {
		events = append(events, r.envelope("chat.completion.chunk"))
		events[2]["usage"] = r.usage
	}
	for _, event := range events {
		fmt.Fprintf(w, "data: %s\n\n", encode(event))
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// refuse answers with the protocol's error object.
func refuse(w http.ResponseWriter, status int, code, text string) {
	answer(w, reply{Status: status, Body: encode(map[string]any{"error": map[string]any{
		"message": text, "type": "invalid_request_error", "param": nil, "code": code,
	}})})
}
