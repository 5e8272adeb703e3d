package eligibility

import (
	"testing"

	"piloto/internal/models/credit"
)

// TestTheListHasTheDearestPriceOfAModel, and its smallest window, because nobody knows which of the providers it is.
func TestTheListHasTheDearestPriceOfAModel(t *testing.T) {
	table := mustReadPrices([]byte(`{"providers":{
		"a":{"host":"a","models":{"x/m":{"input":1,"cached":0.1,"output":9,"window":100}}},
		"b":{"host":"b","models":{"M":{"input":3,"cached":0.2,"output":2,"window":300}}},
		"c":{"host":"c","models":{"n":{"input":2,"cached":1,"output":1,"window":10}, "c/n":{"input":1,"output":1,"window":20}}}}}`))
	for model, want := range map[string]offer{
		"m": {credit.Price{Input: 3e6, Cached: 2e5, Output: 9e6}, 100},
		"n": {credit.Price{Input: 2e6, Cached: 1e6, Output: 1e6}, 10},
	} {
		if got := table.list[model]; got != want {
			t.Errorf("%s: %+v, not %+v", model, got, want)
		}
	}
}
