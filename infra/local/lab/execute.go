package lab

import (
	"context"
	"errors"
	"fmt"

	"piloto/internal/runs/step"
)

// errWaits ends an execution that waits for an approval, for now.
var errWaits = errors.New("lab: a step waits for an approval")

// Execute does what the state machine does, without its retries: to the end, or until
// a step waits for an approval. Then it goes on when it is called again.
func (w *World) Execute(id string) {
	w.t.Helper()
	ctx := context.Background()
	waves, err := w.Runs.Begin(ctx, Account, id)
	if err != nil {
		w.t.Fatal(err)
	}
	cause := ""
	for _, wave := range waves {
		waits := false
		for _, s := range wave {
			switch err := w.step(ctx, id, s); {
			case errors.Is(err, errWaits):
				waits = true
			case err != nil:
				cause = "Run.StepFailed"
			}
		}
		if waits {
			return
		}
		if cause != "" {
			w.undo(ctx, id, cause)
			break
		}
	}
	if _, err := w.Runs.Finish(ctx, Account, id, cause); err != nil {
		w.t.Fatal(err)
	}
}

// step does one step, with its elements.
func (w *World) step(ctx context.Context, id, effect string) error {
	const mostOutcomes = 8
	for range mostOutcomes {
		done, err := w.Steps.Execute(ctx, step.Task{Account: Account, RunID: id, StepID: effect})
		if err != nil {
			return err
		}
		switch done.Outcome {
		case step.OutcomeDone:
			return nil
		case step.OutcomeApproval:
			token := fmt.Sprintf("token %s %s", id, effect)
			if err := w.Steps.Await(ctx, step.Task{Account: Account, RunID: id, StepID: effect}, token); err != nil {
				return err
			}
			return errWaits
		case step.OutcomeEach:
			for _, one := range done.Items {
				_ = w.step(ctx, id, one) // what became of it is in the table
			}
		case step.OutcomeReason:
		}
	}
	return fmt.Errorf("lab: %s comes to no end", effect)
}

func (w *World) undo(ctx context.Context, id, cause string) {
	w.t.Helper()
	undos, err := w.Runs.Undo(ctx, Account, id, cause)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, effect := range undos {
		_ = w.step(ctx, id, effect) // what became of it is in the table
	}
}
