package archtest

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"piloto/internal/access/rate"
	"piloto/internal/chats/usage"
	"piloto/internal/edge/telemetry"
)

// kindOf returns the type of a resource.
func kindOf(n *yaml.Node) string { return scalarText(find(n, "Type")) }

// TestBackgroundFailuresAreKept checks that an event that all retries failed to handle is sent to the dead-letter
// queue, whichever service gave up, that the number of retries is limited, and that an alarm notifies the operator.
func TestBackgroundFailuresAreKept(t *testing.T) {
	resources := rawResources(t)
	const queue = "!GetAtt DeadLetters.Arn"
	for _, f := range readTemplate(t).Functions {
		if len(f.Schedules)+len(f.Rules) == 0 {
			continue
		}
		properties := find(resources[f.ID], "Properties")
		config := find(properties, "EventInvokeConfig")
		if got := scalarText(find(config, "DestinationConfig", "OnFailure", "Destination")); got != queue {
			t.Errorf("%s: what fails every try goes to %q", f.ID, got)
		}
		if tries, err := strconv.Atoi(scalarText(find(config, "MaximumRetryAttempts"))); err != nil || tries > 2 {
			t.Errorf("%s: nothing says how often an event is tried", f.ID)
		}
		events := find(properties, "Events")
		for i := 0; i+1 < len(events.Content); i += 2 {
			e := events.Content[i+1]
			if kind := kindOf(e); kind != "Schedule" && kind != "EventBridgeRule" {
				continue
			}
			if got := scalarText(find(e, "Properties", "DeadLetterConfig", "Arn")); got != queue {
				t.Errorf("%s.%s: what cannot be delivered goes to %q", f.ID, events.Content[i].Value, got)
			}
		}
	}
	told := slices.ContainsFunc(slices.Collect(maps.Values(resources)), func(r *yaml.Node) bool {
		d := sequence(find(r, "Properties", "Dimensions"))
		return kindOf(r) == "AWS::CloudWatch::Alarm" && scalarText(find(r, "Properties", "MetricName")) == "ApproximateNumberOfMessagesVisible" &&
			len(d) == 1 && scalarText(find(d[0], "Value")) == "!GetAtt DeadLetters.QueueName"
	})
	if !told {
		t.Error("no alarm says that there are dead letters")
	}
}

// TestEveryAlarmNotifies checks that every alarm has an action, and defines the meaning of missing data.
func TestEveryAlarmNotifies(t *testing.T) {
	n := 0
	for id, r := range rawResources(t) {
		if kindOf(r) != "AWS::CloudWatch::Alarm" {
			continue
		}
		n++
		p := find(r, "Properties")
		if got := oneOrMany(find(p, "AlarmActions")); !slices.Equal(got, []string{"!Ref Alarms"}) {
			t.Errorf("template.yaml:%d: %s tells %v", r.Line, id, got)
		}
		if scalarText(find(p, "TreatMissingData")) == "" || scalarText(find(p, "AlarmDescription")) == "" {
			t.Errorf("template.yaml:%d: %s does not say what silence means, or what it is about", r.Line, id)
		}
		if count := len(sequence(find(p, "Metrics"))); count > 10 {
			t.Errorf("template.yaml:%d: %s looks at %d metrics; an alarm may at 10", r.Line, id, count)
		}
	}
	if n == 0 {
		t.Error("there are no alarms")
	}
}

// unwatched lists the functions whose errors trigger no alarm, each with a reason.
var unwatched = map[string]string{"StepFunction": "an error is how a step says that a server refused; the state machine's alarm sees the rest"}

// watchedBy returns the values of the dimensions of each metric that an alarm adds up.
func watchedBy(resources map[string]*yaml.Node) map[string][]string {
	watched := map[string][]string{}
	for _, r := range resources {
		if kindOf(r) != "AWS::CloudWatch::Alarm" {
			continue
		}
		for _, m := range sequence(find(r, "Properties", "Metrics")) {
			metric := find(m, "MetricStat", "Metric")
			for _, d := range sequence(find(metric, "Dimensions")) {
				name := scalarText(find(metric, "MetricName"))
				watched[name] = append(watched[name], strings.TrimPrefix(scalarText(find(d, "Value")), "!Ref "))
			}
		}
	}
	return watched
}

// TestEveryTableIsWatched checks that an alarm covers the throttles of each table and of each of its indexes, which
// DynamoDB counts separately.
func TestEveryTableIsWatched(t *testing.T) {
	watched := watchedBy(rawResources(t))
	for _, table := range readTemplate(t).Tables {
		list := []string{table.ID}
		for _, index := range table.Indexes {
			list = append(list, index.Name)
		}
		for _, name := range list {
			if !slices.Contains(watched["ReadThrottleEvents"], name) || !slices.Contains(watched["WriteThrottleEvents"], name) {
				t.Errorf("no alarm sees that %s throttles", name)
			}
		}
	}
}

