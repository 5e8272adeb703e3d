package turn_test

import (
	"testing"

	"piloto/internal/chats/job"
	"piloto/internal/tools/tool"
)

// TestWhatAJobReadInAnEarlierRoundIsNoClaim: it is told, and costs neither a call nor a line.
func TestWhatAJobReadInAnEarlierRoundIsNoClaim(t *testing.T) {
	for said, c := range map[string]struct{ asked, notes int }{"Está reservada.": {3, 0}, "He reservado la sala.": {3, 1}} {
		w := newJobWorld(t)
		w.Answer(func(tool.Request) (tool.Answer, error) {
			const body = `{"sala":"Norte","estado":"reservada"}`
			return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
		})
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), calls("search_tools", `{"query":"salas"}`), text(said), text(said)}
		j := w.drive(t, w.start(t, "build", job.Order{Prompt: "¿Cómo está la Norte?"}).ID)
		if j.Output != said || len(w.last(t).Notes) != c.notes || len(w.model.asked) != c.asked {
			t.Errorf("%q with %+v after %d calls", j.Output, w.last(t).Notes, len(w.model.asked))
		}
	}
}
