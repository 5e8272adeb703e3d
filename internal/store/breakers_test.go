package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
	"piloto/internal/store"
)

var strict = agent.Policy{Failures: 3, Window: time.Minute, Open: 10 * time.Second, Probe: 5 * time.Second}

// TestStoredBreakerEqualsDomainBreaker holds every conditional write equal to the
// transition that it stands for, whatever happens in whatever order, and also where a
// hook hears of it.
func TestStoredBreakerEqualsDomainBreaker(t *testing.T) {
	t.Run("nobody hears of it", func(t *testing.T) { checkStoredBreakers(t, fixture.Table(t)) })
	t.Run("a hook hears of it", func(t *testing.T) {
		table := fixture.Table(t)
		h := hook.Hook{ID: "hk_1", Account: "acme", URL: "https://x.example", Events: hook.Events, Enabled: true, CreatedAt: now, UpdatedAt: now}
		if err := table.Hooks.ChangeHooks(ctx, "acme", func([]hook.Hook) (hook.Change, error) { return hook.Change{Put: &h}, nil }); err != nil {
			t.Fatal(err)
		}
		checkStoredBreakers(t, table)
	})
}

func checkStoredBreakers(t *testing.T, table store.Stores) {
	agents := 0
	rapid.Check(t, func(rt *rapid.T) {
		agents++
		id := fmt.Sprint("agent", agents)
		p := strict
		p.Failures = rapid.IntRange(1, 4).Draw(rt, "failures")
		want := agent.Breaker{Agent: id}
		at, probes := now, 0
		var calls []agent.Call
		result := func(t *rapid.T) agent.Call {
			if len(calls) == 0 {
				return agent.Call{Opens: want.Opens}
			}
			i := rapid.IntRange(0, len(calls)-1).Draw(t, "call")
			c := calls[i]
			calls = slices.Delete(calls, i, i+1)
			return c
		}
		compare := func(t *rapid.T, what string, got agent.Breaker, err error) {
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || d != "" {
				t.Fatalf("%s at %v: %v\n%s", what, at, err, d)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"time goes": func(t *rapid.T) {
				at = at.Add(time.Duration(rapid.IntRange(-8_000, 30_000).Draw(t, "ms")) * time.Millisecond)
			},
			"call": func(t *rapid.T) {
				probes++
				probe := fmt.Sprint("p", probes)
				got, err := table.Router.TakeProbe(ctx, "acme", id, probe, p, at)
				want = want.Probed(probe, p, at)
				compare(t, "probe", got, err)
				if want.OpenedAt.IsZero() {
					calls = append(calls, agent.Call{Opens: want.Opens})
				} else if want.Probe == probe {
					calls = append(calls, agent.Call{Opens: want.Opens, Probe: probe})
				}
			},
			"pause": func(t *rapid.T) {
				until := at.Add(time.Duration(rapid.IntRange(0, 60_000).Draw(t, "rest")) * time.Millisecond)
				got, err := table.Router.NotePause(ctx, "acme", id, until, at)
				want = want.AfterPause(until)
				compare(t, "pause", got, err)
			},
			"failure": func(t *rapid.T) {
				c := result(t)
				got, err := table.Router.CountFailure(ctx, "acme", id, c, p, at)
				want = want.AfterFailure(c, p, at)
				compare(t, "failure", got, err)
			},
			"answer": func(t *rapid.T) {
				c := result(t)
				got, err := table.Router.CountAnswer(ctx, "acme", id, c, at)
				want = want.AfterAnswer(c)
				compare(t, "answer", got, err)
			},
			"nothing": func(t *rapid.T) {
				c := result(t)
				if c.Probe == "" {
					return
				}
				got, err := table.Router.DropProbe(ctx, "acme", id, c, at)
				want = want.AfterNothing(c)
				compare(t, "nothing", got, err)
			},
			"": func(t *rapid.T) {
				got, err := table.Router.Breaker(ctx, "acme", id)
				compare(t, "read", got, err)
			},
		})
	})
}

// openBreaker has an agent fail until its breaker opens.
func openBreaker(t *testing.T, count func(agent.Call) (agent.Breaker, error)) agent.Breaker {
	t.Helper()
	for range 100 {
		b, err := count(agent.Call{})
		if err != nil {
			t.Fatal(err)
		}
		if b.Opens > 0 {
			return b
		}
	}
	t.Fatal("it never opened")
	return agent.Breaker{}
}

