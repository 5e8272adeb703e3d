package turn_test

import (
	"slices"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/tools/tool"
)

// TestAConclusionKnowsEarlierRuns: what an earlier run of the chat did is true in a text about the last one. It is not where the
// person asked for it now.
func TestAConclusionKnowsEarlierRuns(t *testing.T) {
	for _, c := range []struct {
		asked, said string
		accused     bool
	}{
		{"reserva la Norte", "He reservado la Norte. Ya cancelé tu otra reserva antes, así que no queda nada más.", false},
		{"book the north room", "I've booked the room. As the other booking was already cancelled earlier, nothing else is left.", false},
		{"book the north room", "I've booked the room, and I've cancelled the other booking.", false},
		{"reserva la Norte", "He reservado la Norte, y la otra reserva ha sido cancelada.", false},
		{"reserva la Norte y cancela la Sur", "He reservado la Norte y he cancelado la reserva de la Sur.", true},
		{"reserva la Norte", "He reservado la Norte y he devuelto el dinero.", true},
		{"reserva la Norte", "He reservado la Norte. Ya devolví el dinero antes.", true},
	} {
		w := newWorld(t)
		w.conclude(t, w.runOf(t, tool.Answer{Status: 204}, "DELETE", "/bookings/7", ""))
		w.Pass(time.Minute)
		w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"norte"}`))}
		reply := w.send(t, c.asked)
		w.send(t, "confirmo")
		w.Execute(reply.Run.ID)
		w.model.answers = []any{text(c.said)}
		w.conclude(t, w.Read(reply.Run.ID))
		list := w.conclusions()
		last := list[len(list)-1]
		if accused := len(last.Notes) > 0; last.Kind != conversation.KindConclusion || last.Content != c.said || accused != c.accused {
			t.Errorf("%q to %q: %+v", c.said, c.asked, last)
		}
	}
}

// TestAConclusionNamesWhatWasDone: a thing that only the person or an answer names was not acted on; one of an earlier run was.
func TestAConclusionNamesWhatWasDone(t *testing.T) {
	for said, accused := range map[string]bool{
		"He cancelado la reserva 8.": false, "Las reservas 7 y 8 están canceladas.": false, "He cancelado las dos reservas.": false, "La reserva 8 está cancelada y la reserva 9 sigue en pie.": false,
		"He cancelado las reservas 8 y 9.": true, "He cancelado la reserva 9.": true,
	} {
		w := newLookWorld(t)
		w.conclude(t, w.runOf(t, tool.Answer{Status: 204}, "DELETE", "/bookings/7", ""))
		w.Pass(time.Minute)
		w.Answer(func(tool.Request) (tool.Answer, error) {
			const body = `[{"id":8,"room":"norte"},{"id":9,"room":"sur"}]`
			return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
		})
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("La 8 y la 9.")}
		w.send(t, "¿qué reservas tengo?")
		w.Pass(time.Minute)
		w.Answer(func(tool.Request) (tool.Answer, error) { return tool.Answer{Status: 204}, nil })
		w.model.answers = []any{calls("mcp_request", w.request("DELETE", "/bookings/8", ""))}
		reply := w.send(t, "cancela las reservas 8 y 9")
		w.send(t, "confirmo")
		w.Execute(reply.Run.ID)
		w.model.answers = []any{text(said)}
		w.conclude(t, w.Read(reply.Run.ID))
		list := w.conclusions()
		isAccusation := func(n conversation.Note) bool { return n.Code == conversation.NoteNothingDone }
		if last := list[len(list)-1]; last.Content != said || slices.ContainsFunc(last.Notes, isAccusation) != accused {
			t.Errorf("%q: %+v", said, last)
		}
	}
}
