package turn_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
)

// TestAJobEndsAfterSevenDays: also one that goes on, and has worked for a moment only.
func TestAJobEndsAfterSevenDays(t *testing.T) {
	for name, c := range map[string]struct {
		pass   time.Duration
		status job.Status
		reason conversation.StopReason
	}{
		"before": {job.MostLife - time.Minute, job.Success, ""},
		"after":  {job.MostLife, job.Partial, conversation.StopTime},
	} {
		w := newJobWorld(t)
		w.model.answers = []any{w.looksAt(0), text("Hasta aquí.")}
		id := w.start(t, "build", job.Order{TimeoutS: 604800}).ID
		if next, err := w.service.Round(t.Context(), fixture.Account, id); next != job.NextRound || err != nil {
			t.Fatal(next, err)
		}
		w.Pass(c.pass)
		j := w.drive(t, id)
		if j.Status != c.status || j.StopReason != c.reason || j.Output != "Hasta aquí." || j.Worked > time.Minute {
			t.Errorf("%s: %s %s after %s of work: %s", name, j.Status, j.StopReason, j.Worked, j.Output)
		}
	}
}

// TestTheLastTextOfAJobIsInItsBudget: whatever the budget is, it is not exceeded, and a job that read something has room for
// a last text of its model, however long what it read is.
func TestTheLastTextOfAJobIsInItsBudget(t *testing.T) {
	for name, rows := range map[string]int{"short answers": 1, "long answers": 60} {
		t.Run(name, func(t *testing.T) {
			ended, done := 0, 0
			for budget := int64(200); budget < 400_000; budget += budget * int64(stride(3)) / 3 {
				w := newJobWorld(t)
				w.service.Log = slog.New(slog.DiscardHandler)
				w.service.Paid.Eligibility = w.Eligibility(paidDeployment(), "openai", "groq")
				w.grant(t, 100)
				w.setTerms(t, credit.DefaultPolicy(), credit.Limits{})
				w.Answer(func(tool.Request) (tool.Answer, error) {
					body := []byte(strings.Repeat(`{"id":"n1","name":"Sala Norte","note":"con vistas al patio"}`+"\n", rows))
					return tool.Answer{Status: 200, Body: body, Bytes: len(body)}, nil
				})
				n := 0
				w.service.Paid.Models = providers{models(func(_ context.Context, r llm.Request) (llm.Reply, error) {
					reply := text("Leí algo.")
					if !r.NoCalls {
						reply = w.manyLooks(n, 4)
						n += 4
					}
					reply.Usage = llm.Usage{Input: r.Estimate(), Output: r.MaxTokens} // the most that was held
					return reply, nil
				})}
				j := w.drive(t, w.start(t, "build", job.Order{BudgetMicros: budget, MaxSteps: 6}).ID)
				if j.Micros > budget || w.charged(t) != j.Micros {
					t.Errorf("a budget of %d: %d were spent, %d are recorded", budget, j.Micros, w.charged(t))
				}
				if said := strings.Contains(j.Why, "El presupuesto es de ") && strings.Contains(j.Why, "esta llamada puede costar hasta "); said != (j.StopReason == conversation.StopBudget) {
					t.Errorf("a budget of %d: it ends by %s, and says why: %q", budget, j.StopReason, j.Why)
				}
				switch {
				case j.StopReason == conversation.StopSteps:
					done++
				case j.StopReason == conversation.StopBudget && n > 0:
					ended++
				case j.StopReason == conversation.StopBudget: // the first call was too dear
					continue
				default:
					t.Errorf("a budget of %d: %s %s: %s", budget, j.Status, j.StopReason, j.Output)
				}
				if j.Output != "Leí algo." {
					t.Errorf("a budget of %d, of which %d are spent for %d looks: %s", budget, j.Micros, j.Reads, j.Output)
				}
			}
			if ended == 0 || done == 0 {
				t.Errorf("%d ended at their budget, %d at their steps", ended, done)
			}
		})
	}
}
