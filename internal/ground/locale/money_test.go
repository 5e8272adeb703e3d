package locale_test

import (
	"testing"

	"piloto/internal/ground/locale"
)

// TestAnAmountIsNeverWrittenBelowItsUpperBound: who raises a limit to what is written has raised it far enough.
func TestAnAmountIsNeverWrittenBelowItsUpperBound(t *testing.T) {
	for micros, want := range map[locale.USD][2]string{
		0: {"0,00 USD", "0.00 USD"}, 1: {"0,000001 USD", "0.000001 USD"}, 1_001: {"0,0011 USD", "0.0011 USD"}, 61_337: {"0,0614 USD", "0.0614 USD"},
		99_901: {"0,10 USD", "0.10 USD"}, 100_001: {"0,11 USD", "0.11 USD"}, 1_230_000: {"1,23 USD", "1.23 USD"}, 12_345_670_001: {"12.345,68 USD", "12,345.68 USD"},
	} {
		if got := [2]string{micros.Up().In(locale.Spanish), micros.Up().In(locale.English)}; got != want {
			t.Errorf("%d reads %q", micros, got)
		}
		if micros.Up() < micros {
			t.Errorf("%d became %d", micros, micros.Up())
		}
	}
}
