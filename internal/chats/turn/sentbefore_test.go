package turn_test

import (
	"errors"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// TestYesDoesNotAnswerLaterCard (guarantees I05, I06): two presses, and a retried request, say
// yes twice before a person could read the reply to the first. The second yes does not confirm
// that reply's card.
func TestYesDoesNotAnswerLaterCard(t *testing.T) {
	for _, contract := range []string{"send", "operator"} {
		for name, c := range map[string]struct {
			words []string
			first func(t *testing.T, w *world, card turn.Reply) // runs before the messages
		}{
			"somebody changed the plan": {[]string{"sí", "confirmo"}, func(t *testing.T, w *world, card turn.Reply) {
				e := w.edit(t, *card.Run, "", `[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"coche","n":99}}]`)
				e.Principal = auth.Principal{Account: fixture.Account, User: "beto", TokenID: "token of beto"}
				if _, err := w.service.Revise(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}},
			"another plan took its place": {[]string{"sí", "confirmo"}, func(t *testing.T, w *world, _ turn.Reply) {
				w.model.answers = []any{calls("propose_plan", withServer(drops5, w))}
				if _, err := w.sendAs("beto", contract, "borra la 5", ""); err != nil {
					t.Fatal(err)
				}
			}},
			"a question stands between": {[]string{"sí"}, func(t *testing.T, w *world, _ turn.Reply) {
				w.model.answers = []any{text("París. ¿Te interesa saber más?")}
				if _, err := w.sendAs("ana", contract, "¿capital de Francia?", ""); err != nil {
					t.Fatal(err)
				}
			}},
			"the card left the screen": {[]string{"confirmo"}, func(_ *testing.T, w *world, _ turn.Reply) { w.Pass(16 * time.Minute) }},
		} {
			for _, word := range c.words {
				t.Run(contract+", "+name+", "+word, func(t *testing.T) {
					w := newWorld(t)
					w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w))}
					card, err := w.sendAs("ana", contract, "reserva", "")
					if err != nil {
						t.Fatal(err)
					}
					c.first(t, w, card)
					w.Pass(time.Second)
					pressed := w.Clock()
					w.Pass(time.Second)
					for range 3 {
						got, err := w.sendLater("ana", contract, word, "", pressed)
						if _, moved := errors.AsType[*turn.Moved](err); !moved && (err != nil || got.Kind != turn.KindPlan) {
							t.Fatalf("%+v, %v", got, err)
						}
						w.Pass(time.Second)
					}
					if n := len(w.Started()); n != 0 {
						t.Fatalf("%d runs began", n)
					}
					if got, err := w.sendLater("ana", contract, "confirmo", "", w.Clock()); err != nil || got.Kind != turn.KindQueued {
						t.Errorf("the next yes: %+v, %v", got, err)
					}
				})
			}
		}
	}
	t.Run("a card that somebody else had shown meanwhile", func(t *testing.T) {
		w := newWorld(t)
		w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w)), text("París. ¿Te interesa saber más?")}
		_, _ = w.sendAs("ana", "send", "reserva", "")
		_, _ = w.sendAs("ana", "send", "¿capital de Francia?", "")
		w.Pass(time.Second)
		said := w.Clock()
		w.Pass(time.Second)
		_, _ = w.sendAs("beto", "send", "sí", "")
		if got, err := w.sendLater("ana", "send", "sí", "", said); err != nil || got.Kind != turn.KindPlan || len(w.Started()) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("a no to something else drops no draft", func(t *testing.T) {
		w := newWorld(t)
		said := w.Clock()
		w.Pass(time.Second)
		w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w)), text("Bien.")}
		card, _ := w.sendAs("beto", "send", "reserva", "")
		if got, err := w.sendLater("ana", "send", "no", "", said); err != nil || got.Kind != turn.KindMessage || w.Read(card.Run.ID).Status != plan.Draft {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestYesDuringRunNamesPendingDraft: a draft beside a run is not confirmed, and the reply must
// not suggest that the draft runs.
func TestYesDuringRunNamesPendingDraft(t *testing.T) {
	for _, word := range []string{"sí", "confirmo"} {
		w := newWorld(t)
		w.model.answers = []any{
			calls("propose_plan", withServer(`{"goal":"El primero","steps":[{"mcp_id":"SERVER","method":"GET","path":"/rooms"}]}`, w)),
			calls("propose_plan", withServer(`{"goal":"El segundo","steps":[{"mcp_id":"SERVER","method":"GET","path":"/rooms"}]}`, w)),
		}
		w.send(t, "las salas")
		w.send(t, "confirmo")
		w.send(t, "otra vez")
		reply := w.send(t, word)
		said := locale.Text(locale.Spanish, "fault.plan.already_running.other", "goal", "El segundo", "running", "El primero")
		if reply.Kind != turn.KindNotice || reply.Message.Content != said || len(w.Started()) != 1 {
			t.Errorf("%s: %+v", word, reply.Message)
		}
	}
}
