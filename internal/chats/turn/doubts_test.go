package turn_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// TestAProposalSaysThatItMayBeDoneAlready (guarantee I09): the answer to a request was lost, and a model or a person proposes it
// again. The card, its text and the model's next prompt say so, until somebody settles it.
func TestAProposalSaysThatItMayBeDoneAlready(t *testing.T) {
	w := newWorld(t)
	w.service.Previews = step.Preview{Reader: step.Reader{Stores: w.StepStores(), Schemas: schema.Compiler{}, Sender: w, Log: slog.New(slog.DiscardHandler)}}
	w.Answer(func(tool.Request) (tool.Answer, error) { return tool.Answer{}, tool.ErrLost })
	const steps = `[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"norte"}}]`
	other := strings.ReplaceAll(steps, "norte", "sur")

	first := w.proposeDraft(t, steps)
	if first.Plan.Steps[0].Unanswered != nil {
		t.Fatal("nothing was sent")
	}
	if err := w.Confirm(first); err != nil {
		t.Fatal(err)
	}
	w.Execute(first.ID)
	is := func(what string, r plan.Run, want bool) {
		t.Helper()
		doubt := r.Plan.Steps[0].Unanswered
		if (doubt != nil) != want || want && doubt.RunID != first.ID {
			t.Errorf("%s: %+v", what, doubt)
		}
		messages := w.Messages()
		if card := messages[len(messages)-1].Content; strings.Contains(card, "no se sabe si ya se hizo") != want {
			t.Errorf("%s: %s", what, card)
		}
	}
	r := w.proposeDraft(t, steps)
	is("proposed by a model", r, true)
	w.send(t, "sí")
	if said := fmt.Sprint(w.Messages()); !strings.Contains(said, "puede haberse hecho ya") || w.Read(r.ID).Status != plan.Draft {
		t.Errorf("a bare yes: %s, %s", w.Read(r.ID).Status, said)
	}
	w.model.answers = append(w.model.answers, text("Nada."))
	w.send(t, "¿Qué tal?")
	if said := fmt.Sprint(w.asked().Messages); !strings.Contains(said, "\ns1: De esta misma petición no se sabe si ya se hizo") {
		t.Errorf("the model is not told: %s", said)
	}
	r, err := w.service.Revise(t.Context(), w.edit(t, r, "", other))
	if err != nil {
		t.Fatal(err)
	}
	is("edited", r, false)
	if r, err = w.service.Revise(t.Context(), w.edit(t, r, "", steps)); err != nil {
		t.Fatal(err)
	}
	is("edited back", r, true)
	if _, err := w.Runs.Resolve(t.Context(), run.Resolution{Account: fixture.Account, User: "ana", RunID: first.ID, StepID: plan.EffectOf("s1"), Outcome: plan.OutcomeNotDone}); err != nil {
		t.Fatal(err)
	}
	is("settled", w.proposeDraft(t, steps), false)
}
