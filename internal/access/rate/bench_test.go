package rate_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/ids"
)

// BenchmarkTake measures the cost that counting adds to a turn: in one process, and over the
// table, beside the read that authenticates the caller.
func BenchmarkTake(b *testing.B) {
	table := fixture.Table(b)
	log := slog.New(slog.DiscardHandler)
	limits := rate.Limits{Turns: 1_000_000}
	at := noon
	take := func(m *rate.Meter) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				at = at.Add(time.Millisecond)
				if _, err := m.Take(context.Background(), rate.Turns, ana, at); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("process", take(&rate.Meter{Limits: limits, Own: rate.NewMemory(), Log: log}))
	b.Run("table", take(&rate.Meter{Limits: limits, Own: rate.NewMemory(), Shared: table.Access, Log: log}))
	if err := table.Access.PutToken(context.Background(), auth.Token{Hash: ids.Hash("t"), Kind: auth.KindToken, Account: "acme", User: "ana", CreatedAt: noon}); err != nil {
		b.Fatal(err)
	}
	b.Run("identify", func(b *testing.B) {
		for b.Loop() {
			if _, err := auth.Authenticate(context.Background(), table.Access, "t", noon, auth.KindToken); err != nil {
				b.Fatal(err)
			}
		}
	})
}
