package credit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/infra/local/fixture/table"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
	"piloto/internal/store/wallet"
)

const account = "acme"

var (
	ctx    = context.Background()
	policy = credit.Policy{SessionCost: 1, SessionTokens: 1000, SessionMinutes: 60}
)

// bank is the service over a table, with a clock that the test moves.
type bank struct {
	*credit.Service
	table *wallet.Store
	mu    sync.Mutex
	now   time.Time
}

func newBank(rows *kv.Table) *bank {
	b := &bank{table: wallet.New(rows), now: table.Epoch}
	b.Service = &credit.Service{ // it waits long, because the machine of a test may be slow
		Store: b.table, IDs: ids.NewSource(nil), Now: b.clock, Log: slog.New(slog.DiscardHandler), WriteTime: time.Minute, Patience: 5 * time.Minute,
	}
	return b
}

func (b *bank) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bank) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bank) grant(t testing.TB, n int64) credit.Entry {
	t.Helper()
	e, err := b.Move(ctx, account, credit.Movement{Kind: credit.KindGrant, Amount: n, Reason: "bought", Actor: "ana"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (b *bank) standing(t testing.TB) credit.Standing {
	t.Helper()
	s, err := b.Store.Standing(ctx, account, b.clock())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// even fails unless the balance is the sum of the ledger.
func (b *bank) even(t testing.TB, balance int64) {
	t.Helper()
	audit, err := b.Store.AddUp(ctx, account)
	if err != nil || !audit.Balanced() || audit.Balance != balance {
		t.Errorf("balance %d wanted: %+v, %v", balance, audit, err)
	}
}

// TestAThousandOpensSpendABalanceOfTenOnce (guarantee I11): transactions are cancelled by conflicts, responses are
// lost, and every caller retries after eleven minutes, when DynamoDB has forgotten its own idempotency tokens.
func TestAThousandOpensSpendABalanceOfTenOnce(t *testing.T) {
	var faults *table.Faults
	rows, _, _ := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient {
		faults = &table.Faults{HTTPClient: c, Conflicts: 0.2, Lost: 0.05}
		return faults
	})
	b := newBank(rows)
	faults.Stop()
	b.grant(t, 10)
	faults.Resume()
	clients := 1000
	if testing.Short() {
		clients = 200
	}
	opened := make([]string, clients)
	try := func() {
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				<-start
				s, err := b.Open(ctx, account, credit.Purchase{ID: ids.Derive("client", fmt.Sprint(i)), Actor: "ana", Reason: "test", Units: 1}, policy)
				switch {
				case err == nil:
					opened[i] = s.ID
				case !errors.Is(err, credit.ErrInsufficient) && fault.KindOf(err) != fault.Internal:
					t.Errorf("client %d: %v", i, err)
				}
			})
		}
		close(start)
		all.Wait()
	}
	try()
	b.pass(11 * time.Minute)
	try()
	faults.Stop()
	sessions := map[string]bool{}
	for _, s := range b.standing(t).Sessions {
		if s.Free != 1000 || s.Cost != 1 {
			t.Errorf("%+v", s)
		}
		sessions[s.ID] = true
	}
	if len(sessions) != 10 {
		t.Errorf("%d sessions", len(sessions))
	}
	b.even(t, 0)
	entries, _, err := b.Store.Ledger(ctx, account, "", 100)
	if err != nil || len(entries) != 11 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	paid := map[string]int{}
	for _, e := range entries {
		if e.Kind == credit.KindSession {
			paid[e.SessionID]++
		}
	}
	for id := range sessions {
		if paid[id] != 1 {
			t.Errorf("session %s was paid %d times", id, paid[id])
		}
	}
	told := 0
	for _, id := range opened {
		if id != "" {
			told++
			if !sessions[id] {
				t.Errorf("somebody was told that %s is open", id)
			}
		}
	}
	if told != 10 {
		t.Errorf("%d were told that theirs is open", told)
	}
}

