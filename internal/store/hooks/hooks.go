// Package hooks owns the rows of hooks, of their secrets, of the outbox and of deliveries.
package hooks

import (
	"context"
	"slices"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/live/hook"
	"piloto/internal/store/kv"
	"piloto/internal/store/setups"
)

// Store is the hooks of a table.
type Store struct {
	table  *kv.Table
	setups *setups.Store
}

// New returns the hooks of a table.
func New(table *kv.Table) *Store { return &Store{table, setups.New(table)} }

const (
	hookKind     = "HOOK#"
	deliveryKind = "D#"
	dueHooks     = "HOOKS" // rows of the outbox, and deliveries that are pending
)

func hooksOf(account ids.Account) string { return kv.Account(account) + "#HOOKS" }

func hookKey(account ids.Account, id string) kv.Key {
	return kv.Key{PK: hooksOf(account), SK: hookKind + id}
}

// secretKey is in a partition of secrets: a role can be denied it.
func secretKey(account ids.Account, id string) kv.Key {
	return kv.Key{PK: kv.Account(account) + "#HOOKKEYS", SK: hookKind + id}
}

func deliveriesOf(account ids.Account, hookID string) string {
	return kv.Account(account) + owner + hookID
}

func deliveryKey(account ids.Account, hookID, id string) kv.Key {
	return kv.Key{PK: deliveriesOf(account, hookID), SK: deliveryKind + id}
}

type hookRow struct {
	kv.Key
	ID           string      `dynamodbav:"id"`
	Account      ids.Account `dynamodbav:"account"`
	URL          string      `dynamodbav:"url"`
	Events       []string    `dynamodbav:"events"`
	Enabled      bool        `dynamodbav:"enabled"`
	Off          string      `dynamodbav:"off,omitempty"`
	FailingSince int64       `dynamodbav:"failing_since,omitempty"` // unix milliseconds, as every time here
	By           string      `dynamodbav:"by"`
	CreatedAt    int64       `dynamodbav:"created_at"`
	UpdatedAt    int64       `dynamodbav:"updated_at"`
}

// secretRow is the secret of a hook.
type secretRow struct {
	kv.Key
	Secret string `dynamodbav:"secret"`
}

func rowOfHook(h hook.Hook) hookRow {
	return hookRow{
		Key: hookKey(h.Account, h.ID), ID: h.ID, Account: h.Account, URL: h.URL, Events: texts(h.Events), Enabled: h.Enabled,
		Off: h.Off, FailingSince: kv.Millis(h.FailingSince), By: h.By, CreatedAt: kv.Millis(h.CreatedAt), UpdatedAt: kv.Millis(h.UpdatedAt),
	}
}

func (row hookRow) hook() hook.Hook {
	h := hook.Hook{
		ID: row.ID, Account: row.Account, URL: row.URL, Enabled: row.Enabled, Off: row.Off, FailingSince: kv.Time(row.FailingSince),
		By: row.By, CreatedAt: kv.Time(row.CreatedAt), UpdatedAt: kv.Time(row.UpdatedAt),
	}
	for _, e := range row.Events {
		h.Events = append(h.Events, hook.Event(e))
	}
	return h
}

func texts(events []hook.Event) []string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = string(e)
	}
	return list
}

// Hooks implements hook.Lister.
func (s *Store) Hooks(ctx context.Context, account ids.Account) ([]hook.Hook, error) {
	items, err := s.table.Read(ctx, kv.Rows(hooksOf(account), hookKind), 0)
	if err != nil {
		return nil, err
	}
	return kv.Readable(ctx, s.table, items, func(row hookRow) (hook.Hook, error) { return row.hook(), nil })
}

// Hook implements hook.Store.
func (s *Store) Hook(ctx context.Context, account ids.Account, id string) (hook.Hook, error) {
	var row hookRow
	err := s.table.Get(ctx, hookKey(account, id), &row, hook.ErrNotFound)
	return row.hook(), err
}

// Secret implements hook.Store.
func (s *Store) Secret(ctx context.Context, account ids.Account, id string) (string, error) {
	var row secretRow
	err := s.table.Get(ctx, secretKey(account, id), &row, hook.ErrNotFound)
	return row.Secret, err
}

// ChangeHooks implements hook.Store. The condition is the version of the account's setup.
func (s *Store) ChangeHooks(ctx context.Context, account ids.Account, change func([]hook.Hook) (hook.Change, error)) error {
	return retry.Do(ctx, func() error {
		set, err := s.setups.Read(ctx, account) // before the hooks, so that they are not older
		if err != nil {
			return err
		}
		all, err := s.Hooks(ctx, account)
		if err != nil {
			return err
		}
		c, err := change(all)
		if err != nil || c.Put == nil && c.Delete == "" {
			return err
		}
		var writes []kv.Write
		if c.Put != nil {
			all = append(slices.DeleteFunc(all, func(h hook.Hook) bool { return h.ID == c.Put.ID }), *c.Put)
			writes = append(writes, kv.Put(rowOfHook(*c.Put)))
			if c.Secret != "" {
				writes = append(writes, kv.Put(secretRow{secretKey(account, c.Put.ID), c.Secret}))
			}
		}
		if c.Delete != "" {
			all = slices.DeleteFunc(all, func(h hook.Hook) bool { return h.ID == c.Delete })
			writes = append(writes, kv.Delete(hookKey(account, c.Delete)), kv.Delete(secretKey(account, c.Delete)))
		}
		return s.table.Commit(ctx, append(writes, setups.Want(account, set, texts(hook.Wanted(all))))...)
	})
}

// NoteHook implements hook.Store.
func (s *Store) NoteHook(ctx context.Context, h hook.Hook, since time.Time) error {
	w := kv.Update(hookKey(h.Account, h.ID)).If(kv.Is("updated_at", h.UpdatedAt))
	if since.IsZero() {
		w = w.Remove("failing_since")
	} else {
		w = w.Set("failing_since", since)
	}
	_, _, err := s.table.Try(ctx, w)
	return err
}
