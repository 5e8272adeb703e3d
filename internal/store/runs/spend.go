package runs

import (
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

// Spend returns the write that adds to what the model calls for a run cost, in micro-USD. It belongs to the transaction
// of the record of the calls, so that each is counted once. It fails with plan.ErrRunNotFound when there is no such run.
func Spend(account, runID string, micros int64) kv.Write {
	return kv.Update(kv.Run(account, runID), "RUN", "ADD cost_micros :micros", "attribute_exists(PK)", kv.Item{":micros": kv.N(micros)}, plan.ErrRunNotFound)
}
