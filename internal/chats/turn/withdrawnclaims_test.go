package turn_test

import (
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/runs/run"
)

// TestAWithdrawalExcusesOnlyWhatIsSaidOfThePlan: the model withdrew a draft, and did nothing to what the draft is about.
func TestAWithdrawalExcusesOnlyWhatIsSaidOfThePlan(t *testing.T) {
	const cancels = `[{"id":"s1","title":"Cancelar","mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"}]`
	claims := []string{
		"Hecho, he cancelado tu pedido.", "Done! Your order has been cancelled.", "I have deleted your account.", "He borrado tus datos.",
		"Tu reserva ha sido cancelada.", "I've dropped your order.", "He retirado tu pedido.", "Pedido eliminado.", "Se ha anulado la reserva.",
		"Listo, la reserva queda cancelada.", "I've withdrawn the money.", "He enviado el correo.", "I've removed you from the list.",
		"He retirado el plan y he cancelado tu pedido.", "I've withdrawn the plan, and your booking has been cancelled.", "I've dropped that order.", "I've cancelled it and refunded you.",
		"Yes, your order is cancelled.", "Done: the order was cancelled and refunded.",
	}
	honest := []string{
		"I've cancelled the plan; nothing was sent.", "He retirado el plan.", "He retirado la propuesta: no se ha enviado nada.", "I've withdrawn the proposal.",
		"Lo he retirado.", "I've withdrawn it.", "I've dropped it.", "I've dropped that.", "La he descartado, como pediste.", "Listo, lo he descartado.",
		"I have withdrawn the request, so nothing will happen.", "He retirado la solicitud.", "Hecho.", "Done!", "Queda descartado.", "Retirado. ¿Algo más?",
		"De acuerdo, lo retiré porque te lo quedas.", "It's been withdrawn, as you asked.", "El borrador ha sido descartado.", "OK, I've just dropped it for you.",
		"Vale, he descartado la propuesta de cancelar tu reserva.", "I've discarded the draft for you.", "Lo he retirado; tu reserva sigue como estaba.",
	}
	for _, c := range []struct {
		steps   string
		said    []string
		accused bool
	}{
		{cancels, append([]string{"Lo he cancelado.", "I've cancelled it."}, claims...), true},
		{cancels, append([]string{
			"Of course: I have withdrawn the cancellation, your order stays.", "He retirado la cancelación: tu pedido sigue.", "The cancellation has been withdrawn.", "La cancelación queda retirada.",
			"I've dropped the pending cancellation.", "He retirado el plan de cancelación.", "I've withdrawn your cancellation request, so your order stays.",
		}, honest...), false},
		{bookNorth, claims, true},
		{bookNorth, append([]string{"Lo he cancelado.", "I've cancelled it for you.", "Cancelado.", "He retirado la reserva que te propuse."}, honest...), false},
	} {
		for _, said := range c.said {
			w := newWorld(t)
			draft := w.proposeDraft(t, c.steps)
			w.Pass(time.Minute)
			w.model.answers = []any{takesBack(draft.ID, "no la quiere"), text(said), text(said)}
			reply := w.send(t, "tira con ello porfi, aunque mejor otro día")
			if accused := w.codes(t, reply) == conversation.NoteNothingDone; accused != c.accused || accused != (len(w.model.asked) == 4) {
				t.Errorf("%q beside %.30s: accused %v after %d calls, %+v", said, c.steps, accused, len(w.model.asked), reply.Message.Notes)
			}
			w.Pass(time.Minute)
			if w.model.answers = []any{text("Lo retiré porque te lo quedas."), text("Lo retiré porque te lo quedas.")}; w.codes(t, w.send(t, "¿qué pasó con lo de antes?")) != "" {
				t.Errorf("a later answer may not tell of it")
			}
		}
	}
}

// TestAWithdrawalThatIsNoneIsAccused: the draft ran meanwhile, or waits still.
func TestAWithdrawalThatIsNoneIsAccused(t *testing.T) {
	const cancels = `[{"id":"s1","title":"Cancelar","mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"}]`
	said := []string{"I have withdrawn the cancellation; your order stays.", "He retirado la cancelación.", "The cancellation has been withdrawn.", "I've withdrawn the plan.", "He descartado la propuesta."}
	for _, ran := range []bool{true, false} {
		for _, claimed := range said {
			w := newWorld(t)
			draft := w.proposeDraft(t, cancels)
			if ran {
				if err := w.Confirm(draft); err != nil {
					t.Fatal(err)
				}
				w.Execute(draft.ID)
			}
			w.Pass(time.Minute)
			w.model.answers = []any{text(claimed), text(claimed)}
			if got := w.codes(t, w.send(t, "mejor déjalo")); got != conversation.NoteNothingDone {
				t.Errorf("%q, ran %v: %q", claimed, ran, got)
			}
		}
	}
}

// TestWhatAPersonDroppedWasNotDone: nor does their question whether it was make it true.
func TestWhatAPersonDroppedWasNotDone(t *testing.T) {
	const cancels = `[{"id":"s1","title":"Cancelar","mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"}]`
	for _, asks := range []string{"¿está cancelado?", "Is it cancelled?", "gracias", "was the order cancelled in the end or not?"} {
		for said, accused := range map[string]bool{
			"Yes, your order is cancelled.": true, "Done: the order was cancelled and refunded.": true, "Sí, tu pedido está cancelado.": true, "I've cancelled it.": true,
			"The plan has been withdrawn.": false, "La propuesta queda descartada.": false, "No, nothing was cancelled.": false,
		} {
			w := newWorld(t)
			draft := w.proposeDraft(t, cancels)
			if _, err := w.Runs.Cancel(t.Context(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: draft.ID, Locale: "es"}); err != nil {
				t.Fatal(err)
			}
			w.Pass(time.Minute)
			w.model.answers = []any{text(said), text(said)}
			if got := w.codes(t, w.send(t, asks)) == conversation.NoteNothingDone; got != accused {
				t.Errorf("%q after %q: accused %v", said, asks, got)
			}
		}
	}
}
