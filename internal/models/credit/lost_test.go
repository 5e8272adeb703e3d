package credit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/infra/local/fixture/table"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// losing is an HTTP client for the table. Once armed, it executes one update and loses its response.
type losing struct {
	aws.HTTPClient
	mu    sync.Mutex
	armed func()
}

func (l *losing) arm(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = f
}

func (l *losing) Do(r *http.Request) (*http.Response, error) {
	res, err := l.HTTPClient.Do(r)
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
		return res, err
	}
	l.mu.Lock()
	f := l.armed
	l.armed = nil
	l.mu.Unlock()
	if f != nil {
		f()
		return nil, context.Canceled
	}
	return res, err
}

func need(tokens int) credit.Need {
	return credit.Need{Tokens: tokens, Micros: 1_000, Policy: policy, Limits: credit.Limits{Day: 1_000_000}, Actor: "ana", Reason: "turn"}
}

// TestAHoldIsReleasedWhenItsResponseWasLost: a person stops the turn, or the response is lost, while a hold is
// taken or extended.
func TestAHoldIsReleasedWhenItsResponseWasLost(t *testing.T) {
	for _, longer := range []bool{false, true} {
		var way *losing
		rows, _, _ := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { way = &losing{HTTPClient: c}; return way })
		b := newBank(rows)
		b.grant(t, 5)
		if _, err := b.Open(ctx, account, credit.Purchase{ID: ids.Derive("x"), Actor: "ana", Reason: "test", Units: 1}, policy); err != nil {
			t.Fatal(err)
		}
		turn := credit.Turn{ID: b.IDs.New(b.clock()), At: b.clock(), Outcome: credit.OutcomeStopped}
		hold := credit.Hold{ID: turn.ID, Account: account, For: turn}
		if longer {
			var err error
			if hold, err = b.Cover(ctx, hold, need(400)); err != nil {
				t.Fatal(err)
			}
			turn.Charged, turn.Micros = 100, 100
		}
		asking, stop := context.WithCancel(ctx)
		way.arm(stop)
		hold, err := b.Cover(asking, hold, need(300))
		if err == nil && !longer {
			t.Log("the SDK asked again by itself")
		}
		if err := b.Settle(ctx, hold, turn); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			b.pass(10 * time.Minute)
			if _, err := b.Sweep(ctx); err != nil {
				t.Error(err)
			}
		}
		if s := b.standing(t); s.Sessions[0].Free+s.Sessions[0].Used != 1000 || s.Sessions[0].Used != turn.Charged || s.Day != turn.Micros {
			t.Errorf("longer %v, cover said %v: %+v", longer, err, s)
		}
	}
}

// TestAHoldThatIsAskedForAgainIsTakenOnce: the response to taking or extending a hold is lost, and the SDK repeats the
// write. The turn goes on.
func TestAHoldThatIsAskedForAgainIsTakenOnce(t *testing.T) {
	var way *losing
	rows, _, _ := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { way = &losing{HTTPClient: c}; return way })
	b := newBank(rows)
	b.grant(t, 5)
	hold := credit.Hold{ID: b.IDs.New(b.clock()), Account: account}
	if _, err := b.Open(ctx, account, credit.Purchase{ID: ids.Derive("x"), Actor: "ana", Reason: "test", Units: 1}, policy); err != nil {
		t.Fatal(err)
	}
	for _, free := range []int{700, 400} {
		way.arm(func() {})
		var err error
		if hold, err = b.Cover(ctx, hold, need(300)); err != nil {
			t.Fatal(err)
		}
		kept, err := b.Kept(ctx, hold)
		if s := b.standing(t); err != nil || !kept.Same(hold) || s.Sessions[0].Free != free || hold.Tokens() != 1000-free {
			t.Errorf("%+v, stored %+v, %v; %+v", hold, kept, err, s)
		}
	}
}

// TestConcurrentTurnsWithCreditAreNeverRefused: each turn uses a session up, many at once.
func TestConcurrentTurnsWithCreditAreNeverRefused(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 1000)
	const turns = 8
	b.together(t, turns, func(ctx context.Context, i int) error { return b.takes(ctx, i, 900, 800) })
	if s := b.standing(t); s.Balance != 1000-turns || len(s.Sessions) != turns {
		t.Errorf("%d sessions, balance %d", len(s.Sessions), s.Balance)
	}
}

// TestTurnsWaitForHeldTokensBeforeBuying: turns that each hold nearly a whole session, and use little of it, run
// one after another in one session. No other session is bought.
func TestTurnsWaitForHeldTokensBeforeBuying(t *testing.T) {
	for _, credits := range []int64{1, 10} {
		b := newBank(table.New(t))
		b.grant(t, credits)
		b.together(t, 5, func(ctx context.Context, i int) error { return b.takes(ctx, i, 900, 10) })
		if s := b.standing(t); s.Balance != credits-1 || len(s.Sessions) != 1 || s.Sessions[0].Used != 50 || s.Sessions[0].Held() != 0 {
			t.Errorf("with %d credits: %+v", credits, s)
		}
	}
}

