package eligibility

import (
	"context"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/fault"
	"piloto/internal/models/credit"
)

// What a caller may notice.
var (
	ErrSetting         = fault.New(fault.Invalid, "ai.setting_invalid")
	ErrMoved           = fault.New(fault.Conflict, "ai.setting_moved") // somebody else set it meanwhile
	ErrUnknownProvider = fault.New(fault.NotFound, "ai.provider_unknown")
)

// Bounds of what an account may set.
const (
	MaxPersona   = 4000 // characters
	MaxName      = 80
	MaxModel     = 200
	MaxFallback  = 5
	MaxProviders = 20
	MaxPrices    = 200
	MaxKey       = 4096 // bytes
	mostTokens   = 128_000
	hottest      = 2.0
)

// Vault keeps the accounts' own keys of providers.
type Vault interface {
	PutKey(ctx context.Context, account, provider, key string) error
	DeleteKey(ctx context.Context, account, provider string) error
}

// Manager changes what an account has set. Addresses is the policy that an
// account's own base URL must pass.
type Manager struct {
	*Service
	Vault     Vault
	Addresses func(base string) (string, error) // the address in its one form, or what is wrong with it
}

// ProviderView is a provider as an account has it, with what it set itself.
type ProviderView struct {
	Provider
	Own *Config // nil: nothing
}

// Providers lists what an account can choose from.
func (m *Manager) Providers(ctx context.Context, account string) ([]ProviderView, error) {
	settings, err := m.Store.Settings(ctx, account)
	if err != nil {
		return nil, err
	}
	keys, err := m.Keys.Platform(ctx)
	if err != nil {
		return nil, err
	}
	var list []ProviderView
	for _, p := range m.providers(settings, keys) {
		v := ProviderView{Provider: p}
		if at := slices.IndexFunc(settings.Providers, func(c Config) bool { return c.Name == p.Name }); at >= 0 {
			v.Own = &settings.Providers[at]
		}
		list = append(list, v)
	}
	return list, nil
}

// View returns one of them; ErrUnknownProvider.
func (m *Manager) View(ctx context.Context, account, name string) (ProviderView, error) {
	list, err := m.Providers(ctx, account)
	if err != nil {
		return ProviderView{}, err
	}
	for _, v := range list {
		if v.Name == name {
			return v, nil
		}
	}
	return ProviderView{}, ErrUnknownProvider.With("provider", name)
}

var providerName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)
})

// PutProvider sets an account's own provider, or what it changes of the
// deployment's. A key never follows to another address: when the origin changes,
// the key that was set is removed. seen is what the account had set when that was
// decided, nil for nothing: it returns ErrMoved when that is no longer so.
func (m *Manager) PutProvider(ctx context.Context, account string, seen *Config, c Config) (ProviderView, error) {
	var wrong []fault.Field
	if !m.isPlatform(c.Name) && !providerName().MatchString(c.Name) {
		wrong = append(wrong, bad("name", "has 1 to 40 small letters, digits, dots, - or _", "string_pattern_mismatch"))
	}
	settings, err := m.Store.Settings(ctx, account)
	if err != nil {
		return ProviderView{}, err
	}
	before := Config{Name: c.Name}
	if seen != nil {
		before = *seen
	}
	if at := slices.IndexFunc(settings.Providers, func(p Config) bool { return p.Name == c.Name }); at < 0 && len(settings.Providers) >= MaxProviders {
		wrong = append(wrong, bad("name", "an account has at most 20 providers", "too_long"))
	}
	if c.BaseURL == "" && c.Keyless {
		wrong = append(wrong, bad("keyless", "is for an address of the account's own: give its base_url", "missing"))
	}
	if c.BaseURL == "" && !m.isPlatform(c.Name) {
		wrong = append(wrong, bad("base_url", "is required for a provider that the deployment does not have", "missing"))
	}
	if c.BaseURL != "" {
		base, err := m.Addresses(c.BaseURL)
		if err != nil {
			return ProviderView{}, err
		}
		c.BaseURL = base
	}
	if wrong = append(wrong, validPrices(c.Prices)...); len(wrong) > 0 {
		return ProviderView{}, ErrSetting.At(wrong...)
	}
	c.KeySet, c.UpdatedAt = before.KeySet && origin(before.BaseURL) == origin(c.BaseURL), m.Now()
	if err := m.Store.PutProvider(ctx, account, seen, c); err != nil {
		return ProviderView{}, err
	}
	if before.KeySet && !c.KeySet {
		if err := m.Vault.DeleteKey(ctx, account, c.Name); err != nil {
			return ProviderView{}, err
		}
	}
	if c.BaseURL != before.BaseURL || c.Keyless != before.Keyless {
		if err := m.Store.PutHealth(ctx, account, Health{Provider: c.Name, Since: c.UpdatedAt}); err != nil {
			return ProviderView{}, err
		}
	}
	return m.View(ctx, account, c.Name)
}

