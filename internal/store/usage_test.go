package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/usage"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

func totals(t *testing.T, store usage.Store, account ids.Account) usage.Totals {
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
				if err := table.Usage.CountTurn(ctx, "acme", now, usage.Turn{
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
	if d := cmp.Diff(want, totals(t, table.Usage, "acme")); d != "" {
		t.Error(d)
	}
	if other := totals(t, table.Usage, "other"); len(other.Turns) != 0 {
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
				if err := table.Usage.CountTurn(ctx, "acme", now, turn); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := totals(t, table.Usage, "acme")
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
		if err := table.Usage.CountTurn(ctx, "acme", now.AddDate(0, 0, -days), usage.Turn{Contract: usage.Send, Outcome: usage.Message}); err != nil {
			t.Fatal(err)
		}
	}
	dates := func(from string) (list []string) {
		days, err := table.Usage.Days(ctx, "acme", from)
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

// TestRowsOfOneDayAreAddedUp: a day has rows of its own numbers. An
// agent was first counted at the earliest time of them. The names of agents of a day are bounded, whatever its rows.
func TestRowsOfOneDayAreAddedUp(t *testing.T) {
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	client := dynamodb.NewFromConfig(config)
	put := func(sk string, counters map[string]int64) {
		t.Helper()
		it := kv.Key{PK: "A#acme#TALLY", SK: "DAY#" + sk}.Item()
		for name, n := range counters {
			it[name] = kv.N(n)
		}
		if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	put("2026-03-01#1", map[string]int64{"turns/send/message": 3, "since/a": 50, "calls/a": 1})
	put("2026-03-01#0", map[string]int64{"turns/send/message": 4, "since/a": 40, "calls/a": 2})
	put("2026-03-01#7", map[string]int64{"turns/send/block": 1, "since/a": 60, "calls/a": 4, "calls/others": 8})
	put("2026-03-02#3", map[string]int64{"turns/send/message": 5})
	many := map[string]int64{}
	for i := range usage.MostAgents + 10 {
		many[fmt.Sprintf("since/agent-%03d", i)], many[fmt.Sprintf("calls/agent-%03d", i)] = int64(100+i), 1
	}
	put("2026-03-03#1", many)
	put("2026-03-03#2", map[string]int64{"since/early": 1, "calls/early": 1})
	days, err := table.Usage.Days(ctx, "acme", "2026-03-01")
	if err != nil || len(days) != 3 {
		t.Fatalf("%+v, %v", days, err)
	}
	if d := cmp.Diff([]usage.Day{
		{Date: "2026-03-01", Counters: map[string]int64{"turns/send/message": 7, "turns/send/block": 1, "since/a": 40, "calls/a": 7, "calls/others": 8}},
		{Date: "2026-03-02", Counters: map[string]int64{"turns/send/message": 5}},
	}, days[:2]); d != "" {
		t.Error(d)
	}
	last := days[2].Counters
	if last["calls/early"] != 1 || last["calls/agent-062"] != 1 || last["calls/agent-063"] != 0 || last["calls/"+usage.Other] != 11 {
		t.Errorf("%v", last)
	}
	if got := totals(t, table.Usage, "acme").Turns[usage.Kind{Contract: "send", Outcome: "message"}]; got != 12 {
		t.Errorf("%d turns", got)
	}
}
