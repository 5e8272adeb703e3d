package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// answer is what is read of an answer, or of one chunk of a stream. It is read
// loosely, since compatible servers differ in what they send beside it and in the
// types of it, and written as the protocol has it.
type answer struct {
	Model   string          `json:"model,omitempty"`
	Choices []choice        `json:"choices"`
	Usage   *tokens         `json:"usage,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

type tokens struct {
	Input  int `json:"prompt_tokens"`
	Output int `json:"completion_tokens"`
}

type choice struct {
	Index   int             `json:"index"`
	Message *content        `json:"message,omitempty"`
	Delta   *content        `json:"delta,omitempty"`
	Finish  string          `json:"finish_reason,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

type content struct {
	Text    json.RawMessage `json:"content,omitempty"`
	Refusal string          `json:"refusal,omitempty"`
	Calls   []call          `json:"tool_calls,omitempty"`
}

type call struct {
	Index    *int     `json:"index,omitempty"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// mend reads an answer. Its error is a *refusal when the answer holds an error,
// whatever else it holds.
func mend(body []byte, key string) (answer, error) {
	var a answer
	var odd *json.UnmarshalTypeError // of a member that is then left at its zero
	if err := json.Unmarshal(body, &a); err != nil && !errors.As(err, &odd) {
		return answer{}, fmt.Errorf("an answer that is not JSON: %w", err)
	}
	if !blank(a.Error) {
		return answer{}, inside(body, key)
	}
	for i := range a.Choices {
		c := &a.Choices[i]
		if !blank(c.Error) {
			return answer{}, inside(c.Error, key)
		}
		for _, said := range []*content{c.Message, c.Delta} {
			if said != nil {
				said.mend()
			}
		}
		c.Error = nil
	}
	a.Error = nil
	return a, nil
}

// finish gives a reason to the choices of a whole answer that say something and
// not why they end: they are whole all the same, since their JSON is.
func (a *answer) finish() {
	for i := range a.Choices {
		if c := &a.Choices[i]; c.Finish == "" && c.Message != nil && c.Message.says() {
			c.Finish = "stop"
		}
	}
}

func (c *content) says() bool {
	var text string
	_ = json.Unmarshal(c.Text, &text) // what is no text says nothing
	return strings.TrimSpace(text+c.Refusal) != "" || len(c.Calls) > 0
}

// inside is the refusal that an answer with status 200 holds.
func inside(body []byte, key string) error {
	e := &refusal{status: 200}
	e.explain(body, key)
	return fmt.Errorf("an error inside of an answer: %w", e)
}

// blank reports whether a member says nothing.
func blank(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "{}", "false", "[]":
		return true
	}
	return false
}

func (c *content) mend() {
	c.Text = text(c.Text)
	for i := range c.Calls {
		f := &c.Calls[i].Function
		switch raw := bytes.TrimSpace(f.Arguments); {
		case len(raw) == 0, string(raw) == "null":
			f.Arguments = nil
		case raw[0] != '"': // an object where a string that holds one belongs
			f.Arguments, _ = json.Marshal(string(raw))
		}
	}
}

// text is a content as a JSON string: some servers send the parts of one.
func text(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] == '"' {
		return raw
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	var whole strings.Builder
	for _, p := range parts {
		if p.Type == "text" || p.Type == "" {
			whole.WriteString(p.Text)
		}
	}
	out, err := json.Marshal(whole.String())
	if err != nil {
		return nil
	}
	return out
}
