package eligibility

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/origin"
	"piloto/internal/models/credit"
)

// Errors of this package.
var (
	ErrSetting         = fault.New(fault.Invalid, "ai.setting_invalid")
	ErrMoved           = fault.New(fault.Conflict, "ai.setting_moved") // it was changed since the caller read it
	ErrUnknownProvider = fault.New(fault.NotFound, "ai.provider_unknown")
)

// Limits of an account's settings.
const (
	MaxName        = 80 // characters
	MaxModel       = 200
	MaxFallback    = 5
	MaxProviders   = 20
	MaxPrices      = 200
	MaxKey         = 4096 // bytes
	MinWindow      = 2_000
	MaxWindow      = 10_000_000
	maxTokens      = 128_000
	maxTemperature = 2.0
)

// Key is an account's own key of a provider.
type Key string

// KeyStore keeps the accounts' own provider keys.
type KeyStore interface {
	PutKey(ctx context.Context, account ids.Account, provider string, key Key) error
	DeleteKey(ctx context.Context, account ids.Account, provider string) error
}

// SettingsReader reads the assistants, providers, entitlement and terms of an account.
type SettingsReader interface {
	// AssistantOf returns the assistant in force for a project, or for the account when projectID is ""; false when
	// there is none.
	AssistantOf(ctx context.Context, account ids.Account, projectID string) (Assistant, bool, error)
	Entitlement(ctx context.Context, account ids.Account) (Entitlement, error)
	Terms(ctx context.Context, account ids.Account) (Terms, error)
	Providers(ctx context.Context, account ids.Account) ([]ProviderView, error)
}

// Manager changes an account's settings. It is a SettingsReader.
type Manager struct {
	Store      Store
	Deployment Deployment
	Keys       Keys // of the deployment
	KeyStore   KeyStore
	Now        func() time.Time
	Addresses  func(base string) (string, error) // returns the normal form of a base URL, or the reason why it is not allowed
}

// Manager returns a manager of the settings that the service reads.
func (s *Service) Manager(keys KeyStore, addresses func(base string) (string, error)) *Manager {
	return &Manager{Store: s.Store, Deployment: s.Deployment, Keys: s.Keys, KeyStore: keys, Now: s.Now, Addresses: addresses}
}

// ProviderView is a provider with the account's own setting of it.
type ProviderView struct {
	Provider
	Own *Config // nil: the account has set nothing
}

// Providers lists the providers that an account can choose from.
func (m *Manager) Providers(ctx context.Context, account ids.Account) ([]ProviderView, error) {
	settings, err := m.Store.Settings(ctx, account)
	if err != nil {
		return nil, err
	}
	keys, err := m.Keys.Platform(ctx)
	if err != nil {
		return nil, err
	}
	var list []ProviderView
	for _, p := range m.Deployment.providers(settings, keys) {
		v := ProviderView{Provider: p}
		if at := slices.IndexFunc(settings.Providers, func(c Config) bool { return c.Name == p.Name }); at >= 0 {
			v.Own = &settings.Providers[at]
		}
		list = append(list, v)
	}
	return list, nil
}

// ProviderNames names them.
func (m *Manager) ProviderNames(ctx context.Context, account ids.Account) ([]string, error) {
	list, err := m.Providers(ctx, account)
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name
	}
	return names, err
}

