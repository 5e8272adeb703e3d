package eligibility

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"piloto/internal/models/credit"
)

// Priced is the source of a price.
type Priced string

// Sources of a price.
const (
	PricedByTable    Priced = "table"    // prices.json
	PricedByOverride Priced = "override" // the account's own price
	PricedByRule     Priced = "rule"     // no table has the model: the highest known price applies
	PricedFree       Priced = "free"     // the provider needs no key
)

//go:embed prices.json
var pricesFile []byte

// prices holds the table of prices.json, in micro-USD per million tokens.
var prices = sync.OnceValue(func() priceTable { return mustReadPrices(pricesFile) })

type priceTable struct {
	byProvider map[string]map[string]credit.Price
	windows    map[string]map[string]int // tokens
	dearest    credit.Price
}

// mustReadPrices reads the embedded table, whose numbers are USD per million tokens. It panics on an error, because
// the file is part of the program.
func mustReadPrices(file []byte) priceTable {
	var raw struct {
		Providers map[string]struct {
			Models map[string]struct {
				Input, Cached, Output float64
				Window                int
			} `json:"models"`
		} `json:"providers"`
	}
	if err := json.Unmarshal(file, &raw); err != nil {
		panic(fmt.Sprintf("eligibility: prices.json: %v", err))
	}
	table := priceTable{byProvider: map[string]map[string]credit.Price{}, windows: map[string]map[string]int{}}
	for name, p := range raw.Providers {
		models, windows := map[string]credit.Price{}, map[string]int{}
		for model, usd := range p.Models {
			price := credit.Price{Input: micros(usd.Input), Cached: micros(usd.Cached), Output: micros(usd.Output)}
			models[model], windows[model] = price, usd.Window
			table.dearest.Input = max(table.dearest.Input, price.Input)
			table.dearest.Output = max(table.dearest.Output, price.Output)
		}
		table.byProvider[name], table.windows[name] = models, windows
	}
	return table
}

func micros(usd float64) int64 { return int64(usd*1e6 + 0.5) }

// PriceOf returns the price of a model at a provider, and the source of the price. A name with a date
// ("gpt-4o-2024-08-06") has the price of the model without the date. A model without a price gets the highest known
// price (PricedByRule), so that an unknown price never exceeds a budget.
func PriceOf(p Provider, model string) (credit.Price, Priced) {
	if price, ok := p.Prices[model]; ok {
		return price, PricedByOverride
	}
	if p.Keyless {
		return credit.Price{}, PricedFree
	}
	models := prices().byProvider[p.Name]
	if price, ok := models[listed(models, model)]; ok {
		return price, PricedByTable
	}
	return prices().dearest, PricedByRule
}

// DefaultWindow is the context window of a model that the table does not have, in tokens.
const DefaultWindow = 80_000

// WindowOf returns the context window of a model at a provider: the most tokens of a prompt and its answer together.
func WindowOf(provider, model string) int {
	return cmp.Or(prices().windows[provider][listed(prices().byProvider[provider], model)], DefaultWindow)
}

// listed returns the name under which the table has a model; "" when it does not.
func listed(models map[string]credit.Price, model string) string {
	if _, ok := models[model]; ok {
		return model
	}
	for i := len(model) - 1; i > 0; i-- { // the longest prefix that is a model's name
		if model[i] == '-' && isDate(model[i+1:]) {
			if _, ok := models[model[:i]]; ok {
				return model[:i]
			}
		}
	}
	return ""
}

// isDate reports whether a suffix is a date, such as 20240806 or 2024-08-06, or "latest".
func isDate(suffix string) bool {
	if suffix == "latest" {
		return true
	}
	digits := strings.ReplaceAll(suffix, "-", "")
	return len(digits) >= 4 && strings.Trim(digits, "0123456789") == ""
}

// TablePrices returns the models of a provider that have a price in the table.
func TablePrices(provider string) map[string]credit.Price { return prices().byProvider[provider] }
