package turn_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

func delegateTo(name string) llm.Reply {
	return text(`{"action":"delegate","agent_name":"` + name + `","response":""}`)
}

// newTillWorld returns a world of the router in which turns may look, and whose account has the agent «tendero» with a
// change over the defaults.
func newTillWorld(t *testing.T, patch string, answers ...any) *world {
	w := newRouterWorld(t, answers...)
	w.letLook(t)
	w.parrot(t)
	agents := agent.Registry{Store: w.Store.Registry, Now: w.Clock}
	if _, err := agents.Put(context.Background(), fixture.Account, "ana", "tendero", 0, json.RawMessage(patch)); err != nil {
		t.Fatal(err)
	}
	return w
}

const till = `{"description":"Lleva las salas","prompt":"Atiende el mostrador.","keywords":["sala"]}`

// TestRouterDelegatesToALoop: it reads, answers and is remembered, in the turn of the router.
func TestRouterDelegatesToALoop(t *testing.T) {
	w := newTillWorld(t, till)
	w.model.answers = []any{delegateTo("tendero"), calls("look", lookAt(w.Server.ID, "/rooms")), text("Queda libre la Sala Norte.")}
	reply := w.route(t, w.IDs.New(w.Clock()), "¿qué sala queda?", w.Clock())
	if reply.Message.Content != "Queda libre la Sala Norte." || reply.Routed == nil || reply.Routed.Agent != "tendero" || reply.Routed.Action != agent.Delegate {
		t.Fatalf("%+v, %+v", reply.Message, reply.Routed)
	}
	if len(w.Requests()) != 1 || len(reply.Message.Sources) != 1 || reply.Message.By.Agent != "tendero" {
		t.Errorf("it read %d, and says %+v by %+v", len(w.Requests()), reply.Message.Sources, reply.Message.By)
	}
	prompt := w.asked().Messages[0].Content
	if !strings.Contains(prompt, "Atiende el mostrador.") || !strings.Contains(prompt, locale.ModelText("prompt.customer")) {
		t.Errorf("the agent's prompt is %s", prompt)
	}
	m := w.memory(t)
	if n := len(m.Exchanges); n != 1 || m.Exchanges[0].Agent != "tendero" || m.Exchanges[0].Response != reply.Message.Content {
		t.Errorf("%+v", m.Exchanges)
	}
	turns := w.turns(t)
	if len(turns) != 1 || len(turns[0].Attempts) != 3 {
		t.Errorf("%+v", turns)
	}
}

// TestWhatACustomerAskedForIsADraft: the customer hears that somebody decides on it, and confirms nothing by a yes.
func TestWhatACustomerAskedForIsADraft(t *testing.T) {
	w := newTillWorld(t, till)
	w.model.answers = []any{delegateTo("tendero"), calls("mcp_request", w.request("DELETE", "/bookings/9", "")), decisionReply("Alguien lo mirará.")}
	id, at := w.IDs.New(w.Clock()), w.Clock()
	reply := w.route(t, id, "anula la reserva 9", at)
	said := locale.Text(locale.Spanish, "router.proposed")
	if reply.Kind != turn.KindPlan || reply.Run == nil || reply.ForCustomer(locale.Spanish) != said {
		t.Fatalf("%+v", reply)
	}
	if m := w.memory(t); m.Exchanges[0].Response != said {
		t.Errorf("it remembers %+v", m.Exchanges)
	}
	w.Pass(2 * time.Second)
	if again := w.route(t, id, "anula la reserva 9", at); again.Run == nil || again.Run.ID != reply.Run.ID || again.Routed.Agent != "tendero" {
		t.Errorf("a repeated message is answered %+v", again)
	}
	w.route(t, w.IDs.New(w.Clock()), "sí", w.Clock())
	r, err := w.Store.Runs.Run(context.Background(), fixture.Account, reply.Run.ID)
	if err != nil || r.Status != plan.Draft || len(w.Requests()) != 0 {
		t.Errorf("the customer's yes made it %s, and %d requests, %v", r.Status, len(w.Requests()), err)
	}
}

