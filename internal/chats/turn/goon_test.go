package turn_test

import (
	"context"
	"strings"
	"testing"

	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
)

// cutAt is an answer that the provider ended at its token limit.
func cutAt(r llm.Reply) llm.Reply {
	r.Cut, r.Length = true, true
	return r
}

// TestAnAnswerThatWasCutGoesOnOnce: wherever it was cut, and whatever of it the model repeats.
func TestAnAnswerThatWasCutGoesOnOnce(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"Hay tres salas: la nor", "Hay tres salas: la norte, la sur y la este.", "Hay tres salas: la norte, la sur y la este."},
		{"Hay tres salas: la", "tres salas: la norte.", "Hay tres salas: la norte."},
		{"Hay tres salas:\n- la norte\n- la sur", "- la sur\n- la este", "Hay tres salas:\n- la norte\n- la sur\n- la este"},
		{"Hay tres salas: la", "norte y la sur.", "Hay tres salas: la norte y la sur."},
		{"Hay tres salas", ", y dos libres.", "Hay tres salas, y dos libres."},
		{"Hay tres salas", "«Hay tres salas» libres.", "Hay tres salas libres."},
		{"Hay tres", "", "Hay tres"},
	} {
		w := newWorld(t, cutAt(text(c.first)), text(c.second), text("no"))
		if reply := w.send(t, "¿qué salas hay?"); reply.Kind != turn.KindMessage || reply.Message.Content != c.want {
			t.Errorf("%q and %q: %q", c.first, c.second, reply.Message.Content)
		}
		if n := len(w.model.asked); n != 2 {
			t.Fatalf("%d calls", n)
		}
		asked := w.model.asked[1].Messages
		if last := asked[len(asked)-2]; last.Role != llm.Assistant || last.Content != c.first {
			t.Errorf("it does not see what it wrote: %+v", last)
		}
	}
	w := newWorld(t, cutAt(text("uno")), cutAt(text("dos")), text("tres"))
	if reply := w.send(t, "cuenta"); reply.Message.Content != "uno dos" || len(w.model.asked) != 2 {
		t.Errorf("%q after %d calls", reply.Message.Content, len(w.model.asked))
	} else if status, reason := reply.Ending(); status != conversation.Partial || reason != "" {
		t.Errorf("%s, %s", status, reason)
	}
	w = newWorld(t, cutAt(text("uno")), llm.ErrUnreachable)
	if reply := w.send(t, "cuenta"); reply.Kind != turn.KindMessage || reply.Message.Content != "uno" {
		t.Errorf("it could not go on: %+v", reply)
	}
}

// TestCallsThatWereCutAreAskedAgain: they become no plan, although they can be read.
func TestCallsThatWereCutAreAskedAgain(t *testing.T) {
	w := newWorld(t)
	first, second := w.request("POST", "/bookings", `,"body":{"room":"norte"}`), w.request("POST", "/bookings", `,"body":{"room":"sur"}`)
	w.model.answers = []any{cutAt(calls("mcp_request", first)), calls("mcp_request", first, "mcp_request", second)}
	reply := w.send(t, "reserva las dos")
	if reply.Kind != turn.KindPlan || len(reply.Run.Plan.Steps) != 2 || len(w.model.asked) != 2 {
		t.Errorf("%+v after %d calls", reply, len(w.model.asked))
	}
	for _, m := range w.model.asked[1].Messages {
		if len(m.Calls) > 0 {
			t.Errorf("it is sent a call that was cut: %+v", m)
		}
	}
	w = newWorld(t)
	one := calls("mcp_request", w.request("DELETE", "/bookings/7", ""))
	filtered := one
	filtered.Cut = true
	w.model.answers = []any{cutAt(one), cutAt(one), filtered, cutAt(one), cutAt(one), text("no puedo")}
	if reply := w.send(t, "borra las reservas"); reply.Run != nil || w.ChatNow().PendingRunID != "" {
		t.Errorf("a cut reply became a plan: %+v", reply)
	}
}

// TestAnAnswerThatGoesOnIsPushedAsOneText: what the model repeats is not pushed again.
func TestAnAnswerThatGoesOnIsPushedAsOneText(t *testing.T) {
	w := newWorld(t)
	e := &listener{}
	w.service.Tell = e
	const begin = "Madrid es la capital. Tiene un río y "
	first := &slowModel{words: []string{begin}, preceding: make(chan struct{})}
	first.then = func(context.Context) (llm.Reply, error) { return cutAt(text(strings.TrimSpace(begin))), nil }
	whole := strings.TrimSpace(begin) + " tres parques. " + strings.Repeat("Y una calle larga. ", 20)
	rest := "capital. Tiene un río y" + strings.TrimPrefix(whole, strings.TrimSpace(begin))
	second := &slowModel{words: []string{rest[:5], rest[5:60], rest[60:]}, preceding: make(chan struct{})}
	second.then = func(context.Context) (llm.Reply, error) {
		e.wait(t, func(text string) bool { return text == whole })
		return text(strings.TrimSpace(rest)), nil
	}
	w.service.Paid.Models = providers{&turns{[]llm.Model{first, second}}}
	if reply := w.send(t, "hola"); reply.Message.Content != strings.TrimSpace(whole) {
		t.Errorf("%q", reply.Message.Content)
	}
	if e.countResets() > 0 {
		t.Error("it was taken back")
	}
}