// turn takes a hold for a turn's worst case.
func (b *bank) turn(id string, tokens int, micros int64, l credit.Limits) (credit.Hold, error) {
	return b.Cover(ctx, credit.Hold{ID: id, Account: account}, credit.Need{Tokens: tokens, Micros: micros, Policy: policy, Limits: l, Actor: "ana", Reason: "turn"})
}

// TestAKnownSessionIsTriedFirst: a hold takes the session that the turn saw without another look, and looks when that
// one cannot give the tokens any more.
func TestAKnownSessionIsTriedFirst(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 2)
	first, err := b.turn(b.IDs.New(b.clock()), policy.SessionTokens-100, 0, credit.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	known := first.Parts[0].SessionID
	for _, c := range []struct {
		name, session string
		tokens        int
		same          bool
	}{
		{"it has room", known, 60, true},
		{"others took its room", known, 60, false},
		{"it is gone", "gone", 60, false},
	} {
		need := credit.Need{Tokens: c.tokens, Policy: policy, Actor: "ana", Reason: "turn", Session: c.session}
		if !c.same { // nobody gives the room back
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if err := b.Settle(ctx, first, credit.Turn{ID: first.ID, At: b.clock(), Outcome: "message", Charged: policy.SessionTokens - 100}); err != nil {
				t.Fatal(err)
			}
		}
		h, err := b.Cover(ctx, credit.Hold{ID: b.IDs.New(b.clock()), Account: account}, need)
		if err != nil || len(h.Parts) != 1 || (h.Parts[0].SessionID == known) != c.same {
			t.Errorf("%s: %+v, %v", c.name, h, err)
		}
		if c.same {
			if err := b.Settle(ctx, h, credit.Turn{ID: h.ID, At: b.clock(), Outcome: "message", Charged: c.tokens}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.even(t, 0)
}

// TestConcurrentTurnsNeverSpendMoreThanThereIs checks that sessions are shared, limits are kept, and the ledger
// adds up.
func TestConcurrentTurnsNeverSpendMoreThanThereIs(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 3)
	limits := credit.Limits{Day: 50_000, Month: 60_000}
	const turns = 120
	var mu sync.Mutex
	var done, noCredit, noBudget, used int
	var spent int64
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range turns {
		all.Go(func() {
			<-start
			id := b.IDs.New(b.clock())
			h, err := b.turn(id, 100, 2_000, limits)
			mu.Lock()
			switch {
			case errors.Is(err, credit.ErrInsufficient):
				noCredit++
			case errors.Is(err, credit.ErrBudget):
				noBudget++
			case err != nil:
				t.Error(err)
			}
			mu.Unlock()
			if err != nil {
				return
			}
			if s := b.standing(t); s.Balance < 0 || s.Day > limits.Day {
				t.Errorf("%+v", s)
			}
			use := 40 + i%50
			if err := b.Settle(ctx, h, credit.Turn{ID: id, At: b.clock(), Charged: use, Input: use, Micros: 1_000}); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			done, used, spent = done+1, used+use, spent+1_000
		})
	}
	close(start)
	all.Wait()
	s := b.standing(t)
	free, usedUp, tokens := 0, 0, 0
	for _, session := range s.Sessions {
		free, usedUp, tokens = free+session.Free, usedUp+session.Used, tokens+session.Tokens
	}
	if free+usedUp != tokens || usedUp != used || s.Day != spent || s.Month != spent {
		t.Errorf("%d done: free %d, used %d of %d; day %d, month %d, spent %d", done, free, usedUp, tokens, s.Day, s.Month, spent)
	}
	if done == 0 || done+noCredit+noBudget != turns || len(s.Sessions) > 3 {
		t.Errorf("%d done, %d without credit, %d without budget, %d sessions", done, noCredit, noBudget, len(s.Sessions))
	}
	b.even(t, 3-int64(len(s.Sessions)))
}

func TestConcurrentTurnsOpenOneSession(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 100)
	start := make(chan struct{})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			<-start
			if _, err := b.turn(b.IDs.New(b.clock()), 100, 0, credit.Limits{}); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	all.Wait()
	if s := b.standing(t); len(s.Sessions) != 1 || s.Sessions[0].Free != 0 || s.Balance != 99 {
		t.Errorf("%+v", s)
	}
}

// TestTheSweepReleasesACutOffHoldOnce: the process crashes between hold and settle.
func TestTheSweepReleasesACutOffHoldOnce(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 1)
	hold, err := b.turn("01ARZ3NDEKTSV4RRFFQ69G5FAV", 400, 7_000, credit.Limits{Day: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	if s := b.standing(t); s.Sessions[0].Free != 600 || s.Day != 7_000 {
		t.Errorf("held: %+v", s)
	}
	b.pass(credit.HoldLife - time.Second)
	if swept, err := b.Sweep(ctx); err != nil || swept.Released != 0 {
		t.Errorf("before its deadline: %+v, %v", swept, err)
	}
	b.pass(2 * time.Second)
	var mu sync.Mutex
	released := 0
	var all sync.WaitGroup
	for range 8 { // concurrent sweeps
		all.Go(func() {
			swept, err := b.Sweep(ctx)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			released += swept.Released
		})
	}
	all.Wait()
	if s := b.standing(t); released != 1 || s.Sessions[0].Free != 1000 || s.Sessions[0].Used != 0 || s.Day != 0 || s.Month != 0 {
		t.Errorf("released %d times: %+v", released, s)
	}
	// The turn was only slow: its usage is charged, once.
	turn := credit.Turn{ID: hold.ID, At: hold.At, Outcome: "message", Charged: 250, Input: 250, Micros: 3_000}
	for range 2 {
		if err := b.Settle(ctx, hold, turn); err != nil {
			t.Fatal(err)
		}
	}
	s := b.standing(t)
	if s.Sessions[0].Free != 750 || s.Sessions[0].Used != 250 || s.Day != 3_000 {
		t.Errorf("settled late: %+v", s)
	}
	var turns []credit.Turn
	err = b.Store.Turns(ctx, account, table.Epoch.Add(-100*365*24*time.Hour), b.clock().Add(time.Hour), func(t credit.Turn) bool { turns = append(turns, t); return true })
	if err != nil || len(turns) != 1 || turns[0].Outcome != "message" {
		t.Errorf("%+v, %v", turns, err)
	}
	b.even(t, 0)
}

// TestTheHoldOfALongTurnLastsAsLongAsTheTurn: the sweep does not release what a call that is under way needs.
func TestTheHoldOfALongTurnLastsAsLongAsTheTurn(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 1)
	b.Life = 11 * time.Minute
	if _, err := b.turn("01ARZ3NDEKTSV4RRFFQ69G5FAV", 400, 7_000, credit.Limits{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pass     time.Duration
		released int
	}{{10 * time.Minute, 0}, {time.Minute, 1}} {
		b.pass(c.pass)
		if swept, err := b.Sweep(ctx); err != nil || swept.Released != c.released {
			t.Errorf("after %v: %+v, %v", c.pass, swept, err)
		}
	}
}

// TestTTLAndClocksNeverAuthorise (guarantee I27): the condition of the write refuses an expired session, though its
// item is still there and the reader took it for valid. A clock that goes backwards changes no refusal.
func TestTTLAndClocksNeverAuthorise(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 2)
	session, err := b.Open(ctx, account, credit.Purchase{ID: b.IDs.New(b.clock()), Actor: "ana", Reason: "test", Units: 1}, policy)
	if err != nil {
		t.Fatal(err)
	}
	hold := func(at time.Time) error {
		return b.Store.Reserve(ctx, credit.Hold{
			ID: b.IDs.New(at), Account: account, At: at, Deadline: at.Add(credit.HoldLife),
			Nonce: b.IDs.New(at), Version: 1, Parts: []credit.Part{{SessionID: session.ID, Tokens: 1}},
		}, credit.Limits{})
	}
	for _, c := range []struct {
		at time.Duration
		ok bool
	}{
		{0, true}, {-10 * time.Minute, true}, {10 * time.Minute, true}, {time.Hour - time.Millisecond, true}, {time.Hour, false}, {70 * time.Minute, false}, {59 * time.Minute, true},
	} {
		err := hold(table.Epoch.Add(c.at))
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, credit.ErrSession) {
			t.Errorf("after %v: %v", c.at, err)
		}
	}
	b.pass(time.Hour)
	if s := b.standing(t); len(s.Sessions) != 0 {
		t.Errorf("it is listed past its time: %+v", s.Sessions)
	}
	if _, err := b.turn(b.IDs.New(b.clock()), 10, 0, credit.Limits{}); err != nil || b.standing(t).Balance != 0 {
		t.Errorf("a turn past its time opens another: %v, %+v", err, b.standing(t))
	}
}

