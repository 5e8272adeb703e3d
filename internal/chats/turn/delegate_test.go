package turn_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// fakeAgent records each message. It returns its answers in order, the last one repeatedly.
type fakeAgent struct {
	answers  []any // a text or an error
	messages []agent.Message
	waits    []time.Duration // until the deadline of the message; 0: none
}

func (p *fakeAgent) Ask(ctx context.Context, _ ids.Account, _ agent.Agent, m agent.Message) (agent.Answer, error) {
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

func delegation() llm.Reply {
	return text(`{"action":"delegate","agent_name":"loro","response":""}`)
}

// newAgentWorld returns a world whose every message goes to the agent «loro».
func newAgentWorld(t *testing.T, answers ...any) (*world, *fakeAgent) {
	w := newRouterWorld(t, delegation(), delegation(), delegation())
	w.parrot(t)
	p := &fakeAgent{answers: answers}
	w.service.Router.Agents = p
	return w, p
}

// TestAgentCallIsBoundedByRouteLimit: the model's time does not bound the agent.
func TestAgentCallIsBoundedByRouteLimit(t *testing.T) {
	for _, c := range []struct {
		limits  turn.Limits
		bounded bool
	}{
		{turn.Limits{Model: time.Minute}, false},
		{turn.Limits{Model: time.Minute, Route: time.Hour}, true},
	} {
		w, p := newAgentWorld(t, "hola")
		w.service.Limits = c.limits
		if reply := w.route(t, w.IDs.New(w.Clock()), "una mesa", w.Clock()); reply.Message.Content != "hola" || len(p.messages) != 1 {
			t.Fatalf("%+v", reply)
		}
		if wait := p.waits[0]; (wait > 0) != c.bounded || c.bounded && wait <= time.Minute {
			t.Errorf("%+v: the agent has %v", c.limits, wait)
		}
	}
}

// TestMessageOfFailedAgentIsRetried: the notice of the failure is no answer to the message.
func TestMessageOfFailedAgentIsRetried(t *testing.T) {
	w, p := newAgentWorld(t, agent.ErrSilent.With("agent", "loro"), "hola")
	id, at := w.IDs.New(w.Clock()), w.Clock()
	first := w.route(t, id, "una mesa", at)
	if first.Kind != turn.KindNotice || first.Routed.Asked != "loro" || fault.Of(first.Routed.Failure).Code != "agent.unreachable" {
		t.Fatalf("%+v", first)
	}
	w.Pass(time.Minute)
	for range 2 { // after the answer, a retry returns the same one
		if again := w.route(t, id, "una mesa", at); again.Message.Content != "hola" || again.Routed.Agent != "loro" {
			t.Errorf("%+v", again)
		}
		w.Pass(time.Minute)
	}
	if len(p.messages) != 2 || p.messages[0].Idempotency != p.messages[1].Idempotency {
		t.Errorf("%+v", p.messages)
	}
}

// A customer reads that an agent may have acted wherever it may have, so that nobody asks for a thing twice.
func TestACustomerIsToldThatAnAgentMayHaveActed(t *testing.T) {
	for _, c := range []struct {
		err *fault.Error
		may bool
	}{
		{agent.ErrLate, true},
		{agent.ErrDoubt, true},
		{agent.ErrGarbage, true},
		{agent.ErrSilent, false},
		{agent.ErrFailed, false},
		{agent.ErrForbidden, false},
		{agent.ErrMisfit, false},
	} {
		w, _ := newAgentWorld(t, c.err.With("agent", "loro"))
		reply := w.route(t, w.IDs.New(w.Clock()), "una mesa", w.Clock())
		said := reply.Message.Content
		if strings.Contains(said, "Quizá te haya leído") != c.may || strings.Contains(said, "vuelve a escribirme") == c.may || fault.Of(reply.Routed.Failure).Code != c.err.Code {
			t.Errorf("%s: %s", c.err.Code, said)
		}
	}
}

func TestOpenBreakerReportsRetryTime(t *testing.T) {
	w, _ := newAgentWorld(t, agent.ErrOpen.With("agent", "loro").With("retry_after", "240"))
	if reply := w.route(t, w.IDs.New(w.Clock()), "una mesa", w.Clock()); reply.Message.Content != locale.Text(locale.Spanish, "router.agent_open", "agent", "loro", "retry_after", "240") {
		t.Error(reply.Message.Content)
	}
}

func TestACustomerIsToldHowLongAnAgentRests(t *testing.T) {
	for _, err := range []*fault.Error{agent.ErrFailed, agent.ErrSilent, agent.ErrOpen} {
		w, _ := newAgentWorld(t, err.With("agent", "loro").With("retry_after", "3600").With("minutes", "60"))
		if said := w.route(t, w.IDs.New(w.Clock()), "una mesa", w.Clock()).Message.Content; !strings.Contains(said, "pide esperar 60 minutos") || !strings.Contains(said, "vuelve a escribirme") {
			t.Error(said)
		}
	}
}

func TestManualChatGetsNoRouterAnswer(t *testing.T) {
	w, p := newAgentWorld(t, "hola")
	id := w.IDs.New(w.Clock())
	chat := w.route(t, id, "una mesa", w.Clock()).Chat
	setMode(t, w, chat.ID, eligibility.Manual)
	w.Pass(time.Minute)
	reply := w.route(t, w.IDs.New(w.Clock()), "¿y mañana?", w.Clock())
	if list, _, err := w.Store.Chats.Chats(t.Context(), fixture.Account, conversation.ChatFilter{}, "", 1); err != nil || list[0].ID != chat.ID || !list[0].UpdatedAt.Equal(w.Clock()) {
		t.Errorf("the chat is not at the top of the list: %+v, %v", list, err)
	}
	if !reply.Routed.Manual || reply.Message.Content != locale.Text(locale.Spanish, "router.manual") || len(p.messages) != 1 || len(w.model.asked) != 1 {
		t.Errorf("%+v, the agent heard %d messages", reply, len(p.messages))
	}
	messages, _, err := w.Store.Chats.Messages(t.Context(), chat.Key(fixture.Account), "", 100)
	if last := messages[len(messages)-1]; err != nil || last.Role != conversation.RoleUser || last.Content != "¿y mañana?" {
		t.Errorf("%+v %v", messages, err)
	}
	setMode(t, w, chat.ID, eligibility.Automatic)
	if reply := w.route(t, w.IDs.New(w.Clock()), "¿hola?", w.Clock()); reply.Message.Content != "hola" {
		t.Errorf("%+v", reply)
	}
}

// setMode sets the automation mode of a chat.
func setMode(t *testing.T, w *world, chatID string, mode eligibility.Mode) {
	t.Helper()
	text := string(mode)
	if _, err := w.Store.Chats.UpdateChat(t.Context(), conversation.Key{Account: fixture.Account, ChatID: chatID}, conversation.ChatChange{Automation: &text}, w.Clock()); err != nil {
		t.Fatal(err)
	}
}

func TestAgentReceivesRequestedLanguage(t *testing.T) {
	w, p := newAgentWorld(t, "hola")
	_, err := w.service.Route(t.Context(), turn.Request{
		Principal: auth.Principal{Account: fixture.Account, User: "ana"}, ChatID: "s", Message: "hi", Locale: locale.Spanish,
		Route: &turn.Route{Persona: agent.Persona{Company: 7, Language: "pt-BR"}},
	})
	if err != nil || p.messages[0].Context["idioma"] != "pt-BR" {
		t.Errorf("%v %v", p.messages, err)
	}
}

// TestMessageFromBeforeProcessStartIsLookedUp: another process answered it, and was killed
// before it responded. The retry comes at once.
func TestMessageFromBeforeProcessStartIsLookedUp(t *testing.T) {
	w, p := newAgentWorld(t, "hola")
	id, at := w.IDs.New(w.Clock()), w.Clock()
	w.route(t, id, "una mesa", at)
	w.Pass(10 * time.Millisecond)
	w.service.AloneSince = w.Clock()
	if again := w.route(t, id, "una mesa", at); again.Message.Content != "hola" || len(p.messages) != 1 {
		t.Errorf("%+v, told %d times", again, len(p.messages))
	}
}

// TestRetryAfterCrashDoesNotCallAgentAgain: a request that may be retried records its agent
// call. A known outcome lets the agent be called again.
func TestRetryAfterCrashDoesNotCallAgentAgain(t *testing.T) {
	w, p := newAgentWorld(t, agent.ErrSilent.With("agent", "loro"), "hola")
	send := func(id string) turn.Reply {
		t.Helper()
		reply, err := w.service.Route(t.Context(), turn.Request{
			Principal: auth.Principal{Account: fixture.Account, User: "ana"}, ChatID: "s", Message: "una mesa", Locale: locale.Spanish,
			Route: &turn.Route{Persona: agent.Persona{Company: 7}}, MessageID: id, MessageAt: w.Clock(), MayRepeat: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	id := w.IDs.New(w.Clock())
	chat := send(id).Chat.ID
	if err := w.Store.Chats.NoteAsked(t.Context(), conversation.Key{Account: fixture.Account, ChatID: chat}, id, w.Clock()); err != nil { // and the process died
		t.Fatal(err)
	}
	if reply := send(id); fault.Of(reply.Routed.Failure).Code != "agent.timeout" || reply.Routed.Attempts != 0 || len(p.messages) != 1 {
		t.Errorf("%+v, asked %d times", reply.Routed, len(p.messages))
	}
	if reply := send(id); reply.Message.Content != "hola" || len(p.messages) != 2 {
		t.Errorf("%+v, asked %d times", reply.Routed, len(p.messages))
	}
}
