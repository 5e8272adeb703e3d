package turn

import (
	"cmp"
	"context"
	"time"

	"piloto/internal/agent"
	"piloto/internal/fault"
	"piloto/internal/tally"
)

// count counts a turn by what it came to.
func (s *Service) count(ctx context.Context, req Request, began time.Time, reply Reply, err error) {
	t := tally.Turn{Contract: contract(req), Outcome: string(reply.Kind), Latency: s.Now().Sub(began)}
	switch {
	case err != nil:
		t.Outcome, t.Reason = tally.Failed, fault.Of(err).Code
	case reply.Block != nil:
		t.Outcome, t.Reason = tally.Blocked, string(reply.Block.Reason)
	case reply.Routed != nil:
		reply.Routed.count(&t)
	}
	s.Tally.Turn(ctx, req.Principal.Account, t)
}

func contract(req Request) string {
	switch {
	case req.Route != nil:
		return tally.Router
	case req.Session != nil:
		return tally.Operator
	}
	return tally.Send
}

func (r Routed) count(t *tally.Turn) {
	t.Agent, t.Attempts, t.AgentFailures = cmp.Or(r.Agent, r.Asked), r.Attempts, r.Failures
	switch {
	case r.Sorry:
		t.Outcome = tally.Apology
	case r.Action == agent.Respond:
		t.Outcome = tally.Respond
	case r.Failure != nil:
		t.Outcome, t.Reason = tally.Unreachable, fault.Of(r.Failure).Code
	default:
		t.Outcome = tally.Delegate
	}
}
