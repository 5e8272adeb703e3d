// Package setups owns the version of an account's setup: a number that every change of it raises, in the transaction of the
// change. A reader of the number knows whether a cached setup is still in force.
package setups

import (
	"context"
	"errors"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

// Store is the versions of a table.
type Store struct{ table *kv.Table }

// New returns the versions of a table.
func New(table *kv.Table) *Store { return &Store{table} }

func setupKey(account ids.Account) kv.Key { return kv.Key{PK: kv.Account(account), SK: "SETUP"} }

type setupRow struct {
	kv.Key
	Version int64    `dynamodbav:"version"`
	Hooks   []string `dynamodbav:"hooks,omitempty"`
}

// Set is the decoded row of an account.
type Set struct {
	Version int64    // as the last change left it; 0 before the first change
	Hooks   []string // the events that hooks of the account want
}

// Raise returns the write that raises the version of an account. It belongs to the transaction of each change of the setup.
func Raise(account ids.Account) kv.Write {
	return kv.Update(setupKey(account)).Add("version", 1)
}

var errUnchanged = errors.New("store: the account has set nothing")

// Read reads the row of an account.
func (s *Store) Read(ctx context.Context, account ids.Account) (Set, error) {
	var row setupRow
	err := s.table.Get(ctx, setupKey(account), &row, errUnchanged)
	if errors.Is(err, errUnchanged) {
		return Set{}, nil
	}
	return Set{row.Version, row.Hooks}, err
}

// Want returns the write that raises the version of an account as it was read, and sets the events that its hooks want.
func Want(account ids.Account, was Set, events []string) kv.Write {
	w := Raise(account).If(kv.Unchanged("version", was.Version)).Else(fault.ErrMoved)
	if len(events) == 0 {
		return w.Remove("hooks")
	}
	return w.Set("hooks", events)
}
