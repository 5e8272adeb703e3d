package boot

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/access/auth"
	"piloto/internal/chats/turn"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/models/check"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
	"piloto/internal/models/paid"
	"piloto/internal/models/secrets"
	"piloto/internal/runs/stepfn"
	"piloto/internal/tools/outbound"
	"piloto/internal/tools/tool"
)

// Platform is the deployment's own provider, and whether its key costs credits.
type Platform struct {
	Provider
	GroqURL string `env:"GROQ_BASE_URL,required,notEmpty"`
	Charge  bool   `env:"CHARGE_CREDITS" envDefault:"true"` // answers with the deployment's key cost credits
}

// AI is the configuration of the functions that decide who answers, or answer.
type AI struct {
	Platform
	SecretARN string `env:"MODEL_SECRET_ARN"`             // secret with the deployment's keys; empty: it has none
	KeyPrefix string `env:"KEY_PREFIX,required,notEmpty"` // prefix of the secrets with the accounts' own keys
}

// Name returns the display name of the deployment's provider.
func (c Platform) Name() string {
	if c.BaseURL == c.GroqURL {
		return groq
	}
	return c.Provider.Name()
}

const (
	modelTimeout = 15 * time.Minute // limit of one call, when nothing else ends it; usually the turn does
	keyLife      = 5 * time.Minute  // a replaced key is read again after this time
	noKeyLife    = 30 * time.Second // and a missing one after this
	ownKey       = "API_KEY"        // the name of the key in an account's own secret
)

// keyNames are the names of the deployment's keys in its secret, by provider.
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

// retries returns the retry policy of a provider's call. The turn's deadline limits it, too.
func (w World) retries() llm.Retry {
	return llm.Retry{Most: 3, Base: 400 * time.Millisecond, Cap: 5 * time.Second, Now: w.Now, Rand: rand.N[time.Duration]}
}

// platform returns the configuration that applies where an account has set nothing: the deployment's provider, and
// the well-known providers for accounts with a key of their own.
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

// clientCache makes and caches the clients of providers, with the keys of the deployment and of its accounts. A key
// is read when it is needed, cached for a while, and evicted when the provider refuses it. The deployment's key is
// sent only to the deployment's own address.
type clientCache struct {
	config     AI
	deployment eligibility.Deployment
	secrets    *secrets.Manager
	now        func() time.Time
	own        *http.Client // for the deployment's addresses
	guarded    *http.Client // for the addresses that accounts set
	demoKey    string       // key of the demonstration model; "" where there is none

	mu    sync.Mutex
	cache map[clientKey]*cachedClient
}

// clientKey identifies a client. A new key of the account gives a new version, so a new client.
type clientKey struct {
	account  ids.Account // "" when the deployment's key is used
	provider string
	base     string
	version  time.Time
	keyless  bool
}

type cachedClient struct {
	client *openai.Client // nil: there is no key
	key    string
	until  time.Time
}

func (w World) newClientCache(c AI, d eligibility.Deployment) *clientCache {
	return &clientCache{
		config: c, deployment: d, secrets: secrets.NewManager(w.Secrets, c.KeyPrefix), now: w.Now,
		own:     &http.Client{Timeout: modelTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone()},
		guarded: outbound.NewClient(w.outbound(modelTimeout)), demoKey: w.DemoKey, cache: map[clientKey]*cachedClient{},
	}
}

// Platform implements eligibility.Keys.
func (m *clientCache) Platform(ctx context.Context) (map[string]bool, error) {
	has := map[string]bool{}
	var mu sync.Mutex
	var reads errgroup.Group
	for _, p := range m.deployment.Providers {
		if p.Keyless || m.config.SecretARN == "" || p.Name == "openai" && p.BaseURL != m.config.BaseURL {
			continue // it needs no key, or there is none for its address
		}
		reads.Go(func() error {
			client, err := m.client(ctx, clientKey{provider: p.Name, base: p.BaseURL}, m.own, m.config.SecretARN, keyName(p.Name))
			mu.Lock()
			defer mu.Unlock()
			has[p.Name] = client != nil
			return err
		})
	}
	return has, reads.Wait()
}

