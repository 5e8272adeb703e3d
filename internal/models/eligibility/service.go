package eligibility

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// Settings are the stored settings of an account.
type Settings struct {
	Assistants  map[string]Assistant // by project; "" for the account's own
	Entitlement *Entitlement         // nil: never set
	Terms       *Terms
	Providers   []Config
	Health      map[string]Health  // by provider
	Checks      map[string]Check   // by provider
	Lessons     map[string]Lessons // by provider
}

// Terms are the price of AI for an account, and its spending limits.
type Terms struct {
	Policy    credit.Policy `json:"policy"`
	Limits    credit.Limits `json:"limits"`
	UpdatedAt time.Time     `json:"updated_at,omitzero"`
}

// Config is an account's own setting of a provider. The key is stored separately.
type Config struct {
	Name         string                  `json:"provider"`
	BaseURL      string                  `json:"base_url,omitempty" doc:"of an OpenAI-compatible API (…/v1); absent: the deployment's own"`
	Keyless      bool                    `json:"keyless,omitempty" doc:"it needs no key"`
	KeySet       bool                    `json:"key_set" doc:"the account has a key of its own; the key is never shown"`
	CostsCredits *bool                   `json:"costs_credits,omitempty" doc:"absent: only the deployment's key costs credits, when the deployment charges"`
	Prices       map[string]credit.Price `json:"prices,omitempty" doc:"by model; these come before the table's"`
	Windows      map[string]int          `json:"windows,omitempty" doc:"by model, in tokens; these come before the table's"`
	UpdatedAt    time.Time               `json:"updated_at,omitzero"`
}

// Health is the result of the last real call, or probe, of a provider.
type Health struct {
	Provider string    `json:"provider"`
	At       time.Time `json:"at"`
	Outcome  string    `json:"outcome"` // "ok" or the reason of the failure
	Waiting  time.Time `json:"waiting"` // the provider asked for no call before that time
	Since    time.Time `json:"since"`   // its key or address was set then; older results do not count
}

// Platform is a provider of the deployment.
type Platform struct {
	Name         string
	BaseURL      string
	Keyless      bool
	Demo         bool
	CostsCredits bool // when the deployment's own key is used
}

// Deployment is the configuration that applies where an account has set nothing.
type Deployment struct {
	Providers []Platform
	Assistant *Assistant // nil: none
}

// Store keeps settings. A missing item is not an error.
type Store interface {
	Settings(ctx context.Context, account ids.Account) (Settings, error)
	PutHealth(ctx context.Context, account ids.Account, h Health) error

	PutAssistant(ctx context.Context, account ids.Account, projectID string, a Assistant) error
	DeleteAssistant(ctx context.Context, account ids.Account, projectID string) error
	PutEntitlement(ctx context.Context, account ids.Account, e Entitlement) error
	PutTerms(ctx context.Context, account ids.Account, t Terms) error
	// PutProvider replaces the provider setting seen, nil for a missing one; ErrMoved when it changed.
	PutProvider(ctx context.Context, account ids.Account, seen *Config, c Config) error
	// DeleteProvider removes a provider's setting, its check, and what was learned of it.
	DeleteProvider(ctx context.Context, account ids.Account, name string) error
	// PutCheck replaces the check seen of a provider, nil for a missing one; ErrMoved when it changed, or is gone.
	PutCheck(ctx context.Context, account ids.Account, seen *Check, c Check) error
	// PutLessons replaces the lessons seen of a provider, nil for none; ErrMoved when they changed.
	PutLessons(ctx context.Context, account ids.Account, seen *Lessons, l Lessons) error
}

// Keys reports for which providers the deployment has a key.
type Keys interface {
	Platform(ctx context.Context) (map[string]bool, error)
}

// Models returns a client for a candidate, with its key.
type Models interface {
	Model(ctx context.Context, account ids.Account, c Candidate) (llm.Model, error)
}

// Service reads snapshots and decides about them.
type Service struct {
	Store      Store
	Standings  credit.StandingReader
	Deployment Deployment
	Keys       Keys
	Now        func() time.Time
	Log        *slog.Logger
	Started    time.Time // of the process: an earlier rejection of the deployment's keys is no proof about the present ones
}

// Question is the subject of a decision.
type Question struct {
	Account   ids.Account
	ProjectID string
	Mode      Mode // the chat's own, or ""
	Need      Need
	Choice    *Choice    // the model, instead of the assistant's; nil: the assistant's
	Assistant *Assistant // instead of the stored one; nil: the stored one
	Budget    int64      // micros that the turn may cost for its agent; 0: only the account's limits
	Preview   bool       // as in Snapshot
}

// Read returns the snapshot for a question.
func (s *Service) Read(ctx context.Context, q Question) (Snapshot, error) {
	settings, err := s.Store.Settings(ctx, q.Account)
	if err != nil {
		return Snapshot{}, err
	}
	return s.Snapshot(ctx, q, settings)
}

