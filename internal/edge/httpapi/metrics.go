package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/rate"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/usage"
	"piloto/internal/ground/parallel"
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

// Metrics is how an account's turns went. The counters requests_* are document
// 001's: they are of the router (POST /api/agent/chat). Everything counts from the
// account's beginning and only grows, but for the quantiles: they are of the last two
// days (UTC), estimated from buckets.
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

// Latencies is how long turns took, in seconds.
type Latencies struct {
	Count int64    `json:"count"`
	Sum   float64  `json:"sum"`
	P50   *float64 `json:"p50" nullable:"true" doc:"null when there was no turn in the last two days"`
	P95   *float64 `json:"p95" nullable:"true"`
	P99   *float64 `json:"p99" nullable:"true"`
}

// TurnCount is how many turns of a contract came to something.
type TurnCount struct {
	Contract string `json:"contract"`
	Outcome  string `json:"outcome"`
	Count    int64  `json:"count"`
}

// ReasonCount is how many turns had a reason.
type ReasonCount struct {
	Contract string `json:"contract"`
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason"`
	Count    int64  `json:"count"`
}

// AgentMetrics is what is counted of an agent, and how it stands.
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

// metricsReply is Metrics as JSON, or its text.
type metricsReply struct {
	ContentType string `header:"Content-Type"`
	Body        any
}

func (o operations) metrics(ctx context.Context, in *metricsInput) (*metricsReply, error) {
	account := caller(ctx).Account
	var totals usage.Totals
	var agents map[string]AgentHealth
	err := parallel.Do(
		func() (err error) { totals, err = o.config.Ops.Counted.Totals(ctx, account); return },
		func() (err error) { agents, err = o.agents(ctx, account); return },
	)
	if err != nil {
		return nil, err
	}
	refused := o.config.Meter.Refused(account)
	if in.Format == "json" {
		return &metricsReply{ContentType: "application/json", Body: metricsOf(totals, agents, refused)}, nil
	}
	return &metricsReply{ContentType: expositionType, Body: exposed(o.config.Ops.Version, totals, agents, refused)}, nil
}

func metricsOf(t usage.Totals, agents map[string]AgentHealth, refused map[rate.Class]int64) Metrics {
	out := Metrics{
		Latencies: latencies(t, usage.Router), Contracts: map[string]Latencies{},
		Turns: []TurnCount{}, Reasons: []ReasonCount{}, Agents: map[string]AgentMetrics{}, Refused: refused,
	}
	for _, c := range counted(t.Turns) {
		out.Turns = append(out.Turns, TurnCount{c.Contract, c.Outcome, t.Turns[c]})
		if c.Contract == usage.Router {
			out.add(usage.Turn{Contract: c.Contract, Outcome: c.Outcome}, t.Turns[c])
		}
	}
	for _, c := range caused(t.Reasons) {
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

// add counts n turns of the router by document 001's names.
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

// counted are the kinds of turns that were counted, in an order that stays.
func counted(turns map[usage.Kind]int64) []usage.Kind {
	list := make([]usage.Kind, 0, len(turns))
	for k := range turns {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b usage.Kind) int {
		return cmp.Or(cmp.Compare(a.Contract, b.Contract), cmp.Compare(a.Outcome, b.Outcome))
	})
	return list
}

func caused(reasons map[usage.Cause]int64) []usage.Cause {
	list := make([]usage.Cause, 0, len(reasons))
	for c := range reasons {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b usage.Cause) int {
		return cmp.Or(cmp.Compare(a.Contract, b.Contract), cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

// phaseNumber is the value of the gauge that shows a breaker: 0 closed, 1 open, 2
// half open.
func phaseNumber(state string) float64 {
	for p := agent.Closed; p <= agent.HalfOpen; p++ {
		if p.String() == state {
			return float64(p)
		}
	}
	return float64(agent.Open)
}
