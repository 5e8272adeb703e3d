package turn_test

import (
	"strings"
	"testing"
	"time"

	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

const claim = "¡Listo! Ya he reservado la Sala Norte."

// codes returns the codes of a reply's notes, as they are stored.
func (w *world) codes(t *testing.T, reply turn.Reply) string {
	t.Helper()
	var list []string
	for _, m := range w.Messages() {
		if m.ID == reply.Message.ID {
			for _, n := range m.Notes {
				list = append(list, n.Code)
			}
		}
	}
	return strings.Join(list, " ")
}

// TestClaimIsComparedWithRecord (guarantee I26): a claimed act is marked unless a run of the
// chat did something since the user's message.
func TestClaimIsComparedWithRecord(t *testing.T) {
	t.Run("nothing was ever done", func(t *testing.T) {
		w := newWorld(t, text(claim), text(claim))
		reply := w.send(t, "reserva la sala norte")
		if reply.Message.Content != claim || w.codes(t, reply) != conversation.NoteNothingDone || len(w.model.asked) != 2 {
			t.Errorf("%+v after %d calls", reply.Message, len(w.model.asked))
		}
	})
	t.Run("asked again, it proposes", func(t *testing.T) {
		w := newWorld(t)
		w.model.answers = []any{text(claim), calls("propose_plan", withServer(booksNorth, w))}
		reply := w.send(t, "reserva la sala norte")
		list := w.Messages()
		if reply.Kind != turn.KindPlan || len(list) != 2 {
			t.Errorf("%+v", list)
		}
	})
	t.Run("done before the message", func(t *testing.T) {
		w := newWorld(t)
		r := w.proposeDraft(t, bookNorth)
		w.send(t, "confirmo")
		w.Execute(r.ID)
		w.Pass(1e9)
		for message, note := range map[string]string{
			"reserva otra": conversation.NoteNothingDone, "¿Me reservas otra?": conversation.NoteNothingDone, "¿La reservaste?": "", "gracias": "", "¿Y mi sala?": "",
		} {
			w.model.answers = []any{text(claim), text(claim)}
			if reply := w.send(t, message); w.codes(t, reply) != note {
				t.Errorf("after %q: %+v", message, reply.Message)
			}
		}
	})
	t.Run("ordered again", func(t *testing.T) {
		for said, note := range map[string]string{
			"Your room has already been booked.": "", "The room was already booked earlier in this chat.": "", "I booked it earlier, as you saw.": "", "Ya la reservé antes.": "", "La sala ya fue reservada.": "", "I've already booked it.": "",
			"Ya está reservada: no hace falta hacerlo otra vez.": "", "It was booked on 2 March.": "", "Tu sala ya quedó reservada ayer.": "",
			"Done, I've booked it.": conversation.NoteNothingDone, "The room was cancelled earlier.": conversation.NoteNothingDone, "He reservado la sala.": conversation.NoteNothingDone, "Listo, ya la reservé.": conversation.NoteNothingDone, "Ya he reservado otra sala.": conversation.NoteNothingDone,
			"I've booked it one hour earlier.": conversation.NoteNothingDone, "I already cancelled it earlier.": conversation.NoteNothingDone, "Your room has been booked.": conversation.NoteNothingDone,
		} {
			w := newWorld(t)
			r := w.proposeDraft(t, bookNorth)
			w.send(t, "confirmo")
			w.Execute(r.ID)
			w.Pass(1e9)
			w.model.answers = []any{text(said), text(said)}
			if reply := w.send(t, "reserva la sala norte, y cancela la otra"); w.codes(t, reply) != note {
				t.Errorf("%q: %+v", said, reply.Message)
			}
		}
	})
	t.Run("half of it", func(t *testing.T) {
		w := newWorld(t)
		r := w.proposeDraft(t, bookNorth)
		w.send(t, "confirmo")
		w.Execute(r.ID)
		for said, note := range map[string]string{
			"La Sala Norte está reservada, y he cancelado la Sur.": conversation.NoteNothingDone, "La Sala Norte está reservada.": "",
			"He reservado la sala y he enviado un correo a Ana.": conversation.NoteNothingDone, "Ya he reservado la XK77.": conversation.NoteNothingDone,
			"He reservado las salas 7 y 8.": conversation.NoteNothingDone,
		} {
			w.model.answers = []any{text(said), text(said)}
			if reply := w.send(t, "gracias"); w.codes(t, reply) != note {
				t.Errorf("%q: %+v", said, reply.Message)
			}
		}
	})
	t.Run("it was ordered, and only something was read", func(t *testing.T) {
		for said, note := range map[string]string{
			"La sala ha sido reservada correctamente.": conversation.NoteNothingDone, "Your room has been booked.": conversation.NoteNothingDone, "La sala fue reservada.": conversation.NoteNothingDone,
			"La sala ya está reservada.": "", "Se ha cambiado la reserva.": conversation.NoteNothingDone,
		} {
			w := newLookWorld(t)
			w.Answer(func(tool.Request) (tool.Answer, error) {
				const body = `[{"id":7,"estado":"reservada","created_at":"2026-01-02","updated_at":"2026-01-02","payment_method":"card"}]`
				return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
			})
			w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text(said), text(said)}
			if reply := w.send(t, "reserva la Norte y cambia la hora"); w.codes(t, reply) != note {
				t.Errorf("%q: %+v", said, reply.Message)
			}
		}
	})
	t.Run("it tells what it read", func(t *testing.T) {
		for said, note := range map[string]string{
			"Está reservada.": "", "Ya está reservada para el martes.": "", "He reservado la sala.": conversation.NoteNothingDone, "La sala ha sido cancelada.": conversation.NoteNothingDone,
		} {
			w := newLookWorld(t)
			w.Answer(func(tool.Request) (tool.Answer, error) {
				const body = `{"sala":"Norte","estado":"reservada"}`
				return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
			})
			w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text(said), text(said)}
			if reply := w.send(t, "¿cómo está la Norte?"); w.codes(t, reply) != note {
				t.Errorf("%q: %+v", said, reply.Message)
			}
		}
	})
	t.Run("it runs now", func(t *testing.T) {
		w := newWorld(t)
		w.proposeDraft(t, bookNorth)
		w.send(t, "confirmo")
		w.model.answers = []any{text("Estoy ejecutando el plan.")}
		if reply := w.send(t, "¿cómo va?"); len(reply.Message.Notes) != 0 {
			t.Errorf("%+v", reply.Message)
		}
	})
	t.Run("done since the message", func(t *testing.T) {
		w := newWorld(t)
		r := w.proposeDraft(t, bookNorth)
		w.send(t, "confirmo")
		w.service.Paid.Models = providers{interruptingModel{w.model, func() { w.Execute(r.ID) }}}
		w.model.answers = []any{text(claim)}
		if reply := w.send(t, "¿cómo va?"); len(reply.Message.Notes) != 0 {
			t.Errorf("%+v", reply.Message)
		}
	})
	t.Run("an explanation", func(t *testing.T) {
		w := newWorld(t, text("Cuando pulsas Confirmar, el plan se ejecuta paso a paso y te digo qué pasó."))
		if reply := w.send(t, "¿Cómo se confirma un plan?"); len(reply.Message.Notes) != 0 || len(w.model.asked) != 1 {
			t.Errorf("%+v", reply.Message)
		}
	})
	t.Run("of another run of the account", func(t *testing.T) {
		w := newWorld(t)
		r := w.proposeDraft(t, bookNorth)
		w.send(t, "confirmo")
		w.Execute(r.ID)
		w.Chat = w.NewChat()
		w.model.answers = []any{text(claim), text(claim)}
		if reply := w.send(t, "reserva"); w.codes(t, reply) != conversation.NoteNothingDone {
			t.Errorf("%+v", reply.Message)
		}
	})
}

