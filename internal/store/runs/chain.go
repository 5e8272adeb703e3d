package runs

import (
	"context"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/store/kv"
)

// headRow is the part of a run's row that its receipt is about.
type headRow struct {
	Status string `dynamodbav:"status"`
	Digest string `dynamodbav:"digest"`
	Events int    `dynamodbav:"event_seq"`
	Chain  string `dynamodbav:"chain"`
	Link   int    `dynamodbav:"link"`
}

// Ended returns the link of a run that ended: only its number when it is in the chain, and without a number when it is not.
// It returns plan.ErrRunNotFound, or plan.ErrAlreadyRunning.
func Ended(ctx context.Context, table *kv.Table, account ids.Account, runID string) (receipt.Link, error) {
	var row headRow
	if err := table.Get(ctx, runKey(account, runID), &row, plan.ErrRunNotFound); err != nil {
		return receipt.Link{}, err
	}
	switch {
	case row.Link > 0:
		return receipt.Link{Account: account, Seq: row.Link}, nil
	case !plan.Status(row.Status).Terminal():
		return receipt.Link{}, plan.ErrAlreadyRunning
	}
	return receipt.Link{
		Account: account, RunID: runID, Status: plan.Status(row.Status), Digest: plan.Digest(row.Digest), Events: row.Events, RunHead: row.Chain,
	}, nil
}

// Placed returns the write that stores the number of a run's link, if the run is as the link says.
func Placed(l receipt.Link) kv.Write {
	w := kv.Update(runKey(l.Account, l.RunID)).Set("link", l.Seq).Remove("DuePK", "DueSK")
	return w.If(kv.Is("event_seq", l.Events), kv.Missing("link")).Else(fault.ErrMoved)
}
