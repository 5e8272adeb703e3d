package step_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// bounded notes the bounds of what is sent.
type bounded struct {
	until time.Time
	limit int64
}

func (b *bounded) Send(ctx context.Context, _ tool.Request, _ tool.Keys, limit int64) (tool.Answer, error) {
	b.until, _ = ctx.Deadline()
	b.limit = limit
	return tool.Answer{Status: 200}, nil
}

// A look takes at most 10 seconds, and reads at most 256 KB.
func TestALookIsBounded(t *testing.T) {
	w := fixture.NewWorld(t)
	if _, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, w.Server.ID, tool.Reads{Mode: tool.ReadsOn}); err != nil {
		t.Fatal(err)
	}
	r := w.Propose(fixture.To("GET", "/rooms", ""))
	to := &bounded{}
	reader := step.Reader{Stores: w.StepStores(), Schemas: schema.Compiler{}, Sender: to, Log: slog.New(slog.DiscardHandler)}
	before := time.Now()
	if _, err := reader.Read(t.Context(), r.Bound(r.Plan.Steps[0])); err != nil {
		t.Fatal(err)
	}
	if first, last := before.Add(10*time.Second), time.Now().Add(10*time.Second); to.until.Before(first) || to.until.After(last) {
		t.Errorf("it may take until %s, which is not between %s and %s", to.until, first, last)
	}
	if to.limit != 256<<10 {
		t.Errorf("it may read %d bytes", to.limit)
	}
}
