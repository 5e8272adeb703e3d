package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ModelName is the name of the demonstration model.
const ModelName = "piloto-demo"

// Model is the demonstration model: POST /v1/chat/completions, streaming or
// not, and GET /v1/models. It accepts any model name and any key.
type Model struct {
	mux *http.ServeMux
	now func() time.Time
}

// ModelOption changes how NewModel builds a model.
type ModelOption func(*Model)

// WithToday sets the clock that «mañana» is relative to, in its own zone.
func WithToday(now func() time.Time) ModelOption { return func(m *Model) { m.now = now } }

// NewModel returns the demonstration model as an http.Handler.
func NewModel(options ...ModelOption) http.Handler {
	m := &Model{mux: http.NewServeMux(), now: time.Now}
	for _, option := range options {
		option(m)
	}
	card := map[string]any{"id": ModelName, "object": "model", "created": 1767225600, "owned_by": "piloto"}
	m.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, reply{Status: http.StatusOK, Body: encode(map[string]any{"object": "list", "data": []any{card}})})
	})
	m.mux.HandleFunc("GET /v1/models/"+ModelName, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, reply{Status: http.StatusOK, Body: encode(card)})
	})
	m.mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "unknown_url", "Unknown request URL: "+r.Method+" "+r.URL.Path)
	})
	return m
}

func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<20)
	m.mux.ServeHTTP(w, r)
}

// message is one message of a chat completion.
type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// text returns the content, which is a string or a list of text parts.
func (m message) text() string {
	var whole string
	if json.Unmarshal(m.Content, &whole) == nil {
		return whole
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts)
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(part.Text)
	}
	return b.String()
}

type offeredTool struct {
	Function struct {
		Name       string `json:"name"`
		Parameters schema `json:"parameters"`
	} `json:"function"`
}

// completion is a request for a chat completion; other members are accepted
// and have no effect.
type completion struct {
	Messages   []message       `json:"messages"`
	Tools      []offeredTool   `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Format     struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema schema `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	today time.Time
}

func (m *Model) complete(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "too_large", "The request is larger than 16 MiB.")
		return
	}
	var c completion
	if err := json.Unmarshal(raw, &c); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_json", "The body is not a chat completion request: "+err.Error())
		return
	}
	if len(c.Messages) == 0 {
		refuse(w, http.StatusBadRequest, "empty_messages", "messages must hold at least one message.")
		return
	}
	choice, err := c.choice()
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_tool_choice", err.Error())
		return
	}
	sum := sha256.Sum256(raw)
	c.today = m.now()
	out := result{
		id: hex.EncodeToString(sum[:12]), created: c.today.Unix(), decision: c.answer(choice),
		promptTokens: tokenCount(string(raw)),
	}
	if c.Stream {
		out.stream(w, c.StreamOptions.IncludeUsage)
		return
	}
	answer(w, reply{Status: http.StatusOK, Body: encode(out.wholeResponse())})
}

// choice returns "auto", "none", "required" or the name of the forced tool.
func (c completion) choice() (string, error) {
	if len(c.ToolChoice) == 0 || string(c.ToolChoice) == "null" {
		return "auto", nil
	}
	var word string
	if json.Unmarshal(c.ToolChoice, &word) == nil {
		if word != "auto" && word != "none" && word != "required" {
			return "", errors.New("tool_choice must be auto, none, required or a function")
		}
		if word == "required" && len(c.Tools) == 0 {
			return "", errors.New("tool_choice required needs tools")
		}
		return word, nil
	}
	var forced offeredTool
	if err := json.Unmarshal(c.ToolChoice, &forced); err != nil || forced.Function.Name == "" {
		return "", errors.New("tool_choice must name a function")
	}
	if !slices.Contains(c.names(), forced.Function.Name) {
		return "", errors.New("tool_choice names a function that is not among the tools: " + forced.Function.Name)
	}
	return forced.Function.Name, nil
}

func (c completion) names() []string {
	var out []string
	for _, tool := range c.Tools {
		out = append(out, tool.Function.Name)
	}
	return out
}

// answer decides under a tool choice.
func (c completion) answer(choice string) decision {
	if form, tool, ok := c.wantedForm(choice); ok {
		return c.answerInForm(form, tool)
	}
	switch choice {
	case "none":
		return newDialogue(c.Messages, nil, c.today).decide()
	case "auto":
		return newDialogue(c.Messages, c.names(), c.today).decide()
	case "required":
		free := newDialogue(c.Messages, c.names(), c.today).decide()
		if free.call != nil {
			return free
		}
		for _, name := range []string{toolSearch, toolRequest, toolPlan} {
			if slices.Contains(c.names(), name) {
				return c.forcedCall(name)
			}
		}
		return c.forcedCall(c.Tools[0].Function.Name)
	default:
		return c.forcedCall(choice)
	}
}

// forcedCall answers with a call of the named tool. It leaves out values that the person did not
// give: the caller's validation names the missing values, and the next answer asks for them.
func (c completion) forcedCall(name string) decision {
	d := newDialogue(c.Messages, []string{name}, c.today)
	free := d.decide()
	if free.call != nil && free.call.Name == name {
		return free
	}
	ops := readCatalogue(d.system)
	f := readFacts(d.text, parameterNames(ops), c.today)
	kind, nouns := intentOf(f.rest)
	op, _ := choose(ops, kind, nouns, f)
	request, _ := build(op, f, nil)
	switch name {
	case toolSearch:
		return callDecision(toolSearch, map[string]string{"query": strings.Join(nouns, " ")})
	case toolRequest:
		return callDecision(toolRequest, request)
	case toolPlan:
		return callDecision(toolPlan, planProposal{d.goal(), []planStep{{ID: "s1", Title: op.title(), mcpRequest: request}}})
	}
	for _, tool := range c.Tools {
		if tool.Function.Name == name {
			return callDecision(name, plainValue(tool.Function.Parameters, d.text))
		}
	}
	return free
}

// plainValue returns the simplest value of a schema: required members only, the first value of an
// enumeration, the person's text for a string.
func plainValue(s schema, text string) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.kind() {
	case "object":
		out := map[string]any{}
		for _, name := range s.Required {
			out[name] = plainValue(s.Properties[name], text)
		}
		return out
	case "array":
		return []any{}
	case "integer", "number":
		return 0
	case "boolean":
		return false
	default:
		return text
	}
}
