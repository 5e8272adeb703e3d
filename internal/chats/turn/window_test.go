package turn_test

import (
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// smallWindow is a deployment whose first model has a window of 16,385 tokens, and whose second one has room.
func smallWindow(first, second string) eligibility.Deployment {
	a := fixture.Assistant("openai", first)
	a.Fallback = []eligibility.Choice{{Provider: "groq", Model: second}}
	return eligibility.Deployment{
		Providers: []eligibility.Platform{{Name: "openai", BaseURL: "https://a.example/v1"}, {Name: "groq", BaseURL: "https://b.example/v1"}}, Assistant: a,
	}
}

// TestAFullWindowDropsTheOldest: each model gets as much of the conversation as it has room for.
func TestAFullWindowDropsTheOldest(t *testing.T) {
	w := newWorldWith(t, smallWindow("gpt-3.5-turbo", "llama-3.1-8b-instant"))
	long := strings.Repeat("una frase cualquiera, ", 500) // about 4,000 tokens, from above
	for _, m := range []string{"primero", "segundo", "tercero"} {
		w.model.answers = []any{text("sobre el " + m + ": " + long)}
		w.send(t, m)
	}
	w.model.answers = []any{llm.ErrUnreachable, text("ya")}
	w.send(t, "y ahora "+long)
	said := func(r llm.Request) (all string) {
		for _, m := range r.Messages[1:] {
			if m.Role != llm.System {
				all += m.Content[:min(16, len(m.Content))] + "|"
			}
		}
		return all
	}
	n := len(w.model.asked)
	small, large := w.model.asked[n-2], w.model.asked[n-1]
	if small.Model != "gpt-3.5-turbo" || small.Estimate()+small.MaxTokens > 16_385 {
		t.Errorf("%s is sent %d tokens, with an answer of %d", small.Model, small.Estimate(), small.MaxTokens)
	}
	if got := said(small); !strings.HasPrefix(got, "primero|") || strings.Contains(got, "sobre el primero") || !strings.Contains(got, "sobre el tercero") || !strings.HasSuffix(got, "y ahora una fras|") {
		t.Errorf("it is sent %s", got)
	}
	if got := said(large); !strings.Contains(got, "sobre el primero") || large.Model != "llama-3.1-8b-instant" {
		t.Errorf("%s is sent %s", large.Model, got)
	}
}
