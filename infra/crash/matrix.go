package main

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/infra/local/process"
)

// matrix holds the results of all rounds.
type matrix struct {
	scenarios []scenario
	results   []result
	calm      map[string]result // the undisturbed round of each scenario
	lambda    string            // how functions ran
}

// failpointOf returns the name of a point without its number.
func failpointOf(point string) string {
	name, _, _ := strings.Cut(point, "#")
	return name
}

// calmAtOnce is the number of undisturbed rounds that run at once. They mostly wait, and with few
// of them no deadline is missed.
const calmAtOnce = 3

// recordFailpoints runs every scenario undisturbed and records the failpoints that it passes.
func (h *harness) recordFailpoints(m *matrix, slots []slot) error {
	var rounds []round
	for _, sc := range m.scenarios {
		rounds = append(rounds, round{sc: sc, name: "calm-" + sc.name, traced: true})
	}
	m.calm = map[string]result{}
	for _, res := range h.runRounds(rounds, slots[:min(calmAtOnce, len(slots))], func(result) {}) {
		if res.err != nil {
			return res.err
		}
		m.calm[res.sc.name] = res
	}
	return nil
}

// pointKills returns the rounds in which the process dies at a point: at every point, or, with few,
// at each failpoint in two of the scenarios that pass it, those with the fewest deaths so far.
func (m *matrix) pointKills(only string, few bool) []round {
	passed := map[string]map[string][]string{} // failpoint → scenario → points
	for _, sc := range m.scenarios {
		for _, p := range m.calm[sc.name].points {
			if !strings.Contains(p, only) || sc.random {
				continue
			}
			name := failpointOf(p)
			if passed[name] == nil {
				passed[name] = map[string][]string{}
			}
			passed[name][sc.name] = append(passed[name][sc.name], p)
		}
	}
	rare := slices.SortedFunc(maps.Keys(passed), func(a, b string) int { // rare failpoints first, because they have little choice of scenarios
		return cmp.Or(cmp.Compare(len(passed[a]), len(passed[b])), cmp.Compare(a, b))
	})
	var rounds []round
	died := map[string]int{} // number of deaths by scenario
	for _, name := range rare {
		for i, sc := range m.scenariosFor(passed[name], died, few) {
			list := passed[name][sc.name]
			switch {
			case few && i == 0: // a later pass may have been a second try, which no other round needs to make
				list = list[:1]
			case few || sc.slow:
				list = list[died[sc.name]%len(list):][:1]
			}
			died[sc.name] += len(list)
			for _, p := range list {
				rounds = append(rounds, round{sc: sc, name: fmt.Sprintf("at-%d", len(rounds)), point: p})
			}
		}
	}
	return rounds
}

// scenariosFor returns the scenarios that die at a failpoint.
func (m *matrix) scenariosFor(passed map[string][]string, died map[string]int, few bool) []scenario {
	list := slices.DeleteFunc(slices.Clone(m.scenarios), func(sc scenario) bool { return len(passed[sc.name]) == 0 })
	if few {
		slices.SortStableFunc(list, func(a, b scenario) int {
			return cmp.Compare(died[a.name]*a.weight(), died[b.name]*b.weight())
		})
		list = list[:min(2, len(list))]
	}
	return list
}

// weight returns the cost of a round, relative to the other scenarios.
func (sc scenario) weight() int {
	if sc.slow {
		return 4
	}
	return 1
}

// randomKills returns rounds in which the process is killed at random times, twice in every second
// round, unless the scenario is slow.
func (m *matrix) randomKills(n int, seed uint64) []round {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // times, no secrets
	rounds := make([]round, n)
	for i := range rounds {
		sc := m.scenarios[i%len(m.scenarios)]
		span := int64(max(m.calm[sc.name].took, 50*time.Millisecond))
		rounds[i] = round{sc: sc, name: fmt.Sprintf("random-%d", i), kills: []time.Duration{time.Duration(random.Int64N(span))}}
		if i%2 == 1 && !sc.slow {
			rounds[i].kills = append(rounds[i].kills, rounds[i].kills[0]+time.Duration(random.Int64N(3*span)))
		}
	}
	return rounds
}