// TestTheRouterOffersOnlyLoopsThatAreForEverybody: an agent for the account's own people is no choice.
func TestTheRouterOffersOnlyLoopsThatAreForEverybody(t *testing.T) {
	for _, c := range []struct {
		patch   string
		named   []string
		offered string
	}{
		{till, nil, "loro tendero"},
		{`{"prompt":"Sin palabras clave."}`, nil, "loro"},
		{`{"prompt":"Sin palabras clave."}`, []string{"tendero", "plan"}, "plan tendero"},
		{till, []string{"loro"}, "loro"},
		{till, []string{}, ""},
	} {
		w := newTillWorld(t, c.patch, decisionReply("Hola."))
		if err := w.Store.Router.PutRouterSettings(context.Background(), fixture.Account, 0, agent.Settings{Agents: c.named}); err != nil {
			t.Fatal(err)
		}
		w.route(t, w.IDs.New(w.Clock()), "hola", w.Clock())
		var schema struct {
			Properties struct {
				Name struct{ Enum []*string } `json:"agent_name"`
			}
		}
		if err := json.Unmarshal(w.asked().Format.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, n := range schema.Properties.Name.Enum {
			if n != nil && *n != "none" {
				names = append(names, *n)
			}
		}
		if got := strings.Join(names, " "); got != c.offered {
			t.Errorf("%s with %q offers %q, want %q", c.patch, c.named, got, c.offered)
		}
	}
}

// TestAServerDoesNotHearWhatALoopRead: data of one service does not leave by the history that another agent is sent.
func TestAServerDoesNotHearWhatALoopRead(t *testing.T) {
	w := newTillWorld(t, till)
	p := &fakeAgent{answers: []any{"hola"}}
	w.service.Router.Agents = p
	w.model.answers = []any{
		decisionReply("Buenas."), delegateTo("tendero"), calls("look", lookAt(w.Server.ID, "/rooms")), text("La Norte."), delegateTo("loro"),
	}
	for _, message := range []string{"hola", "¿qué sala queda?", "otra cosa"} {
		w.route(t, w.IDs.New(w.Clock()), message, w.Clock())
	}
	heard, _ := json.Marshal(p.messages[0].Context["historial"])
	if text := string(heard); strings.Contains(text, "La Norte.") || !strings.Contains(text, "Buenas.") {
		t.Errorf("the server hears %s", text)
	}
}

// contextRecorder records the contexts that agents get that are servers.
type contextRecorder struct{ contexts []string }

// Ask implements turn.Agents.
func (l *contextRecorder) Ask(_ context.Context, _ ids.Account, _ agent.Agent, m agent.Message) (agent.Answer, error) {
	raw, err := json.Marshal(m.Context)
	l.contexts = append(l.contexts, string(raw))
	return agent.Answer{Text: "vale", Attempts: 1}, err
}

// A server that is an agent is told neither what a loop answered nor what the router's own model wrote when it had read that.
func TestAServerIsNotToldWhatALoopRead(t *testing.T) {
	w := newTillWorld(t, till)
	heard := &contextRecorder{}
	w.service.Router.Agents = heard
	w.model.answers = []any{
		delegateTo("tendero"), calls("look", lookAt(w.Server.ID, "/rooms")), text("Queda la Sala Norte."),
		decisionReply("Ya te dije: la Sala Norte."), decisionReply("Buenos días."), delegateTo("loro"),
	}
	for range 4 {
		w.route(t, w.IDs.New(w.Clock()), "¿qué queda?", w.Clock())
	}
	if len(heard.contexts) != 1 || strings.Contains(heard.contexts[0], "Sala Norte") {
		t.Errorf("%q", heard.contexts)
	}
	for _, e := range w.memory(t).Exchanges[:3] {
		if len(e.ReadFrom) != 1 || e.ReadFrom[0] != w.Server.ID {
			t.Errorf("%+v", e)
		}
	}
	list, _, err := w.Store.Chats.Messages(t.Context(), conversation.Key{Account: fixture.Account, ChatID: conversation.RouterChat(fixture.Account, 7, "s")}, "", 50)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if m.Content == "Ya te dije: la Sala Norte." && len(m.ReadFrom) != 1 {
			t.Errorf("%+v", m)
		}
	}
}