func validPrices(prices map[string]credit.Price) []fault.Field {
	if len(prices) > MaxPrices {
		return []fault.Field{bad("prices", "at most 200 models", "too_long")}
	}
	var wrong []fault.Field
	for model, p := range prices {
		if model == "" || len(model) > MaxModel || p.Input < 0 || p.Output < 0 || p.Input > credit.MaxMicros || p.Output > credit.MaxMicros {
			wrong = append(wrong, fault.Field{Loc: []any{"body", "prices", model}, Msg: "must be a model and prices that are not below 0", Type: "out_of_range"})
		}
	}
	return wrong
}

func (m *Manager) isPlatform(name string) bool {
	return slices.ContainsFunc(m.Deployment.Providers, func(p Platform) bool { return p.Name == name })
}

// DeleteProvider takes back what an account set of a provider, and its key.
func (m *Manager) DeleteProvider(ctx context.Context, account, name string) error {
	v, err := m.View(ctx, account, name)
	if err != nil {
		return err
	}
	if v.Own == nil {
		return nil
	}
	if err := m.Store.DeleteProvider(ctx, account, name); err != nil {
		return err
	}
	if err := m.Vault.DeleteKey(ctx, account, name); err != nil {
		return err
	}
	return m.Store.PutHealth(ctx, account, Health{Provider: name, Since: m.Now()})
}

// SetKey stores the account's own key of a provider; an empty one removes it.
func (m *Manager) SetKey(ctx context.Context, account, name, key string) (ProviderView, error) {
	v, err := m.View(ctx, account, name)
	if err != nil {
		return v, err
	}
	key = strings.TrimSpace(key)
	if len(key) > MaxKey || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return v, ErrSetting.At(bad("key", "has at most 4096 printable ASCII characters", "string_pattern_mismatch"))
	}
	c := Config{Name: name}
	if v.Own != nil {
		c = *v.Own
	}
	c.KeySet, c.UpdatedAt = key != "", m.Now()
	if key != "" { // first the key, then that there is one
		if err := m.Vault.PutKey(ctx, account, name, key); err != nil {
			return v, err
		}
	}
	if err := m.Store.PutProvider(ctx, account, v.Own, c); err != nil {
		return v, err
	}
	if key == "" {
		if err := m.Vault.DeleteKey(ctx, account, name); err != nil {
			return v, err
		}
	}
	// What the provider said of the key before says nothing of this one.
	if err := m.Store.PutHealth(ctx, account, Health{Provider: name, Since: m.Now()}); err != nil {
		return v, err
	}
	return m.View(ctx, account, name)
}

// AssistantOf returns the assistant in force for a project, or for the account
// when projectID is ""; false when there is none.
func (m *Manager) AssistantOf(ctx context.Context, account, projectID string) (Assistant, bool, error) {
	settings, err := m.Store.Settings(ctx, account)
	if err != nil {
		return Assistant{}, false, err
	}
	a := m.assistant(settings, projectID)
	if a == nil {
		return Assistant{}, false, nil
	}
	return *a, true, nil
}

// PutAssistant sets the assistant of an account, or of one of its projects.
func (m *Manager) PutAssistant(ctx context.Context, account, projectID string, a Assistant) (Assistant, error) {
	list, err := m.Providers(ctx, account)
	if err != nil {
		return a, err
	}
	if wrong := a.valid(list); len(wrong) > 0 {
		return a, ErrSetting.At(wrong...)
	}
	a.Scope, a.UpdatedAt = ScopeAccount, m.Now()
	if projectID != "" {
		a.Scope = ScopeProject
	}
	return a, m.Store.PutAssistant(ctx, account, projectID, a)
}

// DeleteAssistant goes back to the wider one.
func (m *Manager) DeleteAssistant(ctx context.Context, account, projectID string) error {
	return m.Store.DeleteAssistant(ctx, account, projectID)
}

