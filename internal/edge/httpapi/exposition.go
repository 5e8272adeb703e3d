package httpapi

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/access/rate"
	"piloto/internal/chats/usage"
)

// expositionType is the media type of Prometheus's text format.
const expositionType = "text/plain; version=0.0.4; charset=utf-8"

// exposition writes Prometheus's text format, version 0.0.4. Each family begins with its help and type, and all of
// its samples follow.
type exposition struct{ bytes.Buffer }

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func (x *exposition) family(name, kind, help string) {
	x.WriteString("# HELP " + name + " " + helpEscapes.Replace(help) + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes one sample; labels are alternating names and values.
func (x *exposition) sample(name string, value float64, labels ...string) {
	x.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		if i == 0 {
			x.WriteByte('{')
		} else {
			x.WriteByte(',')
		}
		x.WriteString(labels[i] + `="` + labelEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		x.WriteByte('}')
	}
	x.WriteString(" " + number(value) + "\n")
}

// number formats a value. Whole numbers have no exponent, as far as a float represents them exactly.
func number(v float64) string {
	if v == float64(int64(v)) && v < 1<<53 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// renderMetrics returns the totals of an account as text.
func renderMetrics(version string, t usage.Totals, agents map[string]AgentHealth, refused map[rate.Class]int64) []byte {
	var x exposition
	x.family("piloto_build_info", "gauge", "The version that answers.")
	x.sample("piloto_build_info", 1, "version", version)
	x.family("piloto_turns_total", "counter", "Turns, by the contract they came by and what they came to.")
	for _, k := range sortedKinds(t.Turns) {
		x.sample("piloto_turns_total", float64(t.Turns[k]), "contract", k.Contract, "outcome", k.Outcome)
	}
	x.family("piloto_turn_reasons_total", "counter", "Turns that were blocked or failed, by the reason.")
	for _, c := range sortedCauses(t.Reasons) {
		x.sample("piloto_turn_reasons_total", float64(t.Reasons[c]), "contract", c.Contract, "outcome", c.Outcome, "reason", c.Reason)
	}
	x.family("piloto_turn_duration_seconds", "histogram", "How long turns took, from the request to its answer.")
	for _, contract := range sortedKeys(t.Latency) {
		x.histogram("piloto_turn_duration_seconds", t.Latency[contract], "contract", contract)
	}
	for _, c := range []struct {
		name, help string
		of         func(usage.AgentTotals) int64
	}{
		{"piloto_agent_turns_total", "Turns that went to an agent.", func(a usage.AgentTotals) int64 { return a.Turns }},
		{"piloto_agent_attempts_total", "Calls of an agent.", func(a usage.AgentTotals) int64 { return a.Attempts }},
		{"piloto_agent_failures_total", "Calls of an agent that failed.", func(a usage.AgentTotals) int64 { return a.Failures }},
	} {
		x.family(c.name, "counter", c.help)
		for _, name := range sortedKeys(t.Agents) {
			x.sample(c.name, float64(c.of(t.Agents[name])), "agent", name)
		}
	}
	x.family("piloto_agent_breaker_state", "gauge", "How an agent's breaker stands: 0 closed, 1 open, 2 half open.")
	for _, name := range sortedKeys(agents) {
		x.sample("piloto_agent_breaker_state", phaseNumber(agents[name].State), "agent", name)
	}
	x.family("piloto_requests_refused_total", "counter", "Requests refused as too many, by what they counted as, since the process that answers began.")
	for _, class := range slices.Sorted(maps.Keys(refused)) {
		x.sample("piloto_requests_refused_total", float64(refused[class]), "class", string(class))
	}
	return x.Bytes()
}

// histogram writes cumulative buckets, as the format requires.
func (x *exposition) histogram(name string, h usage.Histogram, labels ...string) {
	var below int64
	for i, bound := range usage.Bounds() {
		below += h.Counts[i]
		x.sample(name+"_bucket", float64(below), append(labels[:len(labels):len(labels)], "le", number(seconds(bound)))...)
	}
	x.sample(name+"_bucket", float64(h.Count()), append(labels[:len(labels):len(labels)], "le", "+Inf")...)
	x.sample(name+"_sum", seconds(h.Sum), labels...)
	x.sample(name+"_count", float64(h.Count()), labels...)
}

// seconds rounds to microseconds, which a float represents exactly enough.
func seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }
