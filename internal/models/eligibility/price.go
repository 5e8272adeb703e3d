package eligibility

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"piloto/internal/models/credit"
)

// Priced says where a price comes from.
type Priced string

// Where prices come from.
const (
	PricedByTable    Priced = "table"    // prices.json
	PricedByOverride Priced = "override" // the account's own
	PricedByRule     Priced = "rule"     // no table has the model: the dearest known price
	PricedFree       Priced = "free"     // a provider that asks for no key
)

//go:embed prices.json
var pricesFile []byte

// prices are those of prices.json, in micro-USD per million tokens.
var prices = sync.OnceValue(func() priceTable { return mustReadPrices(pricesFile) })

type priceTable struct {
	byProvider map[string]map[string]credit.Price
	dearest    credit.Price
}

// mustReadPrices reads the embedded table, whose numbers are USD per million
// tokens; a mistake in it is a mistake in the program.
func mustReadPrices(file []byte) priceTable {
	var raw struct {
		Providers map[string]struct {
			Models map[string]struct{ Input, Output float64 } `json:"models"`
		} `json:"providers"`
	}
	if err := json.Unmarshal(file, &raw); err != nil {
		panic(fmt.Sprintf("eligibility: prices.json: %v", err))
	}
	table := priceTable{byProvider: map[string]map[string]credit.Price{}}
	for name, p := range raw.Providers {
		models := map[string]credit.Price{}
		for model, usd := range p.Models {
			price := credit.Price{Input: micros(usd.Input), Output: micros(usd.Output)}
			models[model] = price
			table.dearest.Input = max(table.dearest.Input, price.Input)
			table.dearest.Output = max(table.dearest.Output, price.Output)
		}
		table.byProvider[name] = models
	}
	return table
}

func micros(usd float64) int64 { return int64(usd*1e6 + 0.5) }

// PriceOf returns what a model costs at a provider, and where that is known
// from. A dated name ("gpt-4o-2024-08-06") has the price of the model it is a
// date of. A model without a price is priced by rule, as the dearest that is
// known, so that no budget is overrun by not knowing; the plan says so.
func PriceOf(p Provider, model string) (credit.Price, Priced) {
	if price, ok := p.Prices[model]; ok {
		return price, PricedByOverride
	}
	if p.Keyless {
		return credit.Price{}, PricedFree
	}
	if price, ok := find(prices().byProvider[p.Name], model); ok {
		return price, PricedByTable
	}
	return prices().dearest, PricedByRule
}

func find(models map[string]credit.Price, model string) (credit.Price, bool) {
	if price, ok := models[model]; ok {
		return price, true
	}
	for i := len(model) - 1; i > 0; i-- { // the longest name that it is a date of
		if model[i] == '-' && dated(model[i+1:]) {
			if price, ok := models[model[:i]]; ok {
				return price, true
			}
		}
	}
	return credit.Price{}, false
}

// dated reports whether a suffix is a date: 20240806 or 2024-08-06, or "latest".
func dated(suffix string) bool {
	if suffix == "latest" {
		return true
	}
	digits := strings.ReplaceAll(suffix, "-", "")
	return len(digits) >= 4 && strings.Trim(digits, "0123456789") == ""
}

// Known lists the models of a provider that have a price in the table.
func Known(provider string) map[string]credit.Price { return prices().byProvider[provider] }