// Snapshot returns the snapshot for a question under the account's settings. It reads the wallet only when a
// provider of the assistant costs credits, or spending has a limit.
func (s *Service) Snapshot(ctx context.Context, q Question, settings Settings) (Snapshot, error) {
	terms := settings.terms()
	out := Snapshot{
		At: s.Now(), Entitlement: settings.entitlement(), Assistant: s.Deployment.assistant(settings, q.ProjectID), Mode: q.Mode,
		Providers: s.Deployment.providers(settings, nil), Policy: terms.Policy, Limits: terms.Limits, Budget: q.Budget, Need: q.Need,
		Preview: q.Preview,
	}
	if q.Assistant != nil {
		out.Assistant = q.Assistant
	}
	if q.Choice != nil && out.Assistant != nil {
		chosen := *out.Assistant
		chosen.Provider, chosen.Model = q.Choice.Provider, q.Choice.Model
		out.Assistant = &chosen
	}
	var keys map[string]bool
	var reads errgroup.Group
	if out.isPaid() {
		reads.Go(func() (err error) { out.Standing, err = s.Standings.Standing(ctx, q.Account, out.At); return })
	}
	reads.Go(func() (err error) { keys, err = s.Keys.Platform(ctx); return })
	if err := reads.Wait(); err != nil {
		return Snapshot{}, err
	}
	out.Providers = s.Deployment.providers(settings, keys)
	for i, p := range out.Providers {
		out.Providers[i].Rejected = s.isRejected(p)
	}
	return out, nil
}

// isRejected reports whether the provider did not accept the key that it has.
func (s *Service) isRejected(p Provider) bool {
	since := p.KeyAt
	if !p.OwnKey {
		since = s.Started
	}
	return p.HasKey && p.Health.Outcome == string(NoAPIKey) && p.Health.At.After(since)
}

// isPaid reports whether the decision depends on the wallet.
func (s Snapshot) isPaid() bool {
	if s.Assistant == nil {
		return false
	}
	used := append([]Choice{{Provider: s.Assistant.Provider}}, s.Assistant.Fallback...)
	return s.Limits.Day > 0 || s.Limits.Month > 0 || slices.ContainsFunc(s.Providers, func(p Provider) bool {
		return p.CostsCredits && slices.ContainsFunc(used, func(c Choice) bool { return c.Provider == p.Name })
	})
}

// Decide reads the snapshot and resolves it. A failed read is logged and gives internal_error.
func (s *Service) Decide(ctx context.Context, q Question) (*Selection, *Block) {
	snapshot, err := s.Read(ctx, q)
	if err != nil {
		s.Log.ErrorContext(ctx, "eligibility.unread", "error", err)
		return nil, Refuse(InternalError, "")
	}
	return Resolve(snapshot)
}

// NominalNeed returns the need to assume before there is a message.
func NominalNeed() Need { return Need{Input: 4_000} }

func (s Settings) entitlement() Entitlement {
	if s.Entitlement == nil {
		return Entitlement{Entitled: true, Enabled: true}
	}
	return *s.Entitlement
}

func (s Settings) terms() Terms {
	if s.Terms == nil {
		return Terms{Policy: credit.DefaultPolicy()}
	}
	return *s.Terms
}

// assistant returns the project's assistant, else the account's, else the deployment's; nil when there is none.
func (d Deployment) assistant(settings Settings, projectID string) *Assistant {
	if a, ok := settings.Assistants[projectID]; ok && projectID != "" {
		return &a
	}
	if a, ok := settings.Assistants[""]; ok {
		return &a
	}
	return d.Assistant
}

// providers returns the deployment's providers, with the account's changes, and the account's own providers. The
// deployment's key is only for the deployment's own address.
func (d Deployment) providers(settings Settings, keys map[string]bool) []Provider {
	var list []Provider
	for _, p := range d.Providers {
		list = append(list, Provider{
			Name: p.Name, BaseURL: p.BaseURL, HasKey: p.Keyless || keys[p.Name], Keyless: p.Keyless, Demo: p.Demo,
			CostsCredits: p.CostsCredits, Health: settings.Health[p.Name],
		})
	}
	for _, c := range settings.Providers {
		at := slices.IndexFunc(list, func(p Provider) bool { return p.Name == c.Name })
		if at < 0 {
			list, at = append(list, Provider{Name: c.Name, Health: settings.Health[c.Name]}), len(list)
		}
		p := &list[at]
		p.Prices, p.Windows, p.Moved = c.Prices, c.Windows, c.BaseURL != ""
		if c.BaseURL != "" || c.KeySet || c.Keyless {
			p.BaseURL, p.HasKey, p.Keyless, p.Demo, p.CostsCredits = cmp.Or(c.BaseURL, p.BaseURL), c.KeySet || c.Keyless, c.Keyless && !c.KeySet, false, false
			p.OwnKey, p.KeyAt = c.KeySet, c.UpdatedAt
		}
		if c.CostsCredits != nil {
			p.CostsCredits = *c.CostsCredits
		}
	}
	for i, p := range list {
		list[i].Check, list[i].Lessons = settings.checkOf(p.Name, p.BaseURL), settings.lessonsOf(p.Name, p.BaseURL)
	}
	return list
}
