package turn_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
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
	if m := w.route(t, w.IDs.New(w.Clock()), "hola", w.Clock()).Message; len(m.Notes) != 1 || m.Notes[0].Code != conversation.NoteNothingDone || len(w.model.asked) != 1 {
		t.Errorf("a claim in a question, after %d calls: %+v", len(w.model.asked), m)
	}
}

// TestTheRoutersOwnModelIsAskedOnceMore where its text announces what an agent does, or tells of an act that nobody did. It may
// delegate, and it may repeat its text: one is shown.
func TestTheRoutersOwnModelIsAskedOnceMore(t *testing.T) {
	const booked, announced, plain = "Tu sala ha sido reservada.", "Voy a reservar tu sala.", "¿Para qué día la quieres?"
	once := locale.Text(locale.Spanish, "prompt.reconsider_router")
	for name, c := range map[string]struct {
		answers []any
		asked   int
		says    string
		notes   int
	}{
		"it delegates":             {[]any{decisionReply(announced), delegateTo("tendero"), text("Queda la Norte.")}, 3, "Queda la Norte.", 0},
		"it says otherwise":        {[]any{decisionReply(booked), decisionReply("Aún no está.")}, 2, "Aún no está.", 0},
		"it repeats the text":      {[]any{decisionReply(announced), decisionReply(announced), decisionReply("Otra.")}, 2, announced, 0},
		"it repeats a false claim": {[]any{decisionReply(booked), decisionReply(booked), decisionReply("Otra.")}, 2, booked, 1},
		"it decides nothing":       {[]any{decisionReply(booked), text("Vale."), decisionReply("Otra.")}, 2, booked, 1},
		"it fails":                 {[]any{decisionReply(booked), errors.New("gone"), decisionReply("Otra.")}, 2, booked, 1},
		"a question for data":      {[]any{decisionReply(plain)}, 1, plain, 0},
		"a greeting":               {[]any{decisionReply("¡Hola! ¿En qué te ayudo?")}, 1, "¡Hola! ¿En qué te ayudo?", 0},
		"a second decision":        {[]any{text("Vale."), decisionReply(announced), decisionReply(plain)}, 3, plain, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTillWorld(t, till)
			w.model.answers = c.answers
			reply := w.route(t, w.IDs.New(w.Clock()), "reserva una sala", w.Clock())
			if reply.Message.Content != c.says || len(reply.Message.Notes) != c.notes || len(w.model.asked) != c.asked {
				t.Errorf("%+v after %d calls", reply.Message, len(w.model.asked))
			}
			shown := 0
			for _, m := range w.memory(t).Exchanges {
				if shown++; m.Response != c.says {
					t.Errorf("it remembers %q", m.Response)
				}
			}
			if shown != 1 {
				t.Errorf("%d texts are remembered", shown)
			}
			if c.asked == 2 {
				again := w.model.asked[1]
				n := len(again.Messages)
				if last := again.Messages[n-1]; last.Role != llm.System || last.Content != once || again.Messages[n-2].Role != llm.Assistant || again.Format == nil {
					t.Errorf("it is asked %+v", again.Messages[n-2:])
				}
			}
		})
	}
	t.Run("nobody is there to do it", func(t *testing.T) {
		w := newRouterWorld(t, decisionReply(announced))
		if err := w.Store.Router.PutRouterSettings(t.Context(), fixture.Account, 0, agent.Settings{Agents: []string{}}); err != nil {
			t.Fatal(err)
		}
		if w.route(t, w.IDs.New(w.Clock()), "reserva", w.Clock()); len(w.model.asked) != 1 {
			t.Errorf("after %d calls", len(w.model.asked))
		}
	})
}
