package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/models/check"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
)

// settingsStore is an in-memory store of settings and credit. It counts its writes, and counts every call in its
// world.
type settingsStore struct {
	credit.Store // methods that no request calls
	world        *world
	mu           sync.Mutex
	accounts     map[ids.Account]*accountData
	keys         map[string]string // by account and provider
	writes       int
	down         bool
	lack         string // failure of the provider; "" when it answers
}

type accountData struct {
	settings eligibility.Settings
	standing credit.Standing
	ledger   []credit.Entry // the newest first
	turns    []credit.Turn  // the newest first
}

// Ids of account a's ledger.
const (
	grantID = "01K0000000000000000000000G"
	boughtS = "01K0000000000000000000000S"
)

func newSettingsStore(w *world) *settingsStore {
	opened := noon.Add(-2 * time.Hour)
	session := credit.Session{ID: boughtS, Cost: 1, Tokens: 100_000, Free: 90_000, Used: 10_000, OpenedAt: opened, ExpiresAt: opened.Add(24 * time.Hour)}
	usage := llm.Usage{Input: 900, Output: 100}
	attempt := llm.Attempt{At: noon.Add(-10 * time.Minute), Provider: "openai", Model: "gpt-4o-mini", Outcome: llm.OK, Latency: 1234 * time.Millisecond, Usage: usage}
	return &settingsStore{world: w, keys: map[string]string{}, accounts: map[ids.Account]*accountData{
		"a": {
			settings: eligibility.Settings{Assistants: map[string]eligibility.Assistant{}, Health: map[string]eligibility.Health{}},
			standing: credit.Standing{Balance: 9, Entries: 2, Sessions: []credit.Session{session}, Day: 1200, Month: 34_000},
			ledger: []credit.Entry{
				{ID: boughtS, Kind: credit.KindSession, Amount: -1, Actor: "ana", Reason: "turno", SessionID: boughtS, At: opened, Until: session.ExpiresAt},
				{ID: grantID, Kind: credit.KindGrant, Amount: 10, Actor: "ana", Reason: "alta", At: opened.Add(-time.Hour)},
			},
			turns: []credit.Turn{
				{ID: "t3", At: noon.Add(-10 * time.Minute), ChatID: chatID, Outcome: "message", Provider: "openai", Model: "gpt-4o-mini", Input: 900, Output: 100, Micros: 195, Attempts: []llm.Attempt{attempt}},
				{ID: "t2", At: noon.Add(-20 * time.Minute), ChatID: chatID, ProjectID: projectID, Outcome: "message", Provider: "groq", Model: "=1+1", Input: 500, Output: 50, Estimated: true, Micros: 1_000_007},
				{ID: "t1", At: noon.Add(-25 * time.Hour), ChatID: chatID, Outcome: credit.OutcomeBlocked, Reason: "no_api_key"},
			},
		},
		"b": {settings: eligibility.Settings{Assistants: map[string]eligibility.Assistant{}, Health: map[string]eligibility.Health{}}},
	}}
}

// handler returns the routes over the store. Where nothing serves requests later, none of them is served.
func (s *settingsStore) handler(c Config) http.Handler {
	if c.Async == nil {
		c.Async = &Async{Start: func(context.Context, ids.Account, string) error { return nil }}
	}
	return AI(c, s.services(c))
}

// services returns the real services over the store.
func (s *settingsStore) services(c Config) AIServices {
	deciding := &eligibility.Service{
		Store: s, Standings: s, Keys: s, Now: c.Now, Log: c.Log,
		Deployment: eligibility.Deployment{
			Providers: []eligibility.Platform{
				{Name: "openai", BaseURL: "https://api.openai.com/v1", CostsCredits: true}, {Name: "groq", BaseURL: "https://api.groq.com/openai/v1"},
			},
			Assistant: &eligibility.Assistant{
				Name: "Piloto", Active: true, Provider: "openai", Model: "gpt-4o-mini", Temperature: 0.2, MaxTokens: 4096,
				Automation: eligibility.Automation{Mode: eligibility.Automatic}, Scope: eligibility.ScopeDeployment,
			},
		},
	}
	settings := deciding.Manager(s, func(base string) (string, error) { return tool.NormalizeURL(base, tool.Policy{}) })
	wallet := &credit.Service{Store: s, IDs: ids.NewSource(zeros{}), Now: c.Now, Log: c.Log}
	checks := &check.Service{Eligibility: deciding, Credit: wallet, Clients: s, IDs: ids.NewSource(nil), Now: c.Now, Log: c.Log}
	return AIServices{Checks: checks, Decisions: deciding, Settings: settings, Wallet: wallet, Books: s, Models: s, Owned: s.world, Loops: oneLoop{}}
}

// oneLoop is an account with one agent of its own, «caro», which has a model that nobody may use.
type oneLoop struct{}

