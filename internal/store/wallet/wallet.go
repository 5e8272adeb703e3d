// Package wallet owns the rows of credits: the balance, the ledger, sessions, holds, budgets,
// and the records and counters of turns.
package wallet

import (
	"context"
	"errors"
	"slices"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// The lists of rows that the sweep looks at.
const (
	dueHolds  = "HOLD"
	dueAudits = "AUDIT"
	auditWait = time.Minute // after the first movement since the last audit
)

// Store is the wallets of a table.
type Store struct{ table *kv.Table }

// New returns the wallets of a table.
func New(table *kv.Table) *Store { return &Store{table} }

func walletKey(account string) string   { return kv.Account(account) + "#W" }
func ledgerIndex(account string) string { return kv.Account(account) + "#LEDGER" }

func sessionKey(until time.Time, id string) string {
	return "S#" + kv.Pad(kv.Millis(until), 13) + "#" + id
}

type walletRow struct {
	Balance int64  `dynamodbav:"balance"`
	Entries int64  `dynamodbav:"entries"`
	Last    string `dynamodbav:"last_session"`
}

type sessionRow struct {
	PK        string `dynamodbav:"PK"`
	SK        string `dynamodbav:"SK"`
	ID        string `dynamodbav:"session_id"`
	Cost      int64  `dynamodbav:"cost"`
	Tokens    int    `dynamodbav:"tokens"`
	Free      int    `dynamodbav:"room"`
	Used      int    `dynamodbav:"used"`
	Closed    bool   `dynamodbav:"closed,omitempty"`
	OpenedAt  int64  `dynamodbav:"opened_at"`
	ExpiresAt int64  `dynamodbav:"expires_at"`
	TTL       int64  `dynamodbav:"ttl"` // cleans up; the comparison is on expires_at
}

func (row sessionRow) session() credit.Session {
	return credit.Session{
		ID: row.ID, Cost: row.Cost, Tokens: row.Tokens, Used: row.Used, Closed: row.Closed,
		Free:     max(0, row.Free), // a turn may have used more than it held
		OpenedAt: kv.Time(row.OpenedAt), ExpiresAt: kv.Time(row.ExpiresAt),
	}
}

type entryRow struct {
	PK        string `dynamodbav:"PK"`
	SK        string `dynamodbav:"SK"`
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

func (row entryRow) entry() credit.Entry {
	return credit.Entry{
		ID: row.ID, Kind: credit.Kind(row.Kind), Amount: row.Amount, Actor: row.Actor, Reason: row.Reason,
		SessionID: row.SessionID, Of: row.Of, Until: kv.Time(row.Until), At: kv.Time(row.At),
	}
}

var errNoWallet = errors.New("store: no wallet")

// Standing reads the balance, the sessions and the spending of an account. The wallet is read first:
// a session that was opened since is among the sessions, or follows Last. In the other order, its
// price would be read without it.
func (s *Store) Standing(ctx context.Context, account string, at time.Time) (credit.Standing, error) {
	var standing credit.Standing
	pk := walletKey(account)
	rows, err := s.table.GetAll(ctx, pk, "WALLET", dayKey(at), monthKey(at))
	if err != nil {
		return standing, err
	}
	var wallet walletRow
	var day, month periodRow
	err = errors.Join(kv.Decode(rows[0], &wallet), kv.Decode(rows[1], &day), kv.Decode(rows[2], &month))
	standing.Balance, standing.Entries, standing.Last, standing.Day, standing.Month = wallet.Balance, wallet.Entries, wallet.Last, day.Micros, month.Micros
	if err != nil {
		return standing, err
	}
	open := kv.Rows(pk, "S#")
	open.From = "S#" + kv.Pad(kv.Millis(at)+1, 13)
	items, err := s.table.Read(ctx, open, 0)
	if err != nil {
		return standing, err
	}
	sessions, err := kv.DecodeAll[sessionRow](items)
	for _, row := range sessions {
		standing.Sessions = append(standing.Sessions, row.session())
	}
	return standing, err
}

// Entry returns a ledger entry.
func (s *Store) Entry(ctx context.Context, account, id string) (credit.Entry, error) {
	var row entryRow
	err := s.table.Get(ctx, walletKey(account), "L#"+id, &row, credit.ErrEntryNotFound)
	return row.entry(), err
}

// Ledger returns the ledger, the newest entry first, and a cursor when there are
// more.
func (s *Store) Ledger(ctx context.Context, account, cursor string, limit int) ([]credit.Entry, string, error) {
	items, next, err := s.table.Page(ctx, "ledger\x00"+account, kv.Listed(ledgerIndex(account)), cursor, limit)
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

// Move writes a ledger entry and moves the balance by its amount.
func (s *Store) Move(ctx context.Context, account string, e credit.Entry) error {
	return s.movement(ctx, account, e)
}

// BuySession writes a session, its ledger entry, and the new balance.
func (s *Store) BuySession(ctx context.Context, account string, session credit.Session, e credit.Entry) error {
	w := kv.Put(sessionRow{
		PK: walletKey(account), SK: sessionKey(session.ExpiresAt, session.ID), ID: session.ID, Cost: session.Cost, Tokens: session.Tokens, Free: session.Free,
		OpenedAt: kv.Millis(session.OpenedAt), ExpiresAt: kv.Millis(session.ExpiresAt), TTL: session.ExpiresAt.Add(90 * 24 * time.Hour).Unix(),
	}, "attribute_not_exists(PK)", credit.ErrAlreadyWritten)
	return s.movement(ctx, account, e, w)
}

// Refund writes the entry, returns the credit and closes the session: its remaining tokens cannot be
// held any more.
func (s *Store) Refund(ctx context.Context, account string, e credit.Entry) error {
	w := kv.Update(walletKey(account), sessionKey(e.Until, e.SessionID), "SET closed = :true",
		"attribute_exists(PK)", kv.Item{":true": kv.Bool(true)}, credit.ErrNotRefundable)
	return s.movement(ctx, account, e, w)
}

// movement commits a ledger entry, the balance, and further writes. The entry's condition makes it
// happen once, and is checked first.
func (s *Store) movement(ctx context.Context, account string, e credit.Entry, more ...kv.Write) error {
	put := kv.Put(entryRow{
		PK: walletKey(account), SK: "L#" + e.ID, ListPK: ledgerIndex(account), ListSK: kv.At(e.At, e.ID),
		ID: e.ID, Kind: string(e.Kind), Amount: e.Amount, Actor: e.Actor, Reason: e.Reason, SessionID: e.SessionID, Of: e.Of,
		Until: kv.Millis(e.Until), At: kv.Millis(e.At),
	}, "attribute_not_exists(PK)", credit.ErrAlreadyWritten)
	set := "SET balance = if_not_exists(balance, :none) + :amount, entries = if_not_exists(entries, :none) + :one, " +
		"DuePK = :due, DueSK = if_not_exists(DueSK, :at)"
	values := kv.Item{
		":none": kv.N(0), ":one": kv.N(1), ":amount": kv.N(e.Amount), ":due": kv.S(kv.DueList(dueAudits, account)), ":at": kv.S(kv.At(e.At.Add(auditWait), account)),
	}
	if e.Kind == credit.KindSession {
		set += ", last_session = :session"
		values[":session"] = kv.S(e.SessionID)
	}
	condition := ""
	if e.Amount < 0 {
		condition, values[":need"] = "balance >= :need", kv.N(-e.Amount)
	}
	balance := kv.Update(walletKey(account), "WALLET", set, condition, values, credit.ErrInsufficient)
	writes := append([]kv.Write{put, balance}, more...)
	if e.Key != "" {
		guard := kv.Put(onceRow{PK: walletKey(account), SK: "K#" + ids.Hash(e.Key), Entry: e.ID}, "attribute_not_exists(PK)", credit.ErrAlreadyWritten)
		writes = append([]kv.Write{guard}, writes...)
	}
	return s.table.Commit(ctx, writes...)
}

// onceRow says which entry an idempotency key moved.
type onceRow struct {
	PK    string `dynamodbav:"PK"`
	SK    string `dynamodbav:"SK"`
	Entry string `dynamodbav:"entry_id"`
}

// EntryOf returns the entry that a key moved.
func (s *Store) EntryOf(ctx context.Context, account, key string) (credit.Entry, error) {
	var row onceRow
	if err := s.table.Get(ctx, walletKey(account), "K#"+ids.Hash(key), &row, credit.ErrEntryNotFound); err != nil {
		return credit.Entry{}, err
	}
	return s.Entry(ctx, account, row.Entry)
}

// AddUp adds the whole ledger up, with the balance of the same moment: when the
// wallet moved while it was read, it is read again.
func (s *Store) AddUp(ctx context.Context, account string) (credit.Audit, error) {
	var audit credit.Audit
	for range 8 {
		var before, after walletRow
		if err := s.table.Get(ctx, walletKey(account), "WALLET", &before, errNoWallet); err != nil && !errors.Is(err, errNoWallet) {
			return audit, err
		}
		items, err := s.table.Read(ctx, kv.Rows(walletKey(account), "L#"), 0)
		if err != nil {
			return audit, err
		}
		if err := s.table.Get(ctx, walletKey(account), "WALLET", &after, errNoWallet); err != nil && !errors.Is(err, errNoWallet) {
			return audit, err
		}
		audit = credit.Audit{Account: account, Balance: after.Balance, Entries: after.Entries, Counted: int64(len(items))}
		for _, it := range items {
			var row entryRow
			if err := kv.Decode(it, &row); err != nil {
				return audit, err
			}
			audit.Sum += row.Amount
		}
		if before == after {
			return audit, nil
		}
	}
	return audit, errors.New("store: the ledger moves faster than it can be added up")
}

// DueAudits lists accounts whose ledger moved since it was last added up.
func (s *Store) DueAudits(ctx context.Context, at time.Time, limit int) ([]string, error) {
	keys, err := s.table.Due(ctx, dueAudits, at, limit)
	if err != nil {
		return nil, err
	}
	accounts := make([]string, len(keys))
	for i, k := range keys {
		accounts[i] = kv.AccountOf(k.PK, "#W")
	}
	return slices.Compact(accounts), nil
}

// Audited takes an account off that list, unless its ledger moved meanwhile.
func (s *Store) Audited(ctx context.Context, a credit.Audit) error {
	err := s.table.Commit(ctx, kv.Update(walletKey(a.Account), "WALLET", "REMOVE DuePK, DueSK", "entries = :n", kv.Item{":n": kv.N(a.Entries)}, errChanged))
	if errors.Is(err, errChanged) {
		return nil
	}
	return err
}

var errChanged = errors.New("store: the row changed after it was read")
