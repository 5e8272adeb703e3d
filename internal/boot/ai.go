package boot

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/parallel"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
	"piloto/internal/models/secrets"
	"piloto/internal/tools/outbound"
	"piloto/internal/tools/tool"
)

// Platform is what there is before an account says anything.
type Platform struct {
	Provider
	GroqURL string `env:"GROQ_BASE_URL,required,notEmpty"`
	Charge  bool   `env:"CHARGE_CREDITS" envDefault:"true"` // the deployment's key costs credits
}

// AI is what the functions read that decide who answers, or answer.
type AI struct {
	Platform
	SecretARN string `env:"MODEL_SECRET_ARN"`             // of the deployment's keys; empty: it has none
	KeyPrefix string `env:"KEY_PREFIX,required,notEmpty"` // of the secrets with the accounts' own keys
}

// Name is what people call the provider that the deployment names.
func (c Platform) Name() string {
	if c.BaseURL == c.GroqURL {
		return groq
	}
	return c.Provider.Name()
}

const (
	modelTimeout = 15 * time.Minute // of one call, when nothing else ends it: the turn does
	keyLife      = 5 * time.Minute  // a key that was replaced is read again by then
	noKeyLife    = 30 * time.Second // and one that was missing
	ownKey       = "API_KEY"        // the name in an account's own secret
)

// keyNames are the names of the deployment's keys in its secret.
var keyNames = map[string]string{groq: "GROQ_API_KEY"}

const (
	groq         = "groq"
	otherKeyName = "OPENAI_API_KEY"
	maxTokens    = eligibility.DefaultMaxTokens
	temperature  = 0.2
)

func keyName(provider string) string {
	if name, ok := keyNames[provider]; ok {
		return name
	}
	return otherKeyName
}

// retries of a provider's call, within what the turn allows.
func (w World) retries() llm.Retry {
	return llm.Retry{Most: 3, Base: 400 * time.Millisecond, Cap: 5 * time.Second, Now: w.Now, Rand: rand.N[time.Duration]}
}

// platform is what there is before an account says anything: the provider that
// the deployment names, and the ones that everybody knows, for accounts with a key
// of their own.
func (w World) platform(c Platform) eligibility.Deployment {
	named := eligibility.Platform{
		Name: c.Name(), BaseURL: c.BaseURL, Keyless: w.Keyless, Demo: w.Demo, CostsCredits: c.Charge && !w.Keyless && c.Name() != groq,
	}
	if w.Demo {
		named.Name = "demo"
	}
	d := eligibility.Deployment{Providers: []eligibility.Platform{named}}
	for _, p := range []eligibility.Platform{
		{Name: "openai", BaseURL: openaiURL, CostsCredits: c.Charge},
		{Name: groq, BaseURL: c.GroqURL},
	} {
		if p.Name != named.Name {
			d.Providers = append(d.Providers, p)
		}
	}
	if c.Model != "" {
		d.Assistant = &eligibility.Assistant{
			Name: "Piloto", Active: true, Provider: named.Name, Model: c.Model, Temperature: temperature, MaxTokens: maxTokens,
			Automation: eligibility.Automation{Mode: eligibility.Automatic}, Fallback: []eligibility.Choice{}, Scope: eligibility.ScopeDeployment,
		}
	}
	return d
}

const openaiURL = "https://api.openai.com/v1"

// minds are the models of a deployment's and its accounts' providers, with their
// keys. Keys are read when they are needed, kept for a while, and dropped when
// the provider refuses them. The deployment's key goes to the deployment's own
// address and to no other.
type minds struct {
	config     AI
	deployment eligibility.Deployment
	secrets    *secrets.Manager
	now        func() time.Time
	own        *http.Client // for the deployment's addresses
	guarded    *http.Client // for those that accounts gave
	demoKey    string       // sent to the demonstration model; "" where there is none

	mu   sync.Mutex
	kept map[mind]*kept
}

// mind names a client: a key that was set anew makes another.
type mind struct {
	account  string // "" for the deployment's own key
	provider string
	base     string
	version  time.Time
}

type kept struct {
	client *openai.Client // nil: there is no key
	key    string
	until  time.Time
}

func (w World) minds(c AI, d eligibility.Deployment) *minds {
	return &minds{
		config: c, deployment: d, secrets: secrets.NewManager(w.Secrets, c.KeyPrefix), now: w.Now,
		own:     &http.Client{Timeout: modelTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone()},
		guarded: outbound.NewClient(w.outbound(modelTimeout)), demoKey: w.DemoKey, kept: map[mind]*kept{},
	}
}

// Platform implements eligibility.Keys.
func (m *minds) Platform(ctx context.Context) (map[string]bool, error) {
	has := map[string]bool{}
	var mu sync.Mutex
	var reads []func() error
	for _, p := range m.deployment.Providers {
		if p.Keyless || m.config.SecretARN == "" || p.Name == "openai" && p.BaseURL != m.config.BaseURL {
			continue // it needs none, or there is none for its address
		}
		reads = append(reads, func() error {
			client, err := m.client(ctx, mind{provider: p.Name, base: p.BaseURL}, m.own, m.config.SecretARN, keyName(p.Name))
			mu.Lock()
			defer mu.Unlock()
			has[p.Name] = client != nil
			return err
		})
	}
	return has, parallel.Do(reads...)
}

