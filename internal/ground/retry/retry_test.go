package retry_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/retry"
)

// TestLoopsInsideEachOtherAreOne: three of them make 64 attempts, and the error is told as that of the last one.
func TestLoopsInsideEachOtherAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		do := func() error { calls++; return fault.ErrMoved.With("goal", "x") }
		for range 3 {
			inner := do
			do = func() error { return retry.Do(t.Context(), inner) }
		}
		err := do()
		if calls != 64 || errors.Is(err, fault.ErrMoved) || fault.Of(err).Code != fault.ErrMoved.Code || fault.Of(err).Args["goal"] != "x" {
			t.Errorf("%d calls: %v", calls, err)
		}
	})
}

func TestDoEndsWithAnythingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, want := range []error{nil, errors.New("other")} {
			calls := 0
			err := retry.Do(t.Context(), func() error {
				if calls++; calls < 3 {
					return fault.ErrMoved
				}
				return want
			})
			if calls != 3 || !errors.Is(err, want) {
				t.Errorf("%d calls: %v", calls, err)
			}
		}
	})
}
