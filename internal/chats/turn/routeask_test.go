package turn_test

import (
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
)

// TestTheRoutersOwnModelAsksWithChoices: they are options of the message, and lines of its text and of what is remembered. Nothing is
// asked of the model again, whatever it wrote as choices.
func TestTheRoutersOwnModelAsksWithChoices(t *testing.T) {
	const missing = "\n\nHay opciones que no se muestran: si la tuya no está, escríbela."
	forty := `["` + strings.Join(fixtureTitles(40), `","`) + `"]`
	for options, c := range map[string]struct {
		says   string
		titles []string
	}{
		`["Salas","Clases"]`: {"¿Qué quieres reservar?", []string{"Salas", "Clases"}}, `["Salas","salas",""]`: {"¿Qué quieres reservar?", []string{"Salas"}},
		forty: {"¿Qué quieres reservar?" + missing, fixtureTitles(10)}, `"Salas"`: {"¿Qué quieres reservar?" + missing, nil},
		`[]`: {"¿Qué quieres reservar?", nil}, `null`: {"¿Qué quieres reservar?", nil}, `[{"id":"a","title":"Salas"}]`: {"¿Qué quieres reservar?", []string{"Salas"}},
	} {
		w := newTillWorld(t, till, text(`{"action":"respond","agent_name":null,"response":"¿Qué quieres reservar?","options":`+options+`}`))
		id, at := w.IDs.New(w.Clock()), w.Clock()
		for range 2 { // a repeated message has them, too
			m := w.route(t, id, "quiero reservar", at).Message
			want := c.says + conversation.OptionLines(conversation.NewOptions(c.titles))
			if m.Content != want || m.Asks != (c.says != "¿Qué quieres reservar?" || c.titles != nil) || !isQuestion(conversation.Message{Asks: true, Options: m.Options}, c.titles...) || len(w.model.asked) != 1 {
				t.Errorf("%s: %+v after %d calls", options, m, len(w.model.asked))
			}
			if got := w.memory(t).Exchanges[0].Response; got != want {
				t.Errorf("it remembers %q", got)
			}
			w.Pass(time.Second)
		}
	}
	w := newTillWorld(t, till, text(`{"action":"respond","agent_name":null,"response":"Tu sala ha sido reservada. ¿Algo más?","options":["Sí","Cancelado"]}`))
	w.model.answers = append(w.model.answers, w.model.answers[0])
	if m := w.route(t, w.IDs.New(w.Clock()), "hola", w.Clock()).Message; len(m.Notes) != 1 || m.Notes[0].Code != conversation.NoteNothingDone {
		t.Errorf("a claim in a question: %+v", m)
	}
}
