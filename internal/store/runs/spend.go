package runs

import (
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

// Spend returns the write that adds to the cost of the model calls for a run, in micro-USD. It belongs to the transaction of
// the record of the calls, so that each is counted once. It fails with plan.ErrRunNotFound when there is no such run.
func Spend(account ids.Account, runID string, micros int64) kv.Write {
	return kv.Update(runKey(account, runID)).Add("cost_micros", micros).If(kv.Exists("PK")).Else(plan.ErrRunNotFound)
}
