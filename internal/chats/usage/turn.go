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

// Turn holds the counted attributes of one turn.
type Turn struct {
	Contract      string        // one of Contracts
	Outcome       string        // one of Outcomes
	Reason        string        // one of reasons, for an outcome with a reason
	Agent         string        // the agent of the turn; "" is none
	Attempts      int           // calls of that agent
	AgentFailures int           // attempts that failed
	Latency       time.Duration // from the request to its response
}

// The contracts.
const (
	Send     = "send"     // POST /api/send, and the page's other requests for an answer
	Operator = "operator" // POST /operator/chat
	Router   = "agent"    // POST /api/agent/chat
)

// The outcomes of a turn. The first six are the kinds of a reply (package turn).
const (
	Message   = "message"
	Plan      = "plan"
	Queued    = "queued"
	Cancelled = "cancelled"
	Notice    = "notice"
	Blocked   = "blocked"
	Failed    = "error"

	// Outcomes of the router.
	Respond     = "respond"     // the model answered
	Delegate    = "delegate"    // an agent answered
	Apology     = "apology"     // the model made no usable decision
	Unreachable = "unreachable" // the agent of the decision did not answer
)

// Other counts every name that has no counter of its own.
const Other = "other"

// MostAgents bounds the number of agents with counters of their own.
const MostAgents = 64

var (
	contracts = []string{Send, Operator, Router}
	outcomes  = []string{Message, Plan, Queued, Cancelled, Notice, Blocked, Failed, Respond, Delegate, Apology, Unreachable}
	reasons   = closedReasons()
)

// Contracts lists the contracts.
func Contracts() []string { return slices.Clone(contracts) }

// Outcomes lists the outcomes.
func Outcomes() []string { return slices.Clone(outcomes) }

// closedReasons lists the reasons with counters of their own: why a turn was blocked, and why an
// agent gave no answer. Every other reason counts as Other.
func closedReasons() []string {
	var list []string
	for _, r := range eligibility.Reasons() {
		list = append(list, string(r))
	}
	for _, f := range []*fault.Error{
		agent.ErrOpen, agent.ErrSilent, agent.ErrLate, agent.ErrDoubt, agent.ErrFailed, agent.ErrGarbage, agent.ErrFrozen, agent.ErrForbidden, agent.ErrMisfit,
	} {
		list = append(list, f.Code)
	}
	return append(list, "request.timeout", "request.cancelled")
}

// maxNumber bounds the numbers of one turn, so that a day's counters stay far below the maximum of an
// int64.
const maxNumber = 1000

// Bounded returns the turn without values that could create unbounded counters: names come from
// closed sets, an agent's name has at most 64 printable bytes, and numbers are not negative.
func (t Turn) Bounded() Turn {
	t.Contract, t.Outcome = knownOrOther(contracts, t.Contract), knownOrOther(outcomes, t.Outcome)
	if t.Reason != "" {
		t.Reason = knownOrOther(reasons, t.Reason)
	}
	if !isCounterName(t.Agent) {
		t.Agent = Other
	}
	t.Attempts, t.AgentFailures = min(max(t.Attempts, 0), maxNumber), min(max(t.AgentFailures, 0), maxNumber)
	t.Latency = min(max(t.Latency, 0), 24*time.Hour) // a clock may go backwards
	return t
}

// Wrong reports whether the turn lacks the answer of a model or an agent because of a failure of
// ours. A blocked turn is no failure, because its user got the reason.
func (t Turn) Wrong() bool {
	return t.Outcome == Failed || t.Outcome == Apology || t.Outcome == Unreachable
}

// Delegated reports whether the model chose an agent, also one that did not answer.
func (t Turn) Delegated() bool { return t.Outcome == Delegate || t.Outcome == Unreachable }

func knownOrOther(set []string, name string) string {
	if slices.Contains(set, name) {
		return name
	}
	return Other
}

// isCounterName reports whether an agent's name may name a counter. "" is valid and means no
// agent.
func isCounterName(name string) bool {
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
