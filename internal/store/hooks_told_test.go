package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
	"piloto/internal/models/credit"
)

// data returns the data of the messages that the receiver got since it was asked last, which are all of one type.
func data[T any](h hooked, e hook.Event) (list []T) {
	h.t.Helper()
	h.sweep()
	for _, p := range h.to.take() {
		var m struct {
			Type hook.Event
			Data T
		}
		if err := json.Unmarshal([]byte(p.body), &m); err != nil || m.Type != e || len(p.body) > 4<<10 {
			h.t.Fatalf("%s: %v", p.body, err)
		}
		list = append(list, m.Data)
	}
	return list
}

// TestAHookHearsOfABreakerThatOpens (guarantee I40): once, whoever makes the last failure, and again only after it was
// closed.
func TestAHookHearsOfABreakerThatOpens(t *testing.T) {
	h := newHooked(t)
	h.make("https://x.example", hook.BreakerOpened)
	fail := func(c agent.Call) agent.Breaker {
		t.Helper()
		c.Name = "reserva"
		b, err := h.World.Store.Router.CountFailure(ctx, fixture.Account, "mcp_1", c, strict, h.Clock())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var calls sync.WaitGroup
	for range 3 * strict.Failures {
		calls.Go(func() { fail(agent.Call{}) })
	}
	calls.Wait()
	want := hook.BreakerData{
		Agent: "reserva", MCPID: "mcp_1", Failures: strict.Failures, RetryAt: h.Clock().Add(strict.Open).Format(time.RFC3339), Path: "/?view=servers",
	}
	if got := data[hook.BreakerData](h, hook.BreakerOpened); !slices.Equal(got, []hook.BreakerData{want}) {
		t.Errorf("%+v", got)
	}
	probe := func(id string) agent.Call {
		h.Pass(time.Minute)
		if b, err := h.World.Store.Router.TakeProbe(ctx, fixture.Account, "mcp_1", id, strict, h.Clock()); err != nil || b.Probe != id {
			t.Fatal(b, err)
		}
		return agent.Call{Opens: 1, Probe: id}
	}
	if b := fail(probe("p1")); b.Opens != 2 {
		t.Errorf("%+v", b)
	}
	if got := data[hook.BreakerData](h, hook.BreakerOpened); len(got) > 0 {
		t.Errorf("told again while it was open: %+v", got)
	}
	if _, err := h.World.Store.Router.CountAnswer(ctx, fixture.Account, "mcp_1", probe("p2"), h.Clock()); err != nil {
		t.Fatal(err)
	}
	for range strict.Failures {
		fail(agent.Call{Opens: 2})
	}
	if got := data[hook.BreakerData](h, hook.BreakerOpened); len(got) != 1 {
		t.Errorf("after it was closed: %+v", got)
	}
}

// TestAHookHearsOfAJobThatFailed (guarantee I40): and not of one that ended in another way.
func TestAHookHearsOfAJobThatFailed(t *testing.T) {
	h := newHooked(t)
	h.make("https://x.example", hook.AgentFailed)
	end := func(id string, status job.Status, reason conversation.StopReason) {
		t.Helper()
		j := job.Job{ID: id, Account: fixture.Account, User: "ana", Agent: "plan", ChatID: "c1", Status: job.Running, CreatedAt: h.Clock(), EndsAt: h.Clock().Add(time.Hour)}
		j, err := h.World.Store.Jobs.CreateJob(ctx, j)
		if err != nil {
			t.Fatal(err)
		}
		j.Status, j.StopReason, j.EndedAt = status, reason, h.Clock()
		ended, err := job.NewEvent(h.Clock(), job.EventEnded, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.World.Store.Jobs.SaveJob(ctx, j, nil, ended); err != nil {
			t.Fatal(err)
		}
	}
	end("j1", job.Success, "")
	end("j2", job.Partial, conversation.StopBudget)
	end("j3", job.Failed, conversation.StopModel)
	want := hook.AgentData{Agent: "plan", Error: "llm_error", ChatID: "c1", JobID: "j3", User: "ana", Path: "/?chat=c1"}
	if got := data[hook.AgentData](h, hook.AgentFailed); !slices.Equal(got, []hook.AgentData{want}) {
		t.Errorf("%+v", got)
	}
}

// spend makes a turn that spends micro-USD within limits.
func (h hooked) spend(l credit.Limits, micros int64) {
	h.t.Helper()
	at := h.Clock()
	hold := credit.Hold{
		ID: h.IDs.New(at), Account: fixture.Account, Micros: micros, At: at, Deadline: at.Add(time.Minute), Nonce: h.IDs.New(at), Version: 1, Limits: l, Worst: 250,
	}
	hold.For = credit.Turn{ID: hold.ID, At: at}
	if err := h.World.Store.Wallet.Reserve(ctx, hold, l); err != nil {
		h.t.Error(err)
	}
	if err := h.World.Store.Wallet.Settle(ctx, hold, credit.Turn{ID: hold.ID, At: at, Micros: micros}); err != nil {
		h.t.Error(err)
	}
}

// TestAHookHearsOfALowLimit (guarantee I40): once for a day and once for a month, whatever turns end at once; and again
// for a higher limit, and for the next day.
func TestAHookHearsOfALowLimit(t *testing.T) {
	h := newHooked(t)
	h.make("https://x.example", hook.BudgetLow)
	l := credit.Limits{Day: 10_000}
	told := func(what string, want ...hook.BudgetData) {
		t.Helper()
		got := data[hook.BudgetData](h, hook.BudgetLow)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, not %+v", what, got, want)
		}
	}
	day := hook.BudgetData{Budget: "day", Period: credit.Day(h.Clock()), Left: 1_900, Of: 10_000, Path: "/?view=credits"}
	for range 5 {
		h.spend(l, 1_600)
	}
	told("a fifth is left")
	h.spend(l, 100)
	told("less is left", day)
	h.spend(l, 100)
	told("once")
	l.Day = 20_000
	h.spend(l, 100)
	told("of a higher limit there is enough")
	h.spend(l, 7_800)
	day.Of, day.Left = 20_000, 3_900
	told("the higher one", day)
	l.Day = 19_000
	h.spend(l, 100)
	told("a lower one")
	h.Pass(24 * time.Hour)
	day.Period, day.Of, day.Left = credit.Day(h.Clock()), 1_000, 190
	month := hook.BudgetData{Budget: "month", Period: credit.Month(h.Clock()), Left: 3_395, Of: 20_000, Path: "/?view=credits"}
	h.spend(credit.Limits{Day: 1_000, Month: 20_000}, 405) // 16,200 the day before
	h.spend(credit.Limits{Day: 1_000, Month: 20_000}, 405)
	got := data[hook.BudgetData](h, hook.BudgetLow)
	slices.SortFunc(got, func(a, b hook.BudgetData) int { return int(b.Of - a.Of) })
	if !slices.Equal(got, []hook.BudgetData{month, day}) {
		t.Errorf("the next day: %+v, not %+v", got, []hook.BudgetData{month, day})
	}

	h.Pass(24 * time.Hour)
	h.spend(credit.Limits{Day: 1_000}, 500)
	told("enough for another turn")
	h.spend(credit.Limits{Day: 1_000}, 260)
	day.Period, day.Left = credit.Day(h.Clock()), 240 // a fifth is 200, and a turn may cost 250
	told("too little for another turn", day)

	h.Pass(40 * 24 * time.Hour)
	var turns sync.WaitGroup
	for range 40 {
		turns.Go(func() { h.spend(credit.Limits{Day: 100_000, Month: 100_000}, 2_100) })
	}
	turns.Wait()
	if got := data[hook.BudgetData](h, hook.BudgetLow); len(got) != 2 || got[0].Budget == got[1].Budget {
		t.Errorf("turns at once: %+v", got)
	}
}

// TestAHookHearsOfALateSettlement (guarantee I40): a turn that is charged after its hold was released makes a limit low, too.
func TestAHookHearsOfALateSettlement(t *testing.T) {
	h := newHooked(t)
	h.make("https://x.example", hook.BudgetLow)
	at, l := h.Clock(), credit.Limits{Month: 1_000}
	hold := credit.Hold{ID: h.IDs.New(at), Account: fixture.Account, Micros: 900, At: at, Deadline: at, Nonce: "n", Version: 1, Limits: l}
	hold.For = credit.Turn{ID: hold.ID, At: at}
	if err := h.World.Store.Wallet.Reserve(ctx, hold, l); err != nil {
		t.Fatal(err)
	}
	if _, err := h.World.Store.Wallet.Release(ctx, hold); err != nil {
		t.Fatal(err)
	}
	if err := h.World.Store.Wallet.SettleLate(ctx, hold, credit.Turn{ID: hold.ID, At: at, Micros: 850}); err != nil {
		t.Fatal(err)
	}
	want := hook.BudgetData{Budget: "month", Period: credit.Month(at), Left: 150, Of: 1_000, Path: "/?view=credits"}
	if got := data[hook.BudgetData](h, hook.BudgetLow); !slices.Equal(got, []hook.BudgetData{want}) {
		t.Errorf("%+v", got)
	}
}

// TestAHookHearsOfFewCredits (guarantee I40): once after each grant, also when sessions are bought at once.
func TestAHookHearsOfFewCredits(t *testing.T) {
	h := newHooked(t)
	h.make("https://x.example", hook.BudgetLow)
	bank := &credit.Service{Store: h.World.Store.Wallet, IDs: h.IDs, Now: h.Clock}
	move := func(kind credit.Kind, n int64) {
		t.Helper()
		if _, err := bank.Move(ctx, fixture.Account, credit.Movement{Kind: kind, Amount: n, Reason: "x", Actor: "ana"}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(what string, left ...int64) {
		t.Helper()
		var got []int64
		for _, d := range data[hook.BudgetData](h, hook.BudgetLow) {
			if d.Budget != "credits" || d.Of != 50 {
				t.Errorf("%s: %+v", what, d)
			}
			got = append(got, d.Left)
		}
		if !slices.Equal(got, left) {
			t.Errorf("%s: told of %v, not of %v", what, got, left)
		}
	}
	policy := credit.Policy{SessionCost: 1, SessionTokens: 10, SessionMinutes: 60}
	buy := func(n int, name string) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if _, err := bank.Open(ctx, fixture.Account, credit.Purchase{ID: ids.Derive(name, fmt.Sprint(i)), Actor: "ana", Reason: "x", Units: 1}, policy); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	move(credit.KindGrant, 50)
	buy(40, "first")
	told("a fifth is left")
	buy(5, "second")
	told("less is left", 9)
	move(credit.KindAdjustment, -2)
	told("once")
	move(credit.KindGrant, 47) // the balance is 50 again
	move(credit.KindAdjustment, -45)
	told("after another grant", 5)
}
