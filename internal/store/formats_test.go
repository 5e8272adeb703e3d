package store_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/models/credit"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

// TestRowsOfOtherFormatsAreNotReadOrChanged has the row of a run, and that of a wallet, of an older format, of a newer one, and
// of none.
func TestRowsOfOtherFormatsAreNotReadOrChanged(t *testing.T) {
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	client := dynamodb.NewFromConfig(config)
	w := fixture.NewWorldOver(t, table)
	r := w.Propose(fixture.To("POST", "/bookings", `{"room":"norte"}`))
	grant := func(key string) error {
		return table.Wallet.Move(ctx, fixture.Account, credit.Entry{ID: w.IDs.New(w.Clock()), Kind: credit.KindGrant, Amount: 5, Actor: "ana", Reason: "test", At: w.Clock(), Key: key})
	}
	if err := grant("first"); err != nil {
		t.Fatal(err)
	}
	row := func(pk, sk string) kv.Item {
		t.Helper()
		out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: kv.Key{PK: pk, SK: sk}.Item()})
		if err != nil || out.Item == nil {
			t.Fatal(pk, sk, err)
		}
		return out.Item
	}
	hold := credit.Hold{ID: "t", Account: fixture.Account, Nonce: "n", Version: 1, Micros: 7, At: w.Clock(), Deadline: w.Clock()}
	turn := credit.Turn{ID: "t", At: w.Clock(), Outcome: "message", Micros: 7}
	for _, kind := range []struct {
		pk, sk string
		do     map[string]func() error
	}{
		{kv.Run(fixture.Account, r.ID), "RUN", map[string]func() error{
			"read":    func() error { _, err := table.Runs.Run(ctx, fixture.Account, r.ID); return err },
			"confirm": func() error { return w.Confirm(r) },
		}},
		{kv.Account(fixture.Account) + "#W", "WALLET", map[string]func() error{
			"read":        func() error { _, err := table.Wallet.Standing(ctx, fixture.Account, w.Clock()); return err },
			"move":        func() error { return grant("second") },
			"reserve":     func() error { return table.Wallet.Reserve(ctx, hold, credit.Limits{}) },
			"visit":       func() error { _, err := table.Wallet.Visit(ctx, fixture.Account, w.Clock()); return err },
			"leave":       func() error { return table.Wallet.Leave(ctx, fixture.Account, 1, w.Clock()) },
			"add up":      func() error { _, err := table.Wallet.AddUp(ctx, fixture.Account); return err },
			"settle late": func() error { return table.Wallet.SettleLate(ctx, hold, turn) },
		}},
	} {
		for of, v := range map[string]kv.Value{"older": kv.N(kv.Format - 1), "newer": kv.N(kv.Format + 1), "none": nil} {
			was := row(kind.pk, kind.sk)
			other := kv.Item{}
			for attribute, value := range was {
				other[attribute] = value
			}
			if other["v"] = v; v == nil {
				delete(other, "v")
			}
			put := func(it kv.Item) {
				t.Helper()
				if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
					t.Fatal(err)
				}
			}
			put(other)
			for what, do := range kind.do {
				if err := do(); !errors.Is(err, kv.ErrFormat) {
					t.Errorf("%s %s: %s: %v", of, kind.sk, what, err)
				}
				if d := cmp.Diff(kv.Text(other, "SK"), kv.Text(row(kind.pk, kind.sk), "SK")); d != "" {
					t.Error(d)
				}
			}
			now := row(kind.pk, kind.sk)
			if len(now) != len(other) || kv.Text(now, "DueSK") != kv.Text(other, "DueSK") {
				t.Errorf("%s %s was changed", of, kind.sk)
			}
			put(was)
		}
	}
	if got := w.Read(r.ID).Status; got != plan.Draft {
		t.Errorf("the run is %s", got)
	}
	if s, err := table.Wallet.Standing(ctx, fixture.Account, w.Clock()); err != nil || s.Balance != 5 || s.Entries != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
