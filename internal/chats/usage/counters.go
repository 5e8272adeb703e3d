package usage

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The counters of a day have names, so that the store does not depend on their meaning:
//
//	turns/CONTRACT/OUTCOME            turns
//	reasons/CONTRACT/OUTCOME/REASON   turns that had that reason
//	took/CONTRACT/NN                  turns in a bucket of latency
//	sum/CONTRACT                      microseconds that turns took, added up
//	calls/AGENT                       turns that went to an agent
//	attempts/AGENT                    calls of it
//	failures/AGENT                    those that failed
//	since/AGENT                       when it was first counted that day; milliseconds, not added up
const sincePrefix = "since/"

// Counters returns the counters that a turn adds to its day, without those of its agent: see
// AgentCounters.
func (t Turn) Counters() map[string]int64 {
	c := map[string]int64{
		"turns/" + t.Contract + "/" + t.Outcome:               1,
		"took/" + t.Contract + "/" + pad(bucketOf(t.Latency)): 1,
		"sum/" + t.Contract:                                   t.Latency.Microseconds(),
	}
	if t.Reason != "" {
		c["reasons/"+t.Contract+"/"+t.Outcome+"/"+t.Reason] = 1
	}
	return c
}

// AgentCounters returns the counters that a turn adds to its day for an agent. name is the
// agent's name, or Other.
func (t Turn) AgentCounters(name string) map[string]int64 {
	return map[string]int64{
		"calls/" + name: 1, "attempts/" + name: int64(t.Attempts), "failures/" + name: int64(t.AgentFailures),
	}
}

// SinceCounter returns the name of the counter with the time at which an agent was first
// counted.
func SinceCounter(name string) string { return sincePrefix + name }

func pad(bucket int) string {
	if bucket < 10 {
		return "0" + strconv.Itoa(bucket)
	}
	return strconv.Itoa(bucket)
}

// Day is one UTC day of an account, as it is stored.
type Day struct {
	Date     string // 2026-03-01
	Counters map[string]int64
}

// Add adds a counter of another row of the same day. An agent was first counted at the earliest time of them.
func (d Day) Add(name string, n int64) {
	if before, has := d.Counters[name]; has && strings.HasPrefix(name, sincePrefix) {
		n = min(n, before) - before
	}
	d.Counters[name] += n
}

// BoundAgents keeps the names of the first MostAgents agents of the day, and counts the others as Other. A row bounds
// its own names only.
func (d Day) BoundAgents() {
	for _, agent := range d.agents()[min(MostAgents, len(d.agents())):] {
		delete(d.Counters, SinceCounter(agent))
		for _, what := range []string{"calls/", "attempts/", "failures/"} {
			if n, has := d.Counters[what+agent]; has {
				delete(d.Counters, what+agent)
				d.Counters[what+Other] += n
			}
		}
	}
}

// DateOf returns the UTC date of a time.
func DateOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Kind groups turns by contract and outcome.
type Kind struct{ Contract, Outcome string }

// Cause groups turns by contract, outcome and reason.
type Cause struct{ Contract, Outcome, Reason string }

// AgentTotals holds the totals of one agent.
type AgentTotals struct {
	Turns    int64
	Attempts int64
	Failures int64
}

// Totals holds the sums of several days.
type Totals struct {
	Turns   map[Kind]int64
	Reasons map[Cause]int64
	Agents  map[string]AgentTotals
	Latency map[string]Histogram // by contract
	Recent  map[string]Histogram // by contract, of yesterday and today
}

func newTotals() Totals {
	return Totals{
		Turns: map[Kind]int64{}, Reasons: map[Cause]int64{}, Agents: map[string]AgentTotals{},
		Latency: map[string]Histogram{}, Recent: map[string]Histogram{},
	}
}

func (t Totals) clone() Totals {
	return Totals{
		Turns: maps.Clone(t.Turns), Reasons: maps.Clone(t.Reasons), Agents: maps.Clone(t.Agents),
		Latency: maps.Clone(t.Latency), Recent: maps.Clone(t.Recent),
	}
}

// add adds a day. Days are added in order. The first MostAgents agents keep their names, in the
// order in which they were first counted, so that an agent's total does not move to another name
// later (as far as the clocks of the writers agree).
func (t *Totals) add(d Day, recent bool) {
	named := len(t.Agents)
	if _, ok := t.Agents[Other]; ok {
		named--
	}
	for _, name := range d.agents() {
		if _, ok := t.Agents[name]; !ok && named < MostAgents {
			t.Agents[name] = AgentTotals{}
			named++
		}
	}
	for name, n := range d.Counters {
		parts := strings.Split(name, "/")
		switch {
		case parts[0] == "turns" && len(parts) == 3:
			t.Turns[Kind{parts[1], parts[2]}] += n
		case parts[0] == "reasons" && len(parts) == 4:
			t.Reasons[Cause{parts[1], parts[2], parts[3]}] += n
		case parts[0] == "took" && len(parts) == 3, parts[0] == "sum" && len(parts) == 2:
			took := latencyHistogram(parts, n)
			t.Latency[parts[1]] = t.Latency[parts[1]].Plus(took)
			if recent {
				t.Recent[parts[1]] = t.Recent[parts[1]].Plus(took)
			}
		default:
			t.addAgent(name, n)
		}
	}
}

// latencyHistogram returns the histogram of one latency counter.
func latencyHistogram(parts []string, n int64) Histogram {
	var h Histogram
	if parts[0] == "sum" {
		h.Sum = time.Duration(n) * time.Microsecond
	} else if i, err := strconv.Atoi(parts[2]); err == nil && i >= 0 && i < len(h.Counts) {
		h.Counts[i] = n
	}
	return h
}

func (t *Totals) addAgent(counter string, n int64) {
	what, name, _ := strings.Cut(counter, "/") // an agent's name may contain any printable character
	if what != "calls" && what != "attempts" && what != "failures" {
		return
	}
	if _, ok := t.Agents[name]; !ok {
		name = Other
	}
	a := t.Agents[name]
	switch what {
	case "calls":
		a.Turns += n
	case "attempts":
		a.Attempts += n
	case "failures":
		a.Failures += n
	}
	t.Agents[name] = a
}

// agents returns the agents that the day counts by name, in the order of their first turn.
func (d Day) agents() []string {
	var names []string
	for counter := range d.Counters {
		if name, ok := strings.CutPrefix(counter, sincePrefix); ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := d.Counters[sincePrefix+a], d.Counters[sincePrefix+b]; x != y {
			return int(min(max(x-y, -1), 1))
		}
		return strings.Compare(a, b)
	})
	return names
}
