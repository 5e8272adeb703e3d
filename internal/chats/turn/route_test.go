package turn_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
)

// unknownBusiness has no business context.
type unknownBusiness struct{}

func (unknownBusiness) Read(context.Context, ids.Account, int64, string) string { return "" }

// newRouterWorld returns a world whose messages go to the router.
func newRouterWorld(t testing.TB, answers ...any) *world {
	w := newWorld(t, answers...)
	w.service.Router = turn.Router{Memory: agent.Sessions{Store: w.Store.Router, Now: w.Clock}, Business: unknownBusiness{}}
	return w
}

func decisionReply(response string) llm.Reply {
	raw, _ := json.Marshal(map[string]any{"action": "respond", "agent_name": nil, "response": response})
	return text(string(raw))
}

// route sends a message of the session s of company 7. at is its first arrival.
func (w *world) route(t testing.TB, id, message string, at time.Time) turn.Reply {
	t.Helper()
	reply, err := w.service.Route(t.Context(), turn.Request{
		Principal: auth.Principal{Account: fixture.Account, User: "ana"}, ChatID: "s", Message: message, Locale: locale.Spanish,
		Route: &turn.Route{Persona: agent.Persona{Company: 7}}, MessageID: id, MessageAt: at,
	})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func (w *world) memory(t testing.TB) agent.Memory {
	t.Helper()
	m, err := w.Store.Router.Memory(t.Context(), fixture.Account, 7, "s", w.Clock())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRetriedMessageIsRememberedOnce: the retry comes at once, after the answer was stored in
// the memory.
func TestRetriedMessageIsRememberedOnce(t *testing.T) {
	w := newRouterWorld(t, decisionReply("uno"), decisionReply("dos"))
	id, at := w.IDs.New(w.Clock()), w.Clock()
	for _, want := range []string{"uno", "dos"} {
		if reply := w.route(t, id, "una pregunta sola", at); reply.Message.Content != want {
			t.Fatalf("%+v", reply)
		}
	}
	if m := w.memory(t); len(m.Exchanges) != 1 || m.Exchanges[0].Response != "dos" {
		t.Errorf("%+v", m.Exchanges)
	}
	for i, r := range w.model.asked {
		if prompt := r.Messages[0].Content; strings.Contains(prompt, "una pregunta sola") {
			t.Errorf("time %d: the message stands in its own past: %s", i, prompt)
		}
	}
}

// TestRetriedRouteReturnsStoredAnswer: the server of the first attempt ended after it stored the
// answer and before it responded. The answer is returned again after the first attempt's lease
// has ended.
func TestRetriedRouteReturnsStoredAnswer(t *testing.T) {
	w := newRouterWorld(t, decisionReply("uno"), decisionReply("otra"), decisionReply("dos"))
	id, other, at := w.IDs.New(w.Clock()), w.IDs.New(w.Clock()), w.Clock()
	first := w.route(t, id, "una pregunta", at)
	w.route(t, other, "otra pregunta", at)
	w.Pass(time.Minute)
	again := w.route(t, id, "una pregunta", at)
	if again.Message.ID != first.Message.ID || again.Message.Content != "uno" || again.Routed == nil || again.Routed.Action != agent.Respond {
		t.Errorf("%+v, then %+v", first, again)
	}
	messages, _, err := w.Store.Chats.Messages(t.Context(), first.Chat.Key(fixture.Account), "", 100)
	if err != nil || len(messages) != 4 || len(w.model.asked) != 2 {
		t.Errorf("%+v %v, asked %d times", messages, err, len(w.model.asked))
	}
	if m := w.memory(t); len(m.Exchanges) != 2 {
		t.Errorf("%+v", m.Exchanges)
	}
}

// TestLateMessageIsRememberedAtServingTime: a request that could not run may be retried under
// its key for as long as the key is known.
func TestLateMessageIsRememberedAtServingTime(t *testing.T) {
	w := newRouterWorld(t, decisionReply("por fin"))
	at := w.Clock()
	w.Pass(agent.MemoryLife + time.Hour)
	w.route(t, w.IDs.New(at), "hola", at)
	if m := w.memory(t); len(m.Exchanges) != 1 || !m.ExpiresAt.Equal(w.Clock().Add(agent.MemoryLife)) {
		t.Errorf("at %v: %+v", w.Clock(), m)
	}
}

// TestTheRoutersClaimsAreComparedWithTheRecord: with what ran in the chat, and with what the business said.
func TestTheRoutersClaimsAreComparedWithTheRecord(t *testing.T) {
	for said, code := range map[string]string{
		"Tu sala ha sido reservada.": conversation.NoteNothingDone, "El servicio de taxi ha sido cancelado.": "", "¿Confirmas la cancelación? Responde sí.": conversation.NoteNothingPending, "Abrimos a las 9.": "",
	} {
		w := newRouterWorld(t, decisionReply(said))
		w.service.Router.Business = business("El servicio de taxi ha sido cancelado.")
		got := ""
		for _, n := range w.route(t, w.IDs.New(w.Clock()), "hola", w.Clock()).Message.Notes {
			got += n.Code
		}
		if got != code {
			t.Errorf("%q has the notes %q", said, got)
		}
	}
}

type business string

func (b business) Read(context.Context, ids.Account, int64, string) string { return string(b) }