// Model implements eligibility.Models. The client heeds what the last check of the model found.
func (m *clientCache) Model(ctx context.Context, account ids.Account, c eligibility.Candidate) (llm.Model, error) {
	got, err := m.clientOf(ctx, account, c)
	if err != nil {
		return nil, err
	}
	got.client.Teach(c.Model, c.Known.Quirks, c.Known.At)
	return got, nil
}

// Fresh implements check.Clients.
func (m *clientCache) Fresh(ctx context.Context, account ids.Account, c eligibility.Candidate) (llm.Learner, error) {
	got, err := m.clientOf(ctx, account, c)
	if err != nil {
		return nil, err
	}
	return evictingClient{got.client.Fresh(), got.evict}, nil
}

// clientOf returns the client of a candidate, with its key.
func (m *clientCache) clientOf(ctx context.Context, account ids.Account, c eligibility.Candidate) (evictingClient, error) {
	doer, platform := m.guarded, false
	for _, p := range m.deployment.Providers {
		if p.Name == c.Provider && p.BaseURL == c.BaseURL {
			doer, platform = m.own, true
		}
	}
	id := clientKey{account: account, provider: c.Provider, base: c.BaseURL, version: c.KeyAt}
	secret, name := m.secrets.ProviderID(account, c.Provider), ownKey
	switch {
	case c.Keyless && platform: // no account has set its key and nothing is billed; only the demonstration model has a key
		id.account = ""
		return evictingClient{m.keyless(id, doer, m.demoKey), func() {}}, nil
	case c.Keyless:
		return evictingClient{m.keyless(id, doer, ""), func() {}}, nil
	case !c.OwnKey && !platform:
		return evictingClient{}, llm.ErrNoKey // the deployment's key must not be sent to another address
	case !c.OwnKey:
		id.account, id.version = "", time.Time{}
		secret, name = m.config.SecretARN, keyName(c.Provider)
	}
	client, err := m.client(ctx, id, doer, secret, name)
	if err != nil {
		return evictingClient{}, err
	}
	if client == nil {
		return evictingClient{}, llm.ErrNoKey.Because(errors.New("the key is gone"))
	}
	return evictingClient{client, func() { m.evict(id) }}, nil
}

// client returns the cached or a new client; nil when there is no key.
func (m *clientCache) client(ctx context.Context, id clientKey, doer *http.Client, secret, name string) (*openai.Client, error) {
	m.mu.Lock()
	k := m.cache[id]
	m.mu.Unlock()
	if k != nil && m.now().Before(k.until) {
		return k.client, nil
	}
	key, err := m.secrets.Get(ctx, secret, name)
	fresh := &cachedClient{until: m.now().Add(noKeyLife)}
	switch {
	case err == nil && k != nil && k.key == key: // the old client has learned the quirks of its provider
		fresh = &cachedClient{k.client, key, m.now().Add(keyLife)}
	case err == nil:
		fresh = &cachedClient{openai.New(openai.Endpoint{Provider: id.provider, BaseURL: id.base, Key: key}, doer, m.now), key, m.now().Add(keyLife)}
	case errors.Is(err, secrets.ErrNotFound):
	default:
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(id, fresh)
	return fresh.client, nil
}

// keyless returns the cached or a new client of a provider that needs no key of an account. It has learned the quirks of its
// provider.
func (m *clientCache) keyless(id clientKey, doer *http.Client, key string) *openai.Client {
	id.keyless = true
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.cache[id]; k != nil {
		return k.client
	}
	client := openai.New(openai.Endpoint{Provider: id.provider, BaseURL: id.base, Key: key}, doer, m.now)
	m.keep(id, &cachedClient{client: client})
	return client
}

// keep adds a client to the cache. The caller holds the lock.
func (m *clientCache) keep(id clientKey, k *cachedClient) {
	if len(m.cache) >= maxClients { // a full cache is emptied
		m.cache = map[clientKey]*cachedClient{}
	}
	m.cache[id] = k
}

// maxClients is the largest number of cached clients.
const maxClients = 512

func (m *clientCache) evict(id clientKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.cache, id)
}

// evictingClient evicts its client from the cache when the provider refuses the key.
type evictingClient struct {
	client *openai.Client
	evict  func()
}

// List implements llm.Learner.
func (f evictingClient) List(ctx context.Context) ([]llm.Listed, error) { return f.client.List(ctx) }

// Learned implements llm.Learner.
func (f evictingClient) Learned(model string) json.RawMessage { return f.client.Learned(model) }