// Model implements eligibility.Models.
func (m *minds) Model(ctx context.Context, account string, c eligibility.Candidate) (llm.Model, error) {
	doer, platform := m.guarded, false
	for _, p := range m.deployment.Providers {
		if p.Name == c.Provider && p.BaseURL == c.BaseURL {
			doer, platform = m.own, true
		}
	}
	id := mind{account: account, provider: c.Provider, base: c.BaseURL, version: c.KeyAt}
	secret, name := m.secrets.ProviderID(account, c.Provider), ownKey
	switch {
	case c.Keyless && platform: // nobody gave it a key, and nobody pays for it; the demonstration's is its own
		return openai.New(c.Provider, c.BaseURL, m.demoKey, doer), nil
	case c.Keyless:
		return openai.New(c.Provider, c.BaseURL, "", doer), nil
	case !c.OwnKey && !platform:
		return nil, llm.ErrNoKey // the deployment's key is for no other address
	case !c.OwnKey:
		id.account, id.version = "", time.Time{}
		secret, name = m.config.SecretARN, keyName(c.Provider)
	}
	client, err := m.client(ctx, id, doer, secret, name)
	if err != nil {
		return nil, err
	}
	if client == nil {
		return nil, llm.ErrNoKey.Because(errors.New("the key is gone"))
	}
	return forgetful{client, func() { m.forget(id) }}, nil
}

// client returns the client of a mind; nil when there is no key.
func (m *minds) client(ctx context.Context, id mind, doer *http.Client, secret, name string) (*openai.Client, error) {
	m.mu.Lock()
	k := m.kept[id]
	m.mu.Unlock()
	if k != nil && m.now().Before(k.until) {
		return k.client, nil
	}
	key, err := m.secrets.Get(ctx, secret, name)
	fresh := &kept{until: m.now().Add(noKeyLife)}
	switch {
	case err == nil && k != nil && k.key == key: // it has learned what its provider takes
		fresh = &kept{k.client, key, m.now().Add(keyLife)}
	case err == nil:
		fresh = &kept{openai.New(id.provider, id.base, key, doer), key, m.now().Add(keyLife)}
	case errors.Is(err, secrets.ErrNotFound):
	default:
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept) >= mostMinds { // it begins anew
		m.kept = map[mind]*kept{}
	}
	m.kept[id] = fresh
	return fresh.client, nil
}

// mostMinds bounds the clients that are kept.
const mostMinds = 512

func (m *minds) forget(id mind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, id)
}

// forgetful forgets a client whose key was refused.
type forgetful struct {
	*openai.Client
	forget func()
}

// Complete implements llm.Model.
func (f forgetful) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	reply, err := f.Client.Complete(ctx, r)
	if errors.Is(err, llm.ErrNoKey) {
		f.forget()
	}
	return reply, err
}

// Probe implements llm.Prober.
func (f forgetful) Probe(ctx context.Context) error {
	err := f.Client.Probe(ctx)
	if errors.Is(err, llm.ErrNoKey) {
		f.forget()
	}
	return err
}

// vault keeps the accounts' own keys.
type vault struct{ secrets *secrets.Manager }

// PutKey implements eligibility.Vault.
func (v vault) PutKey(ctx context.Context, account, provider, key string) error {
	return v.secrets.Put(ctx, v.secrets.ProviderID(account, provider), map[string]string{ownKey: key})
}

// DeleteKey implements eligibility.Vault.
func (v vault) DeleteKey(ctx context.Context, account, provider string) error {
	return v.secrets.Delete(ctx, v.secrets.ProviderID(account, provider))
}

// eligible builds what decides who answers.
func (s site) eligible(c AI) (*eligibility.Service, *minds) {
	d := s.platform(c.Platform)
	m := s.minds(c, d)
	return &eligibility.Service{Store: s.eligibilityStores(), Deployment: d, Keys: m, Now: s.Now, Log: s.log}, m
}

func (s site) credits() *credit.Service {
	return &credit.Service{Store: s.stores.Wallet, IDs: s.IDs, Now: s.Now, Log: s.log, AloneSince: s.AloneSince}
}

// addresses is the policy of the base URLs that accounts give.
func (w World) addresses(base string) (string, error) { return tool.NormalizeURL(base, w.policy()) }

// Eligibility builds functions/eligibility.
func Eligibility(w World, e Environment) (http.Handler, error) {
	c, err := read[EligibilityConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config)
	decisions, models := s.eligible(c.AI)
	return s.serve(httpapi.AI(s.http, httpapi.AIServices{
		Decisions: decisions, Settings: &eligibility.Manager{Service: decisions, KeyStore: vault{models.secrets}, Addresses: s.addresses},
		Wallet: s.credits(), Books: s.stores.Wallet, Models: models, Owned: s.stores.Chats,
	})), nil
}

// keyless is the page's knowledge of the deployment's keys: none. It shows what
// accounts set, and asks the API for the rest.
type keyless struct{}

// Platform implements eligibility.Keys.
func (keyless) Platform(context.Context) (map[string]bool, error) { return map[string]bool{}, nil }

// shown is what the page reads of an account's settings.
func (s site) shown(p Platform) *eligibility.Manager {
	return &eligibility.Manager{Service: &eligibility.Service{
		Store: s.eligibilityStores(), Deployment: s.platform(p), Keys: keyless{}, Now: s.Now, Log: s.log,
	}}
}

// tickets opens sockets.
type tickets struct{ store auth.Store }

// Issue implements httpapi.Tickets.
func (t tickets) Issue(ctx context.Context, p auth.Principal, at time.Time) (string, time.Time, error) {
	return auth.NewTicket(ctx, t.store, p, at)
}