func TestAnInvalidMovementChangesNothing(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 5)
	for name, m := range map[string]credit.Movement{
		"a negative grant":      {Kind: credit.KindGrant, Amount: -1, Reason: "x"},
		"a grant of nothing":    {Kind: credit.KindGrant, Reason: "x"},
		"a grant of too much":   {Kind: credit.KindGrant, Amount: credit.MaxCredits + 1, Reason: "x"},
		"without a reason":      {Kind: credit.KindGrant, Amount: 1, Reason: "  "},
		"an adjustment of 0":    {Kind: credit.KindAdjustment, Reason: "x"},
		"an unknown kind":       {Kind: "gift", Amount: 1, Reason: "x"},
		"a session by hand":     {Kind: credit.KindSession, Amount: -1, Reason: "x"},
		"a refund of an amount": {Kind: credit.KindRefund, Amount: 3, Of: "x", Reason: "x"},
		"a refund of nothing":   {Kind: credit.KindRefund, Reason: "x"},
		"a grant of an entry":   {Kind: credit.KindGrant, Amount: 1, Of: "x", Reason: "x"},
	} {
		if _, err := b.Move(ctx, account, m); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.Move(ctx, account, credit.Movement{Kind: credit.KindRefund, Of: ids.NewTrace(), Reason: "x"}); !errors.Is(err, credit.ErrEntryNotFound) {
		t.Errorf("of an entry of nobody: %v", err)
	}
	if _, err := b.Move(ctx, account, credit.Movement{Kind: credit.KindAdjustment, Amount: -6, Reason: "x"}); !errors.Is(err, credit.ErrInsufficient) {
		t.Errorf("below zero: %v", err)
	}
	b.even(t, 5)
}

