package httpapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/ground/fault"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

func (a *api) providers(s aiHandler) {
	register(a, operation{
		method: http.MethodGet, path: "/ai/providers", id: "listProviders", access: withChat,
		summary: "List the providers that the account can choose from",
	}, s.listProviders)
	register(a, operation{
		method: http.MethodGet, path: "/ai/providers/{name}", id: "readProvider", access: withChat,
		summary: "Read a provider", failures: []int{404},
	}, s.readProvider)
	register(a, operation{
		method: http.MethodPut, path: "/ai/providers/{name}", id: "setProvider", access: withAdmin,
		summary:  "Add a provider, or set what the account changes of one; the key is set apart",
		failures: []int{413, 415, 422, 503},
	}, s.setProvider)
	register(a, operation{
		method: http.MethodDelete, path: "/ai/providers/{name}", id: "deleteProvider", access: withAdmin, status: http.StatusNoContent,
		summary: "Remove what the account set of a provider, and its key", failures: []int{404},
	}, s.deleteProvider)
	register(a, operation{
		method: http.MethodPut, path: "/ai/providers/{name}/key", id: "setProviderKey", access: withAdmin,
		summary: "Store the account's own key of a provider; it is never shown", failures: []int{404, 413, 415, 422},
	}, s.setProviderKey)
	register(a, operation{
		method: http.MethodDelete, path: "/ai/providers/{name}/key", id: "deleteProviderKey", access: withAdmin, status: http.StatusNoContent,
		summary: "Remove the account's own key of a provider", failures: []int{404},
	}, s.deleteProviderKey)
	a.providerChecks(s)
}

// Provider is a provider with the settings of an account.
type Provider struct {
	Name         string                  `json:"provider"`
	BaseURL      string                  `json:"base_url"`
	HasKey       bool                    `json:"has_key" doc:"there is a key, or it needs none"`
	OwnKey       bool                    `json:"own_key" doc:"the key is the account's own, and not the deployment's"`
	Keyless      bool                    `json:"keyless" doc:"it needs no key"`
	CostsCredits bool                    `json:"costs_credits"`
	Demo         bool                    `json:"demo" doc:"the built-in demonstration model"`
	Prices       map[string]credit.Price `json:"prices" doc:"the account's own, by model; these come before those of models"`
	Models       map[string]credit.Price `json:"models" doc:"those with a known price"`
	Windows      map[string]int          `json:"windows" doc:"the account's own, by model: the most tokens of a prompt and its answer together"`
	WaitingUntil *time.Time              `json:"waiting_until,omitempty" doc:"it asked to be left alone until then"`
	Check        *ProviderCheck          `json:"check,omitempty" doc:"the last check at its address; absent: none was asked for"`
	Learned      []ProviderLesson        `json:"learned,omitempty" doc:"what calls at work showed of its models, since their last check: a check of the model replaces it"`
}

// ProviderList is the list of providers that an account can choose from.
type ProviderList struct {
	Providers []Provider `json:"providers" nullable:"false"`
}

// ProviderRequest is the body that replaces a provider's settings. An absent member has the deployment's value.
type ProviderRequest struct {
	BaseURL      string                  `json:"base_url,omitempty" maxLength:"2048" doc:"of an OpenAI-compatible API (…/v1)"`
	Keyless      bool                    `json:"keyless,omitempty" doc:"it needs no key; with a base_url of its own only"`
	CostsCredits *bool                   `json:"costs_credits,omitempty" doc:"needs the scope billing while the deployment's key pays"`
	Prices       map[string]PriceRequest `json:"prices,omitempty" doc:"by model, at most 200; needs the scope billing while the deployment's key pays"`
	Windows      map[string]int          `json:"windows,omitempty" doc:"by model, at most 200: the most tokens of a prompt and its answer together, from 2000 to 10000000; absent: those that are known of the model, else 80000"`
	Check        bool                    `json:"check,omitempty" doc:"check it afterwards, as POST …/check does"`
	CheckModel   string                  `json:"check_model,omitempty" maxLength:"200" doc:"the model of that check; absent: as there"`
}

// PriceRequest is the price of a model.
type PriceRequest struct {
	Input  int64 `json:"input_micros" minimum:"0" maximum:"1000000000000" doc:"micro-USD per million tokens read"`
	Cached int64 `json:"cached_micros,omitempty" minimum:"1" maximum:"1000000000000" doc:"micro-USD per million tokens that the provider read from its cache, at most input_micros; absent: as input_micros"`
	Output int64 `json:"output_micros" minimum:"0" maximum:"1000000000000" doc:"micro-USD per million tokens written"`
}

// Resolve refuses a provider without a key at the deployment's address.
func (r *ProviderRequest) Resolve(huma.Context) []error {
	if r.Keyless && r.BaseURL == "" {
		return []error{errInvalid.At(field("missing", "body", "base_url"))}
	}
	return nil
}

func (r ProviderRequest) config(name string) eligibility.Config {
	c := eligibility.Config{Name: name, BaseURL: r.BaseURL, Keyless: r.Keyless, CostsCredits: r.CostsCredits, Windows: r.Windows}
	for model, price := range r.Prices {
		if c.Prices == nil {
			c.Prices = map[string]credit.Price{}
		}
		c.Prices[model] = credit.Price(price)
	}
	return c
}

// ProviderKeyRequest is the body that stores a key.
type ProviderKeyRequest struct {
	Key string `json:"key" minLength:"1" maxLength:"4096" writeOnly:"true"`
}

type providerInput struct {
	Name string `path:"name"`
}

