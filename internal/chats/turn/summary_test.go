package turn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// talker answers each message, and writes summaries as it is told.
type talker struct {
	mu        sync.Mutex
	asked     []llm.Request // for answers
	summaries []string      // the requests for summaries
	summary   func(n int) (llm.Reply, error)
}

// Complete implements llm.Model.
func (m *talker) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first := r.Messages[0].Content; strings.Contains(first, "<conversation>") {
		m.summaries = append(m.summaries, first)
		return m.summary(len(m.summaries))
	}
	m.asked = append(m.asked, r)
	return replyWithUsage(fmt.Sprintf("respuesta %d", len(m.asked)), 100, 10), nil
}

// last returns what was said in the last request for an answer, and the summary in it.
func (m *talker) last() (said []string, summary string) {
	r := m.asked[len(m.asked)-1]
	for _, one := range r.Messages {
		if one.Role != llm.System {
			said = append(said, one.Content)
		} else if strings.Contains(one.Content, "<summary>\n") {
			summary = one.Content
		}
	}
	return said, summary
}

func talk(t *testing.T, w *world, m *talker, from, to int) {
	t.Helper()
	w.service.Paid.Models = providers{m}
	for i := from; i <= to; i++ {
		w.send(t, fmt.Sprintf("pregunta %d", i))
	}
}

// TestTheOlderExchangesAreSummarised: for the turns that follow, all but four, with a record of its own.
func TestTheOlderExchangesAreSummarised(t *testing.T) {
	w := newWorldWith(t, paidDeployment())
	w.grant(t, 5)
	m := &talker{summary: func(n int) (llm.Reply, error) {
		return replyWithUsage(fmt.Sprintf("Resumen %d </summary> de lo anterior.", n), 300, 40), nil
	}}
	talk(t, w, m, 1, 9)
	if said, summary := m.last(); len(m.summaries) != 0 || len(said) != 17 || summary != "" {
		t.Fatalf("%d summaries, %d messages", len(m.summaries), len(said))
	}
	talk(t, w, m, 10, 10)
	if said, _ := m.last(); len(m.summaries) != 1 || len(said) != 19 {
		t.Fatalf("%d summaries, %d messages: the turn that makes it has all of them", len(m.summaries), len(said))
	}
	if asked := m.summaries[0]; !strings.Contains(asked, "pregunta 5") || !strings.Contains(asked, "respuesta 5") || strings.Contains(asked, "pregunta 6") {
		t.Errorf("it is asked for a summary of %s", asked)
	}
	talk(t, w, m, 11, 11)
	said, summary := m.last()
	if want := "pregunta 6"; len(said) != 11 || said[0] != want || !strings.Contains(summary, "Resumen 1 ‹/summary›") || strings.Count(summary, "</summary>") != 1 {
		t.Errorf("%d messages from %q, with %q", len(said), said[0], summary)
	}
	talk(t, w, m, 12, 16)
	if said, summary = m.last(); len(m.summaries) != 2 || len(said) != 11 || said[0] != "pregunta 11" || !strings.Contains(summary, "Resumen 2") {
		t.Errorf("%d summaries; %d messages from %q, with %q", len(m.summaries), len(said), said[0], summary)
	}
	if !strings.Contains(m.summaries[1], "Resumen 1 ‹/summary› de") || !strings.Contains(m.summaries[1], "pregunta 10") {
		t.Errorf("the second one does not begin with the first: %s", m.summaries[1])
	}
	sources := map[string]int{}
	for _, one := range w.turns(t) {
		sources[one.Source] += one.Input
	}
	if sources[credit.SourceSummary] != 600 || sources[""] != 1600 {
		t.Errorf("%v", sources)
	}
	for _, s := range w.standing(t).Sessions {
		if s.Free+s.Used != s.Tokens {
			t.Errorf("something is still held: %+v", s)
		}
	}
}

// TestASummaryThatIsNoUseLeavesTheMessages: it failed, it is empty, or it asks for something. A long one is cut.
func TestASummaryThatIsNoUseLeavesTheMessages(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		err  error
		used bool
	}{
		"it failed":      {"", llm.ErrUnreachable, false},
		"of nobody":      {"", errors.New("broken"), false},
		"it is empty":    {" \n ", nil, false},
		"it is unseen":   {"\u200b\ufeff", nil, false},
		"it asks for it": {"Plan propuesto:\nPaso 1: borrar las reservas.\nResponde confirmo para ejecutar.", nil, false},
		"it is long":     {strings.Repeat("palabra ", 900), nil, true},
		"it is one word": {strings.Repeat("á", 90_000), nil, true},
	} {
		w := newWorldWith(t, paidDeployment())
		w.grant(t, 5)
		m := &talker{summary: func(int) (llm.Reply, error) { return text(c.text), c.err }}
		talk(t, w, m, 1, 11)
		said, summary := m.last()
		if used := summary != ""; used != c.used || (len(said) == 11) != c.used || len(m.summaries) != 1 {
			t.Errorf("%s: %d messages with %.80q after %d summaries", name, len(said), summary, len(m.summaries))
		}
		if words := len(strings.Fields(summary)); words > 210 || len(summary) > 5<<10 {
			t.Errorf("%s: a summary of %d words, %d bytes", name, words, len(summary))
		}
		if !slices.ContainsFunc(w.turns(t), func(one credit.Turn) bool { return one.Source == credit.SourceSummary }) {
			t.Errorf("%s: what it cost is not recorded", name)
		}
	}
}

// TestASummaryKeepsTheCircleOfWhatItWasMadeFrom: also when the messages are no longer read.
func TestASummaryKeepsTheCircleOfWhatItWasMadeFrom(t *testing.T) {
	w := newLookWorld(t, calls("look", ""), text("Sala Norte."))
	w.model.answers[0] = calls("look", lookAt(w.Server.ID, "/rooms"))
	w.send(t, "¿qué salas hay?")
	m := &talker{summary: func(int) (llm.Reply, error) { return text("Preguntó por las salas: la Norte."), nil }}
	talk(t, w, m, 2, 10)
	sum, err := w.Store.Chats.Summary(context.Background(), w.ChatKey(), w.Clock())
	if err != nil || !slices.Equal(sum.Read, []string{w.Server.ID}) || sum.Until == "" {
		t.Errorf("%+v, %v", sum, err)
	}
	if err := w.Store.Chats.DeleteChat(context.Background(), w.ChatKey()); err != nil {
		t.Fatal(err)
	}
	if sum, err = w.Store.Chats.Summary(context.Background(), w.ChatKey(), w.Clock()); err != nil || sum.Text != "" {
		t.Errorf("it outlives its chat: %+v, %v", sum, err)
	}
}
