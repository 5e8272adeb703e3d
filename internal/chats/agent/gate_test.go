package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// breakerStore is a store of breakers in memory that uses the domain's transitions. It can be
// slow or down.
type breakerStore struct {
	mu            sync.Mutex
	held          map[string]agent.Breaker
	reads, writes int
	slow          time.Duration
	late          time.Duration // delay after a read
	down          error
}

func (w *breakerStore) change(ctx context.Context, account ids.Account, id string, writes bool, f func(agent.Breaker) agent.Breaker) (agent.Breaker, error) {
	w.mu.Lock()
	slow, down := w.slow, w.down
	w.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return agent.Breaker{}, ctx.Err()
	}
	if down != nil {
		return agent.Breaker{}, down
	}
	w.mu.Lock()
	late := w.late
	defer func() { time.Sleep(late) }()
	defer w.mu.Unlock()
	if w.held == nil {
		w.held = map[string]agent.Breaker{}
	}
	if writes {
		w.writes++
	} else {
		w.reads++
	}
	b := w.held[string(account)+"/"+id]
	b.Agent = id
	b = f(b)
	w.held[string(account)+"/"+id] = b
	return b, nil
}

func (w *breakerStore) fails(slow time.Duration, down error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow, w.down = slow, down
}

func (w *breakerStore) answersLate(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = d
}

func (w *breakerStore) isCurrent() (reads, writes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reads, w.writes
}

func (w *breakerStore) Breaker(ctx context.Context, account ids.Account, id string) (agent.Breaker, error) {
	return w.change(ctx, account, id, false, func(b agent.Breaker) agent.Breaker { return b })
}

func (w *breakerStore) Breakers(context.Context, ids.Account) ([]agent.Breaker, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []agent.Breaker
	for _, b := range w.held {
		list = append(list, b)
	}
	return list, nil
}

func (w *breakerStore) TakeProbe(ctx context.Context, account ids.Account, id, probe string, p agent.Policy, at time.Time) (agent.Breaker, error) {
	return w.change(ctx, account, id, true, func(b agent.Breaker) agent.Breaker { return b.Probed(probe, p, at) })
}

func (w *breakerStore) CountFailure(ctx context.Context, account ids.Account, id string, c agent.Call, p agent.Policy, at time.Time) (agent.Breaker, error) {
	return w.change(ctx, account, id, true, func(b agent.Breaker) agent.Breaker { return b.AfterFailure(c, p, at) })
}

func (w *breakerStore) CountAnswer(ctx context.Context, account ids.Account, id string, c agent.Call, _ time.Time) (agent.Breaker, error) {
	return w.change(ctx, account, id, true, func(b agent.Breaker) agent.Breaker { return b.AfterAnswer(c) })
}

func (w *breakerStore) DropProbe(ctx context.Context, account ids.Account, id string, c agent.Call, _ time.Time) (agent.Breaker, error) {
	return w.change(ctx, account, id, true, func(b agent.Breaker) agent.Breaker { return b.AfterNothing(c) })
}

func (w *breakerStore) NotePause(ctx context.Context, account ids.Account, id string, until, _ time.Time) (agent.Breaker, error) {
	return w.change(ctx, account, id, true, func(b agent.Breaker) agent.Breaker { return b.AfterPause(until) })
}

var probes atomic.Int64

// gateOver returns the gate of one process.
func gateOver(store agent.Breakers, now func() time.Time) *agent.Gate {
	return &agent.Gate{
		Store: store, Policy: three, Now: now, Log: slog.New(slog.DiscardHandler),
		NewID: func(time.Time) string { return strconv.FormatInt(probes.Add(1), 10) },
	}
}

func enter(t *testing.T, g *agent.Gate) agent.Pass {
	t.Helper()
	pass, err := g.Enter(context.Background(), "acme", "a", "reserva")
	if err != nil {
		t.Fatal(err)
	}
	return pass
}

func mustRefuse(t *testing.T, g *agent.Gate) {
	t.Helper()
	if _, err := g.Enter(context.Background(), "acme", "a", "reserva"); !errors.Is(err, agent.ErrOpen) {
		t.Helper()
		t.Errorf("let in: %v", err)
	}
}

