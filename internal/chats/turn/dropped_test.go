package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// kettle is a plan of two steps, of which the second is «Devolver la tetera».
const kettle = `[{"id":"s1","title":"Cancelar el pedido","mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"},{"id":"s2","title":"Devolver la tetera","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"tetera"}}]`

// TestWhatANewPlanDropsIsNamed: of a turn, of a job and of an answer that is given anew, to whoever asked and as data.
func TestWhatANewPlanDropsIsNamed(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, w *jobWorld) string{
		"in a turn": func(t *testing.T, w *jobWorld) string { return w.send(t, "otra cosa").Message.Content },
		"in a job": func(t *testing.T, w *jobWorld) string {
			j := w.start(t, "build", job.Order{Prompt: "otra cosa"})
			if _, err := w.service.Round(t.Context(), fixture.Account, j.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := w.service.Round(t.Context(), fixture.Account, j.ID); err != nil {
				t.Fatal(err)
			}
			said := w.Messages()
			return said[len(said)-1].Content
		},
		"anew": func(t *testing.T, w *jobWorld) string {
			reply, err := w.again()
			if err != nil {
				t.Fatal(err)
			}
			return reply.Message.Content
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			draft := w.proposeDraft(t, kettle)
			w.Pass(time.Minute)
			w.model.answers = []any{calls("mcp_request", w.request("DELETE", "/bookings/7", ""))}
			got := do(t, w)
			if want := "Este plan sustituye a «Reservar». Quedan fuera: «Devolver la tetera» (POST /bookings).\n"; !strings.HasPrefix(got, want) {
				t.Errorf("%s", got)
			}
			r := w.Read(w.ChatNow().PendingRunID)
			if r.Dropped == nil || r.Dropped.RunID != draft.ID || len(r.Dropped.Steps) != 1 || w.Read(draft.ID).Status != plan.Superseded {
				t.Errorf("%+v", r.Dropped)
			}
		})
	}
}

// TestADraftThatEndsWithAnotherAnswerIsNamed: no plan comes in its place, but a text, or another message of the person.
func TestADraftThatEndsWithAnotherAnswerIsNamed(t *testing.T) {
	for name, do := range map[string]func(w *world) (turn.Reply, error){
		"again":   (*world).again,
		"instead": func(w *world) (turn.Reply, error) { return w.instead(w.lastOf().ID, "¿qué hay?") },
	} {
		w := newWorld(t)
		w.proposeDraft(t, kettle)
		w.Pass(time.Minute)
		w.model.answers = []any{text("mejor no")}
		if _, err := do(w); err != nil {
			t.Fatal(err)
		}
		stand, _ := w.lines(t)
		if all := strings.Join(stand, "\n"); strings.Count(all, "El plan «Reservar» ya no espera") != 1 {
			t.Errorf("%s: %s", name, all)
		}
	}
}

// TestARevisionNamesEachStepThatIsGone: also one in whose place another call stands under its id, and behind many other changes.
func TestARevisionNamesEachStepThatIsGone(t *testing.T) {
	order := `{"id":"s1","title":"Cancelar el pedido","mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"}`
	many := ""
	for i := range 12 {
		many += fmt.Sprintf(`,{"id":"n%d","title":"Otro %d","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"%d"}}`, i, i, i)
	}
	for name, c := range map[string]struct {
		steps string
		says  []string
	}{
		"left out":         {`[` + order + `]`, []string{"sin el paso «Devolver la tetera»"}},
		"among many":       {`[` + order + many + `]`, []string{"sin el paso «Devolver la tetera»; ", "y 4 cambios más"}},
		"another under it": {`[` + order + `,{"id":"s2","title":"Ver salas","mcp_id":"SERVER","method":"GET","path":"/rooms"}]`, []string{"«Devolver la tetera» (POST /bookings) se cambia por «Ver salas» (GET /rooms)"}},
		"with its title":   {`[` + order + `,{"id":"s2","title":"Devolver la tetera","mcp_id":"SERVER","method":"GET","path":"/rooms"}]`, []string{"«Devolver la tetera» (POST /bookings) se cambia por «Devolver la tetera» (GET /rooms)"}},
		"another thing":    {`[{"id":"s1","title":"Cancelar otro","mcp_id":"SERVER","method":"DELETE","path":"/bookings/8"}` + many + `]`, []string{"«Cancelar el pedido» (DELETE /bookings/7) se cambia por «Cancelar otro» (DELETE /bookings/8)", "sin el paso «Devolver la tetera»"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			draft := w.proposeDraft(t, kettle)
			w.model.answers = []any{calls("revise_plan", withServer(`{"steps":`+c.steps+`}`, w))}
			reply := w.send(t, "sí, y algo más")
			first, _, _ := strings.Cut(reply.Message.Content, "\n")
			for _, want := range c.says {
				if !strings.Contains(first, want) {
					t.Errorf("no %q in %s", want, first)
				}
			}
			if reply.Run == nil || reply.Run.ID != draft.ID || strings.Contains(first, "título") {
				t.Errorf("%s", reply.Message.Content)
			}
		})
	}
}

