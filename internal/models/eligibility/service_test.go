package eligibility_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

const account = "acme"

// keyStore keeps keys in memory.
type keyStore struct {
	mu   sync.Mutex
	keys map[string]string
}

func (v *keyStore) PutKey(_ context.Context, account ids.Account, provider string, key eligibility.Key) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.keys[string(account)+"/"+provider] = string(key)
	return nil
}

func (v *keyStore) DeleteKey(_ context.Context, account ids.Account, provider string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.keys, string(account)+"/"+provider)
	return nil
}

// prober is a provider whose probe returns err, and that counts its probes.
type prober struct {
	llm.Model
	err   error
	times int
}

func (a *prober) Probe(context.Context) error {
	a.times++
	return a.err
}

// models returns the same client for every candidate.
type models struct{ one llm.Model }

func (m models) Model(context.Context, ids.Account, eligibility.Candidate) (llm.Model, error) {
	return m.one, nil
}

// office is a manager over a real table, a key store, and a provider to probe.
type office struct {
	*eligibility.Manager
	service  *eligibility.Service
	world    *fixture.World
	keyStore *keyStore
	probe    *prober
}

func newOffice(t *testing.T, d eligibility.Deployment, keys ...string) *office {
	w := fixture.NewWorld(t)
	v := &keyStore{keys: map[string]string{}}
	service := w.Eligibility(d, keys...)
	return &office{
		Manager: service.Manager(v, func(base string) (string, error) { return base, nil }), service: service,
		world: w, keyStore: v, probe: &prober{},
	}
}

