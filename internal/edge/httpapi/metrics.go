package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"piloto/internal/access/rate"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/usage"
)

func (a *api) metrics(o operations) {
	op := operation{
		method: http.MethodGet, path: "/metrics", id: "metrics", access: withChat,
		summary: "How the account's turns went: Prometheus text, or JSON", failures: []int{422},
	}
	op.describe = func(h huma.API, op *huma.Operation) {
		content := op.Responses["200"].Content
		content["application/json"] = &huma.MediaType{Schema: schemaOf[Metrics](h)}
		content["text/plain"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	register(a, op, o.metrics)
}

// Metrics are the counters of an account's turns. The members requests_* are document 001's and count the router's
// turns (POST /api/agent/chat). All counters start at the account's creation and only grow. The quantiles are those
// of the last two days (UTC), estimated from buckets.
type Metrics struct {
	Requests  int64                   `json:"requests_total" doc:"messages to the router"`
	Errors    int64                   `json:"requests_errors" doc:"those that failed, whose agent did not answer, or that nothing usable was decided about"`
	Delegate  int64                   `json:"requests_delegate" doc:"those that were decided to be an agent's, whether or not it answered"`
	Respond   int64                   `json:"requests_respond" doc:"those that the model answered"`
	Blocked   int64                   `json:"requests_blocked" doc:"those that were not allowed to run"`
	Latencies Latencies               `json:"latencies" doc:"of the router"`
	Contracts map[string]Latencies    `json:"contracts" doc:"the same of every contract: send, operator, agent"`
	Turns     []TurnCount             `json:"turns" nullable:"false"`
	Reasons   []ReasonCount           `json:"reasons" nullable:"false" doc:"why turns were blocked or failed"`
	Agents    map[string]AgentMetrics `json:"agents"`
	Refused   map[rate.Class]int64    `json:"refused" nullable:"false" doc:"requests that were refused as too many, by what they counted as, since the process that answers began; on AWS the metric Refused has those of all"`
}

// Latencies are durations of turns, in seconds.
type Latencies struct {
	Count int64    `json:"count"`
	Sum   float64  `json:"sum"`
	P50   *float64 `json:"p50" nullable:"true" doc:"null when there was no turn in the last two days"`
	P95   *float64 `json:"p95" nullable:"true"`
	P99   *float64 `json:"p99" nullable:"true"`
}

// TurnCount is the number of turns of a contract with an outcome.
type TurnCount struct {
	Contract string `json:"contract"`
	Outcome  string `json:"outcome"`
	Count    int64  `json:"count"`
}

// ReasonCount is the number of turns with a reason.
type ReasonCount struct {
	Contract string `json:"contract"`
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason"`
	Count    int64  `json:"count"`
}

// AgentMetrics are the counters of an agent, and the state of its breaker.
type AgentMetrics struct {
	Turns    int64      `json:"turns"`
	Attempts int64      `json:"attempts"`
	Failures int64      `json:"failures"`
	State    string     `json:"state,omitempty" doc:"closed, open or half_open; absent of one that is no longer registered"`
	RetryAt  *time.Time `json:"retry_at,omitempty"`
}

type metricsInput struct {
	Format string `query:"format" enum:"prometheus,json" doc:"prometheus when absent"`
}

// metricsReply is Metrics as JSON, or as text.
type metricsReply struct {
	ContentType string `header:"Content-Type"`
	Body        any
}

func (o operations) metrics(ctx context.Context, in *metricsInput) (*metricsReply, error) {
	account := caller(ctx).Account
	var totals usage.Totals
	var agents map[string]AgentHealth
	var reads errgroup.Group
	reads.Go(func() (err error) { totals, err = o.config.Ops.Counted.Totals(ctx, account); return })
	reads.Go(func() (err error) { agents, err = o.agents(ctx, account); return })
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	refused := o.config.Meter.Refused(account)
	if in.Format == "json" {
		return &metricsReply{ContentType: "application/json", Body: metricsOf(totals, agents, refused)}, nil
	}
	return &metricsReply{ContentType: expositionType, Body: renderMetrics(o.config.Ops.Version, totals, agents, refused)}, nil
}

func metricsOf(t usage.Totals, agents map[string]AgentHealth, refused map[rate.Class]int64) Metrics {
	out := Metrics{
		Latencies: latencies(t, usage.Router), Contracts: map[string]Latencies{},
		Turns: []TurnCount{}, Reasons: []ReasonCount{}, Agents: map[string]AgentMetrics{}, Refused: refused,
	}
	for _, c := range sortedKinds(t.Turns) {
		out.Turns = append(out.Turns, TurnCount{c.Contract, c.Outcome, t.Turns[c]})
		if c.Contract == usage.Router {
			out.add(usage.Turn{Contract: c.Contract, Outcome: c.Outcome}, t.Turns[c])
		}
	}
	for _, c := range sortedCauses(t.Reasons) {
		out.Reasons = append(out.Reasons, ReasonCount{c.Contract, c.Outcome, c.Reason, t.Reasons[c]})
	}
	for contract := range t.Latency {
		out.Contracts[contract] = latencies(t, contract)
	}
	for name, a := range t.Agents {
		out.Agents[name] = AgentMetrics{Turns: a.Turns, Attempts: a.Attempts, Failures: a.Failures}
	}
	for name, h := range agents {
		a := out.Agents[name]
		a.State, a.RetryAt = h.State, h.RetryAt
		out.Agents[name] = a
	}
	return out
}

// add adds n turns of the router to document 001's counters.
func (m *Metrics) add(t usage.Turn, n int64) {
	m.Requests += n
	if t.Wrong() {
		m.Errors += n
	}
	if t.Delegated() {
		m.Delegate += n
	}
	switch t.Outcome {
	case usage.Respond:
		m.Respond += n
	case usage.Blocked:
		m.Blocked += n
	}
}

func latencies(t usage.Totals, contract string) Latencies {
	h, recent := t.Latency[contract], t.Recent[contract]
	q := func(q float64) *float64 {
		if d, ok := recent.Quantile(q); ok {
			return new(seconds(d))
		}
		return nil
	}
	return Latencies{Count: h.Count(), Sum: seconds(h.Sum), P50: q(0.5), P95: q(0.95), P99: q(0.99)}
}

// sortedKinds returns the kinds of turns in a stable order.
func sortedKinds(turns map[usage.Kind]int64) []usage.Kind {
	list := make([]usage.Kind, 0, len(turns))
	for k := range turns {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b usage.Kind) int {
		return cmp.Or(cmp.Compare(a.Contract, b.Contract), cmp.Compare(a.Outcome, b.Outcome))
	})
	return list
}

func sortedCauses(reasons map[usage.Cause]int64) []usage.Cause {
	list := make([]usage.Cause, 0, len(reasons))
	for c := range reasons {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b usage.Cause) int {
		return cmp.Or(cmp.Compare(a.Contract, b.Contract), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

// phaseNumber returns the value of the breaker's gauge: 0 closed, 1 open, 2 half open.
func phaseNumber(state string) float64 {
	for p := agent.Closed; p <= agent.HalfOpen; p++ {
		if p.String() == state {
			return float64(p)
		}
	}
	return float64(agent.Open)
}