// TestAYesAndSomethingMoreKeepsThePlan: it confirms nothing, and the model is told to change the plan that waits, in the one language of
// prompts, whatever the person's is.
func TestAYesAndSomethingMoreKeepsThePlan(t *testing.T) {
	w := newWorld(t)
	draft := w.proposeDraft(t, `[{"id":"s1","title":"Cancelar el pedido","mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"}]`)
	w.model.answers = []any{calls("revise_plan", withServer(`{"steps":`+kettle+`}`, w))}
	reply := w.send(t, "¡Sí, por favor! Y devuelve también la tetera.")
	if reply.Kind != turn.KindPlan || reply.Run.ID != draft.ID || reply.Run.Status != plan.Draft || len(reply.Run.Plan.Steps) != 2 || len(w.Started()) != 0 {
		t.Fatalf("%+v", reply)
	}
	if !strings.Contains(reply.Message.Content, "paso nuevo «Devolver la tetera»") || strings.Contains(reply.Message.Content, "sin el paso") {
		t.Errorf("%s", reply.Message.Content)
	}
	for _, tag := range []locale.Tag{locale.Spanish, locale.English} {
		req := w.message("y otra cosa más")
		req.Locale = tag
		if _, err := w.service.Send(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if said := prompted(w.asked()); !strings.Contains(said, "to add to it when they agree and ask for more, call revise_plan") {
			t.Errorf("%s: %s", tag, said)
		}
	}
}

// TestAShownPlanStillNamesWhatItDropped: to somebody who saw the plan before it, when the card is shown again.
func TestAShownPlanStillNamesWhatItDropped(t *testing.T) {
	w := newWorld(t)
	w.proposeDraft(t, kettle)
	w.model.answers = []any{calls("mcp_request", w.request("GET", "/rooms", ""))}
	w.send(t, "otra cosa")
	w.Pass(time.Hour)
	if again := w.send(t, "confirmo"); again.Kind != turn.KindPlan || !strings.Contains(again.Message.Content, "Este plan sustituye a «Reservar»") {
		t.Errorf("%+v", again.Message)
	}
}

// TestARevisionTellsWhatIsStillDropped: what a change puts back is named no more, and what it leaves out of the plan before is, whoever
// changes the draft.
func TestARevisionTellsWhatIsStillDropped(t *testing.T) {
	const order = `{"id":"s1","title":"Cancelar el pedido","mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"}`
	tetera := strings.TrimPrefix(strings.TrimSuffix(kettle, "]"), "["+order+",")
	for _, by := range []string{"the model", "a person"} {
		w := newWorld(t)
		before := w.proposeDraft(t, kettle)
		w.model.answers = []any{calls("mcp_request", w.request("DELETE", "/bookings/7", ""))}
		w.send(t, "otra cosa")
		for _, c := range []struct{ steps, says string }{
			{kettle, "Este plan sustituye a «Reservar»: todos sus pasos están también en este."},
			{"[" + tetera + "]", "Quedan fuera: «Cancelar el pedido» (DELETE /bookings/7)."},
			{"[" + order + "]", "Quedan fuera: «Devolver la tetera» (POST /bookings)."},
		} {
			if draft := w.Read(w.ChatNow().PendingRunID); by == "a person" {
				if _, err := w.service.Revise(t.Context(), w.edit(t, draft, "", c.steps)); err != nil {
					t.Fatal(err)
				}
			} else {
				w.model.answers = []any{calls("revise_plan", withServer(`{"steps":`+c.steps+`}`, w))}
				w.send(t, "cámbialo")
			}
			r := w.Read(w.ChatNow().PendingRunID)
			if r.Dropped == nil || r.Dropped.RunID != before.ID {
				t.Fatalf("%s: %+v", by, r.Dropped)
			}
			w.Pass(time.Hour)
			if again := w.send(t, "confirmo"); again.Kind != turn.KindPlan || !strings.Contains(again.Message.Content, c.says) {
				t.Errorf("%s: %s", by, again.Message.Content)
			}
		}
	}
}
