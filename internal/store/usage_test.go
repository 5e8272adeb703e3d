package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/usage"
)

func totals(t *testing.T, store usage.Store, account string) usage.Totals {
	t.Helper()
	got, err := (&usage.Reader{Store: store, Now: func() time.Time { return now }}).Totals(ctx, account)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestConcurrentTurnsAreAllCounted has many clients count at a barrier.
func TestConcurrentTurnsAreAllCounted(t *testing.T) {
	table := fixture.Table(t)
	const clients, each = 32, 8
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			<-start
			for range each {
				if err := table.CountTurn(ctx, "acme", now, usage.Turn{
					Contract: usage.Router, Outcome: usage.Delegate, Reason: "agent.failed", Agent: fmt.Sprintf("agente %d", i%4),
					Attempts: 3, AgentFailures: 1, Latency: 30 * time.Millisecond,
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(start)
	all.Wait()
	h := usage.Histogram{Sum: clients * each * 30 * time.Millisecond}
	h.Counts[3] = clients * each
	agent := usage.AgentTotals{Turns: clients * each / 4, Attempts: 3 * clients * each / 4, Failures: clients * each / 4}
	want := usage.Totals{
		Turns:   map[usage.Kind]int64{{Contract: usage.Router, Outcome: usage.Delegate}: clients * each},
		Reasons: map[usage.Cause]int64{{Contract: usage.Router, Outcome: usage.Delegate, Reason: "agent.failed"}: clients * each},
		Agents:  map[string]usage.AgentTotals{"agente 0": agent, "agente 1": agent, "agente 2": agent, "agente 3": agent},
		Latency: map[string]usage.Histogram{usage.Router: h}, Recent: map[string]usage.Histogram{usage.Router: h},
	}
	if d := cmp.Diff(want, totals(t, table, "acme")); d != "" {
		t.Error(d)
	}
	if other := totals(t, table, "other"); len(other.Turns) != 0 {
		t.Errorf("another account has %v", other)
	}
}

// TestAgentsOfADayAreBounded has a hundred agents compete for the names.
func TestAgentsOfADayAreBounded(t *testing.T) {
	table := fixture.Table(t)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			turn := usage.Turn{Contract: usage.Router, Outcome: usage.Delegate, Agent: fmt.Sprint("agent-", i), Attempts: 1}
			for range 2 {
				if err := table.CountTurn(ctx, "acme", now, turn); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := totals(t, table, "acme")
	var turns int64
	for _, a := range got.Agents {
		turns += a.Turns
	}
	if len(got.Agents) != usage.MostAgents+1 || got.Agents[usage.Other].Turns != 2*(100-usage.MostAgents) || turns != 200 {
		t.Errorf("%d agents, %v of others, %d turns", len(got.Agents), got.Agents[usage.Other], turns)
	}
	if n := got.Turns[usage.Kind{Contract: usage.Router, Outcome: usage.Delegate}]; n != 200 {
		t.Errorf("%d turns counted", n)
	}
}

func TestDaysAreReadInOrderFromADate(t *testing.T) {
	table := fixture.Table(t)
	for _, days := range []int{3, 0, 400, 1} {
		if err := table.CountTurn(ctx, "acme", now.AddDate(0, 0, -days), usage.Turn{Contract: usage.Send, Outcome: usage.Message}); err != nil {
			t.Fatal(err)
		}
	}
	dates := func(from string) (list []string) {
		days, err := table.Days(ctx, "acme", from)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range days {
			list = append(list, d.Date)
		}
		return list
	}
	date := func(days int) string { return usage.DateOf(now.AddDate(0, 0, -days)) }
	if d := cmp.Diff([]string{date(400), date(3), date(1), date(0)}, dates("")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{date(1), date(0)}, dates(date(3)+"~")); d != "" {
		t.Error(d)
	}
}
