package eligibility

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"piloto/internal/models/credit"
)

// Priced is the source of a price.
type Priced string

// Sources of a price.
const (
	PricedByTable    Priced = "table"    // prices.json has the model of this provider
	PricedByOverride Priced = "override" // the account's own price
	PricedByList     Priced = credit.PricedByList
	PricedByRule     Priced = credit.PricedByRule
	PricedFree       Priced = "free" // the provider needs no key
)

//go:embed prices.json
var pricesFile []byte

// prices holds the table of prices.json, in micro-USD per million tokens.
var prices = sync.OnceValue(func() priceTable { return mustReadPrices(pricesFile) })

type priceTable struct {
	byProvider map[string]map[string]offer
	byHost     map[string]string // the provider whose API a host serves
	list       map[string]offer  // by the dashed plainName: the dearest price, and the smallest window
	dearest    credit.Price
}

// offer is the price and the window of a model.
type offer struct {
	price  credit.Price
	window int // tokens
}

// with returns the dearer price, and the smaller window, of two providers of a model.
func (t offer) with(other offer) offer {
	if t == (offer{}) {
		return other
	}
	cached := max(cmp.Or(t.price.Cached, t.price.Input), cmp.Or(other.price.Cached, other.price.Input))
	t.price.Input, t.price.Output = max(t.price.Input, other.price.Input), max(t.price.Output, other.price.Output)
	t.price.Cached, t.window = cached, min(t.window, other.window)
	return t
}

// mustReadPrices reads the embedded table, whose numbers are USD per million tokens. It panics on an error, because
// the file is part of the program.
func mustReadPrices(file []byte) priceTable {
	var raw struct {
		Providers map[string]struct {
			Host   string `json:"host"`
			Models map[string]struct {
				Input, Cached, Output float64
				Window                int
			} `json:"models"`
		} `json:"providers"`
	}
	if err := json.Unmarshal(file, &raw); err != nil {
		panic(fmt.Sprintf("eligibility: prices.json: %v", err))
	}
	table := priceTable{byProvider: map[string]map[string]offer{}, byHost: map[string]string{}, list: map[string]offer{}}
	for name, p := range raw.Providers {
		models := map[string]offer{}
		for model, usd := range p.Models {
			price := credit.Price{Input: micros(usd.Input), Cached: micros(usd.Cached), Output: micros(usd.Output)}
			models[model] = offer{price, usd.Window}
			key := dashed(plainName(model))
			table.list[key] = table.list[key].with(models[model])
			table.dearest.Input = max(table.dearest.Input, price.Input)
			table.dearest.Output = max(table.dearest.Output, price.Output)
		}
		table.byProvider[name], table.byHost[p.Host] = models, name
	}
	return table
}

func micros(usd float64) int64 { return int64(usd*1e6 + 0.5) }

// table returns the models of the table that are the provider's own: those of its address, or else of its name, unless the
// account gave it another address.
func (p Provider) table() map[string]offer {
	if u, err := url.Parse(p.BaseURL); err == nil && u.Hostname() != "" {
		if name, ok := prices().byHost[u.Hostname()]; ok {
			return prices().byProvider[name]
		}
	}
	if p.Moved {
		return nil
	}
	return prices().byProvider[p.Name]
}

// find returns what the tables know of a model at a provider. A name with a date ("gpt-4o-2024-08-06") means the model
// without the date.
func (p Provider) find(model string) (offer, Priced) {
	if models := p.table(); models != nil {
		if t, ok := named(models, strings.TrimPrefix(model, "models/")); ok {
			return t, PricedByTable
		}
	}
	plain := plainName(model)
	for { // a gateway writes the makers before the name: openrouter/openai/gpt-4o, us.anthropic.claude-…
		if t, ok := named(prices().list, dashed(plain)); ok {
			return t, PricedByList
		}
		_, rest, more := strings.Cut(plain, ".")
		if !more {
			return offer{}, PricedByRule
		}
		plain = rest
	}
}

// PriceOf returns the price of a model at a provider, and the source of the price. A model that the provider's table does
// not have gets the list price of the model: the dearest of those who have it. A model of no table gets the highest known
// price, so that an unknown price never exceeds a budget.
func PriceOf(p Provider, model string) (credit.Price, Priced) {
	if price, ok := p.Prices[model]; ok {
		return price, PricedByOverride
	}
	if p.Keyless {
		return credit.Price{}, PricedFree
	}
	t, how := p.find(model)
	if how == PricedByRule {
		return prices().dearest, how
	}
	return t.price, how
}

// DefaultWindow is the context window of a model that no table has, in tokens.
const DefaultWindow = 80_000

// WindowOf returns the context window of a model at a provider: the most tokens of a prompt and its answer together. The
// account's setting comes before what a check found, and that before the tables.
func WindowOf(p Provider, model string) int {
	t, _ := p.find(model)
	return cmp.Or(p.Windows[model], p.known(model).Window, t.window, DefaultWindow)
}

// named returns the offer of a model in a table.
func named(models map[string]offer, model string) (offer, bool) {
	if t, ok := models[model]; ok {
		return t, true
	}
	for i := len(model) - 1; i > 0; i-- { // the longest prefix that is a model's name
		if model[i] == '-' && isVersion(model[i+1:]) {
			if t, ok := models[model[:i]]; ok {
				return t, true
			}
		}
	}
	return offer{}, false
}

// plainName returns the name of a model as the list has it: in small letters, without its makers ("openai/"), the variant
// of a gateway (":free", "@20250929") and the revision of one ("-v1").
func plainName(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name, _, _ = strings.Cut(name, ":")
	name, _, _ = strings.Cut(name, "@")
	if at := strings.LastIndex(name, "-v"); at > 0 && len(name) == at+3 && name[at+2] >= '0' && name[at+2] <= '9' {
		name = name[:at]
	}
	return name
}

// dashed writes a version as some gateways do: claude-sonnet-4.5 is claude-sonnet-4-5.
func dashed(name string) string { return strings.ReplaceAll(name, ".", "-") }

// isVersion reports whether a suffix names a version of the same price: a date, such as 20240806 or 2024-08-06, a number
// of three digits, "latest", or a preview of one of them.
func isVersion(suffix string) bool {
	for _, early := range []string{"preview", "exp"} {
		if suffix == early {
			return true
		}
		suffix = strings.TrimPrefix(suffix, early+"-")
	}
	if suffix == "latest" {
		return true
	}
	digits := strings.ReplaceAll(suffix, "-", "")
	return len(digits) >= 3 && strings.Trim(digits, "0123456789") == ""
}

// TablePrices returns the models of a provider that have a price in its table.
func TablePrices(p Provider) map[string]credit.Price {
	list := map[string]credit.Price{}
	for model, t := range p.table() {
		list[model] = t.price
	}
	return list
}
