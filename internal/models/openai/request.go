package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/models/llm"
)

// body is a request of the chat-completions protocol.
type body struct {
	Model            string          `json:"model"`
	Messages         []message       `json:"messages"`
	Tools            []tool          `json:"tools,omitempty"`
	ToolChoice       any             `json:"tool_choice,omitempty"`
	ResponseFormat   *responseFormat `json:"response_format,omitempty"`
	Temperature      *float64        `json:"temperature,omitempty"`
	MaxTokens        int             `json:"max_tokens,omitempty"`
	CompletionTokens int             `json:"max_completion_tokens,omitempty"`
	ReasoningEffort  string          `json:"reasoning_effort,omitempty"`
	Stream           bool            `json:"stream,omitempty"`
	StreamOptions    *streamOptions  `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role    llm.Role   `json:"role"`
	Content any        `json:"content"` // a text, a list of parts, or nil: of a call without a text
	Calls   []sentCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`

	more members // further members that the provider sent with it
}

type sentCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function sentFunction `json:"function"`

	more members
}

type sentFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function toolSpec `json:"function"`
}

type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type responseFormat struct {
	Type   string      `json:"type"`
	Schema namedSchema `json:"json_schema"`
}

type namedSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// MarshalJSON implements json.Marshaler.
func (m message) MarshalJSON() ([]byte, error) {
	type plain message
	return m.more.join(plain(m))
}

// MarshalJSON implements json.Marshaler.
func (c sentCall) MarshalJSON() ([]byte, error) {
	type plain sentCall
	return c.more.join(plain(c))
}

// members are further members of a JSON object, by their names.
type members map[string]json.RawMessage

// object returns the members as an object; nil when there is none.
func (m members) object() json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return raw
}

// join encodes v, which is an object, with these members behind its own.
func (m members) join(v any) ([]byte, error) {
	own, err := json.Marshal(v)
	if err != nil || len(m) == 0 {
		return own, err
	}
	more, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append(append(own[:len(own)-1], ','), more[1:]...), nil
}

// request returns the API request for r, without the members that the model refuses (q).
func request(r llm.Request, q Quirks) body {
	out := body{Model: r.Model}
	if !q.NoTemperature {
		out.Temperature = &r.Temperature
	}
	if q.CompletionTokens {
		out.CompletionTokens = q.limit(r)
	} else {
		out.MaxTokens = q.limit(r)
	}
	if r.Sink != nil && !q.NoStream || q.OnlyStream {
		out.Stream = true
		if !q.NoStreamOptions {
			out.StreamOptions = &streamOptions{IncludeUsage: true}
		}
	}
	messages := r.Messages
	if q.SystemFirst && systemLater(messages) {
		messages = systemInPlace(messages)
	}
	if q.NoTools {
		messages = inWords(messages)
	}
	for _, m := range messages {
		out.Messages = append(out.Messages, q.messageOf(m))
	}
	for _, t := range r.Tools {
		if q.NoTools || q.NoToolChoice && r.NoCalls {
			break
		}
		if q.PlainTools {
			t.Parameters = llm.Plain(t.Parameters)
		}
		out.Tools = append(out.Tools, tool{"function", toolSpec{t.Name, t.Description, llm.Common(t.Parameters)}})
	}
	if r.NoCalls && len(out.Tools) > 0 {
		out.ToolChoice = "none"
	}
	if r.Format != nil {
		q.Format.apply(&out, *r.Format)
	}
	if q.NoReasoning && len(out.Tools) > 0 {
		out.ReasoningEffort = "none"
	}
	return out
}

func (q Quirks) messageOf(m llm.Message) message {
	out := message{Role: m.Role, Content: m.Content, CallID: q.idOf(m.CallID)}
	switch {
	case m.Content == "" && len(m.Calls) > 0:
		out.Content = nil
	case m.Content == "" && m.Role == llm.ToolRole:
		out.Content = "{}" // providers refuse an empty one
	}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, sentCall{ID: q.idOf(c.ID), Type: "function", Function: sentFunction{c.Name, arguments(c.Arguments)}})
	}
	q.sendThoughts(&out, m)
	return out
}

// inWords returns the messages with their calls and results as texts, for a model that takes no tools.
func inWords(list []llm.Message) []llm.Message {
	out := make([]llm.Message, len(list))
	names := map[string]string{}
	for i, m := range list {
		for _, c := range m.Calls {
			names[c.ID] = c.Name
			m.Content = strings.TrimSpace(m.Content + "\n" + c.Name + " " + c.Arguments)
		}
		if m.Role == llm.ToolRole {
			m.Role, m.Content, m.CallID = llm.User, names[m.CallID]+": "+m.Content, ""
		}
		m.Calls, m.Thought, m.Extra = nil, "", nil
		out[i] = m
	}
	return out
}

// arguments returns a model's arguments in a form that can be sent back. Providers that parse the arguments of
// earlier calls refuse the whole conversation when they are not an object.
func arguments(written string) string {
	written = strings.TrimSpace(written)
	if written == "" {
		return "{}"
	}
	if strings.HasPrefix(written, "{") && json.Valid([]byte(written)) {
		return written
	}
	quoted, err := json.Marshal(map[string]string{"malformed": written})
	if err != nil {
		return "{}"
	}
	return string(quoted)
}

// systemLater reports whether a system message stands after the first message.
func systemLater(list []llm.Message) bool {
	return len(list) > 0 && slices.ContainsFunc(list[1:], func(m llm.Message) bool { return m.Role == llm.System })
}

// systemInPlace returns the messages for a model that takes a system message only as the first one: what the later ones say
// stands where it was, in a message of the user. Messages of the user that follow one another are one.
func systemInPlace(list []llm.Message) []llm.Message {
	var out []llm.Message
	for _, m := range list {
		last := len(out) - 1
		switch {
		case m.Role == llm.System && last == 0 && out[0].Role == llm.System:
			out[0].Content += "\n\n" + m.Content
			continue
		case m.Role == llm.System && last >= 0:
			m.Role = llm.User
		}
		if last >= 0 && m.Role == llm.User && out[last].Role == llm.User {
			out[last].Content += "\n\n" + m.Content
			continue
		}
		out = append(out, m)
	}
	return out
}