// Complete implements llm.Model.
func (f evictingClient) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	reply, err := f.client.Complete(ctx, r)
	if errors.Is(err, llm.ErrNoKey) {
		f.evict()
	}
	return reply, err
}

// Window implements llm.Windowed.
func (f evictingClient) Window(model string) int { return f.client.Window(model) }

// Probe implements llm.Prober.
func (f evictingClient) Probe(ctx context.Context) error {
	err := f.client.Probe(ctx)
	if errors.Is(err, llm.ErrNoKey) {
		f.evict()
	}
	return err
}

// keyStore stores the accounts' own keys in Secrets Manager.
type keyStore struct{ secrets *secrets.Manager }

// PutKey implements eligibility.KeyStore.
func (v keyStore) PutKey(ctx context.Context, account ids.Account, provider string, key eligibility.Key) error {
	return v.secrets.Put(ctx, v.secrets.ProviderID(account, provider), map[string]string{ownKey: string(key)})
}

// DeleteKey implements eligibility.KeyStore.
func (v keyStore) DeleteKey(ctx context.Context, account ids.Account, provider string) error {
	return v.secrets.Delete(ctx, v.secrets.ProviderID(account, provider))
}

// eligibilityService returns the service that decides who answers, and its clients.
func (s site) eligibilityService(c AI) (*eligibility.Service, *clientCache) {
	d := s.world.platform(c.Platform)
	m := s.world.newClientCache(c, d)
	return &eligibility.Service{
		Store: s.stores.Settings, Standings: s.stores.Wallet, Deployment: d, Keys: m, Now: s.world.Now, Log: s.log, Started: s.world.Now(),
	}, m
}

func (s site) credits() *credit.Service {
	return &credit.Service{Store: s.stores.Wallet, IDs: s.world.IDs, Now: s.world.Now, Log: s.log, AloneSince: s.world.AloneSince}
}

// paid returns the service that calls models.
func (s site) paid(c AI) *paid.Service {
	eligible, models := s.eligibilityService(c)
	return &paid.Service{Eligibility: eligible, Credit: s.credits(), Models: models, Retry: s.world.retries(), Log: s.log, Learns: true}
}

// addresses returns the normal form of an account's base URL, or the reason why it is not allowed.
func (w World) addresses(base string) (string, error) { return tool.NormalizeURL(base, w.policy()) }

// Eligibility builds functions/eligibility.
func Eligibility(w World, e Environment) (http.Handler, error) {
	c, err := read[EligibilityConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config)
	s.http.Once, s.http.Async = s.replays(), &httpapi.Async{Start: stepfn.New(s.world.StepFunctions, c.TurnMachine.ARN).StartTurn}
	return s.serve(httpapi.AI(s.http, s.aiServices(c.AI))), nil
}

// aiServices returns the services of the routes below /ai.
func (s site) aiServices(c AI) httpapi.AIServices {
	decisions, models := s.eligibilityService(c)
	checked := s.credits()
	checked.Life = holdLife(turn.Limits{Model: check.Life}, 0)
	return httpapi.AIServices{
		Decisions: decisions, Settings: decisions.Manager(keyStore{models.secrets}, s.world.addresses),
		Wallet: s.credits(), Books: s.stores.Wallet, Models: models, Owned: s.stores.Chats, Loops: s.stores.Registry,
		Checks: &check.Service{Eligibility: decisions, Credit: checked, Clients: models, IDs: s.world.IDs, Now: s.world.Now, Log: s.log},
	}
}

// keyless is the key list of functions without keys: they read only the accounts' settings and which providers there are.
type keyless struct{}

// Platform implements eligibility.Keys.
func (keyless) Platform(context.Context) (map[string]bool, error) { return map[string]bool{}, nil }

// settings returns the settings of accounts, for functions that have no keys.
func (s site) settings(p Platform) *eligibility.Manager {
	return &eligibility.Manager{Store: s.stores.Settings, Deployment: s.world.platform(p), Keys: keyless{}, Now: s.world.Now}
}

// tickets issues the tickets that open sockets.
type tickets struct{ store auth.Store }

// Issue implements httpapi.Tickets.
func (t tickets) Issue(ctx context.Context, p auth.Principal, at time.Time) (string, time.Time, error) {
	return auth.NewTicket(ctx, t.store, p, at)
}
