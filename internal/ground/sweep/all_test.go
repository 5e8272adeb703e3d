package sweep_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/ground/sweep"
)

// TestEverySweepRunsToItsEnd although another fails or panics, and every error is reported.
func TestEverySweepRunsToItsEnd(t *testing.T) {
	away := errors.New("the store is away")
	counts, some, err := sweep.All(t.Context(), []sweep.Counted{
		sweep.Counting("failing", func(context.Context) (int, error) { return 1, away }),
		sweep.Counting("panicking", func(context.Context) (int, error) { panic("broken row") }),
		sweep.Counting("idle", func(context.Context) (int, error) { return 0, nil }),
		sweep.Counting("good", func(context.Context) (sweep.Count, error) { return sweep.Count{Done: 2}, nil }),
	})
	if d := cmp.Diff(map[string]any{"failing": 1, "panicking": 0, "idle": 0, "good": sweep.Count{Done: 2}}, counts); d != "" || !some {
		t.Error(d, some)
	}
	var both interface{ Unwrap() []error }
	if !errors.Is(err, away) || !errors.As(err, &both) || len(both.Unwrap()) != 2 {
		t.Errorf("%v", err)
	}
	idle := []sweep.Counted{sweep.Counting("idle", func(context.Context) (int, error) { return 0, nil })}
	if _, some, err := sweep.All(t.Context(), idle); some || err != nil {
		t.Errorf("%v, %v", some, err)
	}
}