func (oneLoop) AgentChange(_ context.Context, _ ids.Account, name string) (agent.Change, error) {
	if name != "caro" {
		return agent.Change{}, nil
	}
	return agent.Change{Name: name, Version: 1, Patch: json.RawMessage(`{"prompt":"Mira.","assistant":{"provider":"groq","model":"enorme"},"max_tokens":77}`)}, nil
}

// zeros is a source without entropy, so that ids in tests are constant.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

var errDown = errors.New("the table does not answer: canary-secret")

// read counts a call and returns an account's data.
func (s *settingsStore) read(account ids.Account) (*accountData, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.world.called(account, "", "", nil)
	if s.down {
		return &accountData{}, errDown
	}
	return s.accounts[account], nil
}

func (s *settingsStore) write(account ids.Account) *accountData {
	b, _ := s.read(account)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	return b
}

// Settings implements eligibility.Store.
func (s *settingsStore) Settings(_ context.Context, account ids.Account) (eligibility.Settings, error) {
	b, err := s.read(account)
	out := b.settings
	out.Providers, out.Assistants, out.Health = slices.Clone(out.Providers), maps.Clone(out.Assistants), maps.Clone(out.Health)
	out.Checks = maps.Clone(out.Checks)
	return out, err
}

// Standing implements credit.Store.
func (s *settingsStore) Standing(_ context.Context, account ids.Account, _ time.Time) (credit.Standing, error) {
	b, err := s.read(account)
	return b.standing, err
}

// Platform implements eligibility.Keys.
func (s *settingsStore) Platform(context.Context) (map[string]bool, error) {
	return map[string]bool{"openai": true}, nil
}

// PutHealth implements eligibility.Store. The result of a probe does not count as a write.
func (s *settingsStore) PutHealth(_ context.Context, account ids.Account, h eligibility.Health) error {
	b, err := s.read(account)
	b.settings.Health[h.Provider] = h
	return err
}

// PutAssistant implements eligibility.Store.
func (s *settingsStore) PutAssistant(_ context.Context, account ids.Account, projectID string, a eligibility.Assistant) error {
	s.write(account).settings.Assistants[projectID] = a
	return nil
}

// DeleteAssistant implements eligibility.Store.
func (s *settingsStore) DeleteAssistant(_ context.Context, account ids.Account, projectID string) error {
	delete(s.write(account).settings.Assistants, projectID)
	return nil
}

// PutEntitlement implements eligibility.Store.
func (s *settingsStore) PutEntitlement(_ context.Context, account ids.Account, e eligibility.Entitlement) error {
	s.write(account).settings.Entitlement = &e
	return nil
}

// PutTerms implements eligibility.Store.
func (s *settingsStore) PutTerms(_ context.Context, account ids.Account, t eligibility.Terms) error {
	s.write(account).settings.Terms = &t
	return nil
}

// PutProvider implements eligibility.Store.
func (s *settingsStore) PutProvider(_ context.Context, account ids.Account, _ *eligibility.Config, c eligibility.Config) error {
	b := s.write(account)
	b.settings.Providers = append(slices.DeleteFunc(b.settings.Providers, func(old eligibility.Config) bool { return old.Name == c.Name }), c)
	return nil
}

// PutCheck implements eligibility.Store. It does not count as a write.
func (s *settingsStore) PutCheck(_ context.Context, account ids.Account, seen *eligibility.Check, c eligibility.Check) error {
	b, _ := s.read(account)
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, there := b.settings.Checks[c.Provider]; there != (seen != nil) || there && was.ID != seen.ID {
		return eligibility.ErrMoved
	}
	if b.settings.Checks == nil {
		b.settings.Checks = map[string]eligibility.Check{}
	}
	b.settings.Checks[c.Provider] = c
	return nil
}

// PutLessons implements eligibility.Store.
func (s *settingsStore) PutLessons(_ context.Context, account ids.Account, _ *eligibility.Lessons, l eligibility.Lessons) error {
	s.write(account).settings.Lessons = map[string]eligibility.Lessons{l.Provider: l}
	return nil
}

// DeleteProvider implements eligibility.Store.
func (s *settingsStore) DeleteProvider(_ context.Context, account ids.Account, name string) error {
	b := s.write(account)
	b.settings.Providers = slices.DeleteFunc(b.settings.Providers, func(old eligibility.Config) bool { return old.Name == name })
	delete(b.settings.Checks, name)
	return nil
}

// PutKey implements eligibility.KeyStore.
func (s *settingsStore) PutKey(_ context.Context, account ids.Account, provider string, key eligibility.Key) error {
	s.write(account)
	s.keys[string(account)+" "+provider] = string(key)
	return nil
}

// DeleteKey implements eligibility.KeyStore.
func (s *settingsStore) DeleteKey(_ context.Context, account ids.Account, provider string) error {
	s.write(account)
	delete(s.keys, string(account)+" "+provider)
	return nil
}

// Entry implements credit.Store.
func (s *settingsStore) Entry(_ context.Context, account ids.Account, id string) (credit.Entry, error) {
	b, err := s.read(account)
	for _, e := range b.ledger {
		if e.ID == id {
			return e, err
		}
	}
	return credit.Entry{}, credit.ErrEntryNotFound
}

