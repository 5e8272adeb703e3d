package turn_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/lab"
	"piloto/internal/agent"
	"piloto/internal/auth"
	"piloto/internal/llm"
	"piloto/internal/locale"
	"piloto/internal/turn"
)

// unknown is a company of which nothing is known.
type unknown struct{}

func (unknown) Read(context.Context, string, int64, string) string { return "" }

// routed is a world whose messages go to the router.
func routed(t testing.TB, answers ...any) *world {
	w := newWorld(t, answers...)
	w.service.Router = turn.Router{Memory: agent.Sessions{Store: w.Store, Now: w.Clock}, Settings: w.Store, Business: unknown{}}
	return w
}

func decides(response string) llm.Reply {
	raw, _ := json.Marshal(map[string]any{"action": "respond", "agent_name": nil, "response": response})
	return text(string(raw))
}

// route sends a message of the session s of company 7; at is when it first came.
func (w *world) route(t testing.TB, id, message string, at time.Time) turn.Reply {
	t.Helper()
	reply, err := w.service.Route(t.Context(), turn.Request{
		Principal: auth.Principal{Account: lab.Account, User: "ana"}, ChatID: "s", Message: message, Locale: locale.Spanish,
		Route: &turn.Route{Persona: agent.Persona{Company: 7}}, MessageID: id, MessageAt: at,
	})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func (w *world) remembered(t testing.TB) agent.Memory {
	t.Helper()
	m, err := w.Store.Memory(t.Context(), lab.Account, 7, "s", w.Clock())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAMessageThatIsRoutedAgainIsRememberedOnce: the process died, or its answer was
// lost, after it had remembered what it answered.
func TestAMessageThatIsRoutedAgainIsRememberedOnce(t *testing.T) {
	w := routed(t, decides("uno"), decides("dos"))
	id, at := w.IDs.New(w.Clock()), w.Clock()
	for _, want := range []string{"uno", "dos"} {
		if reply := w.route(t, id, "una pregunta sola", at); reply.Message.Content != want {
			t.Fatalf("%+v", reply)
		}
	}
	if m := w.remembered(t); len(m.Exchanges) != 1 || m.Exchanges[0].Response != "dos" {
		t.Errorf("%+v", m.Exchanges)
	}
	for i, r := range w.model.asked {
		if prompt := r.Messages[0].Content; strings.Contains(prompt, "una pregunta sola") {
			t.Errorf("time %d: the message stands in its own past: %s", i, prompt)
		}
	}
}

// TestAMessageThatIsServedLateIsRememberedFromThenOn: one that could not run may come
// again under its key for as long as the key is known.
func TestAMessageThatIsServedLateIsRememberedFromThenOn(t *testing.T) {
	w := routed(t, decides("por fin"))
	at := w.Clock()
	w.Pass(agent.MemoryLife + time.Hour)
	w.route(t, w.IDs.New(at), "hola", at)
	if m := w.remembered(t); len(m.Exchanges) != 1 || !m.ExpiresAt.Equal(w.Clock().Add(agent.MemoryLife)) {
		t.Errorf("at %v: %+v", w.Clock(), m)
	}
}
