package turn_test

import (
	"context"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// telephone is an agent of whom each message is noted: it answers what it is told to, the
// last again and again.
type telephone struct {
	answers  []any // a text or an error
	messages []agent.Message
	waits    []time.Duration // until the message must be answered; 0: for ever
}

func (p *telephone) Ask(ctx context.Context, _ string, _ agent.Agent, m agent.Message) (agent.Answer, error) {
	wait := time.Duration(0)
	if deadline, has := ctx.Deadline(); has {
		wait = time.Until(deadline)
	}
	p.messages, p.waits = append(p.messages, m), append(p.waits, wait)
	next := p.answers[0]
	if len(p.answers) > 1 {
		p.answers = p.answers[1:]
	}
	if err, failed := next.(error); failed {
		return agent.Answer{Attempts: 1, Failures: 1}, err
	}
	return agent.Answer{Text: next.(string), Attempts: 1}, nil
}

func delegates() llm.Reply {
	return text(`{"action":"delegate","agent_name":"loro","response":""}`)
}

// phoned is a world whose every message goes to the agent «loro».
func phoned(t *testing.T, answers ...any) (*world, *telephone) {
	w := routed(t, delegates(), delegates(), delegates())
	w.parrot(t)
	p := &telephone{answers: answers}
	w.service.Router.Agents = p
	return w, p
}

// TestAnAgentIsWaitedForAsLongAsTheRouteHolds: the model's time is not the agent's.
func TestAnAgentIsWaitedForAsLongAsTheRouteHolds(t *testing.T) {
	for _, c := range []struct {
		limits  turn.Limits
		bounded bool
	}{
		{turn.Limits{Model: time.Minute}, false},
		{turn.Limits{Model: time.Minute, Route: time.Hour}, true},
	} {
		w, p := phoned(t, "hola")
		w.service.Limits = c.limits
		if reply := w.route(t, w.IDs.New(w.Clock()), "una mesa", w.Clock()); reply.Message.Content != "hola" || len(p.messages) != 1 {
			t.Fatalf("%+v", reply)
		}
		if wait := p.waits[0]; (wait > 0) != c.bounded || c.bounded && wait <= time.Minute {
			t.Errorf("%+v: the agent has %v", c.limits, wait)
		}
	}
}

// TestAMessageWhoseAgentFailedIsTriedAgain: what was said in its place is no answer to it.
func TestAMessageWhoseAgentFailedIsTriedAgain(t *testing.T) {
	w, p := phoned(t, agent.ErrSilent.With("agent", "loro"), "hola")
	id, at := w.IDs.New(w.Clock()), w.Clock()
	first := w.route(t, id, "una mesa", at)
	if first.Kind != turn.KindNotice || first.Routed.Asked != "loro" || fault.Of(first.Routed.Failure).Code != "agent.unreachable" {
		t.Fatalf("%+v", first)
	}
	w.Pass(time.Minute)
	for range 2 { // and once it was answered, it is answered alike
		if again := w.route(t, id, "una mesa", at); again.Message.Content != "hola" || again.Routed.Agent != "loro" {
			t.Errorf("%+v", again)
		}
		w.Pass(time.Minute)
	}
	if len(p.messages) != 2 || p.messages[0].Idempotency != p.messages[1].Idempotency {
		t.Errorf("%+v", p.messages)
	}
}

func TestAnOpenBreakerSaysForHowLong(t *testing.T) {
	w, _ := phoned(t, agent.ErrOpen.With("agent", "loro").With("retry_after", "240"))
	if reply := w.route(t, w.IDs.New(w.Clock()), "una mesa", w.Clock()); reply.Message.Content != locale.Text(locale.Spanish, "router.agent_open", "agent", "loro", "retry_after", "240") {
		t.Error(reply.Message.Content)
	}
}

func TestAChatThatAPersonTookOverIsTheirs(t *testing.T) {
	w, p := phoned(t, "hola")
	id := w.IDs.New(w.Clock())
	chat := w.route(t, id, "una mesa", w.Clock()).Chat
	automate(t, w, chat.ID, eligibility.Manual)
	reply := w.route(t, w.IDs.New(w.Clock()), "¿y mañana?", w.Clock())
	if !reply.Routed.Manual || reply.Message.Content != locale.Text(locale.Spanish, "router.manual") || len(p.messages) != 1 || len(w.model.asked) != 1 {
		t.Errorf("%+v, the agent heard %d messages", reply, len(p.messages))
	}
	messages, _, err := w.Store.Messages(t.Context(), fixture.Account, chat.ID, "", 100)
	if last := messages[len(messages)-1]; err != nil || last.Role != conversation.RoleUser || last.Content != "¿y mañana?" {
		t.Errorf("%+v %v", messages, err)
	}
	automate(t, w, chat.ID, eligibility.Automatic)
	if reply := w.route(t, w.IDs.New(w.Clock()), "¿hola?", w.Clock()); reply.Message.Content != "hola" {
		t.Errorf("%+v", reply)
	}
}

// automate sets when a chat is answered.
func automate(t *testing.T, w *world, chatID string, mode eligibility.Mode) {
	t.Helper()
	text := string(mode)
	if _, err := w.Store.UpdateChat(t.Context(), fixture.Account, chatID, conversation.ChatChange{Automation: &text}, w.Clock()); err != nil {
		t.Fatal(err)
	}
}

func TestAnAgentIsToldTheLanguageThatWasAskedFor(t *testing.T) {
	w, p := phoned(t, "hola")
	_, err := w.service.Route(t.Context(), turn.Request{
		Principal: auth.Principal{Account: fixture.Account, User: "ana"}, ChatID: "s", Message: "hi", Locale: locale.Spanish,
		Route: &turn.Route{Persona: agent.Persona{Company: 7, Language: "pt-BR"}},
	})
	if err != nil || p.messages[0].Context["idioma"] != "pt-BR" {
		t.Errorf("%v %v", p.messages, err)
	}
}

// TestAMessageOfBeforeTheProcessBeganIsLookedFor: it was answered, and whoever answered was
// killed before it said so. It comes again at once.
func TestAMessageOfBeforeTheProcessBeganIsLookedFor(t *testing.T) {
	w, p := phoned(t, "hola")
	id, at := w.IDs.New(w.Clock()), w.Clock()
	w.route(t, id, "una mesa", at)
	w.Pass(10 * time.Millisecond)
	w.service.AloneSince = w.Clock()
	if again := w.route(t, id, "una mesa", at); again.Message.Content != "hola" || len(p.messages) != 1 {
		t.Errorf("%+v, told %d times", again, len(p.messages))
	}
}

// TestAnAgentThatWasAskedByOneWhoDiedIsNotAskedForIt: of a request that may come again it is
// noted that an agent is asked. What is known to have come of it lets the agent be asked again.
func TestAnAgentThatWasAskedByOneWhoDiedIsNotAskedForIt(t *testing.T) {
	w, p := phoned(t, agent.ErrSilent.With("agent", "loro"), "hola")
	send := func(id string) turn.Reply {
		t.Helper()
		reply, err := w.service.Route(t.Context(), turn.Request{
			Principal: auth.Principal{Account: fixture.Account, User: "ana"}, ChatID: "s", Message: "una mesa", Locale: locale.Spanish,
			Route: &turn.Route{Persona: agent.Persona{Company: 7}}, MessageID: id, MessageAt: w.Clock(), MayCome: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	id := w.IDs.New(w.Clock())
	chat := send(id).Chat.ID
	if err := w.Store.NoteAsked(t.Context(), fixture.Account, chat, id, w.Clock()); err != nil { // and died
		t.Fatal(err)
	}
	if reply := send(id); fault.Of(reply.Routed.Failure).Code != "agent.timeout" || reply.Routed.Attempts != 0 || len(p.messages) != 1 {
		t.Errorf("%+v, asked %d times", reply.Routed, len(p.messages))
	}
	if reply := send(id); reply.Message.Content != "hola" || len(p.messages) != 2 {
		t.Errorf("%+v, asked %d times", reply.Routed, len(p.messages))
	}
}
