// Package wallet owns the rows of credits. A wallet is one row: the balance, the sessions, the holds and the
// spending of an account. Beside it are the ledger and the records of turns.
//
// A hold is taken, extended and ended by one plain conditional update, because DynamoDB cancels transactions that
// meet on one row. Movements of credit are rare, and are transactions with the entry of the ledger.
package wallet

import (
	"context"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// Store is the wallets of a table.
type Store struct{ table *kv.Table }

// New returns the wallets of a table.
func New(table *kv.Table) *Store { return &Store{table} }

func ledgerIndex(account ids.Account) string { return kv.Account(account) + "#LEDGER" }

// read returns a wallet as the last write left it; an empty one when there is none. A hold that cannot be read has an
// error in broken.
func (s *Store) read(ctx context.Context, account ids.Account) (row walletRow, broken map[string]error, err error) {
	it, err := s.table.Row(ctx, walletKey(account))
	if it == nil || err != nil {
		return walletRow{Sessions: map[string]session{}}, nil, err
	}
	return readRow(it)
}

// opened returns the wallet of an account, which gets one when it has none.
func (s *Store) opened(ctx context.Context, account ids.Account) (walletRow, error) {
	for {
		it, err := s.table.Row(ctx, walletKey(account))
		if err != nil {
			return walletRow{}, err
		}
		if it != nil {
			row, _, err := readRow(it)
			return row, err
		}
		if err := s.open(ctx, account); err != nil {
			return walletRow{}, err
		}
	}
}

// open makes the wallet of an account, unless it has one.
func (s *Store) open(ctx context.Context, account ids.Account) error {
	empty := walletRow{
		Format: kv.Format, Key: walletKey(account), Sessions: map[string]session{}, Holds: map[string]hold{}, Spent: map[string]int64{},
	}
	return s.table.Do(ctx, kv.Insert(empty))
}

// Standing reads the balance, the sessions and the spending of an account.
func (s *Store) Standing(ctx context.Context, account ids.Account, at time.Time) (credit.Standing, error) {
	row, _, err := s.read(ctx, account)
	if err != nil {
		return credit.Standing{}, err
	}
	return row.standing(at), nil
}

type entryRow struct {
	kv.Key
	ListPK    string `dynamodbav:"GSI1PK"`
	ListSK    string `dynamodbav:"GSI1SK"`
	ID        string `dynamodbav:"entry_id"`
	Kind      string `dynamodbav:"kind"`
	Amount    int64  `dynamodbav:"amount"`
	Actor     string `dynamodbav:"actor"`
	Reason    string `dynamodbav:"reason"`
	SessionID string `dynamodbav:"session_id,omitempty"`
	Of        string `dynamodbav:"of,omitempty"`
	Until     int64  `dynamodbav:"until,omitempty"`
	At        int64  `dynamodbav:"at"`
}

func rowOfEntry(account ids.Account, e credit.Entry) entryRow {
	return entryRow{
		Key: kv.Key{PK: partition(account), SK: "L#" + e.ID}, ListPK: ledgerIndex(account), ListSK: kv.At(e.At, e.ID),
		ID: e.ID, Kind: string(e.Kind), Amount: e.Amount, Actor: e.Actor, Reason: e.Reason, SessionID: e.SessionID, Of: e.Of,
		Until: kv.Millis(e.Until), At: kv.Millis(e.At),
	}
}

func (row entryRow) entry() credit.Entry {
	return credit.Entry{
		ID: row.ID, Kind: credit.Kind(row.Kind), Amount: row.Amount, Actor: row.Actor, Reason: row.Reason,
		SessionID: row.SessionID, Of: row.Of, Until: kv.Time(row.Until), At: kv.Time(row.At),
	}
}

// Entry returns a ledger entry.
func (s *Store) Entry(ctx context.Context, account ids.Account, id string) (credit.Entry, error) {
	var row entryRow
	err := s.table.Get(ctx, kv.Key{PK: partition(account), SK: "L#" + id}, &row, credit.ErrEntryNotFound)
	return row.entry(), err
}

// Ledger returns the ledger, the newest entry first, and a cursor when there are
// more.
func (s *Store) Ledger(ctx context.Context, account ids.Account, cursor string, limit int) ([]credit.Entry, string, error) {
	items, next, err := s.table.Page(ctx, "ledger\x00"+string(account), kv.Listed(ledgerIndex(account)), cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := kv.DecodeAll[entryRow](items)
	if err != nil {
		return nil, "", err
	}
	list := make([]credit.Entry, len(rows))
	for i, row := range rows {
		list[i] = row.entry()
	}
	return list, next, nil
}

// onceRow says which entry an idempotency key moved.
type onceRow struct {
	kv.Key
	Entry string `dynamodbav:"entry_id"`
}

func onceSK(key string) string { return "K#" + ids.Hash(key) }

// EntryOf returns the entry that a key moved.
func (s *Store) EntryOf(ctx context.Context, account ids.Account, key string) (credit.Entry, error) {
	var row onceRow
	if err := s.table.Get(ctx, kv.Key{PK: partition(account), SK: onceSK(key)}, &row, credit.ErrEntryNotFound); err != nil {
		return credit.Entry{}, err
	}
	return s.Entry(ctx, account, row.Entry)
}
