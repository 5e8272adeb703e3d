package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/models/cache"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// model counts its calls, and answers with their number.
type model struct {
	calls int
	reply func(n int) (llm.Reply, error)
}

func (m *model) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	m.calls++
	if m.reply != nil {
		return m.reply(m.calls)
	}
	return llm.Reply{Text: "answer", Usage: llm.Usage{Input: 10, Output: 2}, Model: r.Model}, nil
}

func (m *model) Model(context.Context, ids.Account, eligibility.Candidate) (llm.Model, error) {
	return m, nil
}

type store map[string][]byte

func (s store) Get(key string) []byte        { return s[key] }
func (s store) Put(key string, entry []byte) { s[key] = entry }

type sink struct{ text string }

func (s *sink) Text(delta string) { s.text += delta }
func (s *sink) Reset()            { s.text = "" }

var now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func request() llm.Request {
	return llm.Request{Model: "m", Temperature: 0.5, MaxTokens: 100, Messages: []llm.Message{
		{Role: llm.System, Content: "Hoy es lunes 2026-03-02 (UTC 09:00)."}, {Role: llm.User, Content: "hola (UTC 09:00)"},
	}, Tools: []llm.Tool{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)}}}
}

func ask(ctx context.Context, t *testing.T, m cache.Models, c eligibility.Candidate, r llm.Request) llm.Reply {
	t.Helper()
	client, err := m.Model(ctx, "a", c)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := client.Complete(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestTheSameCallIsAnsweredOnce(t *testing.T) {
	at, provider, s := now, &model{}, store{}
	m := cache.Models{Models: provider, Store: s, Now: func() time.Time { return at }}
	ctx, to := cache.Wanted(t.Context()), eligibility.Candidate{Provider: "p", BaseURL: "https://p.example"}
	ask(ctx, t, m, to, request())
	r, heard := request(), &sink{}
	r.Sink, r.Messages[0].Content = heard, "Hoy es lunes 2026-03-02 (UTC 17:45)."
	if got := ask(ctx, t, m, to, r); got.Text != "answer" || heard.text != "answer" || got.Usage != (llm.Usage{}) || provider.calls != 1 {
		t.Errorf("%+v after %d calls, heard %q", got, provider.calls, heard.text)
	}
	for name, other := range map[string]func(r *llm.Request, c *eligibility.Candidate){
		"provider":    func(_ *llm.Request, c *eligibility.Candidate) { c.Provider = "q" },
		"base":        func(_ *llm.Request, c *eligibility.Candidate) { c.BaseURL = "https://q.example" },
		"model":       func(r *llm.Request, _ *eligibility.Candidate) { r.Model = "n" },
		"temperature": func(r *llm.Request, _ *eligibility.Candidate) { r.Temperature = 0 },
		"message":     func(r *llm.Request, _ *eligibility.Candidate) { r.Messages[1].Content = "hola (UTC 09:01)" },
		"tools":       func(r *llm.Request, _ *eligibility.Candidate) { r.Tools = nil },
		"format": func(r *llm.Request, _ *eligibility.Candidate) {
			r.Format = &llm.Format{Name: "f", Schema: json.RawMessage(`{}`)}
		},
	} {
		r, c, before := request(), to, provider.calls
		other(&r, &c)
		if ask(ctx, t, m, c, r); provider.calls != before+1 {
			t.Errorf("another %s is answered from the cache", name)
		}
	}
	before := provider.calls
	if ask(t.Context(), t, m, to, request()); provider.calls != before+1 {
		t.Error("it is used without being wanted")
	}
	for key := range s {
		s[key] = []byte("{broken")
	}
	if ask(ctx, t, m, to, request()); provider.calls != before+2 {
		t.Error("a broken entry is no miss")
	}
	at = at.Add(cache.Life)
	if ask(ctx, t, m, to, request()); provider.calls != before+3 {
		t.Error("it is kept for ever")
	}
}

func TestWhatFailedOrWasCutIsNotKept(t *testing.T) {
	provider := &model{reply: func(n int) (llm.Reply, error) {
		if n == 1 {
			return llm.Reply{}, errors.New("down")
		}
		return llm.Reply{Text: "half", Cut: true}, nil
	}}
	m := cache.Models{Models: provider, Store: store{}, Now: func() time.Time { return now }}
	ctx := cache.Wanted(t.Context())
	client, err := m.Model(ctx, "a", eligibility.Candidate{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, _ = client.Complete(ctx, request())
	}
	if provider.calls != 3 {
		t.Errorf("%d calls", provider.calls)
	}
}
