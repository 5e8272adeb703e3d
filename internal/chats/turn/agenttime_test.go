package turn_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
)

// silent is a model that never answers.
var silent = models(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
	<-ctx.Done()
	return llm.Reply{}, llm.Stopped(ctx)
})

// TestAnAgentWithLittleTimeLooks: what is kept free for the closing call is a part of its time.
func TestAnAgentWithLittleTimeLooks(t *testing.T) {
	w := newLookWorld(t)
	w.choose(t, "build", `{"timeout_s":1}`)
	w.model.answers = []any{w.looksAt(0), text("Hay una.")}
	reply := w.send(t, "¿qué reservas hay?")
	if len(w.Requests()) != 1 || len(reply.Message.Sources) != 1 || reply.Message.Sources[0].Error != "" {
		t.Errorf("%d requests: %+v", len(w.Requests()), reply.Message.Sources)
	}
}

// TestALookThatIsNotSentIsNoFaultOfTheService: the model is told that nothing was sent.
func TestALookThatIsNotSentIsNoFaultOfTheService(t *testing.T) {
	w := newLookWorld(t)
	w.service.Log = slog.New(slog.DiscardHandler)
	w.choose(t, "build", `{"timeout_s":1}`)
	late := models(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		<-ctx.Done()
		return w.looksAt(0), nil
	})
	w.service.Paid.Models = providers{&turns{[]llm.Model{late, silent, silent}}}
	reply := w.send(t, "¿qué reservas hay?")
	if s := reply.Message.Sources; len(w.Requests()) != 0 || len(s) != 1 || !strings.Contains(s[0].Error, "nothing was sent") {
		t.Errorf("%d requests: %+v", len(w.Requests()), s)
	}
}

// TestTheTimeOfAnAgentIsNoFaultOfItsModel: the answer names the agent and its time, and the provider counts as well.
func TestTheTimeOfAnAgentIsNoFaultOfItsModel(t *testing.T) {
	w := newLookWorld(t)
	w.service.Log = slog.New(slog.DiscardHandler)
	w.choose(t, "build", `{"timeout_s":1}`)
	w.service.Paid.Models = providers{silent}
	reply := w.send(t, "hola")
	w.ended(t, reply, turn.KindNotice, conversation.Failed, conversation.StopTime)
	if !strings.Contains(reply.Message.Content, "El agente «build» tiene 1 s") {
		t.Error(reply.Message.Content)
	}
	set, err := w.Store.Settings.Settings(t.Context(), fixture.Account)
	if err != nil || len(set.Health) != 0 {
		t.Errorf("%+v, %v", set.Health, err)
	}
}

// TestAnAgentThatReadSaysInItsTimeWhatItRead: its last call is in its time, and names its bound.
func TestAnAgentThatReadSaysInItsTimeWhatItRead(t *testing.T) {
	w := newLookWorld(t)
	w.choose(t, "build", `{"timeout_s":2}`)
	w.service.Paid.Models = providers{&turns{[]llm.Model{&script{answers: []any{w.looksAt(0)}}, silent, w.model}}}
	w.model.answers = []any{text("Leí una reserva.")}
	reply := w.send(t, "¿qué reservas hay?")
	w.ended(t, reply, turn.KindMessage, conversation.Partial, conversation.StopTime)
	w.closing(t, "The agent “build” has 2 s")
	if reply.Message.Content != "Leí una reserva." {
		t.Errorf("%+v", reply.Message)
	}
}