// EntryOf implements credit.Store.
func (s *settingsStore) EntryOf(_ context.Context, account ids.Account, key string) (credit.Entry, error) {
	b, err := s.read(account)
	for _, e := range b.ledger {
		if e.Key == key {
			return e, err
		}
	}
	return credit.Entry{}, credit.ErrEntryNotFound
}

// Ledger implements credit.Store. Each account has its own cursors.
func (s *settingsStore) Ledger(_ context.Context, account ids.Account, cursor string, limit int) ([]credit.Entry, string, error) {
	b, err := s.read(account)
	from := 0
	if cursor != "" {
		at, isOwn := cutPrefix(cursor, string(account)+"-")
		if !isOwn {
			return nil, "", fault.New(fault.Malformed, "cursor.invalid")
		}
		from = at
	}
	rest := b.ledger[min(from, len(b.ledger)):]
	if len(rest) <= limit {
		return rest, "", err
	}
	return rest[:limit], string(account) + "-" + strconv.Itoa(from+limit), err
}

func cutPrefix(cursor, prefix string) (int, bool) {
	if len(cursor) <= len(prefix) || cursor[:len(prefix)] != prefix {
		return 0, false
	}
	n, err := strconv.Atoi(cursor[len(prefix):])
	return n, err == nil && n >= 0
}

// Move implements credit.Store.
func (s *settingsStore) Move(ctx context.Context, account ids.Account, e credit.Entry) error {
	if _, err := s.Entry(ctx, account, e.ID); err == nil {
		return credit.ErrAlreadyWritten
	}
	if _, err := s.EntryOf(ctx, account, e.Key); err == nil && e.Key != "" {
		return credit.ErrAlreadyWritten
	}
	b, _ := s.read(account)
	if b.standing.Balance+e.Amount < 0 {
		return credit.ErrInsufficient
	}
	b = s.write(account)
	b.standing.Balance += e.Amount
	b.ledger = append([]credit.Entry{e}, b.ledger...)
	return nil
}

// BuySession implements credit.Store.
func (s *settingsStore) BuySession(ctx context.Context, account ids.Account, session credit.Session, e credit.Entry) error {
	err := s.Move(ctx, account, e)
	if err == nil {
		b, _ := s.read(account)
		b.standing.Sessions = append(b.standing.Sessions, session)
	}
	return err
}

// Refund implements credit.Store.
func (s *settingsStore) Refund(ctx context.Context, account ids.Account, e credit.Entry) error {
	return s.Move(ctx, account, e)
}

// Turns implements credit.Store.
func (s *settingsStore) Turns(_ context.Context, account ids.Account, from, to time.Time, f func(credit.Turn) bool) error {
	b, err := s.read(account)
	for _, t := range b.turns {
		if !t.At.Before(from) && t.At.Before(to) && !f(t) {
			break
		}
	}
	return err
}

// Model implements eligibility.Models.
func (s *settingsStore) Model(context.Context, ids.Account, eligibility.Candidate) (llm.Model, error) {
	return provider{s}, nil
}

// Reserve implements credit.Store.
func (s *settingsStore) Reserve(context.Context, credit.Hold, credit.Limits) error { return nil }

// Extend implements credit.Store.
func (s *settingsStore) Extend(_ context.Context, h credit.Hold, _ credit.Part, _ int64, _ credit.Limits, _ time.Time) (credit.Hold, error) {
	return h, nil
}

// Settle implements credit.Store.
func (s *settingsStore) Settle(_ context.Context, h credit.Hold, t credit.Turn) error {
	b, err := s.read(h.Account)
	b.turns = append([]credit.Turn{t}, b.turns...)
	return err
}

// Fresh implements check.Clients.
func (s *settingsStore) Fresh(context.Context, ids.Account, eligibility.Candidate) (llm.Learner, error) {
	return checked{provider{s}}, nil
}

// checked is a model that answers each call with a word.
type checked struct{ provider }

// Complete implements llm.Model.
func (checked) Complete(context.Context, llm.Request) (llm.Reply, error) {
	return llm.Reply{Text: "Yes.", Usage: llm.Usage{Input: 20, Output: 2}}, nil
}

// List implements llm.Learner.
func (checked) List(context.Context) ([]llm.Listed, error) {
	return []llm.Listed{{ID: "gpt-4o-mini", Window: 8192}}, nil
}

// Learned implements llm.Learner.
func (checked) Learned(string) json.RawMessage { return json.RawMessage(`{"no_temperature":true}`) }

// provider answers a probe only.
type provider struct{ settings *settingsStore }

// Complete implements llm.Model.
func (provider) Complete(context.Context, llm.Request) (llm.Reply, error) {
	return llm.Reply{}, llm.ErrUnreachable
}

// Probe implements llm.Prober.
func (p provider) Probe(context.Context) error {
	if p.settings.lack != "" {
		return llm.ErrUnreachable
	}
	return nil
}
