package turn_test

import (
	"encoding/json"
	"testing"

	"piloto/internal/chats/job"
	"piloto/internal/models/llm"
)

// thinking is a call as a model that thinks makes it.
func (w *world) thinking() llm.Reply {
	r := calls("look", lookAt(w.Server.ID, "/rooms"))
	r.Thought, r.Extra = "Miro las salas.", json.RawMessage(`{"reasoning_details":[{"type":"reasoning.text","text":"Miro las salas."}]}`)
	r.Calls[0].Extra = json.RawMessage(`{"extra_content":{"google":{"thought_signature":"c2ln"}}}`)
	return r
}

// TestAThoughtGoesBackWithItsCalls, in the next call of the turn and in each later round of a job: some providers refuse
// calls without it.
func TestAThoughtGoesBackWithItsCalls(t *testing.T) {
	w := newLookWorld(t)
	w.model.answers = []any{w.thinking(), text("Hay una.")}
	w.send(t, "¿qué salas hay?")
	holdThought(t, w, w.thinking(), 1)

	j := newJobWorld(t)
	j.model.answers = []any{j.thinking(), j.thinking(), text("Hay una.")}
	j.drive(t, j.start(t, "build", job.Order{}).ID)
	holdThought(t, j.world, j.thinking(), 2)
}

// holdThought holds the last request of the model to so many messages that repeat an answer whole.
func holdThought(t *testing.T, w *world, said llm.Reply, want int) {
	t.Helper()
	got := 0
	for _, m := range w.model.asked[len(w.model.asked)-1].Messages {
		if len(m.Calls) == 0 {
			continue
		}
		got++
		if m.Thought != said.Thought || string(m.Extra) != string(said.Extra) || string(m.Calls[0].Extra) != string(said.Calls[0].Extra) {
			t.Errorf("%+v", m)
		}
	}
	if got != want {
		t.Errorf("%d messages with calls", got)
	}
}
