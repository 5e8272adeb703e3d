// Package setups owns the version of what an account has set: a number that every change of it raises, in the
// transaction of the change. Who has read the number knows whether what a process keeps is still in force.
package setups

import (
	"context"
	"errors"

	"piloto/internal/store/kv"
)

// Store is the versions of a table.
type Store struct{ table *kv.Table }

// New returns the versions of a table.
func New(table *kv.Table) *Store { return &Store{table} }

const setupSK = "SETUP"

type setupRow struct {
	PK      string `dynamodbav:"PK"`
	SK      string `dynamodbav:"SK"`
	Version int64  `dynamodbav:"version"`
}

// Raise returns the write that raises the version of an account. It belongs to the transaction of each change of
// what the account has set.
func Raise(account string) kv.Write {
	return kv.Update(kv.Account(account), setupSK, "ADD version :one", "", kv.Item{":one": kv.N(1)}, nil)
}

var errUnchanged = errors.New("store: the account has set nothing")

// Version returns the version of an account, as the last change left it; 0 before the first change.
func (s *Store) Version(ctx context.Context, account string) (int64, error) {
	var row setupRow
	err := s.table.Get(ctx, kv.Account(account), setupSK, &row, errUnchanged)
	if errors.Is(err, errUnchanged) {
		return 0, nil
	}
	return row.Version, err
}
