package telemetry

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"piloto/internal/access/rate"
	"piloto/internal/chats/usage"
	"piloto/internal/ground/redact"
)

// The namespace of the metrics in template.yaml's alarms and dashboard.
const namespace = "Piloto"

// Types of CloudWatch's embedded metric format: a log line that declares which of its members are metrics, and by
// which members these are grouped.
type (
	embedded struct {
		Timestamp int64       `json:"Timestamp"` // milliseconds
		Metrics   []directive `json:"CloudWatchMetrics"`
	}
	directive struct {
		Namespace  string       `json:"Namespace"`
		Dimensions [][]string   `json:"Dimensions"`
		Metrics    []definition `json:"Metrics"`
	}
	definition struct {
		Name string `json:"Name"`
		Unit string `json:"Unit"`
	}
)

// directives are the same in every line, except for the time. Account, trace and agent are members of the line and
// not dimensions, because each value of a dimension is a metric that costs money.
var directives = []directive{{
	Namespace:  namespace,
	Dimensions: [][]string{{"Contract"}, {"Contract", "Outcome"}},
	Metrics: []definition{
		{"Turns", "Count"},
		{"Errors", "Count"},
		{"Blocked", "Count"},
		{"Delegated", "Count"},
		{"AgentFailures", "Count"},
		{"Latency", "Milliseconds"},
	},
}}

// turnLine is the line of one turn.
type turnLine struct {
	AWS           embedded `json:"_aws"`
	Contract      string   `json:"Contract"`
	Outcome       string   `json:"Outcome"`
	Turns         int      `json:"Turns"`
	Errors        int      `json:"Errors"`
	Blocked       int      `json:"Blocked"`
	Delegated     int      `json:"Delegated"`
	AgentFailures int      `json:"AgentFailures"`
	Latency       float64  `json:"Latency"`
	Reason        string   `json:"reason,omitempty"`
	Agent         string   `json:"agent,omitempty"`
	TraceID       string   `json:"trace_id,omitempty"`
}

// Metrics returns a function that writes one line for each turn to w, in CloudWatch's embedded metric format.
// CloudWatch reads these lines from the log of a Lambda function; elsewhere nothing reads them.
func Metrics(w io.Writer, now func() time.Time) func(context.Context, usage.Turn) {
	return func(ctx context.Context, t usage.Turn) {
		t = t.Bounded()
		line, err := json.Marshal(turnLine{
			AWS:      embedded{Timestamp: now().UnixMilli(), Metrics: directives},
			Contract: t.Contract, Outcome: t.Outcome, Turns: 1,
			Errors: asCount(t.Wrong()), Blocked: asCount(t.Outcome == usage.Blocked), Delegated: asCount(t.Delegated()),
			AgentFailures: t.AgentFailures, Latency: float64(t.Latency.Microseconds()) / 1000,
			Reason: t.Reason, Agent: redact.Text(t.Agent), TraceID: Trace(ctx),
		})
		if err != nil { // strings and finite numbers cannot fail
			return
		}
		_, _ = w.Write(append(line, '\n'))
	}
}

// refusedDirectives are the same in every line about refusals, except for the time.
var refusedDirectives = []directive{{
	Namespace: namespace, Dimensions: [][]string{{"Class"}}, Metrics: []definition{{"Refused", "Count"}},
}}

// Refusals returns a function that writes one line for each request that was refused because of a rate limit, as
// Metrics does for turns.
func Refusals(w io.Writer, now func() time.Time) func(context.Context, rate.Class) {
	return func(ctx context.Context, c rate.Class) {
		line, err := json.Marshal(struct {
			AWS     embedded   `json:"_aws"`
			Class   rate.Class `json:"Class"`
			Refused int        `json:"Refused"`
			TraceID string     `json:"trace_id,omitempty"`
		}{embedded{Timestamp: now().UnixMilli(), Metrics: refusedDirectives}, c, 1, Trace(ctx)})
		if err == nil { // strings cannot fail
			_, _ = w.Write(append(line, '\n'))
		}
	}
}

func asCount(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
