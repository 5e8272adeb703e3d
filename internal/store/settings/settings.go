// Package settings owns the rows in which accounts set who may use which model.
package settings

import (
	"context"
	"strings"

	"piloto/internal/ground/ids"
	"piloto/internal/models/eligibility"
	"piloto/internal/store/kv"
	"piloto/internal/store/setups"
)

// Store is the AI settings of a table.
type Store struct{ table *kv.Table }

// New returns the AI settings of a table.
func New(table *kv.Table) *Store { return &Store{table} }

func settingsKey(account ids.Account) string { return kv.Account(account) + "#AI" }

var (
	assistants   = kv.Document[eligibility.Assistant]{Name: "assistant"}
	entitlements = kv.Document[eligibility.Entitlement]{Name: "entitlement"}
	terms        = kv.Document[eligibility.Terms]{Name: "terms"}
	providers    = kv.Document[eligibility.Config]{Name: "provider"}
	healths      = kv.Document[eligibility.Health]{Name: "health"}
	checks       = kv.Document[eligibility.Check]{Name: "check"}
	lessons      = kv.Document[eligibility.Lessons]{Name: "lessons"}
)

// The sort keys of an account's settings.
const (
	assistantKey   = "ASSISTANT#" // and the project; the account's own has none
	entitlementKey = "ENTITLEMENT"
	termsKey       = "TERMS"
	providerKey    = "PROVIDER#"
	healthKey      = "HEALTH#"
	checkKey       = "CHECK#"
	lessonsKey     = "LESSONS#"
)

type settingRow struct {
	kv.Key
	Data []byte `dynamodbav:"data"` // JSON
}

// Settings reads the values that an account has set.
func (s *Store) Settings(ctx context.Context, account ids.Account) (eligibility.Settings, error) {
	settings := eligibility.Settings{Assistants: map[string]eligibility.Assistant{}, Health: map[string]eligibility.Health{}, Checks: map[string]eligibility.Check{}, Lessons: map[string]eligibility.Lessons{}}
	items, err := s.table.Read(ctx, kv.Rows(settingsKey(account), assistantKey, checkKey, entitlementKey, healthKey, lessonsKey, providerKey, termsKey), 0)
	if err != nil {
		return settings, err
	}
	for _, it := range items {
		var row settingRow
		if err := kv.Decode(it, &row); err != nil {
			return settings, err
		}
		if err := row.into(&settings); err != nil {
			return settings, err
		}
	}
	return settings, nil
}

func (row settingRow) into(s *eligibility.Settings) error {
	name := row.SK[strings.IndexByte(row.SK, '#')+1:]
	switch {
	case strings.HasPrefix(row.SK, assistantKey):
		a, err := assistants.Decode(row.Data)
		s.Assistants[name] = a
		return err
	case row.SK == entitlementKey:
		e, err := entitlements.Decode(row.Data)
		s.Entitlement = &e
		return err
	case row.SK == termsKey:
		t, err := terms.Decode(row.Data)
		s.Terms = &t
		return err
	case strings.HasPrefix(row.SK, providerKey):
		c, err := providers.Decode(row.Data)
		s.Providers = append(s.Providers, c)
		return err
	case strings.HasPrefix(row.SK, healthKey):
		h, err := healths.Decode(row.Data)
		s.Health[name] = h
		return err
	case strings.HasPrefix(row.SK, checkKey):
		c, err := checks.Decode(row.Data)
		s.Checks[name] = c
		return err
	case strings.HasPrefix(row.SK, lessonsKey):
		l, err := lessons.Decode(row.Data)
		s.Lessons[name] = l
		return err
	}
	return nil
}

// set stores a setting unconditionally.
func set[T any](ctx context.Context, s *Store, account ids.Account, sk string, kind kv.Document[T], v T) error {
	return s.table.Commit(ctx, put(account, sk, kind, v), setups.Raise(account))
}

func put[T any](account ids.Account, sk string, kind kv.Document[T], v T) kv.Write {
	data, err := kind.Encode(v)
	return kv.Put(settingRow{Key: kv.Key{PK: settingsKey(account), SK: sk}, Data: data}).Unless(err)
}

