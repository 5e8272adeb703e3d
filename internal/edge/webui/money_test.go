package webui

import (
	"testing"

	"piloto/internal/ground/locale"
)

func TestMoneyAndNumbersAreFormattedByLanguage(t *testing.T) {
	es, en := words{tag: locale.Spanish}, words{tag: locale.English}
	for micros, want := range map[int64][2]string{
		0: {"0,00 USD", "0.00 USD"}, 1: {"0,000001 USD", "0.000001 USD"}, 999: {"0,000999 USD", "0.000999 USD"},
		61_337: {"0,0613 USD", "0.0613 USD"}, 490_696: {"0,49 USD", "0.49 USD"}, 995_000: {"1,00 USD", "1.00 USD"}, 1_594_762: {"1,59 USD", "1.59 USD"},
		12_345_678_901: {"12.345,68 USD", "12,345.68 USD"}, -2_500_000: {"−2,50 USD", "−2.50 USD"}, 999_999_999_999: {"1.000.000,00 USD", "1,000,000.00 USD"},
	} {
		if got := [2]string{es.usd(micros), en.usd(micros)}; got != want {
			t.Errorf("%d reads %q", micros, got)
		}
	}
	for n, want := range map[int64][2]string{
		0: {"0", "0"}, 999: {"999", "999"}, 1000: {"1000", "1,000"}, 12_014: {"12.014", "12,014"}, -1_234_567: {"−1.234.567", "−1,234,567"},
	} {
		if got := [2]string{es.count(n), en.count(n)}; got != want {
			t.Errorf("%d reads %q", n, got)
		}
	}
	if got := es.amount(5) + " " + es.amount(-5) + " " + es.amount(0); got != "+5 −5 0" {
		t.Error(got)
	}
	for micros, want := range map[int64]string{0: "", 2_500_000: "2.5", 1: "0.000001"} {
		if got := dollars(micros); got != want {
			t.Errorf("the field of %d holds %q", micros, got)
		}
	}
}
