package turn_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/runs/run"
)

const asksToCancel = "It is pending. Would you like to cancel it, or change its address?"

// namedWords are yeses and noes that name a plan, whatever the last message is.
var namedWords = []string{"yes, cancel it", "sí, cancélalo", "Confirmed", "I confirm", "confirmo", "Cancela", "no lo hagas"}

// TestANamedYesToATextGoesToTheModel: where no plan waits and none runs, it answers what the model said, as a bare one does.
func TestANamedYesToATextGoesToTheModel(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, w *world){
		"a question": func(t *testing.T, w *world) {
			w.model.answers = []any{text(asksToCancel)}
			w.send(t, "what about my order?")
		},
		"a text that asks nothing": func(t *testing.T, w *world) {
			w.model.answers = []any{text("Dime si lo cancelo.")}
			w.send(t, "what about my order?")
		},
		"a run that ended before": func(t *testing.T, w *world) {
			r := w.proposeDraft(t, bookNorth)
			w.send(t, "confirmo")
			w.Execute(r.ID)
			w.model.answers = []any{text("Dime si lo cancelo.")}
			w.send(t, "what about my order?")
		},
		"a draft that expired before": func(t *testing.T, w *world) {
			w.proposeDraft(t, bookNorth)
			w.Pass(48 * time.Hour)
			w.model.answers = []any{text(asksToCancel)}
			w.send(t, "what about my order?")
		},
		"a question after a withdrawal": func(t *testing.T, w *world) {
			const offers = "La he retirado. ¿Cancelo entonces tu pedido?"
			draft := w.proposeDraft(t, bookNorth)
			w.model.answers = []any{takesBack(draft.ID, "no la quiere"), text(offers), text(offers)}
			w.send(t, "esa sala no me gusta nada")
		},
	} {
		for _, word := range namedWords {
			w := newWorld(t)
			before(t, w)
			asked, started := len(w.model.asked), len(w.Started())
			w.Pass(time.Second)
			w.model.answers = []any{text("Vale.")}
			if reply := w.send(t, word); reply.Kind != turn.KindMessage || len(w.model.asked) != asked+1 || len(w.Started()) != started {
				t.Errorf("%s, %q: %+v after %d calls", name, word, reply.Message, len(w.model.asked)-asked)
			}
		}
		w := newWorld(t)
		before(t, w)
		asked := len(w.model.asked)
		if reply := w.send(t, "detener"); reply.Kind != turn.KindNotice || len(w.model.asked) != asked {
			t.Errorf("%s: a stop is %+v", name, reply.Message)
		}
	}
}

// TestANamedYesAfterAPlanSaysThatNothingWaits: the last thing that it may mean is a plan, which waits no more.
func TestANamedYesAfterAPlanSaysThatNothingWaits(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, w *world){
		"cancelled": func(t *testing.T, w *world) {
			w.proposeDraft(t, bookNorth)
			w.send(t, "cancela")
		},
		"cancelled by its button": func(t *testing.T, w *world) {
			r := w.proposeDraft(t, bookNorth)
			if _, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID}); err != nil {
				t.Fatal(err)
			}
		},
		"withdrawn": func(t *testing.T, w *world) {
			draft := w.proposeDraft(t, bookNorth)
			w.model.answers = []any{takesBack(draft.ID, "no la quiere"), text("De acuerdo, no la reservo.")}
			w.send(t, "esa sala no me gusta nada")
		},
		"done": func(t *testing.T, w *world) {
			r := w.proposeDraft(t, bookNorth)
			w.send(t, "confirmo")
			w.Execute(r.ID)
		},
		"a notice": func(t *testing.T, w *world) { w.send(t, "confirmo") },
	} {
		for _, word := range namedWords {
			w := newWorld(t)
			before(t, w)
			asked, started := len(w.model.asked), len(w.Started())
			w.Pass(2 * time.Second)
			if reply := w.send(t, word); reply.Kind != turn.KindNotice || !strings.HasPrefix(reply.Message.Content, "No hay ") || len(w.model.asked) != asked || len(w.Started()) != started {
				t.Errorf("%s, %q: %+v", name, word, reply.Message)
			}
		}
	}
	t.Run("expired", func(t *testing.T) {
		w := newWorld(t)
		w.proposeDraft(t, bookNorth)
		w.Pass(48 * time.Hour)
		if _, err := w.try("confirmo"); err == nil || len(w.model.asked) != 1 {
			t.Errorf("%v after %d calls", err, len(w.model.asked))
		}
	})
	t.Run("a text that came after the yes was written", func(t *testing.T) {
		w := newWorld(t)
		said := w.Clock()
		w.Pass(time.Second)
		w.model.answers = []any{text(asksToCancel)}
		w.send(t, "what about my order?")
		if got, err := w.sendLater("ana", "send", "confirmo", "", said); err != nil || got.Kind != turn.KindNotice {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestACancelThatBeginsAChatGoesToTheModel: there is no plan that it may mean. A confirmation and a stop name one.
func TestACancelThatBeginsAChatGoesToTheModel(t *testing.T) {
	for word, kind := range map[string]turn.Kind{"Cancela": turn.KindMessage, "cancel": turn.KindMessage, "confirmo": turn.KindNotice, "detener": turn.KindNotice, "stop": turn.KindNotice} {
		w := newWorld(t, text("¿Qué quieres cancelar?"))
		if reply := w.send(t, word); reply.Kind != kind {
			t.Errorf("%s: %+v", word, reply.Message)
		}
	}
}