// TestClaimBesideCallIsComparedWithRecord: a claim beside the call that proposes stands over the card of a plan that waits. It gets the note that any
// other claim gets, and the reply contains it.
func TestClaimBesideCallIsComparedWithRecord(t *testing.T) {
	proposes := func(w *world, said string) llm.Reply {
		r := calls("propose_plan", withServer(booksNorth, w))
		r.Text = said
		return r
	}
	for name, c := range map[string]struct {
		answers func(w *world) []any
		claims  bool
	}{
		"beside a call": {func(w *world) []any { return []any{proposes(w, "Ya he enviado el correo.")} }, true},
		"beside a revision": {func(w *world) []any {
			r := calls("revise_plan", withServer(`{"steps":[{"id":"s1","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"sur"}}]}`, w))
			r.Text = "Listo, ya he reservado la sala."
			return []any{proposes(w, ""), r}
		}, true},
		"words that claim nothing": {func(w *world) []any { return []any{proposes(w, "Ojo: esa sala no tiene proyector.")} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.answers = c.answers(w)
			var reply turn.Reply
			for len(w.model.answers) > 0 {
				reply = w.send(t, "avisa a todos")
			}
			list := w.Messages()
			said, card := list[len(list)-2], list[len(list)-1]
			if reply.Kind != turn.KindPlan || card.Kind != conversation.KindPlan || said.Kind != conversation.KindText {
				t.Fatalf("%+v then %+v; told %s", said, card, w.model.lastTool())
			}
			if noted := len(said.Notes) == 1 && said.Notes[0].Code == conversation.NoteNothingDone; noted != c.claims || len(card.Notes) != 0 {
				t.Errorf("%q has %+v, its card %+v", said.Content, said.Notes, card.Notes)
			}
			if len(reply.Before) != 1 || reply.Before[0].Content != said.Content || len(reply.Before[0].Notes) != len(said.Notes) {
				t.Errorf("whoever asked was answered %+v", reply.Before)
			}
		})
	}
}