// runRounds runs rounds, one at a time for each slot, and returns their results in order.
func (h *harness) runRounds(rounds []round, slots []slot, notify func(result)) []result {
	results := make([]result, len(rounds))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, at := range slots {
		wg.Go(func() {
			for i := range next {
				res := h.run(rounds[i], at)
				mu.Lock()
				results[i] = res
				notify(res)
				mu.Unlock()
			}
		})
	}
	for i := range rounds {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// mark returns the sign for the end of a round, compared with the undisturbed end.
func (m *matrix) mark(r result) string {
	sign := ""
	switch {
	case r.err != nil:
		return "FAILED"
	case r.point != "" && !r.died:
		return "" // it did not pass the point this time
	case r.end == m.calm[r.sc.name].end:
		sign = "✓"
	case r.end == "in_doubt":
		sign = "?"
	default:
		sign = r.end
	}
	if r.swept {
		sign += "~"
	}
	return sign
}

// table returns the committed form of the matrix: without times and other values that differ from
// run to run.
func (m *matrix) table(failures int) string {
	var b strings.Builder
	b.WriteString(m.head())
	b.WriteString("| scenario | what happens | undisturbed | killed | at random | became |\n|---|---|---|---|---|---|\n")
	deaths, deathsAtRandom := 0, 0
	for _, sc := range m.scenarios {
		atPoints, atRandom, ends := 0, 0, map[string]int{}
		for _, r := range m.results {
			switch {
			case r.sc.name != sc.name:
				continue
			case r.point == "":
				atRandom++
			case r.died:
				atPoints++
			}
			ends[m.mark(r)]++
		}
		var became []string
		for _, k := range slices.Sorted(maps.Keys(ends)) {
			if k != "" {
				became = append(became, fmt.Sprintf("%d %s", ends[k], k))
			}
		}
		deaths, deathsAtRandom = deaths+atPoints, deathsAtRandom+atRandom
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %s |\n", sc.name, sc.says, m.calm[sc.name].end, atPoints, atRandom, strings.Join(became, ", "))
	}
	var rows strings.Builder
	points := m.rows(&rows)
	fmt.Fprintf(&b, "\n%d scenarios: killed %d times at %d failpoints, and %d times at random. %d rounds failed.\n\n## Failpoints\n\n| failpoint |",
		len(m.scenarios), deaths, points, deathsAtRandom, failures)
	columns := m.pointScenarios()
	for _, sc := range columns {
		b.WriteString(" " + sc.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	b.WriteString(rows.String())
	return b.String()
}

// pointScenarios returns the scenarios that die at points.
func (m *matrix) pointScenarios() []scenario {
	return slices.DeleteFunc(slices.Clone(m.scenarios), func(sc scenario) bool { return sc.random })
}

// rows writes one row for each failpoint, with its signs by scenario, and returns how many these are.
func (m *matrix) rows(b *strings.Builder) int {
	cells := map[string]map[string][]string{}
	for _, r := range m.results {
		if r.point == "" {
			continue
		}
		name := failpointOf(r.point)
		if cells[name] == nil {
			cells[name] = map[string][]string{}
		}
		if sign := m.mark(r); sign != "" && !slices.Contains(cells[name][r.sc.name], sign) {
			cells[name][r.sc.name] = append(cells[name][r.sc.name], sign)
		}
	}
	var names []string
	for name := range cells {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { // .before stands before .after
		x, y := strings.TrimSuffix(a, ".before"), strings.TrimSuffix(b, ".before")
		return cmp.Or(cmp.Compare(strings.TrimSuffix(x, ".after"), strings.TrimSuffix(y, ".after")), cmp.Compare(b, a))
	})
	for _, name := range names {
		fmt.Fprintf(b, "| `%s` |", name)
		for _, sc := range m.pointScenarios() {
			signs := cells[name][sc.name]
			slices.Sort(signs)
			b.WriteString(" " + strings.Join(signs, " ") + " |")
		}
		b.WriteString("\n")
	}
	return len(names)
}

// file returns the path of the committed matrix, from the root of the module.
func (m *matrix) file() string {
	if m.lambda == process.AsProcess {
		return "infra/crash/matrix-functions.md"
	}
	return "infra/crash/matrix.md"
}

// head returns the text above the table.
func (m *matrix) head() string {
	if m.lambda == process.AsProcess {
		return headOfFunctions + rules
	}
	return headOfProcess + rules
}

const (
	headOfProcess = `# The crash matrix

Made by ` + "`go run ./infra/crash -update`" + `. A real process is killed with SIGKILL at
each failpoint that it passes, each time it passes it, and at random times. Another process is then
started on the same folder, and the client continues.
[The same for functions in processes of their own](matrix-functions.md). After each round:
`
	headOfFunctions = `# The crash matrix of functions

Made by ` + "`go run ./infra/crash -few -rounds 44 -lambda process -update`" + `. The
functions are the executables that deploy, in processes of their own. At a failpoint in a function
that process alone is killed with SIGKILL, as when a function crashes on AWS: the table, the state
machine and the other functions go on, the request is answered by API Gateway's 500, and the state
machine tries again. At a failpoint of an engine, and at random times, everything is killed, and
started again on the same folder. Each failpoint is tried in two scenarios;
[the matrix of one process](matrix.md) has all of them. After each round:
`
)

// rules is the text about the checks and the signs.
const rules = `
- Nothing that was answered is lost. A confirmed run has one execution.
- No unsafe request reached the service twice. The chat names each step in doubt.
- Every run has ended, its chat is free, and it has one final message.
- Its events have no gap, and its receipt verifies.
- Nothing is left due, held or undelivered, and the ledger adds up.

Some scenarios check more:

- No tool is called twice, whatever its server declares about it.
- A check's answer about a request is true.
- The edited plan is the plan that ran.
- A request is repeated only after a refusal or a crash.
- A message that is repeated under its key gets the same answer. It is in the chat and in the memory once.
- An agent is called again only after the client was told that the outcome of the first call is unknown.
- A job ends once, with one last message. No answer of its model is handled twice, and none is asked for again unless it was lost.
  Its events have no gap. What its calls cost, with the lost ones, is what the account is charged.
- The card of a turn that looked names the request.
- A listener receives every event once and in order. It misses nothing that was stored while it was
  connected, and nothing untrue was pushed.

A sign shows how the run ended:

| sign | |
|---|---|
| ✓ | as without a kill |
| ? | in doubt: it was killed between an unsafe request, or a call of an agent, and the answer; the chat says so |
| ~ | not within six seconds: the machine was off for five more minutes, or twenty for a job, and the sweep found the run or the job, or what it held |
| another word | the state it ended in |

## Scenarios

`