// View returns one provider of an account; ErrUnknownProvider.
func (m *Manager) View(ctx context.Context, account ids.Account, name string) (ProviderView, error) {
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

// PutProvider stores an account's own provider, or its changes to a provider of the deployment. When the origin of
// the address changes, the key is deleted, because a key must not be sent to another address. seen is the setting
// that the caller read, nil for none: PutProvider returns ErrMoved when it changed meanwhile.
func (m *Manager) PutProvider(ctx context.Context, account ids.Account, seen *Config, c Config) (ProviderView, error) {
	var wrong []fault.Field
	if !m.isPlatform(c.Name) && !providerName().MatchString(c.Name) {
		wrong = append(wrong, fieldFault("name", "has 1 to 40 small letters, digits, dots, - or _", "string_pattern_mismatch"))
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
		wrong = append(wrong, fieldFault("name", "an account has at most 20 providers", "too_long"))
	}
	if c.BaseURL == "" && c.Keyless {
		wrong = append(wrong, fieldFault("keyless", "is for an address of the account's own: give its base_url", "missing"))
	}
	if c.BaseURL == "" && !m.isPlatform(c.Name) {
		wrong = append(wrong, fieldFault("base_url", "is required for a provider that the deployment does not have", "missing"))
	}
	if c.BaseURL != "" {
		base, err := m.Addresses(c.BaseURL)
		if err != nil {
			return ProviderView{}, err
		}
		c.BaseURL = base
	}
	if wrong = slices.Concat(wrong, validPrices(c.Prices), validWindows(c.Windows)); len(wrong) > 0 {
		return ProviderView{}, ErrSetting.At(wrong...)
	}
	c.KeySet, c.UpdatedAt = before.KeySet && (before.BaseURL == c.BaseURL || origin.Same(before.BaseURL, c.BaseURL)), m.Now()
	if err := m.Store.PutProvider(ctx, account, seen, c); err != nil {
		return ProviderView{}, err
	}
	if before.KeySet && !c.KeySet {
		if err := m.KeyStore.DeleteKey(ctx, account, c.Name); err != nil {
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
		return []fault.Field{fieldFault("prices", "at most 200 models", "too_long")}
	}
	var wrong []fault.Field
	for model, p := range prices {
		if model == "" || len(model) > MaxModel || p.Input < 0 || p.Output < 0 || p.Input > credit.MaxMicros || p.Output > credit.MaxMicros {
			wrong = append(wrong, fault.Field{Loc: []any{"body", "prices", model}, Msg: "must be a model and prices that are not below 0", Type: "out_of_range"})
		}
		if p.Cached < 0 || p.Cached > p.Input {
			wrong = append(wrong, fault.Field{Loc: []any{"body", "prices", model, "cached_micros"}, Msg: "must not be below 0 or above input_micros", Type: "out_of_range"})
		}
	}
	return wrong
}

func validWindows(windows map[string]int) []fault.Field {
	if len(windows) > MaxPrices {
		return []fault.Field{fieldFault("windows", "at most 200 models", "too_long")}
	}
	var wrong []fault.Field
	for model, tokens := range windows {
		if !IsModelName(model) || tokens < MinWindow || tokens > MaxWindow {
			wrong = append(wrong, fault.Field{Loc: []any{"body", "windows", model}, Msg: "must be a model and from 2000 to 10000000 tokens", Type: "out_of_range"})
		}
	}
	return wrong
}

func (m *Manager) isPlatform(name string) bool {
	return slices.ContainsFunc(m.Deployment.Providers, func(p Platform) bool { return p.Name == name })
}

// DeleteProvider deletes an account's setting of a provider, and its key.
func (m *Manager) DeleteProvider(ctx context.Context, account ids.Account, name string) error {
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
	if err := m.KeyStore.DeleteKey(ctx, account, name); err != nil {
		return err
	}
	return m.Store.PutHealth(ctx, account, Health{Provider: name, Since: m.Now()})
}

// SetKey stores the account's own key of a provider. An empty key removes it.
func (m *Manager) SetKey(ctx context.Context, account ids.Account, name string, key Key) (ProviderView, error) {
	v, err := m.View(ctx, account, name)
	if err != nil {
		return v, err
	}
	key = Key(strings.TrimSpace(string(key)))
	if len(key) > MaxKey || strings.ContainsFunc(string(key), func(r rune) bool { return r < ' ' || r > '~' }) {
		return v, ErrSetting.At(fieldFault("key", "has at most 4096 printable ASCII characters", "string_pattern_mismatch"))
	}
	c := Config{Name: name}
	if v.Own != nil {
		c = *v.Own
	}
	c.KeySet, c.UpdatedAt = key != "", m.Now()
	if key != "" { // the key is stored before the setting says that there is one
		if err := m.KeyStore.PutKey(ctx, account, name, key); err != nil {
			return v, err
		}
	}
	if err := m.Store.PutProvider(ctx, account, v.Own, c); err != nil {
		return v, err
	}
	if key == "" {
		if err := m.KeyStore.DeleteKey(ctx, account, name); err != nil {
			return v, err
		}
	}
	// The recorded health belongs to the old key.
	if err := m.Store.PutHealth(ctx, account, Health{Provider: name, Since: m.Now()}); err != nil {
		return v, err
	}
	return m.View(ctx, account, name)
}

// AssistantOf returns the assistant that applies to a project, or to the account when projectID is ""; false when
// there is none.
func (m *Manager) AssistantOf(ctx context.Context, account ids.Account, projectID string) (Assistant, bool, error) {
	settings, err := m.Store.Settings(ctx, account)
	if err != nil {
		return Assistant{}, false, err
	}
	a := m.Deployment.assistant(settings, projectID)
	if a == nil {
		return Assistant{}, false, nil
	}
	return *a, true, nil
}

// PutAssistant stores the assistant of an account or of one of its projects.
func (m *Manager) PutAssistant(ctx context.Context, account ids.Account, projectID string, a Assistant) (Assistant, error) {
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

// DeleteAssistant deletes the assistant of an account or project, so that the one of the wider scope applies.
func (m *Manager) DeleteAssistant(ctx context.Context, account ids.Account, projectID string) error {
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
	check(known(a.Provider), fieldFault("provider", unknown, "unknown_provider"))
	check(IsModelName(a.Model), fieldFault("model", "is required, and has at most 200 characters", "string_too_short"))
	check(utf8.RuneCountInString(a.Name) <= MaxName, fieldFault("name", "has at most 80 characters", "string_too_long"))
	check(len(a.Persona) <= clip.Instructions, fault.TooLong(a.Persona, clip.Instructions, "body", "persona"))
	check(!math.IsNaN(a.Temperature) && a.Temperature >= 0 && a.Temperature <= maxTemperature, fieldFault("temperature", "must be from 0 to 2", "out_of_range"))
	check(a.MaxTokens >= 16 && a.MaxTokens <= maxTokens, fieldFault("max_tokens", "must be from 16 to 128000", "out_of_range"))
	check(slices.Contains([]Mode{Automatic, Manual, Off}, a.Automation.Mode), fieldFault("automation", "mode must be one of automatic, manual, off", "enum"))
	check(slices.Contains([]Conclusion{"", ConcludeOn, ConcludeOff}, a.Conclude), fieldFault("conclude", "must be on or off", "enum"))
	check(a.Automation.DelayMS >= 0 && a.Automation.DelayMS <= int(MaxDelay.Milliseconds()), fieldFault("automation", "delay_ms must be from 0 to 10000", "out_of_range"))
	check(len(a.Fallback) <= MaxFallback, fieldFault("fallback", "has at most 5 entries", "too_long"))
	seen := map[string]bool{a.Provider + " " + a.Model: true}
	for i, c := range a.Fallback {
		at := func(member, msg, typ string) fault.Field {
			return fault.Field{Loc: []any{"body", "fallback", i, member}, Msg: msg, Type: typ}
		}
		check(known(c.Provider), at("provider", unknown, "unknown_provider"))
		check(IsModelName(c.Model), at("model", "is required, and has at most 200 characters", "string_too_short"))
		check(!seen[c.Provider+" "+c.Model], at("model", "is in the order already", "duplicate"))
		seen[c.Provider+" "+c.Model] = true
		for _, r := range c.On {
			check(slices.Contains(Swappable(), r), at("on", "holds no_api_key, insufficient_credits, busy, provider_unreachable or rate_limited", "enum"))
		}
	}
	return wrong
}

// IsModelName reports whether a text can be the name of a model.
func IsModelName(s string) bool {
	return strings.TrimSpace(s) == s && s != "" && len(s) <= MaxModel && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func fieldFault(member, msg, typ string) fault.Field {
	return fault.Field{Loc: []any{"body", member}, Msg: msg, Type: typ}
}

// Entitlement returns the entitlement of an account.
func (m *Manager) Entitlement(ctx context.Context, account ids.Account) (Entitlement, error) {
	settings, err := m.Store.Settings(ctx, account)
	return settings.entitlement(), err
}

// PutEntitlement stores the entitlement of an account. It refuses a provider that the account does not have.
func (m *Manager) PutEntitlement(ctx context.Context, account ids.Account, e Entitlement) (Entitlement, error) {
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

// Terms returns the price of AI for an account, and its spending limits.
func (m *Manager) Terms(ctx context.Context, account ids.Account) (Terms, error) {
	settings, err := m.Store.Settings(ctx, account)
	return settings.terms(), err
}

// PutTerms stores the terms of an account.
func (m *Manager) PutTerms(ctx context.Context, account ids.Account, t Terms) (Terms, error) {
	if wrong := append(t.Policy.Valid(), t.Limits.Valid()...); len(wrong) > 0 {
		return t, ErrSetting.At(wrong...)
	}
	t.UpdatedAt = m.Now()
	return t, m.Store.PutTerms(ctx, account, t)
}
