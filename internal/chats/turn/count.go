package turn

import (
	"cmp"
	"context"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/usage"
	"piloto/internal/ground/fault"
)

// count counts a turn by its outcome.
func (s *Service) count(ctx context.Context, req Request, began time.Time, reply Reply, err error) {
	t := usage.Turn{Contract: contract(req), Outcome: string(reply.Kind), Latency: s.Now().Sub(began)}
	switch {
	case err != nil:
		t.Outcome, t.Reason = usage.Failed, fault.Of(err).Code
	case reply.Block != nil:
		t.Outcome, t.Reason = usage.Blocked, string(reply.Block.Reason)
	case reply.Routed != nil:
		reply.Routed.count(&t)
	}
	s.Usage.Turn(ctx, req.Principal.Account, t)
}

func contract(req Request) string {
	switch {
	case req.Route != nil:
		return usage.Router
	case req.Session != nil:
		return usage.Operator
	}
	return usage.Send
}

func (r Routed) count(t *usage.Turn) {
	t.Agent, t.Attempts, t.AgentFailures = cmp.Or(r.Agent, r.Asked), r.Attempts, r.Failures
	switch {
	case r.Undecided:
		t.Outcome = usage.Apology
	case r.Action == agent.Respond:
		t.Outcome = usage.Respond
	case r.Failure != nil:
		t.Outcome, t.Reason = usage.Unreachable, fault.Of(r.Failure).Code
	default:
		t.Outcome = usage.Delegate
	}
}
