package httpapi

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/internal/access/rate"
	"piloto/internal/chats/usage"
)

// exposedSample is one line of the text format.
type exposedSample struct {
	name   string
	labels map[string]string
	value  float64
}

// exposedFamily is the samples after one # TYPE line.
type exposedFamily struct {
	kind    string
	samples []exposedSample
}

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// parseExposition parses text of format 0.0.4, and refuses text that violates the format or its conventions.
func parseExposition(text string) (map[string]*exposedFamily, error) {
	families, seen, current := map[string]*exposedFamily{}, map[string]bool{}, ""
	if !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("the last line does not end")
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if help, ok := strings.CutPrefix(lines[i], "# HELP "); ok {
			name, said, _ := strings.Cut(help, " ")
			if !metricName.MatchString(name) || said == "" || families[name] != nil || i+1 == len(lines) {
				return nil, fmt.Errorf("help: %s", lines[i])
			}
			if bad := regexp.MustCompile(`\\[^\\n]|\\$`).FindString(strings.ReplaceAll(said, `\\`, "")); bad != "" {
				return nil, fmt.Errorf("help escapes %q", bad)
			}
			i++
			kind, ok := strings.CutPrefix(lines[i], "# TYPE "+name+" ")
			if !ok || !slices.Contains([]string{"counter", "gauge", "histogram"}, kind) {
				return nil, fmt.Errorf("type: %s", lines[i])
			}
			families[name], current = &exposedFamily{kind: kind}, name
			continue
		}
		s, err := parseSample(lines[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lines[i], err)
		}
		f := families[current]
		base := s.name
		if f != nil && f.kind == "histogram" {
			for _, end := range []string{"_bucket", "_sum", "_count"} {
				base = strings.TrimSuffix(base, end)
			}
		}
		id := s.name + fmt.Sprint(s.labels)
		if f == nil || base != current || seen[id] {
			return nil, fmt.Errorf("out of place, or twice: %s", lines[i])
		}
		seen[id] = true
		f.samples = append(f.samples, s)
	}
	for name, f := range families {
		if err := f.check(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return families, nil
}

func parseSample(line string) (exposedSample, error) {
	end := strings.IndexAny(line, "{ ")
	if end < 0 || !metricName.MatchString(line[:end]) {
		return exposedSample{}, fmt.Errorf("no name")
	}
	s, rest := exposedSample{name: line[:end], labels: map[string]string{}}, line[end:]
	if inner, ok := strings.CutPrefix(rest, "{"); ok {
		var err error
		if rest, err = s.readLabels(inner); err != nil {
			return s, err
		}
	}
	value, ok := strings.CutPrefix(rest, " ")
	if !ok || strings.ContainsAny(value, " \t") {
		return s, fmt.Errorf("no value")
	}
	v, err := strconv.ParseFloat(value, 64)
	s.value = v
	return s, err
}

// readLabels reads name="value" pairs up to the closing brace.
func (s *exposedSample) readLabels(text string) (string, error) {
	for {
		name, rest, ok := strings.Cut(text, `="`)
		if !ok || !labelName.MatchString(name) || strings.HasPrefix(name, "__") {
			return "", fmt.Errorf("label %q", name)
		}
		if _, twice := s.labels[name]; twice {
			return "", fmt.Errorf("label %s twice", name)
		}
		var value strings.Builder
		closed := false
		for rest != "" && !closed {
			c := rest[0]
			rest = rest[1:]
			switch c {
			case '"':
				closed = true
			case '\\':
				if rest == "" || !strings.ContainsRune(`\n"`, rune(rest[0])) {
					return "", fmt.Errorf("escape in %s", name)
				}
				value.WriteString(map[byte]string{'\\': `\`, 'n': "\n", '"': `"`}[rest[0]])
				rest = rest[1:]
			default:
				value.WriteByte(c)
			}
		}
		if !closed || rest == "" {
			return "", fmt.Errorf("label %s does not end", name)
		}
		s.labels[name] = value.String()
		switch rest[0] {
		case '}':
			return rest[1:], nil
		case ',':
			text = rest[1:]
		default:
			return "", fmt.Errorf("after label %s", name)
		}
	}
}

// check checks a family against the rules of its type.
func (f *exposedFamily) check(name string) error {
	switch f.kind {
	case "counter":
		if !strings.HasSuffix(name, "_total") {
			return fmt.Errorf("a counter's name ends in _total")
		}
		for _, s := range f.samples {
			if !(s.value >= 0) || math.IsInf(s.value, 0) {
				return fmt.Errorf("a counter of %v", s.value)
			}
		}
	case "histogram":
		return f.checkHistogram(name)
	}
	return nil
}

func (f *exposedFamily) checkHistogram(name string) error {
	type series struct{ last, le, sum, count float64 }
	all := map[string]*series{}
	for _, s := range f.samples {
		own := maps.Clone(s.labels)
		delete(own, "le")
		id := fmt.Sprint(own)
		if all[id] == nil {
			all[id] = &series{last: 0, le: math.Inf(-1), sum: math.NaN(), count: math.NaN()}
		}
		h := all[id]
		switch s.name {
		case name + "_bucket":
			le, err := strconv.ParseFloat(s.labels["le"], 64)
			if err != nil || le <= h.le || s.value < h.last {
				return fmt.Errorf("bucket %v of %v after %v of %v", s.value, s.labels["le"], h.last, h.le)
			}
			h.last, h.le = s.value, le
		case name + "_sum":
			h.sum = s.value
		case name + "_count":
			h.count = s.value
		default:
			return fmt.Errorf("sample %s", s.name)
		}
	}
	for id, h := range all {
		if !math.IsInf(h.le, 1) || h.count != h.last || math.IsNaN(h.sum) {
			return fmt.Errorf("%s: %+v", id, *h)
		}
	}
	return nil
}

func TestTheExpositionParserRefusesBadText(t *testing.T) {
	for name, text := range map[string]string{
		"no end":            "# HELP a_total x\n# TYPE a_total counter\na_total 1",
		"no type":           "# HELP a_total x\na_total 1\n",
		"no help":           "# TYPE a_total counter\na_total 1\n",
		"a counter's name":  "# HELP a x\n# TYPE a counter\na 1\n",
		"twice":             "# HELP a_total x\n# TYPE a_total counter\na_total 1\na_total 2\n",
		"two families":      "# HELP a_total x\n# TYPE a_total counter\nb_total 1\n",
		"a family twice":    "# HELP a x\n# TYPE a gauge\na 1\n# HELP a x\n# TYPE a gauge\na{x=\"1\"} 1\n",
		"bad escape":        "# HELP a x\n# TYPE a gauge\na{x=\"\\t\"} 1\n",
		"open quote":        "# HELP a x\n# TYPE a gauge\na{x=\"1} 1\n",
		"negative counter":  "# HELP a_total x\n# TYPE a_total counter\na_total -1\n",
		"buckets go down":   "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
		"no last bucket":    "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_sum 1\na_count 2\n",
		"another count":     "# HELP a x\n# TYPE a histogram\na_bucket{le=\"+Inf\"} 2\na_sum 1\na_count 3\n",
		"an empty line":     "# HELP a x\n# TYPE a gauge\n\na 1\n",
		"a label twice":     "# HELP a x\n# TYPE a gauge\na{x=\"1\",x=\"2\"} 1\n",
		"a time":            "# HELP a x\n# TYPE a gauge\na 1 1700000000000\n",
		"a value that is a": "# HELP a x\n# TYPE a gauge\na b\n",
	} {
		if _, err := parseExposition(text); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestAnyMetricsCanBeParsed writes totals with any agent name and number, and parses them.
func TestAnyMetricsCanBeParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<53)
		totals := usage.Totals{
			Turns: map[usage.Kind]int64{}, Reasons: map[usage.Cause]int64{},
			Agents: map[string]usage.AgentTotals{}, Latency: map[string]usage.Histogram{},
		}
		agents := map[string]AgentHealth{}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringN(1, 20, 64), 0, 5, rapid.ID).Draw(t, "agents") {
			totals.Agents[name] = usage.AgentTotals{Turns: n.Draw(t, "turns"), Failures: n.Draw(t, "failures")}
			agents[name] = AgentHealth{State: rapid.SampledFrom([]string{"closed", "open", "half_open"}).Draw(t, "state")}
		}
		for _, c := range usage.Contracts() {
			totals.Turns[usage.Kind{Contract: c, Outcome: "message"}] = n.Draw(t, "n")
			var h usage.Histogram
			for i := range h.Counts {
				h.Counts[i] = rapid.Int64Range(0, 1<<40).Draw(t, "bucket")
			}
			h.Sum = time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "sum"))
			totals.Latency[c] = h
		}
		text := string(renderMetrics("1", totals, agents, map[rate.Class]int64{rate.Turns: n.Draw(t, "refused")}))
		families, err := parseExposition(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		for _, s := range families["piloto_agent_failures_total"].samples {
			if want := float64(totals.Agents[s.labels["agent"]].Failures); s.value != want {
				t.Fatalf("%q has %v failures, want %v", s.labels["agent"], s.value, want)
			}
		}
		for _, s := range families["piloto_agent_breaker_state"].samples {
			if want := map[string]float64{"closed": 0, "open": 1, "half_open": 2}[agents[s.labels["agent"]].State]; s.value != want {
				t.Fatalf("%q is %v", s.labels["agent"], s.value)
			}
		}
	})
}

func TestMetricsOfAWorldCanBeParsed(t *testing.T) {
	w := newSite().do(ask(talker, "GET", "/metrics", ""))
	families, err := parseExposition(w.Body.String())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"piloto_agent_attempts_total", "piloto_agent_breaker_state", "piloto_agent_failures_total", "piloto_agent_turns_total",
		"piloto_build_info", "piloto_requests_refused_total", "piloto_turn_duration_seconds", "piloto_turn_reasons_total", "piloto_turns_total",
	}
	if got := slices.Sorted(maps.Keys(families)); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