// remove deletes settings; deleting a missing setting is no error.
func (s *Store) remove(ctx context.Context, account ids.Account, sks ...string) error {
	writes := []kv.Write{setups.Raise(account)}
	for _, sk := range sks {
		writes = append(writes, kv.Delete(kv.Key{PK: settingsKey(account), SK: sk}))
	}
	return s.table.Commit(ctx, writes...)
}

// swap stores a setting in place of the one that the caller read, nil for a missing one; else it returns
// eligibility.ErrMoved. The stored bytes are compared, because they are read back as they were written.
func swap[T any](ctx context.Context, s *Store, k settingOf[T], seen *T, v T) error {
	w, unchanged := put(k.account, k.sk, k.kind, v), kv.Missing("PK")
	if seen != nil {
		before, err := k.kind.Encode(*seen)
		w, unchanged = w.Unless(err), kv.Is("data", before)
	}
	return s.table.Commit(ctx, w.If(unchanged).Else(eligibility.ErrMoved), setups.Raise(k.account))
}

// settingOf is where a setting of a kind is stored.
type settingOf[T any] struct {
	account ids.Account
	sk      string
	kind    kv.Document[T]
}

// PutAssistant sets the assistant of a project, or the account's own for "".
func (s *Store) PutAssistant(ctx context.Context, account ids.Account, projectID string, a eligibility.Assistant) error {
	return set(ctx, s, account, assistantKey+projectID, assistants, a)
}

// DeleteAssistant removes it; deleting a missing assistant is no error.
func (s *Store) DeleteAssistant(ctx context.Context, account ids.Account, projectID string) error {
	return s.remove(ctx, account, assistantKey+projectID)
}

// PutEntitlement sets which models an account may use.
func (s *Store) PutEntitlement(ctx context.Context, account ids.Account, e eligibility.Entitlement) error {
	return set(ctx, s, account, entitlementKey, entitlements, e)
}

// PutTerms sets the price of AI for an account, and its limits.
func (s *Store) PutTerms(ctx context.Context, account ids.Account, t eligibility.Terms) error {
	return set(ctx, s, account, termsKey, terms, t)
}

// PutProvider sets an account's provider, if it is as the caller read it; nil: not there. It
// returns eligibility.ErrMoved.
func (s *Store) PutProvider(ctx context.Context, account ids.Account, seen *eligibility.Config, c eligibility.Config) error {
	return swap(ctx, s, settingOf[eligibility.Config]{account, providerKey + c.Name, providers}, seen, c)
}

// DeleteProvider removes a provider, its check, and what was learned of it; deleting a missing provider is no error.
func (s *Store) DeleteProvider(ctx context.Context, account ids.Account, name string) error {
	return s.remove(ctx, account, providerKey+name, checkKey+name, lessonsKey+name)
}

// PutCheck stores the check of a provider, if it is as the caller read it; nil: not there. It returns
// eligibility.ErrMoved.
func (s *Store) PutCheck(ctx context.Context, account ids.Account, seen *eligibility.Check, c eligibility.Check) error {
	return swap(ctx, s, settingOf[eligibility.Check]{account, checkKey + c.Provider, checks}, seen, c)
}

// PutLessons stores what was learned of a provider's models, if it is as the caller read it; nil: not there. It returns
// eligibility.ErrMoved.
func (s *Store) PutLessons(ctx context.Context, account ids.Account, seen *eligibility.Lessons, l eligibility.Lessons) error {
	return swap(ctx, s, settingOf[eligibility.Lessons]{account, lessonsKey + l.Provider, lessons}, seen, l)
}

// PutHealth notes how a provider's last call ended. It is no transaction, because turns write it, and transactions of
// turns at once would cancel each other. A crash between the two writes leaves a result that others see later.
func (s *Store) PutHealth(ctx context.Context, account ids.Account, h eligibility.Health) error {
	if err := s.table.Do(ctx, put(account, healthKey+h.Provider, healths, h)); err != nil {
		return err
	}
	return s.table.Do(ctx, setups.Raise(account))
}
