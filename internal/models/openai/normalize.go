package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// answer is the used part of a response, or of one chunk of a stream. It is decoded loosely, because compatible
// servers differ in their extra members and types, and normalized to what the protocol defines.
type answer struct {
	Model   string          `json:"model,omitempty"`
	Choices []choice        `json:"choices"`
	Usage   *tokens         `json:"usage,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
	Object  string          `json:"object,omitempty"`  // "error": the whole is one
	Message json.RawMessage `json:"message,omitempty"` // a text: so is it (SiliconFlow)

	whole bool // it is not a chunk of a stream
}

type tokens struct {
	Input  int           `json:"prompt_tokens"`
	Output int           `json:"completion_tokens"`
	Prompt *promptTokens `json:"prompt_tokens_details,omitempty"`
	Cached int           `json:"cached_tokens,omitempty"`           // Moonshot
	Hit    int           `json:"prompt_cache_hit_tokens,omitempty"` // DeepSeek
	Read   int           `json:"cache_read_input_tokens,omitempty"` // LiteLLM before Anthropic
}

// fromCache returns how many of the input tokens the provider read from its cache.
func (u *tokens) fromCache() int {
	n := max(u.Cached, u.Hit, u.Read, 0)
	if u.Prompt != nil {
		n = max(n, u.Prompt.Cached)
	}
	return min(n, max(u.Input, 0))
}

type promptTokens struct {
	Cached int `json:"cached_tokens"`
}

type choice struct {
	Index   int             `json:"index"`
	Message *content        `json:"message,omitempty"`
	Delta   *content        `json:"delta,omitempty"`
	Finish  string          `json:"finish_reason,omitempty"`
	Usage   *tokens         `json:"usage,omitempty"` // Moonshot, in a stream
	Error   json.RawMessage `json:"error,omitempty"`
}

type content struct {
	Text    json.RawMessage `json:"content,omitempty"`
	Refusal string          `json:"refusal,omitempty"`

	ReasoningContent json.RawMessage `json:"reasoning_content,omitempty"`
	Reasoning        json.RawMessage `json:"reasoning,omitempty"`
	Details          json.RawMessage `json:"reasoning_details,omitempty"`
	Blocks           json.RawMessage `json:"thinking_blocks,omitempty"`
	Extra            json.RawMessage `json:"extra_content,omitempty"`

	Calls []call          `json:"tool_calls,omitempty"`
	Old   *calledFunction `json:"function_call,omitempty"` // a call, in the form that tool_calls replaced

	thoughts []members // that the content has as parts
}

// oldIndex is the index of a call in the old form, of which an answer has one.
const oldIndex = math.MaxInt32

type call struct {
	Index    *int           `json:"index,omitempty"`
	ID       label          `json:"id,omitempty"`
	Type     string         `json:"type"`
	Function calledFunction `json:"function"`

	Extra    json.RawMessage `json:"extra_content,omitempty"`            // Google
	Specific json.RawMessage `json:"provider_specific_fields,omitempty"` // LiteLLM
}

// members returns the further members that go back with the call.
func (c call) members() members {
	all := members{}
	for name, value := range map[string]json.RawMessage{"extra_content": c.Extra, "provider_specific_fields": c.Specific} {
		if !isBlank(value) && len(value) <= mostExtra {
			all[name] = value
		}
	}
	return all
}

type calledFunction struct {
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// label is an id. Some servers send a number; anything else is no id.
type label string

// UnmarshalJSON implements json.Unmarshaler.
func (l *label) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var n json.Number
		_ = json.Unmarshal(raw, &n) // of another value it stays empty
		text = n.String()
	}
	*l = label(text)
	return nil
}

// normalize decodes a response. Its error is a *refusal when the response contains an error.
func normalize(body []byte, key string) (answer, error) {
	var a answer
	var odd *json.UnmarshalTypeError // the member keeps its zero value
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &a); err != nil && !errors.As(err, &odd) {
		return answer{}, fmt.Errorf("an answer that is not JSON: %w", err)
	}
	if !isBlank(a.Error) || len(a.Choices) == 0 && a.Usage == nil && (a.Object == "error" || textIn(a.Message) != "") {
		return answer{}, embeddedError(body, key)
	}
	for i := range a.Choices {
		c := &a.Choices[i]
		if !isBlank(c.Error) {
			return answer{}, embeddedError(c.Error, key)
		}
		for _, part := range []*content{c.Message, c.Delta} {
			if part != nil {
				part.normalize()
			}
		}
		c.Error = nil
	}
	a.Error = nil
	return a, nil
}

// finish completes a whole answer. It sets the finish reason of the choices that have content and no reason, because they
// are complete when their JSON is. It numbers the calls, because each element of a list is a call, under any id and index.
func (a *answer) finish() {
	a.whole = true
	for i := range a.Choices {
		c := &a.Choices[i]
		if c.Message == nil {
			continue
		}
		if c.Finish == "" && c.Message.hasContent() {
			c.Finish = "stop"
		}
		for at := range c.Message.Calls {
			if one := &c.Message.Calls[at]; !one.isOld() {
				one.Index = &at
			}
		}
	}
}

func (c *content) hasContent() bool {
	return strings.TrimSpace(textIn(c.Text)+c.Refusal) != "" || len(c.Calls) > 0
}

// embeddedError returns the refusal in a response with status 200.
func embeddedError(body []byte, key string) error {
	e := &refusal{status: 200}
	e.explain(body, key)
	return fmt.Errorf("an error inside of an answer: %w", e)
}

// isBlank reports whether a member is empty.
func isBlank(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "{}", "false", "[]":
		return true
	}
	return false
}

func (c call) isOld() bool { return c.Index != nil && *c.Index == oldIndex }

// takeOld makes a call of one in the old form.
func (c *content) takeOld() {
	if c.Old != nil && (c.Old.Name != "" || !isBlank(c.Old.Arguments)) {
		at := oldIndex
		c.Calls = append(c.Calls, call{Index: &at, Type: "function", Function: *c.Old})
	}
	c.Old = nil
}

func (c *content) normalize() {
	if c.Text = bytes.TrimSpace(c.Text); len(c.Text) > 0 && c.Text[0] != '"' {
		c.Text, c.thoughts = partsOf(c.Text)
	}
	c.takeOld()
	for i := range c.Calls {
		f := &c.Calls[i].Function
		switch raw := bytes.TrimSpace(f.Arguments); {
		case len(raw) == 0, string(raw) == "null":
			f.Arguments = nil
		case raw[0] != '"': // an object instead of a string with its JSON
			f.Arguments, _ = json.Marshal(string(raw))
		}
	}
}

// textIn returns the text of a JSON string; "" of anything else.
func textIn(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text) // what is not a text is empty
	return text
}
