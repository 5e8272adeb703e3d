package process

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
)

// Of the kept wallets: the ids that format 2 gave them.
const (
	firstSession  = "05T2WJPCFGMTJTZ4W5YNP54BP6"
	secondSession = "5R6J2CCNGKDJKQAFFRJWZPM3NQ"
	turnThatEnds  = "01KJPWD6M00000000000000002"
	turnThatDied  = "01KJPWD6M00000000000000003"
)

// TestKeptWalletsOfFormat2GoOn opens a folder of format 2 with holds in flight, sessions and budgets. They are read as
// they were. A hold is settled, the others are released, each once, and nothing is lost or counted twice.
func TestKeptWalletsOfFormat2GoOn(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	if err := restore(t.Context(), "testdata/format-2-wallets.backup", folder); err != nil {
		t.Fatal(err)
	}
	now := fixture.Epoch.Add(time.Minute)
	p, err := openAt(t, folder, now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	bank := &credit.Service{
		Store: fixture.Join(p.Stores), IDs: ids.NewSource(nil), Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		AloneSince: fixture.Epoch.Add(time.Second),
	}
	ctx := t.Context()
	standing := func(account string) credit.Standing {
		t.Helper()
		s, err := bank.Standing(ctx, account, now)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	session := func(id string, free, used int) credit.Session {
		return credit.Session{ID: id, Cost: 1, Tokens: 1000, Free: free, Used: used, OpenedAt: fixture.Epoch, ExpiresAt: fixture.Epoch.Add(time.Hour)}
	}
	refunded := session("refunded", 1000, 0)
	refunded.Closed = true
	same := func(when, account string, want credit.Standing) {
		t.Helper()
		if d := cmp.Diff(want, standing(account), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s, %s (-want +got):\n%s", when, account, d)
		}
	}
	want := credit.Standing{
		Balance: 3, Entries: 6, Last: secondSession, Day: 15_500, Month: 15_500,
		Sessions: []credit.Session{session(firstSession, 0, 100), session(secondSession, 100, 0), refunded},
	}
	same("as it was", "acme", want)
	same("as it was", "idle", credit.Standing{Balance: 3, Entries: 1})
	same("as it was", "limited", credit.Standing{Day: 9_000, Month: 9_000})

	settleKept(t, bank)
	want.Day, want.Month, want.Sessions[0] = 10_500, 10_500, session(firstSession, 350, 350)
	same("one turn ended", "acme", want)

	for _, released := range []int{2, 0} {
		if swept, err := bank.Sweep(ctx); err != nil || swept.Released != released || swept.Uneven != 0 {
			t.Errorf("%+v, %v; %d are to be released", swept, err, released)
		}
	}
	want.Day, want.Month = 3_500, 3_500
	want.Sessions[0], want.Sessions[1] = session(firstSession, 650, 350), session(secondSession, 1000, 0)
	same("the others were released", "acme", want)
	same("the others were released", "limited", credit.Standing{})

	now = now.Add(time.Hour)
	if _, err := bank.Move(ctx, "acme", credit.Movement{Kind: credit.KindRefund, Of: "expired", Reason: "no", Actor: "ana"}); err != nil {
		t.Error(err)
	}
	if _, err := bank.Move(ctx, "idle", credit.Movement{Kind: credit.KindAdjustment, Amount: -1, Reason: "no", Actor: "ana"}); err != nil {
		t.Error(err)
	}
	for account, balance := range map[string]int64{"acme": 4, "idle": 2} {
		if audit, err := bank.Store.AddUp(ctx, account); err != nil || !audit.Balanced() || audit.Balance != balance {
			t.Errorf("%s: %+v, %v", account, audit, err)
		}
	}
	var outcomes []string
	err = bank.Store.Turns(ctx, "acme", fixture.Epoch.AddDate(-1, 0, 0), now.AddDate(1, 0, 0), func(turn credit.Turn) bool {
		outcomes = append(outcomes, turn.ID+" "+turn.ChatID+" "+turn.Outcome)
		return true
	})
	if d := cmp.Diff([]string{
		turnThatDied + " chat-of-" + turnThatDied + " released", turnThatEnds + "  message", "01KJPWD6M00000000000000001  message",
	}, outcomes); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

// settleKept settles a hold of the kept wallets.
func settleKept(t *testing.T, bank *credit.Service) {
	t.Helper()
	ctx := t.Context()
	h, err := bank.Kept(ctx, credit.Hold{Account: "acme", ID: turnThatEnds})
	if err != nil || h.Tokens() != 600 || h.Micros != 8_000 || h.For.ChatID != "chat-of-"+turnThatEnds {
		t.Fatalf("%+v, %v", h, err)
	}
	turn := credit.Turn{ID: h.ID, At: h.At, Outcome: "message", Charged: 250, Input: 250, Micros: 3_000}
	for range 2 {
		if err := bank.Settle(ctx, h, turn); err != nil {
			t.Fatal(err)
		}
	}
}