func TestAMovementHappensOnceForEachKey(t *testing.T) {
	b := newBank(table.New(t))
	m := credit.Movement{Kind: credit.KindGrant, Amount: 5, Reason: "bought", Actor: "ana", Key: "k"}
	first, err := b.Move(ctx, account, m)
	if err != nil {
		t.Fatal(err)
	}
	b.pass(time.Hour)
	again, err := b.Move(ctx, account, m)
	if err != nil || again.ID != first.ID || !again.At.Equal(first.At) {
		t.Errorf("again: %+v, %v", again, err)
	}
	m.Amount = 6
	if _, err := b.Move(ctx, account, m); !errors.Is(err, credit.ErrOther) {
		t.Errorf("another with the same key: %v", err)
	}
	session, err := b.Open(ctx, account, credit.Purchase{ID: b.IDs.New(b.clock()), Actor: "ana", Reason: "test", Units: 1}, policy)
	if err != nil {
		t.Fatal(err)
	}
	refund := credit.Movement{Kind: credit.KindRefund, Of: session.ID, Reason: "x", Key: "k"}
	if _, err := b.Move(ctx, account, refund); !errors.Is(err, credit.ErrOther) {
		t.Errorf("a refund with the same key: %v", err)
	}
	refund.Key = "r"
	given, err := b.Move(ctx, account, refund)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := b.Move(ctx, account, refund); err != nil || same.ID != given.ID {
		t.Errorf("the refund again: %+v, %v", same, err)
	}
	if _, err := b.Move(ctx, "other", m); err != nil {
		t.Errorf("the same key of another account: %v", err)
	}
	b.even(t, 5)
}