func (s aiHandler) listProviders(ctx context.Context, _ *nothing) (*reply[ProviderList], error) {
	got, err := s.Settings.Providers(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	v := ProviderList{Providers: make([]Provider, 0, len(got))}
	for _, one := range got {
		v.Providers = append(v.Providers, s.show(ctx, one))
	}
	return answer(v), nil
}

func (s aiHandler) readProvider(ctx context.Context, in *providerInput) (*reply[Provider], error) {
	got, err := s.Settings.View(ctx, caller(ctx).Account, in.Name)
	if err != nil {
		return nil, err
	}
	return answer(s.show(ctx, got)), nil
}

func (s aiHandler) setProvider(ctx context.Context, in *struct {
	Name string `path:"name"`
	Body ProviderRequest
},
) (*reply[Provider], error) {
	if err := isCheckable(in.Body.CheckModel, "check_model"); err != nil {
		return nil, err
	}
	who := caller(ctx)
	before, err := s.Settings.View(ctx, who.Account, in.Name)
	if err != nil && !errors.Is(err, eligibility.ErrUnknownProvider) {
		return nil, err
	}
	next := in.Body.config(in.Name)
	if err == nil && setsPrices(before, next) {
		if err := needsBilling(who); err != nil {
			return nil, err
		}
	}
	got, err := s.Settings.PutProvider(ctx, who.Account, before.Own, next)
	if err != nil {
		return nil, locate(err)
	}
	if in.Body.Check {
		if err := s.beginCheck(ctx, in.Name, in.Body.CheckModel); err != nil {
			return nil, err
		}
		if got, err = s.Settings.View(ctx, who.Account, in.Name); err != nil {
			return nil, err
		}
	}
	return answer(s.show(ctx, got)), nil
}

// setsPrices reports whether a change sets the price of the deployment's key. While the account's own key or
// address is used, its prices are the account's business. A change back to the deployment's key must not keep such
// prices. (A key is deleted with its address.)
func setsPrices(before eligibility.ProviderView, next eligibility.Config) bool {
	if next.BaseURL != "" || before.OwnKey && before.Own.BaseURL == "" {
		return false
	}
	terms := eligibility.Config{}
	if before.Own != nil && before.Own.BaseURL == "" {
		terms = *before.Own
	}
	return !sameTerms(terms, next)
}

func sameTerms(a, b eligibility.Config) bool {
	costs := func(c eligibility.Config) string {
		switch {
		case c.CostsCredits == nil:
			return ""
		case *c.CostsCredits:
			return "yes"
		}
		return "no"
	}
	return costs(a) == costs(b) && maps.Equal(a.Prices, b.Prices)
}

func (s aiHandler) deleteProvider(ctx context.Context, in *providerInput) (*nothing, error) {
	who := caller(ctx)
	before, err := s.Settings.View(ctx, who.Account, in.Name)
	if err != nil {
		return nil, err
	}
	if before.Own != nil && !before.OwnKey && setsPrices(before, eligibility.Config{}) {
		if err := needsBilling(who); err != nil {
			return nil, err
		}
	}
	return nil, s.Settings.DeleteProvider(ctx, who.Account, in.Name)
}

func (s aiHandler) setProviderKey(ctx context.Context, in *struct {
	Name string `path:"name"`
	Body ProviderKeyRequest
},
) (*reply[Provider], error) {
	got, err := s.Settings.SetKey(ctx, caller(ctx).Account, in.Name, eligibility.Key(in.Body.Key))
	if err != nil {
		return nil, err
	}
	return answer(s.show(ctx, got)), nil
}

// deleteProviderKey deletes a key. Where the address is the deployment's, the deployment's key is used from then
// on, and the prices that the account set for its own key must not apply to it.
func (s aiHandler) deleteProviderKey(ctx context.Context, in *providerInput) (*nothing, error) {
	who := caller(ctx)
	before, err := s.Settings.View(ctx, who.Account, in.Name)
	if err != nil {
		return nil, err
	}
	if before.OwnKey && before.Own.BaseURL == "" && !sameTerms(*before.Own, eligibility.Config{}) {
		if err := needsBilling(who); err != nil {
			return nil, err
		}
	}
	_, err = s.Settings.SetKey(ctx, who.Account, in.Name, "")
	return nil, err
}

// locate adapts the places of the domain's field errors to the request: the name is in the path, and an error
// without a field is about base_url.
func locate(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid {
		return err
	}
	if len(f.Fields) == 0 {
		return f.At(field("value_error", "body", "base_url"))
	}
	moved := *f
	moved.Fields = nil
	for _, one := range f.Fields {
		if len(one.Loc) == 2 && one.Loc[1] == "name" {
			one.Loc = []any{"path", "name"}
		}
		moved.Fields = append(moved.Fields, one)
	}
	return &moved
}

func showProvider(v eligibility.ProviderView, now time.Time) Provider {
	out := Provider{
		Name: v.Name, BaseURL: v.BaseURL, HasKey: v.HasKey, OwnKey: v.OwnKey, Keyless: v.Keyless, CostsCredits: v.CostsCredits, Demo: v.Demo,
		Prices: map[string]credit.Price{}, Models: map[string]credit.Price{}, Windows: map[string]int{},
	}
	maps.Copy(out.Prices, v.Prices)
	maps.Copy(out.Windows, v.Windows)
	maps.Copy(out.Models, eligibility.TablePrices(v.Provider))
	if now.Before(v.Health.Waiting) {
		out.WaitingUntil = optionalTime(v.Health.Waiting)
	}
	return out
}
