package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// TestARunHasTheCostOfItsRecords: each is counted once, however often it is written, also while the run goes on, and also
// when its hold was released before.
func TestARunHasTheCostOfItsRecords(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(fixture.To("GET", "/rooms", ""))
	settle := func(turn credit.Turn, want error) {
		if err := w.Store.Wallet.Settle(ctx, credit.Hold{ID: turn.ID, Account: fixture.Account}, turn); err != want {
			t.Errorf("%s: %v", turn.ID, err)
		}
	}
	var calls sync.WaitGroup
	for i := range 10 {
		calls.Go(func() {
			turn := credit.Turn{ID: w.IDs.New(w.Clock()), At: w.Clock(), RunID: r.ID, Micros: int64(i), Outcome: "plan"}
			settle(turn, nil)
			settle(turn, credit.ErrAlreadyWritten)
		})
	}
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	calls.Wait()
	at := w.Clock()
	hold := credit.Hold{ID: w.IDs.New(at), Account: fixture.Account, Micros: 900, At: at, Deadline: at.Add(time.Minute), Nonce: "n", Version: 1}
	hold.For = credit.Turn{ID: hold.ID, At: at, RunID: r.ID}
	if err := w.Store.Wallet.Reserve(ctx, hold, credit.Limits{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Wallet.Release(ctx, hold); err != nil {
		t.Fatal(err)
	}
	late := hold.For
	late.Micros = 55
	if err := w.Store.Wallet.SettleLate(ctx, hold, late); err != nil {
		t.Fatal(err)
	}
	settle(credit.Turn{ID: w.IDs.New(at), At: at, RunID: "01KJPWD6M09NWSGA2P6MWZ98ZQ", Micros: 7, Outcome: "plan"}, nil) // the run is gone
	heads, _, err := w.Store.Runs.Runs(ctx, fixture.Account, plan.Filter{}, "", 10)
	if err != nil || len(heads) != 1 || heads[0].Micros != 100 || heads[0].Status != plan.Done {
		t.Error(fmt.Sprintf("%+v", heads), err)
	}
}

// TestTheCostOfATurnWaitsForItsDraft: a turn is charged while the draft that it proposes is stored, in either order.
func TestTheCostOfATurnWaitsForItsDraft(t *testing.T) {
	w := fixture.NewWorld(t)
	old := w.Propose(fixture.To("GET", "/rooms", ""))
	chat, err := w.Store.Chats.Chat(ctx, fixture.Account, old.ChatID)
	if err != nil {
		t.Fatal(err)
	}
	at := w.Clock()
	r := old
	r.ID, r.EventSeq, r.Chain, r.Link = w.IDs.New(at), 0, "", 0
	turn := credit.Turn{ID: w.IDs.New(at), At: at, RunID: r.ID, Micros: 40, Outcome: "plan"}
	begun, settled := make(chan struct{}), make(chan error, 1)
	go func() {
		close(begun)
		settled <- w.Store.Wallet.Settle(ctx, credit.Hold{ID: turn.ID, Account: fixture.Account}, turn)
	}()
	<-begun
	time.Sleep(2 * time.Millisecond)
	card := run.Message(w.IDs, r, conversation.KindPlan, at, locale.Spanish, run.Describe(r.Plan, plan.DroppedFor(&old, r.Plan)))
	if _, err := w.Store.Runs.Propose(ctx, r, chat, &old, run.Record{
		At: at, Type: plan.EventProposed, Data: run.Proposed(r, nil), Messages: []conversation.Message{card},
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-settled; err != nil {
		t.Fatal(err)
	}
	heads, _, err := w.Store.Runs.Runs(ctx, fixture.Account, plan.Filter{}, "", 10)
	i := slices.IndexFunc(heads, func(h plan.Head) bool { return h.ID == r.ID })
	if err != nil || i < 0 || heads[i].Micros != turn.Micros {
		t.Errorf("run %d of %d has not the cost: %v", i, len(heads), err)
	}
}
