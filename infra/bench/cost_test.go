package main

import (
	"regexp"
	"testing"
)

// TestCostsDoNotGrow holds the state transitions, the units and calls of the table, and the pushes that operations need
// (docs/adr/0029-a-flat-run.md, docs/adr/0033-a-turn-reads-once.md).
func TestCostsDoNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts two deployments")
	}
	type limit struct {
		transitions   int
		writes, reads float64 // reads of a run are not held: how often its client looks depends on the time it takes
		writeCalls    int
		readCalls     int // the authorizer's call is one of them
		pushes        int // a text that is written slowly comes in more pieces, so a turn may have one more
	}
	limits := map[int]map[string]limit{
		1: {
			"turn, text": {0, 9, 4, 4, 4, 4}, "turn, plan of 1": {0, 27, 9, 4, 9, 6}, "turn, routed": {0, 12, 4, 5, 4, 4},
			"turn, text, with credits": {0, 11, 5, 6, 5, 4}, "run of 1, and what came of it": {transitions: 4, writes: 53, pushes: 15},
			"turn, text, after a look": {0, 9, 6, 4, 6, 4}, "job of 10 rounds": {transitions: 21, writes: 152, pushes: 15},
			"run of 1": {transitions: 3, writes: 38, pushes: 14}, "run of 5": {transitions: 11, writes: 102, pushes: 30},
			"run of 20": {transitions: 41, writes: 344, pushes: 90}, "run of 8 side by side": {transitions: 15, writes: 95, pushes: 58},
		},
		50: {
			"run of 1": {transitions: 3, writes: 38, pushes: 14}, "run of 5": {transitions: 3, writes: 78, pushes: 30},
			"run of 20": {transitions: 3, writes: 230, pushes: 90}, "run of 8 side by side": {transitions: 3, writes: 120, pushes: 42}, // it depends on what waits together
		},
	}
	for shared, want := range limits {
		got, err := costsOf(t.Context(), options{dir: t.TempDir(), template: "../../template.yaml", only: regexp.MustCompile("")}, shared)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("%d scenarios with %d steps an invocation, want %d", len(got), shared, len(want))
		}
		for _, c := range got {
			most := want[c.name]
			turn := most.readCalls > 0
			if c.transitions > most.transitions || c.writes > most.writes || c.pushes > most.pushes || turn && (c.reads > most.reads || c.writeCalls > most.writeCalls || c.readCalls > most.readCalls) {
				t.Errorf("%s, %d steps an invocation: %d transitions, %.0f write and %.1f read units in %d and %d calls, %d pushes; at most %+v",
					c.name, shared, c.transitions, c.writes, c.reads, c.writeCalls, c.readCalls, c.pushes, most)
			}
		}
	}
}
