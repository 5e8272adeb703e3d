package boot

import (
	"context"
	"errors"

	"piloto/internal/chats/turn"
	"piloto/internal/edge/gateway"
	"piloto/internal/runs/run"
	"piloto/statemachines"
)

// ConcludeConfig is the configuration of functions/conclude.
type ConcludeConfig struct {
	Config
	Push
	AI
	Waits
}

// StartConclude runs functions/conclude.
func StartConclude() { StartTask(Conclude) }

// Conclude builds functions/conclude. An event that names no run is its schedule's: then it concludes the runs whose
// execution died before it did.
func Conclude(w World, e Environment) (gateway.Function, error) {
	c, err := read[ConcludeConfig](e)
	if err != nil {
		return nil, err
	}
	w.within = lambdaTime
	s, limits := w.site(c.Config).withPush(c.Push), w.limits(c.Waits)
	calls := s.paid(c.AI)
	calls.Credit.Life = holdLife(limits, 0)
	concluder := &turn.Concluder{Store: s.stores.Runs, Service: &turn.Service{
		Chats: s.stores.Chats, Plans: s.stores.Runs, Servers: s.stores.Registry, Setups: s.stores.Setups, Paid: calls, Tell: s.listeners,
		Limits: limits, IDs: s.world.IDs, Now: s.world.Now, Log: s.log,
	}}
	return task(s, func(ctx context.Context, in statemachines.ConcludeInput) (Concluded, error) {
		if in.RunID != "" {
			err := concluder.Conclude(ctx, in.AccountID, in.RunID)
			if errors.Is(err, run.ErrConcluding) { // if that one died, the schedule finds it
				err = nil
			}
			return Concluded{}, err
		}
		n, err := concluder.Sweep(ctx)
		if n > 0 {
			s.log.InfoContext(ctx, "conclude.swept", "count", n)
		}
		return Concluded{n}, err
	}), nil
}

// Concluded counts the runs that the schedule concluded.
type Concluded struct {
	Runs int `json:"runs"`
}