func TestARefundReturnsCreditOnceAndClosesItsSession(t *testing.T) {
	b := newBank(table.New(t))
	granted := b.grant(t, 5)
	session, err := b.Open(ctx, account, credit.Purchase{ID: b.IDs.New(b.clock()), Actor: "ana", Reason: "test", Units: 2}, policy)
	if err != nil {
		t.Fatal(err)
	}
	held, err := b.turn(b.IDs.New(b.clock()), 10, 0, credit.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Move(ctx, account, credit.Movement{Kind: credit.KindRefund, Of: granted.ID, Reason: "x"}); !errors.Is(err, credit.ErrNotRefundable) {
		t.Errorf("of a grant: %v", err)
	}
	refund := credit.Movement{Kind: credit.KindRefund, Of: session.ID, Reason: "it did not work"}
	e, err := b.Move(ctx, account, refund)
	if err != nil || e.Amount != 2 || e.SessionID != session.ID {
		t.Fatalf("%+v, %v", e, err)
	}
	if _, err := b.Move(ctx, account, refund); !errors.Is(err, credit.ErrNotRefundable) {
		t.Errorf("a second time: %v", err)
	}
	b.even(t, 5)
	// The hold of the session can still be settled; the refund does not reopen the session.
	if err := b.Settle(ctx, held, credit.Turn{ID: held.ID, At: b.clock(), Charged: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.turn(b.IDs.New(b.clock()), 10, 0, credit.Limits{}); err != nil {
		t.Fatal(err)
	}
	if s := b.standing(t); s.Balance != 4 || len(s.Sessions) != 2 {
		t.Errorf("the closed session was used: %+v", s)
	}
}

// TestASingleProcessReleasesHoldsOfThePreviousProcessAtOnce: where one process is alone, the holds of the dead
// process belong to no turn. The process keeps its own holds.
func TestASingleProcessReleasesHoldsOfThePreviousProcessAtOnce(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 1)
	take := func(id string) {
		if _, err := b.turn(id, 400, 7_000, credit.Limits{Day: 20_000}); err != nil {
			t.Fatal(err)
		}
	}
	take("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	b.pass(time.Second)
	b.AloneSince = b.clock()
	take("01ARZ3NDEKTSV4RRFFQ69G5FAW")
	for range 2 {
		if _, err := b.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		if s := b.standing(t); s.Sessions[0].Free != 600 || s.Day != 7_000 {
			t.Errorf("%+v", s)
		}
	}
	b.pass(credit.HoldLife + time.Second)
	if swept, err := b.Sweep(ctx); err != nil || swept.Released != 1 || b.standing(t).Sessions[0].Free != 1_000 {
		t.Errorf("its own, past its deadline: %+v, %v", swept, err)
	}
}

// TestTheSweepReportsALedgerThatDoesNotAddUp: the balance was changed by hand.
func TestTheSweepReportsALedgerThatDoesNotAddUp(t *testing.T) {
	rows, config, name := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	b := newBank(rows)
	b.grant(t, 5)
	b.pass(2 * time.Minute)
	if swept, err := b.Sweep(ctx); err != nil || swept.Audited != 1 || swept.Uneven != 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	if swept, err := b.Sweep(ctx); err != nil || swept.Audited != 0 {
		t.Errorf("it is added up again though nothing moved: %+v, %v", swept, err)
	}
	b.grant(t, 1)
	_, err := dynamodb.NewFromConfig(config).UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &name, UpdateExpression: aws.String("SET balance = balance + :n"),
		Key:                       map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "A#acme#W"}, "SK": &types.AttributeValueMemberS{Value: "WALLET"}},
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.pass(2 * time.Minute)
	for range 2 { // until a person corrects it
		if swept, err := b.Sweep(ctx); err == nil || swept.Uneven != 1 {
			t.Errorf("%+v, %v", swept, err)
		}
	}
}

func TestSpreadChargesEveryTokenOnce(t *testing.T) {
	h := credit.Hold{Parts: []credit.Part{{Tokens: 10}, {Tokens: 5}}}
	for used, want := range map[int][2]int{0: {0, 0}, 7: {7, 0}, 10: {10, 0}, 12: {10, 2}, 15: {10, 5}, 40: {10, 30}} {
		if got := h.Spread(used); got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%d: %v", used, got)
		}
	}
	if got := (credit.Hold{}).Spread(5); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
