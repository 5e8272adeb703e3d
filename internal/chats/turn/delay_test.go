package turn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// TestWhatChangedDuringTheDelayIsJudgedAfterIt: the turn is judged by what is set when the delay is over, and the model is
// not asked when that says so.
func TestWhatChangedDuringTheDelayIsJudgedAfterIt(t *testing.T) {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	for name, c := range map[string]struct {
		change func(*testing.T, *world)
		reason eligibility.Reason
		says   string // of the answer; "": it is a block
		asked  int
	}{
		"nothing":   {func(*testing.T, *world) {}, "", "hola", 1},
		"manual":    {func(t *testing.T, w *world) { setMode(t, w, w.Chat.ID, eligibility.Manual) }, "", locale.Text(locale.Spanish, "turn.manual"), 0},
		"off":       {func(t *testing.T, w *world) { setMode(t, w, w.Chat.ID, eligibility.Off) }, "", locale.Text(locale.Spanish, "turn.stopped"), 0},
		"automatic": {func(t *testing.T, w *world) { setMode(t, w, w.Chat.ID, eligibility.Automatic) }, "", "hola", 1},
		"no entitlement": {func(t *testing.T, w *world) {
			must(t, w.Store.Settings.PutEntitlement(ctx, fixture.Account, eligibility.Entitlement{}))
		}, eligibility.NotEntitled, "", 0},
		"AI off": {func(t *testing.T, w *world) {
			must(t, w.Store.Settings.PutEntitlement(ctx, fixture.Account, eligibility.Entitlement{Entitled: true}))
		}, eligibility.AIDisabled, "", 0},
		"no credits": {func(t *testing.T, w *world) {
			_, err := w.service.Paid.Credit.Move(ctx, fixture.Account, credit.Movement{Kind: credit.KindAdjustment, Amount: -1, Reason: "x", Actor: "ana"})
			must(t, err)
		}, eligibility.InsufficientCredits, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := paidDeployment()
			d.Assistant.Automation.DelayMS = 300
			w := newWorldWith(t, d, text("hola"))
			w.grant(t, 1)
			replied := w.sendAsync("hola")
			c.change(t, w)
			reply := <-replied
			if len(w.model.asked) != c.asked {
				t.Errorf("the model was asked %d times", len(w.model.asked))
			}
			if c.says != "" && reply.Message.Content != c.says || c.says == "" && (reply.Block == nil || reply.Block.Reason != c.reason) {
				t.Errorf("%+v, %+v", reply.Message, reply.Block)
			}
			if list := w.Messages(); len(list) != 2 || list[1].Content != reply.Message.Content {
				t.Errorf("the chat has %+v", list)
			}
		})
	}
	t.Run("the chat is deleted", func(t *testing.T) {
		w := newDelayedWorld(t, text("hola"))
		failed := make(chan error, 1)
		go func() {
			_, err := w.try("hola")
			failed <- err
		}()
		for len(w.Messages()) == 0 {
			time.Sleep(time.Millisecond)
		}
		must(t, w.Store.Chats.DeleteChat(ctx, w.ChatKey()))
		if err := <-failed; !errors.Is(err, conversation.ErrChatNotFound) || len(w.model.asked) != 0 {
			t.Errorf("%v after %d calls", err, len(w.model.asked))
		}
	})
}

// waitingModel answers when its context ends.
type waitingModel struct{ asked chan struct{} }

func (m waitingModel) Complete(ctx context.Context, _ llm.Request) (llm.Reply, error) {
	m.asked <- struct{}{}
	<-ctx.Done()
	return llm.Reply{}, llm.Stopped(ctx)
}

// TestWhoTakesOverStopsTheAnswer: an answer that the model is writing is given up when a person takes the chat over.
func TestWhoTakesOverStopsTheAnswer(t *testing.T) {
	for _, mode := range []eligibility.Mode{eligibility.Manual, eligibility.Off} {
		w := newWorld(t)
		model := waitingModel{make(chan struct{}, 1)}
		w.service.Paid.Models = providers{model}
		replied := w.sendAsync("hola")
		<-model.asked
		setMode(t, w, w.Chat.ID, mode)
		if reply := <-replied; reply.Kind != turn.KindNotice || reply.Message.StopReason != conversation.StopPerson {
			t.Errorf("%s: %+v", mode, reply)
		}
	}
}

// TestWhoTakesOverStopsTheRouter: while its model decides, and while an agent answers. The customer hears that a person
// will answer.
func TestWhoTakesOverStopsTheRouter(t *testing.T) {
	route := func(w *world) <-chan turn.Reply {
		replied := make(chan turn.Reply, 1)
		go func() {
			reply, _ := w.service.Route(context.Background(), turn.Request{
				Principal: auth.Principal{Account: fixture.Account, User: "ana"}, ChatID: "s-1", Message: "una mesa", Locale: locale.Spanish,
				Route: &turn.Route{Persona: agent.Persona{Company: 7}},
			})
			replied <- reply
		}()
		return replied
	}
	check := func(t *testing.T, w *world, reply turn.Reply) {
		t.Helper()
		if reply.Routed == nil || !reply.Routed.Manual || reply.Message.Content != locale.Text(locale.Spanish, "router.manual") {
			t.Errorf("%+v", reply)
		}
		messages, _, err := w.Store.Chats.Messages(t.Context(), conversation.Key{Account: fixture.Account, ChatID: conversation.RouterChat(fixture.Account, 7, "s-1")}, "", 10)
		if err != nil || len(messages) != 1 {
			t.Errorf("%+v, %v", messages, err)
		}
	}
	t.Run("while its model decides", func(t *testing.T) {
		w := newRouterWorld(t)
		model := waitingModel{make(chan struct{}, 1)}
		w.service.Paid.Models = providers{model}
		replied := route(w)
		<-model.asked
		setMode(t, w, conversation.RouterChat(fixture.Account, 7, "s-1"), eligibility.Manual)
		check(t, w, <-replied)
	})
	t.Run("while an agent answers", func(t *testing.T) {
		w, _ := newAgentWorld(t)
		slow := slowAgent{make(chan struct{}, 1)}
		w.service.Router.Agents = slow
		replied := route(w)
		<-slow.asked
		setMode(t, w, conversation.RouterChat(fixture.Account, 7, "s-1"), eligibility.Manual)
		check(t, w, <-replied)
	})
}

// slowAgent answers when its context ends.
type slowAgent struct{ asked chan struct{} }

func (a slowAgent) Ask(ctx context.Context, _ ids.Account, _ agent.Agent, _ agent.Message) (agent.Answer, error) {
	a.asked <- struct{}{}
	<-ctx.Done()
	return agent.Answer{Attempts: 1, Failures: 1}, agent.ErrLate
}