func (o *office) status(t *testing.T) eligibility.Status {
	t.Helper()
	s, err := o.service.Status(context.Background(), account, o.world.Store.Wallet, models{o.probe})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (o *office) put(t *testing.T, c eligibility.Config) eligibility.ProviderView {
	t.Helper()
	v, err := o.View(context.Background(), account, c.Name)
	if err != nil && !errors.Is(err, eligibility.ErrUnknownProvider) {
		t.Fatal(err)
	}
	if v, err = o.PutProvider(context.Background(), account, v.Own, c); err != nil {
		t.Fatal(err)
	}
	return v
}

var platform = eligibility.Deployment{
	Providers: []eligibility.Platform{{Name: "openai", BaseURL: "https://openai.test/v1", CostsCredits: true}, {Name: "localhost:11434", BaseURL: "http://localhost:11434/v1"}},
	Assistant: fixture.Assistant("openai", "gpt-4o-mini"),
}

func TestConnectedComesFromRealCallsAndAProbe(t *testing.T) {
	o := newOffice(t, platform, "openai")
	o.probe.err = llm.ErrUnreachable
	if s := o.status(t); s.Connected || !s.Configured || s.Outcome != "provider_unreachable" || o.probe.times != 1 {
		t.Errorf("%+v after %d probes", s, o.probe.times)
	}
	o.status(t)
	if o.probe.times != 1 {
		t.Error("what was known a moment ago was asked again")
	}
	// The result of a newer real call comes first.
	o.world.Pass(time.Minute)
	turn := credit.Turn{ID: o.world.IDs.New(o.world.Clock()), At: o.world.Clock(), Outcome: "message", Attempts: []llm.Attempt{{At: o.world.Clock(), Provider: "openai", Model: "m", Outcome: llm.OK}}}
	if err := o.world.Credit().Settle(context.Background(), credit.Hold{Account: account}, turn); err != nil {
		t.Fatal(err)
	}
	if s := o.status(t); !s.Connected || len(s.Attempts) != 1 || o.probe.times != 1 {
		t.Errorf("%+v after %d probes", s, o.probe.times)
	}
	o.world.Pass(10 * time.Minute)
	if s := o.status(t); s.Connected || o.probe.times != 2 {
		t.Errorf("%+v after %d probes", s, o.probe.times)
	}
}

func TestANewKeyForgetsTheOldHealth(t *testing.T) {
	o := newOffice(t, platform, "openai")
	o.probe.err = llm.ErrNoKey
	o.status(t)
	turn := credit.Turn{ID: o.world.IDs.New(o.world.Clock()), At: o.world.Clock(), Outcome: "blocked", Attempts: []llm.Attempt{{At: o.world.Clock(), Provider: "openai", Outcome: "no_api_key"}}}
	if err := o.world.Credit().Settle(context.Background(), credit.Hold{Account: account}, turn); err != nil {
		t.Fatal(err)
	}
	o.world.Pass(time.Second)
	if _, err := o.SetKey(context.Background(), account, "openai", "sk-good"); err != nil {
		t.Fatal(err)
	}
	o.probe.err = nil
	if s := o.status(t); !s.Connected {
		t.Errorf("what the old key came to still stands: %+v", s)
	}
}

func TestOnlyARateLimitMakesAProviderWait(t *testing.T) {
	o := newOffice(t, platform, "openai")
	for _, c := range []struct {
		err     error
		waiting bool
	}{{llm.WithRetryAfter(llm.ErrUnreachable, time.Minute), false}, {llm.ErrLimited, false}, {llm.WithRetryAfter(llm.ErrLimited, time.Minute), true}} {
		o.service.RecordHealth(context.Background(), account, "openai", c.err)
		v, err := o.View(context.Background(), account, "openai")
		if err != nil || v.Health.Waiting.After(o.world.Clock()) != c.waiting {
			t.Errorf("%v: waits until %v, %v", c.err, v.Health.Waiting, err)
		}
	}
	// Another address is another provider.
	o.put(t, eligibility.Config{Name: "openai", BaseURL: "https://elsewhere.test/v1"})
	if v, _ := o.View(context.Background(), account, "openai"); v.Health.Waiting.After(o.world.Clock()) {
		t.Errorf("it waits at its new address: %+v", v)
	}
}

func TestAKeyStaysWithItsAddress(t *testing.T) {
	o := newOffice(t, platform, "openai")
	o.put(t, eligibility.Config{Name: "mine", BaseURL: "https://a.test/v1"})
	if v, err := o.SetKey(context.Background(), account, "mine", "sk-a"); err != nil || !v.HasKey || o.keyStore.keys["acme/mine"] != "sk-a" {
		t.Fatalf("%+v, %v", v, err)
	}
	if v := o.put(t, eligibility.Config{Name: "mine", BaseURL: "https://a.test/v2"}); !v.HasKey {
		t.Error("another path of the same origin lost it")
	}
	if v := o.put(t, eligibility.Config{Name: "mine", BaseURL: "https://b.test/v1"}); v.HasKey || len(o.keyStore.keys) != 0 {
		t.Errorf("it moved along: %+v, %v", v, o.keyStore.keys)
	}
	// The deployment's key is not for the account's address.
	v := o.put(t, eligibility.Config{Name: "openai", BaseURL: "https://b.test/v1"})
	if v.HasKey {
		t.Errorf("%+v", v)
	}
	if _, how := eligibility.PriceOf(v.Provider, "gpt-4o"); how != eligibility.PricedByList || len(eligibility.TablePrices(v.Provider)) != 0 {
		t.Errorf("another address has the prices of OpenAI: %s", how)
	}
}

// TestAStoredKeyIsSent: the key is sent also to a provider that works without one, which then is no longer free.
func TestAStoredKeyIsSent(t *testing.T) {
	o := newOffice(t, platform, "openai")
	if v := o.put(t, eligibility.Config{Name: "mine", BaseURL: "https://a.test/v1", Keyless: true}); !v.HasKey || !v.Keyless || v.OwnKey {
		t.Errorf("%+v", v)
	}
	v, err := o.SetKey(context.Background(), account, "mine", "sk-a")
	if err != nil || !v.HasKey || v.Keyless || !v.OwnKey {
		t.Errorf("%+v, %v", v, err)
	}
	if _, how := eligibility.PriceOf(v.Provider, "m"); how == eligibility.PricedFree {
		t.Error("it is still free")
	}
	if v, err = o.SetKey(context.Background(), account, "mine", ""); err != nil || !v.HasKey || !v.Keyless {
		t.Errorf("without it: %+v, %v", v, err)
	}
}

func TestADeploymentsProviderKeepsItsName(t *testing.T) {
	o := newOffice(t, platform, "openai")
	v := o.put(t, eligibility.Config{Name: "localhost:11434", Prices: map[string]credit.Price{"llama3": {}}})
	if _, how := eligibility.PriceOf(v.Provider, "llama3"); how != eligibility.PricedByOverride {
		t.Errorf("%+v", v)
	}
	if _, err := o.PutProvider(context.Background(), account, nil, eligibility.Config{Name: "otherhost:1", BaseURL: "https://x.test"}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
}

func TestAChangedSettingIsNotOverwritten(t *testing.T) {
	o := newOffice(t, platform, "openai")
	o.put(t, eligibility.Config{Name: "mine", BaseURL: "https://a.test/v1"})
	seen, err := o.View(context.Background(), account, "mine")
	if err != nil {
		t.Fatal(err)
	}
	o.world.Pass(time.Second)
	o.put(t, eligibility.Config{Name: "mine", BaseURL: "https://a.test/v1", Prices: map[string]credit.Price{"m": {Input: 1}}})
	for _, old := range []*eligibility.Config{seen.Own, nil} {
		if _, err := o.PutProvider(context.Background(), account, old, eligibility.Config{Name: "mine", BaseURL: "https://c.test/v1"}); !errors.Is(err, eligibility.ErrMoved) {
			t.Errorf("%+v: %v", old, err)
		}
	}
}

func TestAFailedReadIsAnInternalError(t *testing.T) {
	s := &eligibility.Service{Store: fixture.Table(t).Settings, Keys: unreadable{}, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	if p, block := s.Decide(context.Background(), eligibility.Question{Account: ids.Account(ids.NewTrace())}); p != nil || block == nil || block.Reason != eligibility.InternalError {
		t.Errorf("%+v, %+v", p, block)
	}
}

type unreadable struct{}

func (unreadable) Platform(context.Context) (map[string]bool, error) {
	return nil, errors.New("the secret does not answer")
}

// TestARejectedKeyIsToldUntilItIsMended: no page says that an answer can be had while the provider rejects the key, and a
// turn tries it all the same.
func TestARejectedKeyIsToldUntilItIsMended(t *testing.T) {
	o := newOffice(t, platform, "openai")
	ctx, q := context.Background(), eligibility.Question{Account: account}
	if _, err := o.SetKey(ctx, account, "openai", "sk-wrong"); err != nil {
		t.Fatal(err)
	}
	o.world.Pass(time.Second)
	if plan, block := o.service.Eligibility(ctx, q); plan == nil {
		t.Fatalf("%+v", block)
	}
	o.service.RecordHealth(ctx, account, "openai", llm.ErrNoKey)
	_, block := o.service.Eligibility(ctx, q)
	if block == nil || block.Reason != eligibility.NoAPIKey || block.Provider != "openai" || block.Message().In("es") != "OpenAI rechaza la API key configurada. Contactá al administrador." {
		t.Fatalf("%+v", block)
	}
	if plan, block := o.service.Decide(ctx, q); plan == nil || !plan.Rejected {
		t.Errorf("a turn does not try it: %+v", block)
	}
	o.world.Pass(time.Hour)
	if plan, _ := o.service.Eligibility(ctx, q); plan != nil {
		t.Error("it is forgotten")
	}
	o.service.RecordHealth(ctx, account, "openai", nil) // the provider accepts it again
	if plan, block := o.service.Eligibility(ctx, q); plan == nil || plan.Rejected {
		t.Errorf("%+v", block)
	}
	o.service.RecordHealth(ctx, account, "openai", llm.ErrNoKey)
	o.probe.err = llm.ErrNoKey
	o.world.Pass(time.Second)
	before := o.probe.times
	if s := o.status(t); s.Connected || s.Outcome != string(eligibility.NoAPIKey) || o.probe.times != before {
		t.Errorf("it was asked again at once: %+v", s)
	}
	o.world.Pass(time.Minute)
	if s := o.status(t); s.Connected || o.probe.times != before+1 {
		t.Errorf("it was not asked again: %+v", s)
	}
	if plan, _ := o.service.Eligibility(ctx, q); plan != nil {
		t.Error("the provider rejects it still")
	}
	o.probe.err = nil // the person mended it at the provider
	o.world.Pass(time.Minute)
	if s := o.status(t); !s.Connected {
		t.Errorf("%+v", s)
	}
	if plan, block := o.service.Eligibility(ctx, q); plan == nil || plan.Rejected {
		t.Errorf("%+v", block)
	}
	o.service.RecordHealth(ctx, account, "openai", llm.ErrNoKey)
	o.world.Pass(time.Second)
	if _, err := o.SetKey(ctx, account, "openai", "sk-right"); err != nil {
		t.Fatal(err)
	}
	if plan, block := o.service.Eligibility(ctx, q); plan == nil {
		t.Errorf("the old key stands in the way of the new one: %+v", block)
	}
}

// TestARejectedKeyOfTheDeploymentIsToldUntilItsProcessEnds: the next process may have another one.
func TestARejectedKeyOfTheDeploymentIsToldUntilItsProcessEnds(t *testing.T) {
	o := newOffice(t, platform, "openai")
	q := eligibility.Question{Account: account}
	free := false
	o.put(t, eligibility.Config{Name: "openai", CostsCredits: &free})
	o.service.RecordHealth(context.Background(), account, "openai", llm.ErrNoKey)
	if plan, _ := o.service.Eligibility(context.Background(), q); plan != nil {
		t.Error("it is not told")
	}
	o.service.Started = o.world.Clock().Add(time.Second)
	if plan, block := o.service.Eligibility(context.Background(), q); plan == nil {
		t.Errorf("%+v", block)
	}
}

// TestABlockSaysHowManyCreditsAreMissing: one credit may buy less than an answer.
func TestABlockSaysHowManyCreditsAreMissing(t *testing.T) {
	o := newOffice(t, platform, "openai")
	if _, err := o.PutTerms(context.Background(), account, eligibility.Terms{Policy: credit.Policy{SessionCost: 3, SessionTokens: 1000, SessionMinutes: 5}}); err != nil {
		t.Fatal(err)
	}
	_, block := o.service.Eligibility(context.Background(), eligibility.Question{Account: account})
	want := 3 * int64((4000+fixture.Assistant("openai", "gpt-4o-mini").MaxTokens+999)/1000)
	if block == nil || block.Missing != want || *block.CreditBalance != 0 || block.Action().In("es") != fmt.Sprintf("Hay 0 créditos, y esta llamada necesita %d. Añade al menos %[1]d créditos y reinténtalo.", want) {
		t.Errorf("%+v, and not %d", block, want)
	}
	terms := eligibility.Terms{Policy: credit.Policy{SessionCost: 1_000_000, SessionTokens: 1, SessionMinutes: 5}}
	if _, err := o.PutTerms(context.Background(), account, terms); !errors.Is(err, eligibility.ErrSetting) {
		t.Errorf("a policy under which nothing can be paid: %v", err)
	}
}

// TestTheWindowIsASetting: it comes before the table's, bounds what a turn may use, and keeps to its model. It outlives a
// change of the key.
func TestTheWindowIsASetting(t *testing.T) {
	o := newOffice(t, platform, "openai")
	free := false
	o.put(t, eligibility.Config{Name: "openai", CostsCredits: &free, Windows: map[string]int{"gpt-4o-mini": 3_000, "mine": 10_000_000}})
	plan, block := o.service.Eligibility(t.Context(), eligibility.Question{Account: account})
	if block != nil || plan.Model != "gpt-4o-mini" || plan.Window != 3_000 || plan.Estimate.Output != 1_000 || plan.Estimate.Input != 2_000 {
		t.Fatalf("%+v, %+v", plan, block)
	}
	v, err := o.SetKey(t.Context(), account, "openai", "sk-a")
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]int{
		"gpt-4o-mini": 3_000, "mine": 10_000_000, "gpt-4o": 128_000, "gpt-4o-mini-2024-07-18": 128_000, "another": eligibility.DefaultWindow,
	} {
		if got := eligibility.WindowOf(v.Provider, model); got != want {
			t.Errorf("%s has a window of %d, not %d", model, got, want)
		}
	}
	many := map[string]int{}
	for n := range eligibility.MaxPrices + 1 {
		many[fmt.Sprint("m", n)] = eligibility.MinWindow
	}
	for name, windows := range map[string]map[string]int{
		"too small": {"m": 1_999}, "too large": {"m": 10_000_001}, "below zero": {"m": -5_000}, "of no model": {"": 5_000}, "of a line": {"a\nb": 5_000}, "too many": many,
	} {
		if _, err := o.PutProvider(t.Context(), account, v.Own, eligibility.Config{Name: "openai", Windows: windows}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
