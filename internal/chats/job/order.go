package job

import (
	"context"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
)

// ErrOrder means that a job cannot be started as it was asked for. Fields has every problem.
var ErrOrder = fault.New(fault.Invalid, "job.invalid")

// check refuses names that the account or the deployment does not have, and a bound above the one that an administrator
// set for the agent.
func (o Order) check(ctx context.Context, known agent.Known, loop agent.Loop, caches bool) error {
	var services []string
	if o.Servers != nil {
		services = *o.Servers
	}
	wrong, err := known.Check(ctx, o.Principal.Account, services, o.Assistant)
	if err != nil {
		return err
	}
	if !o.Principal.Allows(auth.ScopeAdmin) {
		wrong = append(wrong, o.lifts(loop)...)
	}
	if o.Cache && !caches {
		wrong = append(wrong, fault.Field{Loc: []any{"body", "cache"}, Type: "no_cache"})
	}
	if len(wrong) > 0 {
		return ErrOrder.With("agent", loop.Name).At(wrong...)
	}
	return nil
}

// lifts returns the bounds of the agent that the order lifts. The steps and the time are no such bounds: they end a job, and
// guard nothing.
func (o Order) lifts(loop agent.Loop) (wrong []fault.Field) {
	if o.Mode != "" && o.Mode != loop.Mode && loop.Mode == agent.ConfirmAll {
		wrong = append(wrong, fault.Field{Loc: []any{"body", "mode"}, Type: "looser"})
	}
	if loop.BudgetMicros != 0 && o.BudgetMicros > loop.BudgetMicros {
		wrong = append(wrong, fault.Field{Loc: []any{"body", "budget_micros"}, Type: "over_agent"})
	}
	return wrong
}

// admits refuses a chat that the router answers, because a job's reads and writes there would be in the prompt of the
// agent that answers its customer.
func admits(c conversation.Chat) error {
	if c.Company != 0 {
		return agent.ErrRouted
	}
	return nil
}