// TestAChangeOfTheDraftIsNoClaim: a text beside a plan that was made or revised now may say what it made or changed of it, if it
// says that the plan waits. What it says of another act, or of another thing, is compared with the record.
func TestAChangeOfTheDraftIsNoClaim(t *testing.T) {
	const revision = `{"steps":[{"id":"s1","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"sur"}}]}`
	for _, c := range []struct {
		said    string
		revises bool
		accused bool
	}{
		{"He cambiado la sala a la Sur. Pulsa Confirmar cuando quieras.", true, false},
		{"I've updated the quantity to 3; press confirm to go ahead.", true, false},
		{"The room has been changed to Sur, and it awaits your confirmation.", true, false},
		{"He añadido la segunda sala. Espera tu confirmación.", true, false},
		{"Listo. He puesto la Sur. ¿Confirmas?", true, false},
		{"He creado la reserva de la Norte: confírmala abajo si te parece bien.", false, false},
		{"Your booking has been changed.", true, true},
		{"He cambiado la sala a la Sur.", true, true},
		{"He cambiado la sala y he cancelado la Norte. Pulsa Confirmar.", true, true},
		{"I've changed the room, and I have emailed Ana. Press confirm.", true, true},
		{"I've changed booking W9373480; press confirm to go ahead.", true, true},
		{"He devuelto el dinero. Pulsa Confirmar.", false, true},
	} {
		w := newWorld(t)
		tool, args := "propose_plan", booksNorth
		if c.revises {
			w.proposeDraft(t, bookNorth)
			tool, args = "revise_plan", revision
		}
		r := calls(tool, withServer(args, w))
		r.Text = c.said
		w.model.answers = []any{r}
		reply := w.send(t, "que sea así")
		if reply.Kind != turn.KindPlan || len(reply.Before) != 1 {
			t.Fatalf("%q: %+v", c.said, reply)
		}
		if accused := len(reply.Before[0].Notes) > 0; accused != c.accused {
			t.Errorf("%q: %+v", c.said, reply.Before[0].Notes)
		}
	}
}

// TestATextBesideADraftNamesIt: a person who said yes in other words confirms the plan that waits from there.
func TestATextBesideADraftNamesIt(t *testing.T) {
	w := newWorld(t)
	r := w.proposeDraft(t, bookNorth)
	w.model.answers = []any{text("Muy bien."), text("Hola.")}
	if reply := w.send(t, "me parece muy bien, por mí que salga cuanto antes"); reply.Kind != turn.KindMessage || reply.Run != nil || reply.Pending == nil || reply.Pending.ID != r.ID || reply.Pending.Digest != r.Digest || reply.Pending.Status != plan.Draft {
		t.Errorf("%+v", reply)
	}
	w.Pass(48 * time.Hour)
	if reply := w.send(t, "hola de nuevo"); reply.Kind != turn.KindMessage || reply.Pending != nil {
		t.Errorf("an expired plan waits: %+v", reply.Pending)
	}
}
