// Package kept owns how many bytes of files an account, and each of its scopes, keeps. The bytes of a content are held
// before it is written, by one conditional write of both rows: concurrent writers never hold more than the limit. Bytes
// that are removed are not subtracted. A full count is made again from the stored files.
package kept

import (
	"context"
	"errors"
	"time"

	"piloto/internal/store/kv"
	"piloto/internal/workspace/files"
)

// Store is the counts of a table.
type Store struct{ table *kv.Table }

// New returns the counts of a table.
func New(table *kv.Table) *Store { return &Store{table} }

const keptSK = "KEPT"

type keptRow struct {
	kv.Key
	Kept  int64 `dynamodbav:"kept"`
	Held  int64 `dynamodbav:"held"`
	Until int64 `dynamodbav:"held_until"`
}

func keyOf(s files.Scope) kv.Key {
	key := kv.Key{PK: kv.Account(s.Account), SK: keptSK}
	if s.Place != "" {
		key.SK += "#" + s.Place
	}
	return key
}

var (
	errUncounted = errors.New("store: nothing was counted")
	errNoRoom    = errors.New("store: a count is full")
)

// Hold counts bytes that are about to be written in all scopes, which are of one account, each with its bound; false,
// and nothing is counted, if one has no room or was never counted. Until is when they are held no longer.
func (s *Store) Hold(ctx context.Context, bounds map[files.Scope]int64, bytes int64, until time.Time) (bool, error) {
	var writes []kv.Write
	for scope, most := range bounds {
		w := kv.Update(keyOf(scope)).Add("kept", bytes).Add("held", bytes).Set("held_until", until)
		writes = append(writes, w.If(kv.AtMost("kept", most-bytes)).Else(errNoRoom))
	}
	err := s.table.Commit(ctx, writes...)
	if errors.Is(err, errNoRoom) {
		return false, nil
	}
	return err == nil, err
}

// Settle ends a hold of bytes: they were written, or they count no longer.
func (s *Store) Settle(ctx context.Context, scopes []files.Scope, bytes int64, written bool) error {
	back := bytes
	if written {
		back = 0
	}
	var writes []kv.Write
	for _, scope := range scopes {
		writes = append(writes, kv.Update(keyOf(scope)).Add("held", -bytes).Add("kept", -back).If(kv.Exists("PK")))
	}
	return s.table.Commit(ctx, writes...)
}

// Count returns the count of a scope.
func (s *Store) Count(ctx context.Context, scope files.Scope) (files.Count, error) {
	var row keptRow
	err := s.table.Get(ctx, keyOf(scope), &row, errUncounted)
	if errors.Is(err, errUncounted) {
		return files.Count{}, nil
	}
	return files.Count{Known: true, Kept: row.Kept, Held: row.Held, Until: kv.Time(row.Until)}, err
}

// Recount replaces the count of a scope, if it is still as it was seen; false, and nothing is changed, if not.
func (s *Store) Recount(ctx context.Context, scope files.Scope, seen, now files.Count) (bool, error) {
	unchanged := kv.Missing("PK")
	if seen.Known {
		unchanged = kv.All(kv.Is("kept", seen.Kept), kv.Is("held", seen.Held))
	}
	_, done, err := s.table.Try(ctx, kv.Put(keptRow{Key: keyOf(scope), Kept: now.Kept, Held: now.Held, Until: kv.Millis(now.Until)}).If(unchanged))
	return done, err
}
