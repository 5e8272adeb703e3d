package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"piloto/internal/models/llm"
)

// mostWindow is the largest context window that is believed, in tokens.
const mostWindow = 100_000_000

// listedModel is a model of a list, with the members in which providers say its window: OpenRouter and Together
// (context_length), vLLM and SGLang (max_model_len), Groq (context_window), Mistral (max_context_length). A server that
// loaded a model with a smaller window than the model can have says it apart (LM Studio).
type listedModel struct {
	ID        string          `json:"id"`
	Loaded    json.RawMessage `json:"loaded_context_length"`
	Served    json.RawMessage `json:"max_model_len"`
	Context   json.RawMessage `json:"context_window"`
	Length    json.RawMessage `json:"context_length"`
	Longest   json.RawMessage `json:"max_context_length"`
	Preferred struct {
		Length json.RawMessage `json:"context_length"`
	} `json:"top_provider"`
}

// List implements llm.Learner, within 3 s.
func (c *Client) List(ctx context.Context) ([]llm.Listed, error) {
	bound, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	res, err := c.listing(bound)
	if err != nil {
		return nil, listFault(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := readWhole(res.Body)
	if err != nil {
		return nil, listFault(ctx, err)
	}
	var list []llm.Listed
	for _, raw := range elements(body) {
		var m listedModel
		_ = json.Unmarshal(raw, &m) // a member of another type is left out
		if m.ID == "" {
			continue
		}
		window := cmp.Or(tokensOf(m.Loaded), tokensOf(m.Served), tokensOf(m.Preferred.Length), tokensOf(m.Context), tokensOf(m.Length), tokensOf(m.Longest))
		list = append(list, llm.Listed{ID: strings.TrimPrefix(m.ID, "models/"), Window: window})
	}
	return list, nil
}

// elements returns the elements of a list of models: {"data":[…]}, or a list alone.
func elements(body []byte) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil {
		return list
	}
	var page struct {
		Data []json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(body, &page) // anything else is no list
	return page.Data
}

// tokensOf returns a number of tokens; 0 for anything else.
func tokensOf(raw json.RawMessage) int {
	var n float64
	if json.Unmarshal(bytes.Trim(raw, `"`), &n) != nil || n < 1 || n > mostWindow {
		return 0
	}
	return int(n)
}
