package webui

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

// purse is one account's settings and credit, behind the real decisions.
type purse struct {
	settings eligibility.Settings
	keys     map[string]string // the account's own, by provider
	platform map[string]bool   // providers with a key of the deployment
	ledger   []credit.Entry    // the newest first
	sessions []credit.Session
	turns    []credit.Turn // the newest first
}

func newPurse() *purse {
	return &purse{
		settings: eligibility.Settings{Assistants: map[string]eligibility.Assistant{}, Health: map[string]eligibility.Health{}},
		keys:     map[string]string{}, platform: map[string]bool{"openai": true},
	}
}

// managerOf returns the real manager over this memory.
func managerOf(m *memory, facts Facts) *eligibility.Manager {
	service := &eligibility.Service{Store: m, Standings: m, Keys: m, Now: m.now, Log: slog.New(slog.DiscardHandler)}
	service.Deployment.Providers = []eligibility.Platform{
		{Name: "openai", BaseURL: "https://api.openai.com/v1", CostsCredits: true},
		{Name: "groq", BaseURL: "https://api.groq.com/openai/v1"},
		{Name: "demo", Keyless: true, Demo: true},
	}
	service.Deployment.Assistant = &eligibility.Assistant{
		Active: true, Provider: facts.Provider, Model: facts.Model, Temperature: .2, MaxTokens: 4096, Scope: eligibility.ScopeDeployment,
	}
	return service.Manager(m, func(base string) (string, error) {
		if strings.Contains(base, "169.254") {
			return "", eligibility.ErrSetting.At(fault.Field{Loc: []any{"body", "base_url"}, Msg: "is a metadata address", Type: "url_refused"})
		}
		return base, nil
	})
}

// decide makes the real decision over this memory.
func (w *world) decide(ctx context.Context, q eligibility.Question) (*eligibility.Selection, *eligibility.Block) {
	s := eligibility.Service{Store: w.ai.Store, Standings: w.memory, Deployment: w.ai.Deployment, Keys: w.ai.Keys, Now: w.ai.Now, Log: slog.New(slog.DiscardHandler)}
	return s.Eligibility(ctx, q)
}

func (m *memory) Settings(context.Context, ids.Account) (eligibility.Settings, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.purse.settings
	s.Assistants, s.Health, s.Providers = maps.Clone(s.Assistants), maps.Clone(s.Health), slices.Clone(s.Providers)
	return s, nil
}

func (m *memory) Platform(context.Context) (map[string]bool, error) { return m.purse.platform, nil }

// change writes under the lock.
func (m *memory) change(f func(*purse)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.purse)
	return nil
}

func (m *memory) PutHealth(_ context.Context, _ ids.Account, h eligibility.Health) error {
	return m.change(func(p *purse) { p.settings.Health[h.Provider] = h })
}

func (m *memory) PutAssistant(_ context.Context, _ ids.Account, project string, a eligibility.Assistant) error {
	return m.change(func(p *purse) { p.settings.Assistants[project] = a })
}

func (m *memory) DeleteAssistant(_ context.Context, _ ids.Account, project string) error {
	return m.change(func(p *purse) { delete(p.settings.Assistants, project) })
}

func (m *memory) PutEntitlement(_ context.Context, _ ids.Account, e eligibility.Entitlement) error {
	return m.change(func(p *purse) { p.settings.Entitlement = &e })
}

func (m *memory) PutTerms(_ context.Context, _ ids.Account, t eligibility.Terms) error {
	return m.change(func(p *purse) { p.settings.Terms = &t })
}

func (m *memory) PutProvider(_ context.Context, _ ids.Account, _ *eligibility.Config, c eligibility.Config) error {
	return m.change(func(p *purse) {
		p.settings.Providers = append(slices.DeleteFunc(slices.Clone(p.settings.Providers), func(o eligibility.Config) bool { return o.Name == c.Name }), c)
	})
}

func (m *memory) DeleteProvider(_ context.Context, _ ids.Account, name string) error {
	return m.change(func(p *purse) {
		p.settings.Providers = slices.DeleteFunc(slices.Clone(p.settings.Providers), func(o eligibility.Config) bool { return o.Name == name })
	})
}

func (m *memory) PutCheck(_ context.Context, _ ids.Account, _ *eligibility.Check, c eligibility.Check) error {
	return m.change(func(p *purse) {
		p.settings.Checks = maps.Clone(p.settings.Checks)
		if p.settings.Checks == nil {
			p.settings.Checks = map[string]eligibility.Check{}
		}
		p.settings.Checks[c.Provider] = c
	})
}

func (m *memory) PutLessons(_ context.Context, _ ids.Account, _ *eligibility.Lessons, l eligibility.Lessons) error {
	return m.change(func(p *purse) {
		p.settings.Lessons = maps.Clone(p.settings.Lessons)
		if p.settings.Lessons == nil {
			p.settings.Lessons = map[string]eligibility.Lessons{}
		}
		p.settings.Lessons[l.Provider] = l
	})
}

func (m *memory) PutKey(_ context.Context, _ ids.Account, provider string, key eligibility.Key) error {
	return m.change(func(p *purse) { p.keys[provider] = string(key) })
}

func (m *memory) DeleteKey(_ context.Context, _ ids.Account, provider string) error {
	return m.change(func(p *purse) { delete(p.keys, provider) })
}

func (m *memory) Standing(_ context.Context, account ids.Account, at time.Time) (credit.Standing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := credit.Standing{Sessions: slices.Clone(m.purse.sessions), Entries: int64(len(m.purse.ledger))}
	if account != m.account {
		return credit.Standing{}, nil
	}
	for _, e := range m.purse.ledger {
		s.Balance += e.Amount
	}
	for _, t := range m.purse.turns {
		if credit.Day(t.At) == credit.Day(at) {
			s.Day += t.Micros
		}
		if credit.Month(t.At) == credit.Month(at) {
			s.Month += t.Micros
		}
	}
	slices.SortFunc(s.Sessions, func(a, b credit.Session) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID))
	})
	return s, nil
}

func (m *memory) Ledger(_ context.Context, account ids.Account, cursor string, limit int) ([]credit.Entry, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Clone(m.purse.ledger)
	if i := slices.IndexFunc(list, func(e credit.Entry) bool { return e.ID == cursor }); i >= 0 {
		list = list[i+1:]
	}
	if account != m.account {
		return nil, "", nil
	}
	if len(list) <= limit {
		return list, "", nil
	}
	return list[:limit], list[limit-1].ID, nil
}

func (m *memory) Turns(_ context.Context, account ids.Account, from, to time.Time, f func(credit.Turn) bool) error {
	m.mu.Lock()
	turns := slices.Clone(m.purse.turns)
	m.mu.Unlock()
	for _, t := range turns {
		if account == m.account && !t.At.Before(from) && t.At.Before(to) && !f(t) {
			return nil
		}
	}
	return nil
}

// till is the credit store of a memory.
type till struct{ *memory }
