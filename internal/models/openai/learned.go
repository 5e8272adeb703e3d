package openai

import (
	"encoding/json"
	"sync"
	"time"
)

// lessons are the times of what a client was taught, by model.
type lessons struct {
	mu sync.Mutex
	at map[string]time.Time
}

// isNewer notes a lesson of that time, and reports whether it is newer than the last one.
func (l *lessons) isNewer(model string, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !at.After(l.at[model]) {
		return false
	}
	if l.at == nil || len(l.at) >= mostModels {
		l.at = map[string]time.Time{}
	}
	l.at[model] = at
	return true
}

// Fresh returns a client of the same endpoint that has learned nothing.
func (c *Client) Fresh() *Client {
	return &Client{Provider: c.Provider, base: c.base, key: c.key, http: c.http, now: c.now}
}

// Learned implements llm.Learner.
func (c *Client) Learned(model string) json.RawMessage {
	known := c.Quirks(model)
	if known == usual(model) {
		return nil
	}
	raw, err := json.Marshal(known)
	if err != nil {
		return nil
	}
	return raw
}

// Teach tells the client what another one had learned of a model at a time, in place of what it knows. An older lesson, or
// one that cannot be read, changes nothing.
func (c *Client) Teach(model string, known json.RawMessage, at time.Time) {
	now := Quirks{}
	switch {
	case at.IsZero(), len(known) > 0 && json.Unmarshal(known, &now) != nil, !c.taught.isNewer(model, at):
		return
	case len(known) == 0:
		now = usual(model)
	}
	c.quirks.learn(model, now)
}