func TestConcurrentFailuresAreCountedAndOpenOnce(t *testing.T) {
	for _, failures := range []int{1, 5, 20} {
		table := fixture.Table(t)
		p := strict
		p.Failures = failures
		for round := range 5 {
			id := fmt.Sprint("agent", round)
			var done sync.WaitGroup
			start := make(chan struct{})
			for range failures - 1 {
				done.Go(func() {
					<-start
					if _, err := table.Router.CountFailure(ctx, "acme", id, agent.Call{}, p, now); err != nil {
						t.Error(err)
					}
				})
			}
			close(start)
			done.Wait()
			if b, err := table.Router.Breaker(ctx, "acme", id); err != nil || len(b.Failed) != failures-1 || !b.OpenedAt.IsZero() {
				t.Fatalf("after %d of %d: %+v, %v", failures-1, failures, b, err)
			}
			for range 30 { // one more opens it, and the rest come late
				done.Go(func() {
					if b, err := table.Router.CountFailure(ctx, "acme", id, agent.Call{}, p, now); err != nil || b.Opens != 1 {
						t.Errorf("%+v, %v", b, err)
					}
				})
			}
			done.Wait()
			if b, err := table.Router.Breaker(ctx, "acme", id); err != nil || b.Opens != 1 || len(b.Failed) != failures || b.Phase(now) != agent.Open {
				t.Errorf("%+v, %v", b, err)
			}
		}
	}
}

func TestOneOfManyCallersTakesProbe(t *testing.T) {
	table := fixture.Table(t)
	openBreaker(t, func(c agent.Call) (agent.Breaker, error) {
		return table.Router.CountFailure(ctx, "acme", "a", c, strict, now)
	})
	for round := range 10 {
		at := now.Add(strict.Open + time.Duration(round)*strict.Probe)
		var done sync.WaitGroup
		start := make(chan struct{})
		winners := make(chan string, 50)
		for i := range 50 {
			done.Go(func() {
				id := fmt.Sprint(round, "-", i)
				<-start
				b, err := table.Router.TakeProbe(ctx, "acme", "a", id, strict, at)
				if err != nil {
					t.Error(err)
				}
				if b.Probe == id {
					winners <- id
				}
			})
		}
		close(start)
		done.Wait()
		if len(winners) != 1 {
			t.Fatalf("round %d: %d took the probe", round, len(winners))
		}
		id := <-winners
		again, err := table.Router.TakeProbe(ctx, "acme", "a", id, strict, at) // the first answer was lost
		if err != nil || again.Probe != id {
			t.Errorf("%+v, %v", again, err)
		}
		if b, err := table.Router.CountAnswer(ctx, "acme", "a", agent.Call{Opens: 1, Probe: "another"}, at); err != nil || b.Probe != id {
			t.Errorf("another's answer ended the probe: %+v, %v", b, err)
		}
	}
}

func TestLateCallDoesNotCountAfterBreakerClosed(t *testing.T) {
	table := fixture.Table(t)
	openBreaker(t, func(c agent.Call) (agent.Breaker, error) {
		return table.Router.CountFailure(ctx, "acme", "a", c, strict, now)
	})
	at := now.Add(strict.Open)
	if b, err := table.Router.TakeProbe(ctx, "acme", "a", "p", strict, at); err != nil || b.Probe != "p" {
		t.Fatal(b, err)
	}
	if b, err := table.Router.CountAnswer(ctx, "acme", "a", agent.Call{Opens: 1, Probe: "p"}, at); err != nil || b.Phase(at) != agent.Closed || b.Opens != 1 {
		t.Fatalf("%+v, %v", b, err)
	}
	late := agent.Call{}
	if b, err := table.Router.CountFailure(ctx, "acme", "a", late, strict, at); err != nil || len(b.Failed) != 0 {
		t.Errorf("a late failure: %+v, %v", b, err)
	}
	if b, err := table.Router.CountFailure(ctx, "acme", "a", agent.Call{Opens: 1}, strict, at); err != nil || len(b.Failed) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	if b, err := table.Router.CountAnswer(ctx, "acme", "a", late, at); err != nil || len(b.Failed) != 1 {
		t.Errorf("a late answer: %+v, %v", b, err)
	}
}

func TestAnAccountSeesItsOwnBreakers(t *testing.T) {
	table := fixture.Table(t)
	for _, account := range []ids.Account{"acme", "acme2"} {
		for _, id := range []string{"a", "b"} {
			if _, err := table.Router.CountFailure(ctx, account, string(account)+id, agent.Call{}, strict, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	openBreaker(t, func(c agent.Call) (agent.Breaker, error) {
		return table.Router.CountFailure(ctx, "acme", "acmeb", c, strict, now)
	})
	list, err := table.Router.Breakers(ctx, "acme")
	want := []agent.Breaker{
		{Agent: "acmea", Failed: []time.Time{now}},
		{Agent: "acmeb", Failed: []time.Time{now, now, now}, Opens: 1, OpenedAt: now, OpenUntil: now.Add(strict.Open)},
	}
	if d := cmp.Diff(want, list); err != nil || d != "" {
		t.Error(err, d)
	}
	if list, err := table.Router.Breakers(ctx, "nobody"); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