// openBreaker makes an agent fail until its breaker opens.
func openBreaker(t *testing.T, g *agent.Gate) {
	t.Helper()
	for range three.Failures - 1 {
		if !enter(t, g).Done(context.Background(), agent.Failed) {
			t.Fatal("it opened too soon")
		}
	}
	if enter(t, g).Done(context.Background(), agent.Failed) {
		t.Fatal("it did not open")
	}
}

// TestConcurrentClientsMakeOneProbe lets many processes, each of many
// clients, call at once when an open breaker's period is over.
func TestConcurrentClientsMakeOneProbe(t *testing.T) {
	for _, cold := range []bool{true, false} {
		table := fixture.Table(t)
		var clock atomic.Int64
		now := func() time.Time { return dawn.Add(time.Duration(clock.Load())) }
		processes := make([]*agent.Gate, 4)
		for i := range processes {
			processes[i] = gateOver(table.Router, now)
			processes[i].Wait = time.Minute // a busy machine must not look like a store that is down
		}
		openBreaker(t, processes[0])
		if !cold {
			for _, g := range processes[1:] {
				mustRefuse(t, g)
			}
		}
		for round := range 3 {
			clock.Store(int64(round+1) * int64(three.Open))
			var reached atomic.Int64
			start := make(chan struct{})
			turnedAway := make(chan struct{}, 200)
			probing := make(chan agent.Pass, 200)
			var clients sync.WaitGroup
			for i := range 200 {
				g := processes[i%len(processes)]
				clients.Go(func() {
					<-start
					pass, err := g.Enter(context.Background(), "acme", "a", "reserva")
					switch {
					case errors.Is(err, agent.ErrOpen):
						turnedAway <- struct{}{}
					case err != nil:
						t.Error(err)
					default:
						reached.Add(1)
						probing <- pass
					}
				})
			}
			close(start)
			clients.Wait()
			if n := reached.Load(); n != 1 || len(turnedAway) != 199 {
				t.Fatalf("round %d: %d reached the agent, %d were turned away", round, n, len(turnedAway))
			}
			(<-probing).Done(context.Background(), agent.Failed)
		}
	}
}

func TestAnsweringAgentTakesOneReadASecondAndNoWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &breakerStore{slow: time.Millisecond}
		g := gateOver(store, time.Now)
		for second := range 3 {
			var clients sync.WaitGroup
			for range 50 {
				clients.Go(func() { enter(t, g).Done(context.Background(), agent.Answered) })
			}
			clients.Wait()
			enter(t, g).Done(context.Background(), agent.Answered)
			if reads, writes := store.isCurrent(); reads != second+1 || writes != 0 {
				t.Errorf("after %d seconds: %d reads, %d writes", second, reads, writes)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestOpenBreakerIsNotReadBeforeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &breakerStore{}
		g := gateOver(store, time.Now)
		openBreaker(t, g)
		reads, writes := store.isCurrent()
		for range 9 {
			mustRefuse(t, g)
			time.Sleep(time.Second)
		}
		if r, w := store.isCurrent(); r != reads || w != writes {
			t.Errorf("%d reads and %d writes to refuse", r-reads, w-writes)
		}
		_, err := g.Enter(context.Background(), "acme", "a", "reserva")
		if f := fault.Of(err); f.Args["retry_after"] != "1" || f.Args["retry_at"] != time.Now().Add(time.Second).UTC().Format(time.RFC3339) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Second)
		if !enter(t, g).Done(context.Background(), agent.Answered) {
			t.Error("an answer did not close it")
		}
		enter(t, g)
		enter(t, g)
	})
}

func TestOtherProcessSeesOpenBreakerWithinSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &breakerStore{}
		one, other := gateOver(store, time.Now), gateOver(store, time.Now)
		late := enter(t, other)
		openBreaker(t, one)
		if _, err := other.Enter(context.Background(), "acme", "a", "reserva"); err != nil {
			t.Errorf("what was just read is relied on: %v", err)
		}
		time.Sleep(time.Second)
		mustRefuse(t, other)
		late.Done(context.Background(), agent.Answered)
		mustRefuse(t, other)
		if _, err := other.Enter(context.Background(), "acme", "b", "reserva"); err != nil {
			t.Errorf("another agent: %v", err)
		}
		if _, err := other.Enter(context.Background(), "acme2", "a", "reserva"); err != nil {
			t.Errorf("another account: %v", err)
		}
	})
}

func TestAnswerClearsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateOver(&breakerStore{}, time.Now)
		for range 4 {
			for range three.Failures - 1 {
				enter(t, g).Done(context.Background(), agent.Failed)
			}
			enter(t, g).Done(context.Background(), agent.Answered)
		}
		together := []agent.Pass{enter(t, g), enter(t, g)} // started before any failure is known
		enter(t, g).Done(context.Background(), agent.Failed)
		together[0].Done(context.Background(), agent.Answered)
		enter(t, g).Done(context.Background(), agent.Failed)
		if !together[1].Done(context.Background(), agent.Failed) {
			t.Error("an answer between did not count")
		}
	})
}

func TestDroppedProbeIsFreeAtOnceAndLostOneAfterItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateOver(&breakerStore{}, time.Now)
		openBreaker(t, g)
		time.Sleep(three.Open)
		enter(t, g).Done(context.Background(), agent.Nothing)
		lost := enter(t, g)
		mustRefuse(t, g)
		time.Sleep(three.Probe)
		second := enter(t, g)
		mustRefuse(t, g)
		lost.Done(context.Background(), agent.Answered)
		mustRefuse(t, g)
		second.Done(context.Background(), agent.Answered)
		enter(t, g)
		enter(t, g)
	})
}

func TestGateAdmitsCallsWhileStoreIsDownOrSlow(t *testing.T) {
	for name, c := range map[string]struct {
		slow time.Duration
		down error
		most time.Duration
	}{"down": {0, errors.New("down"), 0}, "slow": {time.Hour, nil, 300 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &breakerStore{}
				store.fails(c.slow, c.down)
				g := gateOver(store, time.Now)
				began := time.Now()
				for range 20 {
					if !enter(t, g).Done(context.Background(), agent.Failed) {
						t.Error("a call that nobody counts ended the attempts")
					}
				}
				if took := time.Since(began); took > c.most {
					t.Errorf("twenty calls waited %v", took)
				}
				store.fails(0, nil)
				time.Sleep(time.Second)
				openBreaker(t, g)
				store.fails(c.slow, c.down)
				mustRefuse(t, g) // the cached breaker stays
				time.Sleep(three.Open)
				enter(t, g)
				enter(t, g)
			})
		})
	}
}

func TestGateIgnoresReadFromBeforeOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &breakerStore{}
		g := gateOver(store, time.Now)
		calls := []agent.Pass{enter(t, g), enter(t, g), enter(t, g)}
		time.Sleep(time.Second)
		store.answersLate(200 * time.Millisecond)
		go func() { _, _ = g.Enter(context.Background(), "acme", "a", "reserva") }()
		synctest.Wait() // the read has finished
		store.answersLate(0)
		for _, pass := range calls {
			pass.Done(context.Background(), agent.Failed)
		}
		mustRefuse(t, g)
		time.Sleep(300 * time.Millisecond)
		mustRefuse(t, g)
	})
}

func TestCancelledCallerDoesNotWaitForBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &breakerStore{slow: 200 * time.Millisecond}
		g := gateOver(store, time.Now)
		go func() { _, _ = g.Enter(context.Background(), "acme", "a", "reserva") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		if _, err := g.Enter(ctx, "acme", "a", "reserva"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		enter(t, g)
	})
}

func TestBreakersAreListedWithoutOldFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateOver(&breakerStore{}, time.Now)
		enter(t, g).Done(context.Background(), agent.Failed)
		for _, want := range []int{1, 0} {
			list, err := g.Breakers(context.Background(), "acme")
			if err != nil || len(list) != 1 || len(list[0].Failed) != want {
				t.Errorf("%+v, %v", list, err)
			}
			time.Sleep(three.Window)
		}
	})
}

func TestGateCacheIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &breakerStore{}
		g := gateOver(store, time.Now)
		for i := range 5000 {
			if _, err := g.Enter(context.Background(), "acme", fmt.Sprint(i), "reserva"); err != nil {
				t.Fatal(err)
			}
		}
		enter(t, g)
		if reads, _ := store.isCurrent(); reads != 5001 {
			t.Error(reads)
		}
	})
}
