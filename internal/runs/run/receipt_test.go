package run_test

import (
	"context"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
)

// The events of a run name the run, its chat and its user, so that its receipt cannot pass for that
// of another run, another chat or another user's request.
func TestReceiptBelongsToOneRun(t *testing.T) {
	w := newManualWorld(t)
	rejected := w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{undoable("Una"), undoable("Dos")}})
	cancel(t, w.World, rejected)
	failed := w.launch(t, undoable("Una"), undoable("Dos"))
	w.do(t, failed.ID, "s1", plan.StepFailed)
	w.finish(t, failed.ID, "Run.StepFailed")
	d, err := w.retry(failed.ID)
	must(t, err)
	for _, id := range []string{rejected.ID, d.Run.ID} {
		whole := func() receipt.Receipt {
			now := w.Read(id)
			revisions, err := w.Store.Runs.Revisions(context.Background(), now)
			must(t, err)
			events, err := w.Store.Runs.Events(context.Background(), fixture.Account, id, 0, 1000)
			must(t, err)
			return receipt.New(now, revisions, events)
		}
		if wrong := receipt.Verify(whole()); len(wrong) > 0 {
			t.Errorf("as it is: %v", wrong)
		}
		for what, forge := range map[string]func(*receipt.Receipt){
			"run":   func(r *receipt.Receipt) { r.RunID = "01ANOTHER" },
			"chat":  func(r *receipt.Receipt) { r.ChatID = "01ANOTHER" },
			"asker": func(r *receipt.Receipt) { r.Revisions[0].By = "luis" },
		} {
			forged := whole()
			forge(&forged)
			if len(receipt.Verify(forged)) == 0 {
				t.Errorf("another %s", what)
			}
		}
	}
}
