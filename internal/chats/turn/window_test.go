package turn_test

import (
	"slices"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
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

// Window implements llm.Windowed: it is known once a request was refused.
func (s *script) Window(string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.asked, s.isTooLong) {
		return s.window
	}
	return 0
}

func (s *script) isTooLong(r llm.Request) bool {
	return s.window > 0 && r.Estimate()+r.MaxTokens > s.window
}

// TestAWindowThatTheModelNamesIsKept: the request is made shorter and asked again, and later ones fit at once. Where nothing
// more can be left out, the person reads why.
func TestAWindowThatTheModelNamesIsKept(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("una frase cualquiera, ", 300)
	w.model.window = 16_000
	for i := range 8 {
		w.model.answers = []any{text("sobre eso: " + long)}
		if reply := w.send(t, "mensaje "+long); reply.Kind != turn.KindMessage || !strings.HasPrefix(reply.Message.Content, "sobre") {
			t.Fatalf("message %d: %+v", i, reply)
		}
	}
	refused := 0
	for _, r := range w.model.asked {
		if w.model.isTooLong(r) {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d requests were refused", refused)
	}
	w.model.window = 50
	if reply := w.send(t, "¿sigues ahí?"); reply.Message.StopReason != conversation.StopContext {
		t.Errorf("%+v", reply.Message)
	}

	j := newJobWorld(t, text(long), calls("search_tools", `{"query":"salas"}`), text("Hay una."))
	j.send(t, "mensaje "+long)
	j.model.window = j.model.asked[0].Estimate() + 3000
	if done := j.drive(t, j.start(t, "build", job.Order{}).ID); done.Status != job.Success {
		t.Errorf("%+v", done)
	}
}
