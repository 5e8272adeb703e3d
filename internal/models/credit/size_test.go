package credit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"piloto/infra/local/fixture/table"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
)

// sum adds up the sessions of an account.
func (b *bank) sum(t *testing.T) (sessions, tokens, free, used int) {
	t.Helper()
	s := b.standing(t)
	for _, session := range s.Sessions {
		tokens, free, used = tokens+session.Tokens, free+session.Free, used+session.Used
	}
	return len(s.Sessions), tokens, free, used
}

// TestAWalletKeepsFewSessionsAndNoTokenIsLost: the fullest session is closed when another is bought, its tokens go on,
// and one that a turn holds stays. A session that is gone can be refunded.
func TestAWalletKeepsFewSessionsAndNoTokenIsLost(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 100)
	const bought = credit.MaxSessions + 10
	var held credit.Hold
	for i := range bought {
		if _, err := b.Open(ctx, account, credit.Purchase{ID: ids.Derive(fmt.Sprint(i)), Actor: "ana", Reason: "test", Units: 1}, policy); err != nil {
			t.Fatal(err)
		}
		h, err := b.turn(b.IDs.New(b.clock()), 900, 0, credit.Limits{})
		switch {
		case err != nil:
			t.Fatal(err)
		case i == 0:
			held = h
		default:
			if err := b.Settle(ctx, h, credit.Turn{ID: h.ID, At: h.At, Charged: 300}); err != nil {
				t.Fatal(err)
			}
		}
		b.pass(time.Second) // so that later sessions end later
	}
	sessions, tokens, free, used := b.sum(t)
	if sessions > credit.MaxSessions || tokens-used-free != 900 || free != bought*1000-900-(bought-1)*300 {
		t.Errorf("%d sessions, %d tokens: %d free, %d used", sessions, tokens, free, used)
	}
	if err := b.Settle(ctx, held, credit.Turn{ID: held.ID, At: held.At, Charged: 500}); err != nil {
		t.Error(err)
	}
	if _, _, after, _ := b.sum(t); after != free+400 {
		t.Errorf("%d free, then %d", free, after)
	}
	left := map[string]bool{}
	for _, s := range b.standing(t).Sessions {
		left[s.ID] = true
	}
	if !left[held.Parts[0].SessionID] {
		t.Error("the session that a turn held is gone")
	}
	for i := range bought {
		if id := ids.Derive(fmt.Sprint(i)); !left[id] {
			if _, err := b.Move(ctx, account, credit.Movement{Kind: credit.KindRefund, Of: id, Reason: "x"}); err != nil {
				t.Error(err)
			}
			break
		}
	}
	b.even(t, 100-bought+1)
}

func TestAnAccountHasAtMostSoManyHolds(t *testing.T) {
	b := newBank(table.New(t))
	b.Patience = 50 * time.Millisecond
	take := func() (credit.Hold, error) { return b.turn(b.IDs.New(b.clock()), 0, 10, credit.Limits{Day: 1_000_000}) }
	var last credit.Hold
	for range credit.MaxHolds {
		var err error
		if last, err = take(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := take(); !errors.Is(err, credit.ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	spent := credit.Turn{ID: b.IDs.New(b.clock()), At: b.clock(), Micros: 7}
	if err := b.Settle(ctx, credit.Hold{Account: account}, spent); err != nil {
		t.Errorf("money that is spent already: %v", err)
	}
	if err := b.Settle(ctx, last, credit.Turn{ID: last.ID, At: last.At, Micros: 3}); err != nil {
		t.Error(err)
	}
	if _, err := take(); err != nil {
		t.Errorf("after one ended: %v", err)
	}
	if s := b.standing(t); s.Day != credit.MaxHolds*10+10 {
		t.Errorf("%+v", s)
	}
}

// TestUsageTellsNewTokensFromCached, also of a record that says more was cached than read.
func TestUsageTellsNewTokensFromCached(t *testing.T) {
	a := credit.Adder{By: credit.ByModel}
	for _, used := range [][2]int{{900, 700}, {100, 0}, {10, 50}} {
		a.Add(credit.Turn{Provider: "p", Model: "m", Input: used[0], Cached: used[1], Output: 7})
	}
	if got := a.Sums()[0]; got.New != 300 || got.Cached != 750 || got.Input != 1010 || got.Output != 21 {
		t.Errorf("%+v", got)
	}
}

// TestCostsByTheListAreCounted, because they are an estimate.
func TestCostsByTheListAreCounted(t *testing.T) {
	var a credit.Adder
	for _, priced := range []string{"table", credit.PricedByList, "override", credit.PricedByRule, "free", "", credit.PricedByList} {
		a.Add(credit.Turn{Priced: priced})
	}
	if got := a.Sums(); len(got) != 1 || got[0].Turns != 7 || got[0].Listed != 3 {
		t.Errorf("%+v", got)
	}
}
