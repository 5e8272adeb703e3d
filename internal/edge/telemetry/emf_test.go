package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/chats/usage"
)

// units are the units of CloudWatch.
var units = strings.Fields("Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes Bits Kilobits Megabits " +
	"Gigabits Terabits Percent Count Bytes/Second Kilobytes/Second Megabytes/Second Gigabytes/Second Terabytes/Second Bits/Second " +
	"Kilobits/Second Megabits/Second Gigabits/Second Terabits/Second Count/Second None")

var (
	namespaceRule = regexp.MustCompile(`^[a-zA-Z0-9._#:/-]{1,255}$`)
	asciiRule     = regexp.MustCompile(`^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$`)
)

// checkEMF checks a line against the rules of the embedded metric format.
func checkEMF(t *testing.T, line []byte, at time.Time) {
	t.Helper()
	if len(line) > 256<<10 || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
		t.Fatalf("not one log event: %s", line)
	}
	var root map[string]any
	if err := json.Unmarshal(line, &root); err != nil {
		t.Fatal(err)
	}
	var meta struct {
		Timestamp         *int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	}
	raw, _ := json.Marshal(root["_aws"])
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&meta); err != nil {
		t.Fatal(err)
	}
	if meta.Timestamp == nil || *meta.Timestamp != at.UnixMilli() || len(meta.CloudWatchMetrics) == 0 {
		t.Fatalf("_aws: %s", raw)
	}
	for _, d := range meta.CloudWatchMetrics {
		if !namespaceRule.MatchString(d.Namespace) || strings.HasPrefix(d.Namespace, "AWS/") {
			t.Errorf("namespace %q", d.Namespace)
		}
		if len(d.Dimensions) == 0 || len(d.Metrics) == 0 || len(d.Metrics) > 100 {
			t.Errorf("%d dimension sets and %d metrics", len(d.Dimensions), len(d.Metrics))
		}
		for _, set := range d.Dimensions {
			if len(set) > 30 {
				t.Errorf("%d dimensions in a set", len(set))
			}
			for _, name := range set {
				v, ok := root[name].(string)
				if !ok || len(v) == 0 || len(v) > 1024 || !asciiRule.MatchString(v) || len(name) > 250 || strings.HasPrefix(name, ":") {
					t.Errorf("dimension %s is %v", name, root[name])
				}
			}
		}
		var names []string
		for _, m := range d.Metrics {
			if _, ok := root[m.Name].(float64); !ok || len(m.Name) > 1024 || slices.Contains(names, m.Name) || !slices.Contains(units, m.Unit) {
				t.Errorf("metric %v is %v", m, root[m.Name])
			}
			names = append(names, m.Name)
		}
	}
}

func TestATurnIsOneLineThatCloudWatchReads(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 1234567, time.UTC)
	for _, outcome := range append(usage.Outcomes(), "a strange\none", "") {
		for _, contract := range append(usage.Contracts(), "ñ", "") {
			var out bytes.Buffer
			ctx := WithTrace(context.Background(), "t-1")
			Metrics(&out, func() time.Time { return at })(ctx, usage.Turn{
				Contract: contract, Outcome: outcome, Reason: "x", Agent: "sk-abcdef1234567890", AgentFailures: 2, Latency: 1500 * time.Microsecond,
			})
			checkEMF(t, out.Bytes(), at)
			if strings.Contains(out.String(), "abcdef1234567890") {
				t.Errorf("a secret: %s", &out)
			}
		}
	}
}

func TestMetricsCountTheOutcomeOfATurn(t *testing.T) {
	for _, c := range []struct {
		turn usage.Turn
		want string
	}{
		{usage.Turn{Contract: "send", Outcome: "message", Latency: 1500 * time.Microsecond}, `"Contract":"send","Outcome":"message","Turns":1,"Errors":0,"Blocked":0,"Delegated":0,"AgentFailures":0,"Latency":1.5}`},
		{usage.Turn{Contract: "send", Outcome: "error"}, `"Contract":"send","Outcome":"error","Turns":1,"Errors":1,"Blocked":0,"Delegated":0,"AgentFailures":0,"Latency":0}`},
		{usage.Turn{Contract: "agent", Outcome: "blocked", Reason: "no_api_key"}, `"Contract":"agent","Outcome":"blocked","Turns":1,"Errors":0,"Blocked":1,"Delegated":0,"AgentFailures":0,"Latency":0,"reason":"no_api_key"}`},
		{usage.Turn{Contract: "agent", Outcome: "delegate", Agent: "reserva", AgentFailures: 1}, `"Contract":"agent","Outcome":"delegate","Turns":1,"Errors":0,"Blocked":0,"Delegated":1,"AgentFailures":1,"Latency":0,"agent":"reserva"}`},
		{usage.Turn{Contract: "agent", Outcome: "unreachable", Agent: "reserva", AgentFailures: 3}, `"Contract":"agent","Outcome":"unreachable","Turns":1,"Errors":1,"Blocked":0,"Delegated":1,"AgentFailures":3,"Latency":0,"agent":"reserva"}`},
		{usage.Turn{Contract: "agent", Outcome: "apology"}, `"Contract":"agent","Outcome":"apology","Turns":1,"Errors":1,"Blocked":0,"Delegated":0,"AgentFailures":0,"Latency":0}`},
	} {
		var out bytes.Buffer
		Metrics(&out, time.Now)(context.Background(), c.turn)
		_, got, _ := strings.Cut(strings.TrimSpace(out.String()), `}]}]},`)
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