func (a Assistant) valid(providers []ProviderView) []fault.Field {
	var wrong []fault.Field
	check := func(ok bool, f fault.Field) {
		if !ok {
			wrong = append(wrong, f)
		}
	}
	known := func(name string) bool {
		return slices.ContainsFunc(providers, func(p ProviderView) bool { return p.Name == name })
	}
	unknown := "is no provider of this account; PUT /ai/providers/{name} adds one"
	check(known(a.Provider), bad("provider", unknown, "unknown_provider"))
	check(modelName(a.Model), bad("model", "is required, and has at most 200 characters", "string_too_short"))
	check(utf8.RuneCountInString(a.Name) <= MaxName, bad("name", "has at most 80 characters", "string_too_long"))
	check(utf8.RuneCountInString(a.Persona) <= MaxPersona, bad("persona", "has at most 4000 characters", "string_too_long"))
	check(!math.IsNaN(a.Temperature) && a.Temperature >= 0 && a.Temperature <= hottest, bad("temperature", "must be from 0 to 2", "out_of_range"))
	check(a.MaxTokens >= 16 && a.MaxTokens <= mostTokens, bad("max_tokens", "must be from 16 to 128000", "out_of_range"))
	check(slices.Contains([]Mode{Automatic, Manual, Off}, a.Automation.Mode), bad("automation", "mode must be one of automatic, manual, off", "enum"))
	check(a.Automation.DelayMS >= 0 && a.Automation.DelayMS <= int(MaxDelay.Milliseconds()), bad("automation", "delay_ms must be from 0 to 10000", "out_of_range"))
	check(len(a.Fallback) <= MaxFallback, bad("fallback", "has at most 5 entries", "too_long"))
	seen := map[string]bool{a.Provider + " " + a.Model: true}
	for i, c := range a.Fallback {
		at := func(member, msg, typ string) fault.Field {
			return fault.Field{Loc: []any{"body", "fallback", i, member}, Msg: msg, Type: typ}
		}
		check(known(c.Provider), at("provider", unknown, "unknown_provider"))
		check(modelName(c.Model), at("model", "is required, and has at most 200 characters", "string_too_short"))
		check(!seen[c.Provider+" "+c.Model], at("model", "is in the order already", "duplicate"))
		seen[c.Provider+" "+c.Model] = true
		for _, r := range c.On {
			check(slices.Contains(Swappable(), r), at("on", "holds no_api_key, insufficient_credits, busy, provider_unreachable or rate_limited", "enum"))
		}
	}
	return wrong
}

func modelName(s string) bool {
	return strings.TrimSpace(s) == s && s != "" && len(s) <= MaxModel && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func bad(member, msg, typ string) fault.Field {
	return fault.Field{Loc: []any{"body", member}, Msg: msg, Type: typ}
}

// Entitlement returns what an account may use.
func (m *Manager) Entitlement(ctx context.Context, account string) (Entitlement, error) {
	settings, err := m.Store.Settings(ctx, account)
	return settings.entitlement(), err
}

// PutEntitlement sets it. A provider that nobody has is refused.
func (m *Manager) PutEntitlement(ctx context.Context, account string, e Entitlement) (Entitlement, error) {
	list, err := m.Providers(ctx, account)
	if err != nil {
		return e, err
	}
	var wrong []fault.Field
	for i, name := range e.Providers {
		if !slices.ContainsFunc(list, func(p ProviderView) bool { return p.Name == name }) {
			wrong = append(wrong, fault.Field{Loc: []any{"body", "allowedProviders", i}, Msg: "is no provider of this account", Type: "unknown_provider"})
		}
	}
	if len(wrong) > 0 {
		return e, ErrSetting.At(wrong...)
	}
	slices.Sort(e.Providers)
	e.Providers, e.UpdatedAt = slices.Compact(e.Providers), m.Now()
	return e, m.Store.PutEntitlement(ctx, account, e)
}

// Terms returns what AI costs an account, and what it may spend.
func (m *Manager) Terms(ctx context.Context, account string) (Terms, error) {
	settings, err := m.Store.Settings(ctx, account)
	return settings.terms(), err
}

// PutTerms sets them.
func (m *Manager) PutTerms(ctx context.Context, account string, t Terms) (Terms, error) {
	if wrong := append(t.Policy.Valid(), t.Limits.Valid()...); len(wrong) > 0 {
		return t, ErrSetting.At(wrong...)
	}
	t.UpdatedAt = m.Now()
	return t, m.Store.PutTerms(ctx, account, t)
}

// origin is the scheme, host and port of an address; "" for none.
func origin(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}