// TestWaitingForALongHoldEndsBusy: a turn that waited in vain gets ErrBusy and not ErrInsufficient. A turn that has
// begun does not wait while there are credits.
func TestWaitingForALongHoldEndsBusy(t *testing.T) {
	for credits, goesOn := range map[int64]error{1: credit.ErrBusy, 2: nil} {
		b := newBank(table.New(t))
		b.grant(t, credits)
		b.Patience = 50 * time.Millisecond
		cover := func(h credit.Hold, tokens int) (credit.Hold, error) {
			if h.ID == "" {
				h = credit.Hold{ID: b.IDs.New(b.clock()), Account: account}
			}
			return b.Cover(ctx, h, need(tokens))
		}
		if _, err := cover(credit.Hold{}, 600); err != nil {
			t.Fatal(err)
		}
		second, err := cover(credit.Hold{}, 300)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cover(credit.Hold{}, 200); !errors.Is(err, credit.ErrBusy) {
			t.Errorf("with %d credits, one that begins: %v", credits, err)
		}
		if _, err := cover(second, 200); !errors.Is(err, goesOn) {
			t.Errorf("with %d credits, one that goes on: %v", credits, err)
		}
	}
}

// takes runs a turn that holds tokens, and uses some of them a little later.
func (b *bank) takes(ctx context.Context, i, holds, uses int) error {
	id := ids.Derive(fmt.Sprint(i))
	hold, err := b.Cover(ctx, credit.Hold{ID: id, Account: account}, need(holds))
	if err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond)
	return b.Settle(ctx, hold, credit.Turn{ID: id, At: b.clock(), Outcome: credit.OutcomeStopped, Charged: uses, Micros: 10})
}

// together runs do n times at once.
func (b *bank) together(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			if err := do(ctx, i); err != nil {
				t.Errorf("turn %d: %v", i, err)
			}
		})
	}
	close(start)
	all.Wait()
}

func TestAnExpiredSessionHoldsNothing(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 5)
	hold, err := b.Cover(ctx, credit.Hold{ID: b.IDs.New(b.clock()), Account: account}, need(300))
	if err != nil {
		t.Fatal(err)
	}
	more := hold.Parts[0]
	b.pass(61 * time.Minute)
	if _, err := b.Store.Extend(ctx, hold, more, 0, credit.Limits{}, b.clock()); !errors.Is(err, credit.ErrSession) {
		t.Errorf("a minute after it ended: %v", err)
	}
	// Usage beyond the hold leaves a session with 0 tokens, not fewer.
	if err := b.Settle(ctx, hold, credit.Turn{ID: hold.ID, At: hold.At, Charged: 5_000}); err != nil {
		t.Fatal(err)
	}
	s, err := b.Store.Standing(ctx, account, table.Epoch)
	if err != nil || s.Sessions[0].Free != 0 || s.Sessions[0].Used != 5_000 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestCostIsNeverNegative: a provider's count of tokens may exceed an integer's range.
func TestCostIsNeverNegative(t *testing.T) {
	const most = int(^uint(0) >> 1)
	for _, tokens := range []int{-1, 0, 1, 13_835_058, most} {
		for _, price := range []int64{-1, 0, 1, credit.MaxMicros, 1<<63 - 1} {
			if cost := (credit.Price{Input: price, Output: price}).MostOf(llm.Usage{Input: tokens, Output: tokens}); cost < 0 || cost > 2*credit.MaxMicros {
				t.Errorf("%d tokens at %d cost %d", tokens, price, cost)
			}
			for _, cached := range []int{-1, 0, 1, 13_835_058, most} { // what was held is always enough
				p := credit.Price{Input: price, Cached: price / 2, Output: price}
				if cost := p.CostOf(llm.Usage{Input: tokens, Cached: cached, Output: tokens}); cost < 0 || cost > p.MostOf(llm.Usage{Input: tokens, Output: tokens}) {
					t.Errorf("%d tokens at %d, %d of them cached, cost %d", tokens, price, cached, cost)
				}
			}
		}
	}
}

func TestARefundedSessionIsNotOpenedAgain(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 5)
	id := ids.Derive("mine")
	if _, err := b.Open(ctx, account, credit.Purchase{ID: id, Actor: "ana", Reason: "test", Units: 1}, policy); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Move(ctx, account, credit.Movement{Kind: credit.KindRefund, Of: id, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Open(ctx, account, credit.Purchase{ID: id, Actor: "ana", Reason: "test", Units: 1}, policy); !errors.Is(err, credit.ErrSession) {
		t.Errorf("%v", err)
	}
}

// reservations counts the holds that are taken.
type reservations struct {
	credit.Store
	n int
}

// Reserve implements credit.Store.
func (r *reservations) Reserve(ctx context.Context, h credit.Hold, l credit.Limits) error {
	r.n++
	return r.Store.Reserve(ctx, h, l)
}

// A turn that settles what another process settled for it takes no hold for that, which could exceed a limit. One whose
// hold was released is charged all the same.
func TestSettlingAgainTakesNoHold(t *testing.T) {
	for _, released := range []bool{false, true} {
		b := newBank(table.New(t))
		b.grant(t, 1)
		id := b.IDs.New(b.clock())
		h, err := b.turn(id, 100, 2_000, credit.Limits{Day: 2_000})
		if err != nil {
			t.Fatal(err)
		}
		spent, taken := int64(1_500), 0
		if released {
			spent, taken = 1_900, 1
			err = b.Drop(ctx, h)
		} else {
			err = b.Settle(ctx, h, credit.Turn{ID: id, At: b.clock(), Charged: 50, Input: 50, Micros: spent})
		}
		if err != nil {
			t.Fatal(err)
		}
		counted := &reservations{Store: b.Store}
		b.Store = counted
		if err := b.Settle(ctx, credit.Hold{ID: id, Account: h.Account, Asked: true}, credit.Turn{ID: id, At: b.clock(), Micros: 1_900}); err != nil {
			t.Fatal(err)
		}
		if s := b.standing(t); counted.n != taken || s.Day != spent {
			t.Errorf("released %t: %d holds were taken, and %d are spent", released, counted.n, s.Day)
		}
	}
}
