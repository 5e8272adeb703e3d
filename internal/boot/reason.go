package boot

import (
	"context"

	"piloto/internal/edge/gateway"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/statemachines"
)

// ReasonConfig is the configuration of functions/reason.
type ReasonConfig struct {
	Config
	Push
	AI
}

// StartReason runs functions/reason.
func StartReason() { StartTask(Reason) }

// Reason builds functions/reason.
func Reason(w World, e Environment) (gateway.Function, error) {
	c, err := read[ReasonConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config).withPush(c.Push)
	reasoner := &command.Service{Store: s.stores.Runs, Paid: s.paid(c.AI), IDs: w.IDs, Now: w.Now, Log: s.log}
	return task(s, func(ctx context.Context, in statemachines.StepInput) (statemachines.StepOutput, error) {
		err := reasoner.Reason(ctx, run.Key{Account: in.AccountID, RunID: in.RunID}, plan.ParseEffect(in.StepID))
		return statemachines.StepOutput{Outcome: statemachines.OutcomeReason, Items: []string{}}, err
	}), nil
}
