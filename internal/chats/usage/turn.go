package usage

import (
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/fault"
	"piloto/internal/models/eligibility"
)

// Turn is what is counted of one turn.
type Turn struct {
	Contract      string        // by which it came: one of Contracts
	Outcome       string        // what it came to: one of Outcomes
	Reason        string        // why, where there is a why: one of Reasons
	Agent         string        // it went to; "" is none
	Attempts      int           // calls of that agent
	AgentFailures int           // those of them that failed
	Latency       time.Duration // from the request to its answer
}

// The contracts.
const (
	Send     = "send"     // POST /api/send, and whatever else the page answers by
	Operator = "operator" // POST /operator/chat
	Router   = "agent"    // POST /api/agent/chat
)

// What a turn came to. The first six are kinds of reply, and mean what they mean
// there.
const (
	Message   = "message"
	Plan      = "plan"
	Queued    = "queued"
	Cancelled = "cancelled"
	Notice    = "notice"
	Blocked   = "blocked"
	Failed    = "error"

	// Of the router alone.
	Respond     = "respond"     // the model answered
	Delegate    = "delegate"    // an agent did
	Apology     = "apology"     // the model decided nothing that could be used
	Unreachable = "unreachable" // the agent that it decided for did not answer
)

// Other stands for every name that is not counted by itself.
const Other = "other"

// MostAgents bounds how many agents are counted by name.
const MostAgents = 64

var (
	contracts = []string{Send, Operator, Router}
	outcomes  = []string{Message, Plan, Queued, Cancelled, Notice, Blocked, Failed, Respond, Delegate, Apology, Unreachable}
	reasons   = closedReasons()
)

// Contracts lists the contracts.
func Contracts() []string { return slices.Clone(contracts) }

// Outcomes lists what a turn may come to.
func Outcomes() []string { return slices.Clone(outcomes) }

// Reasons lists the reasons that are told apart: why a turn was blocked, and why
// an agent gave no answer. Every other one is Other.
func Reasons() []string { return slices.Clone(reasons) }

func closedReasons() []string {
	var list []string
	for _, r := range eligibility.Reasons() {
		list = append(list, string(r))
	}
	for _, f := range []*fault.Error{
		agent.ErrOpen, agent.ErrSilent, agent.ErrFailed, agent.ErrGarbage, agent.ErrFrozen, agent.ErrForbidden, agent.ErrMisfit,
	} {
		list = append(list, f.Code)
	}
	return append(list, "request.timeout", "request.cancelled")
}

// most bounds a number that a turn brings: a day's counters stay far from what
// an int64 holds.
const most = 1000

// Bounded returns the turn with nothing in it that could make a counter of its
// own: names from closed sets, a printable agent name of at most 64 bytes, numbers
// that are not negative.
func (t Turn) Bounded() Turn {
	t.Contract, t.Outcome = known(contracts, t.Contract), known(outcomes, t.Outcome)
	if t.Reason != "" {
		t.Reason = known(reasons, t.Reason)
	}
	if !nameable(t.Agent) {
		t.Agent = Other
	}
	t.Attempts, t.AgentFailures = min(max(t.Attempts, 0), most), min(max(t.AgentFailures, 0), most)
	t.Latency = min(max(t.Latency, 0), 24*time.Hour) // a clock may go backwards
	return t
}

// Wrong reports whether the turn had no answer of a model or an agent that it
// should have had. One that was blocked was told why; that is no failure of ours.
func (t Turn) Wrong() bool {
	return t.Outcome == Failed || t.Outcome == Apology || t.Outcome == Unreachable
}

// Delegated reports whether the turn was decided to be an agent's, also one that
// did not answer.
func (t Turn) Delegated() bool { return t.Outcome == Delegate || t.Outcome == Unreachable }

func known(set []string, name string) string {
	if slices.Contains(set, name) {
		return name
	}
	return Other
}

// nameable reports whether a name may be a counter's; "" is no name.
func nameable(name string) bool {
	if len(name) > 64 || !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
