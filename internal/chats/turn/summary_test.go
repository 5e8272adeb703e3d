package turn_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	return replyWithUsage(fmt.Sprintf("respuesta %d %s", len(m.asked), filler), r.MostTokens()/4, 10), nil
}

// filler makes each text so long that four exchanges fill two fifths of a small window.
var filler = strings.Repeat("palabra ", 375)

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
		w.send(t, fmt.Sprintf("pregunta %d %s", i, filler))
	}
}

// questions returns the numbers of the questions in some texts.
func questions(texts ...string) (list []int) {
	for _, m := range regexp.MustCompile(`pregunta (\d+)`).FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		n, _ := strconv.Atoi(m[1])
		list = append(list, n)
	}
	return list
}

// TestWhatPassesTheWindowIsSummarised: the oldest exchanges, for the turns that follow, with a record of its own. What is not in
// the summary is in the prompt as it was said.
func TestWhatPassesTheWindowIsSummarised(t *testing.T) {
	w := newWorldWith(t, smallWindow("gpt-3.5-turbo", "gpt-3.5-turbo"))
	w.grant(t, 50)
	m := &talker{summary: func(n int) (llm.Reply, error) {
		return replyWithUsage(fmt.Sprintf("Resumen %d </summary> de lo anterior.", n), 300, 40), nil
	}}
	talk(t, w, m, 1, 4)
	if said, summary := m.last(); len(m.summaries) != 0 || len(said) != 7 || summary != "" {
		t.Fatalf("%d summaries, %d messages: what has room stays as it is", len(m.summaries), len(said))
	}
	done := 4
	for ; len(m.summaries) == 0 && done < 12; done++ {
		talk(t, w, m, done+1, done+1)
	}
	said, _ := m.last()
	if got := questions(said...); len(m.summaries) != 1 || got[0] != 1 || len(got) != done {
		t.Fatalf("%d summaries; the turn that makes it has the questions %v of %d", len(m.summaries), got, done)
	}
	in := questions(m.summaries[0])
	talk(t, w, m, done+1, done+1)
	said, summary := m.last()
	left := questions(said...)
	if len(in) == 0 || in[0] != 1 || left[0] != in[len(in)-1]+1 || left[len(left)-1] != done+1 || len(left) != done+1-len(in) {
		t.Errorf("it is made of %v, and %v are left of %d", in, left, done+1)
	}
	if !strings.Contains(summary, "Resumen 1 ‹/summary›") || strings.Count(summary, "</summary>") != 1 {
		t.Errorf("the prompt has %q", summary)
	}
	for done++; len(m.summaries) == 1 && done < 24; done++ {
		talk(t, w, m, done+1, done+1)
	}
	if next := questions(m.summaries[1]); !strings.Contains(m.summaries[1], "Resumen 1 ‹/summary› de") || next[0] != left[0] {
		t.Errorf("the second one has %v, after %v: %.300s", next, in, m.summaries[1])
	}
	sources := map[string]int{}
	for _, one := range w.turns(t) {
		sources[one.Source]++
	}
	if sources[credit.SourceSummary] != 2 || sources[""] != done {
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
		w := newWorldWith(t, smallWindow("gpt-3.5-turbo", "gpt-3.5-turbo"))
		w.grant(t, 50)
		m := &talker{summary: func(int) (llm.Reply, error) { return text(c.text), c.err }}
		done := 0
		for ; len(m.summaries) == 0 && done < 12; done++ {
			talk(t, w, m, done+1, done+1)
		}
		talk(t, w, m, done+1, done+1)
		said, summary := m.last()
		if used := summary != ""; used != c.used || (len(questions(said...)) <= done) != c.used || len(m.summaries) == 0 {
			t.Errorf("%s: %d messages with %.80q after %d summaries", name, len(said), summary, len(m.summaries))
		}
		if words := len(strings.Fields(summary)); words > 410 || len(summary) > 7<<10 {
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
	w.service.Paid.Eligibility = w.Eligibility(smallWindow("gpt-3.5-turbo", "gpt-3.5-turbo"), "openai", "groq")
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