// TestEveryFunctionIsWatched checks that each function is on the dashboard, in an alarm for its errors, and in one
// for its throttles.
func TestEveryFunctionIsWatched(t *testing.T) {
	resources := rawResources(t)
	watched := watchedBy(resources)
	body := find(resources["Dashboard"], "Properties", "DashboardBody").Value
	for _, f := range readTemplate(t).Functions {
		if (unwatched[f.ID] == "") != slices.Contains(watched["Errors"], f.ID) || !slices.Contains(watched["Throttles"], f.ID) {
			t.Errorf("no alarm watches %s, or one does that should not", f.ID)
		}
		for _, metric := range []string{"Errors", "Throttles", "Duration"} {
			if !strings.Contains(body, `"AWS/Lambda", "`+metric+`", "FunctionName", "${`+f.ID+`}"`) {
				t.Errorf("the dashboard does not show %s of %s", metric, f.ID)
			}
		}
	}
}

var filtered = regexp.MustCompile(`\$\.message = "([a-z_.]+)"`)

// TestMetricFiltersMatchLogLines compares every pattern with the log lines of the code: a renamed line would
// silence its alarm.
func TestMetricFiltersMatchLogLines(t *testing.T) {
	logged := map[string]bool{}
	for _, f := range sources(t, false) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && within(f.dir(), "internal") {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					logged[text] = true
				}
			}
			return true
		})
	}
	for id, r := range rawResources(t) {
		if kindOf(r) != "AWS::Logs::MetricFilter" {
			continue
		}
		m := filtered.FindStringSubmatch(scalarText(find(r, "Properties", "FilterPattern")))
		if m == nil || !logged[m[1]] {
			t.Errorf("template.yaml:%d: %s reads a line that nothing logs", r.Line, id)
		}
	}
}

// emittedMetrics returns the metrics in the logs of a turn and of a refusal, by namespace and name.
func emittedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	var line bytes.Buffer
	at := func() time.Time { return time.Unix(0, 0) }
	telemetry.Metrics(&line, at)(context.Background(), usage.Turn{})
	telemetry.Refusals(&line, at)(context.Background(), rate.Turns)
	names := map[string]bool{}
	for lines := json.NewDecoder(&line); lines.More(); {
		namesOf(t, lines, names)
	}
	return names
}

// namesOf reads the metrics of a log line.
func namesOf(t *testing.T, lines *json.Decoder, names map[string]bool) {
	t.Helper()
	var told struct {
		AWS struct {
			CloudWatchMetrics []struct {
				Namespace string
				Metrics   []struct{ Name string }
			}
		} `json:"_aws"`
	}
	if err := lines.Decode(&told); err != nil {
		t.Fatal(err)
	}
	for _, d := range told.AWS.CloudWatchMetrics {
		for _, m := range d.Metrics {
			names[d.Namespace+" "+m.Name] = true
		}
	}
}

// TestShownMetricsAreEmitted compares the dashboard and the alarms with the emitted and filtered metrics: a metric
// that is never emitted shows as a line at zero.
func TestShownMetricsAreEmitted(t *testing.T) {
	resources, told := rawResources(t), emittedMetrics(t)
	for _, r := range resources {
		for _, m := range sequence(find(r, "Properties", "MetricTransformations")) {
			told[scalarText(find(m, "MetricNamespace"))+" "+scalarText(find(m, "MetricName"))] = true
		}
	}
	for id, r := range resources {
		p := find(r, "Properties")
		if kindOf(r) != "AWS::CloudWatch::Alarm" || find(p, "MetricName") == nil {
			continue
		}
		name := scalarText(find(p, "Namespace")) + " " + scalarText(find(p, "MetricName"))
		if !strings.HasPrefix(name, "AWS/") && !told[name] {
			t.Errorf("template.yaml:%d: %s waits for %s, which nobody tells of", r.Line, id, name)
		}
	}
	var board struct {
		Widgets []struct {
			Type                string
			X, Y, Width, Height int
			Properties          struct {
				Title   string
				Metrics [][]any
			}
		}
	}
	if err := json.Unmarshal([]byte(find(resources["Dashboard"], "Properties", "DashboardBody").Value), &board); err != nil {
		t.Fatal(err)
	}
	for _, w := range board.Widgets {
		if w.X+w.Width > 24 || w.Properties.Title == "" || len(w.Properties.Metrics) == 0 {
			t.Errorf("the widget %q shows nothing, or is too wide", w.Properties.Title)
		}
		for _, m := range w.Properties.Metrics {
			if m[0] != "Piloto" {
				continue
			}
			if name := "Piloto " + m[1].(string); !told[name] {
				t.Errorf("%s: %s, which nobody tells of", w.Properties.Title, name)
			}
			for i := 2; i+1 < len(m); i += 2 {
				known := map[any][]string{"Contract": usage.Contracts(), "Outcome": usage.Outcomes(), "Class": rate.Classes()}[m[i]]
				if v, ok := m[i+1].(string); !ok || !slices.Contains(known, v) {
					t.Errorf("%s: %v is no %v of anything counted", w.Properties.Title, m[i+1], m[i])
				}
			}
		}
	}
}
