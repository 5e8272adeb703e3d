package turn_test

import (
	"slices"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// runOfTwo proposes a booking and a look at it, confirms both and carries them out as answer says.
func (w *world) runOfTwo(t *testing.T, answer func(r plan.Run, q tool.Request) (tool.Answer, error), said string) plan.Run {
	t.Helper()
	w.model.answers = []any{calls("propose_plan", `{"goal":"Reservar y mirar","steps":[`+
		w.request("POST", "/bookings", `,"id":"s1","title":"Reserva la sala","body":{"room":"norte"},"undo":{"method":"DELETE","path":"/bookings/${s1.body.id}"}`)+`,`+
		w.request("GET", "/bookings/r-1", `,"id":"s2","title":"Mira la reserva"`)+`]}`)}
	reply := w.send(t, asksRoom)
	if reply.Kind != turn.KindPlan {
		t.Fatalf("%+v", reply)
	}
	w.send(t, "confirmo")
	w.Answer(func(q tool.Request) (tool.Answer, error) { return answer(*reply.Run, q) })
	w.Execute(reply.Run.ID)
	w.model.answers, w.model.asked = []any{text(said)}, nil
	return w.Read(reply.Run.ID)
}

// However a run ends, the model is told how, and the person gets one conclusion. What is claimed beyond the record has a note.
func TestEveryEndIsConcluded(t *testing.T) {
	booked := tool.Answer{Status: 201, Body: []byte(`{"id":"r-1","room":"Sala Norte"}`)}
	lost := func(plan.Run, tool.Request) (tool.Answer, error) { return tool.Answer{}, tool.ErrLost }
	for name, c := range map[string]struct {
		answer func(w *world, r plan.Run, q tool.Request) (tool.Answer, error)
		said   string
		status plan.Status
		tells  []string // what stands in the prompt
		note   string
	}{
		"in doubt": {
			func(_ *world, r plan.Run, q tool.Request) (tool.Answer, error) { return lost(r, q) },
			"No se sabe si la Sala Norte quedó reservada: compruébalo.", plan.InDoubt,
			[]string{`"status":"in_doubt"`, "no se sabe si se aplicó", `"room":"norte"`},
			"",
		},
		"in doubt, and said to be done": {
			func(_ *world, r plan.Run, q tool.Request) (tool.Answer, error) { return lost(r, q) },
			"Hecho: he reservado la Sala Norte.", plan.InDoubt, nil, "in_doubt: No se sabe si se hizo: Reserva la sala.",
		},
		"cancelled between two steps": {
			func(w *world, r plan.Run, _ tool.Request) (tool.Answer, error) {
				_, err := w.Runs.Cancel(t.Context(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID, Locale: "es"})
				return booked, err
			},
			"Hecho: reservada la Sala Norte. Lo demás se paró.", plan.Cancelled,
			[]string{`"status":"cancelled"`, `"answer":201`, "Sala Norte"},
			"",
		},
		"failed, and undone": {
			func(_ *world, _ plan.Run, q tool.Request) (tool.Answer, error) {
				switch q.Method {
				case "POST":
					return booked, nil
				case "DELETE":
					return tool.Answer{Status: 204}, nil
				}
				return tool.Answer{Status: 404, Body: []byte(`{"detail":"no existe"}`)}, nil
			},
			"No se pudo mirar (404: no existe), y la reserva se deshizo.", plan.Failed,
			[]string{`"status":"error"`, "no existe", `"undo":"done"`},
			"",
		},
		"failed at once, and said to be done": {
			func(*world, plan.Run, tool.Request) (tool.Answer, error) {
				return tool.Answer{Status: 409, Body: []byte(`{"detail":"ocupada"}`)}, nil
			},
			"Hecho: he reservado la Sala Norte.", plan.Failed,
			[]string{"ocupada"},
			"nothing_done: No consta: «reservado». En esta conversación no se ha ejecutado nada que lo haga.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.runOfTwo(t, func(r plan.Run, q tool.Request) (tool.Answer, error) { return c.answer(w, r, q) }, c.said)
			if r.Status != c.status || w.left(t) != 1 {
				t.Fatalf("it is %s, and %d conclusions are due", r.Status, w.left(t))
			}
			w.conclude(t, r)
			w.conclude(t, r)
			got := w.conclusions()
			if len(got) != 1 || got[0].Kind != conversation.KindConclusion || got[0].Content != c.said || w.left(t) != 0 || len(w.model.asked) != 1 {
				t.Fatalf("%d are left after %d requests: %+v", w.left(t), len(w.model.asked), got)
			}
			var notes []string
			for _, n := range got[0].Notes {
				notes = append(notes, n.Code+": "+n.Text)
			}
			if strings.Join(notes, " ") != c.note {
				t.Errorf("the notes are %q", notes)
			}
			if !slices.Contains(got[0].ReadFrom, w.Server.ID) {
				t.Errorf("it has the words of its service, and says that it has read %v", got[0].ReadFrom)
			}
			for _, part := range c.tells {
				if end := strings.Join(endsIn(w.model.asked[0]), "\n"); !strings.Contains(end, part) {
					t.Errorf("the model is not told %s:\n%s", part, end)
				}
			}
		})
	}
}
