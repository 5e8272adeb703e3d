// Package cache answers a call of a model as the same call was answered before, for a job that asks for it. Only a
// deployment of one machine has a store of answers.
//
// A call is the same when the provider, its address, the model and everything that is sent are, but for the minute of
// the day that prompts say. An answer is kept for 24 hours, and costs nothing. An entry that cannot be read is a miss.
package cache

import (
	"context"
	"encoding/json"
	"regexp"
	"sync"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/jcs"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// Life is how long an answer is kept.
const Life = 24 * time.Hour

// Store keeps entries. Both methods may fail silently, because an answer can be asked for again.
type Store interface {
	// Get returns an entry; nil when there is none.
	Get(key string) []byte
	Put(key string, entry []byte)
}

type wantedKey struct{}

// Wanted has the calls of a context answered from a cache, where there is one.
func Wanted(ctx context.Context) context.Context { return context.WithValue(ctx, wantedKey{}, true) }

// Models is an eligibility.Models whose models have a cache.
type Models struct {
	eligibility.Models
	Store Store
	Now   func() time.Time
}

// Model implements eligibility.Models.
func (m Models) Model(ctx context.Context, account ids.Account, c eligibility.Candidate) (llm.Model, error) {
	model, err := m.Models.Model(ctx, account, c)
	if err != nil || ctx.Value(wantedKey{}) == nil {
		return model, err
	}
	return cached{model, m, account, c.Provider, c.BaseURL}, nil
}

type cached struct {
	llm.Model
	models         Models
	account        ids.Account
	provider, base string
}

// Window implements llm.Windowed.
func (c cached) Window(model string) int {
	if w, ok := c.Model.(llm.Windowed); ok {
		return w.Window(model)
	}
	return 0
}

// entry is an answer as it is kept.
type entry struct {
	At    time.Time `json:"at"`
	Reply llm.Reply `json:"reply"`
}

// Complete implements llm.Model.
func (c cached) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	key, err := c.key(r)
	if err != nil {
		return c.Model.Complete(ctx, r)
	}
	var kept entry
	if raw := c.models.Store.Get(key); json.Unmarshal(raw, &kept) == nil && c.models.Now().Sub(kept.At) < Life && (kept.Reply.Text != "" || len(kept.Reply.Calls) > 0) {
		kept.Reply.Usage = llm.Usage{}
		if r.Sink != nil && r.Format == nil && kept.Reply.Text != "" {
			r.Sink.Text(kept.Reply.Text)
		}
		return kept.Reply, nil
	}
	reply, err := c.Model.Complete(ctx, r)
	if err == nil && !reply.Cut {
		if raw, err := json.Marshal(entry{c.models.Now(), reply}); err == nil {
			c.models.Store.Put(key, raw)
		}
	}
	return reply, err
}

// minute is the time of day in a prompt (turn.today).
var minute = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(UTC \d\d:\d\d\)`) })

// key returns the SHA-256 of a call, in 64 hex characters.
func (c cached) key(r llm.Request) (string, error) {
	messages := make([]llm.Message, len(r.Messages))
	for i, m := range r.Messages {
		if messages[i] = m; m.Role == llm.System {
			messages[i].Content = minute().ReplaceAllString(m.Content, "")
		}
	}
	return jcs.Sum(struct {
		Account               ids.Account
		Provider, Base, Model string
		Temperature           float64
		MaxTokens             int
		Format                *llm.Format
		Messages              []llm.Message
		Tools                 []llm.Tool
	}{c.account, c.provider, c.base, r.Model, r.Temperature, r.MaxTokens, r.Format, messages, r.Tools})
}
