package dynamo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/runs/run"
)

// What has to be looked at by a time, beside the runs.
const (
	dueHolds  = "HOLD"
	dueAudits = "AUDIT"
	auditWait = time.Minute // after the first movement since the last audit
)

func walletKey(account string) string   { return "A#" + account + "#W" }
func ledgerIndex(account string) string { return "A#" + account + "#LEDGER" }

func sessionKey(until time.Time, id string) string { return "S#" + pad(millis(until), 13) + "#" + id }

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
		OpenedAt: fromMillis(row.OpenedAt), ExpiresAt: fromMillis(row.ExpiresAt),
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
		SessionID: row.SessionID, Of: row.Of, Until: fromMillis(row.Until), At: fromMillis(row.At),
	}
}

var errNoWallet = errors.New("dynamo: no wallet")

// Standing reads what an account has and has spent. The wallet comes first: a
// session that was opened since is among the sessions, or is the one that comes
// after Last; read before it, its price would be seen and it would not.
func (t *Table) Standing(ctx context.Context, account string, at time.Time) (credit.Standing, error) {
	var s credit.Standing
	pk := walletKey(account)
	rows, err := t.getAll(ctx, pk, "WALLET", dayKey(at), monthKey(at))
	if err != nil {
		return s, err
	}
	var wallet walletRow
	var day, month periodRow
	err = errors.Join(attributevalue.UnmarshalMap(rows[0], &wallet), attributevalue.UnmarshalMap(rows[1], &day), attributevalue.UnmarshalMap(rows[2], &month))
	s.Balance, s.Entries, s.Last, s.Day, s.Month = wallet.Balance, wallet.Entries, wallet.Last, day.Micros, month.Micros
	if err != nil {
		return s, err
	}
	open := kindsIn(pk, "S#")
	open.from = "S#" + pad(millis(at)+1, 13)
	items, err := t.read(ctx, open, 0)
	if err != nil {
		return s, err
	}
	var sessions []sessionRow
	err = attributevalue.UnmarshalListOfMaps(items, &sessions)
	for _, row := range sessions {
		s.Sessions = append(s.Sessions, row.session())
	}
	return s, err
}

// Entry returns a ledger entry.
func (t *Table) Entry(ctx context.Context, account, id string) (credit.Entry, error) {
	var row entryRow
	err := t.get(ctx, walletKey(account), "L#"+id, &row, credit.ErrEntryNotFound)
	return row.entry(), err
}

// Ledger returns the ledger, the newest entry first, and a cursor when there are
// more.
func (t *Table) Ledger(ctx context.Context, account, cursor string, limit int) ([]credit.Entry, string, error) {
	items, next, err := t.page(ctx, "ledger\x00"+account, listIn(listed, ledgerIndex(account)), cursor, limit)
	if err != nil {
		return nil, "", err
	}
	var rows []entryRow
	if err := attributevalue.UnmarshalListOfMaps(items, &rows); err != nil {
		return nil, "", err
	}
	list := make([]credit.Entry, len(rows))
	for i, row := range rows {
		list[i] = row.entry()
	}
	return list, next, nil
}

// Move writes a ledger entry and moves the balance by its amount.
func (t *Table) Move(ctx context.Context, account string, e credit.Entry) error {
	return t.movement(ctx, account, e)
}

// BuySession writes a session, its ledger entry, and what it costs.
func (t *Table) BuySession(ctx context.Context, account string, s credit.Session, e credit.Entry) error {
	w, err := t.put(sessionRow{
		PK: walletKey(account), SK: sessionKey(s.ExpiresAt, s.ID), ID: s.ID, Cost: s.Cost, Tokens: s.Tokens, Free: s.Free,
		OpenedAt: millis(s.OpenedAt), ExpiresAt: millis(s.ExpiresAt), TTL: s.ExpiresAt.Add(90 * 24 * time.Hour).Unix(),
	}, "attribute_not_exists(PK)", credit.ErrMoved)
	if err != nil {
		return err
	}
	return t.movement(ctx, account, e, w)
}

// Refund writes the entry, gives the credit back and closes the session: what is
// left of it can be held no more.
func (t *Table) Refund(ctx context.Context, account string, e credit.Entry) error {
	w := t.update(walletKey(account), sessionKey(e.Until, e.SessionID), "SET closed = :true",
		"attribute_exists(PK)", item{":true": yes}, credit.ErrNotRefundable)
	return t.movement(ctx, account, e, w)
}

// movement commits a ledger entry, the balance, and what else belongs to it. The
// entry is what makes it happen once; its condition is looked at first.
func (t *Table) movement(ctx context.Context, account string, e credit.Entry, more ...write) error {
	put, err := t.put(entryRow{
		PK: walletKey(account), SK: "L#" + e.ID, ListPK: ledgerIndex(account), ListSK: changedAt(e.At, e.ID),
		ID: e.ID, Kind: string(e.Kind), Amount: e.Amount, Actor: e.Actor, Reason: e.Reason, SessionID: e.SessionID, Of: e.Of,
		Until: millis(e.Until), At: millis(e.At),
	}, "attribute_not_exists(PK)", credit.ErrMoved)
	if err != nil {
		return err
	}
	set := "SET balance = if_not_exists(balance, :none) + :amount, entries = if_not_exists(entries, :none) + :one, " +
		"DuePK = :due, DueSK = if_not_exists(DueSK, :at)"
	values := item{
		":none": num(0), ":one": num(1), ":amount": num(e.Amount), ":due": str(dueAudits), ":at": str(dueAt(e.At.Add(auditWait), account)),
	}
	if e.Kind == credit.KindSession {
		set += ", last_session = :session"
		values[":session"] = str(e.SessionID)
	}
	condition := ""
	if e.Amount < 0 {
		condition, values[":need"] = "balance >= :need", num(-e.Amount)
	}
	balance := t.update(walletKey(account), "WALLET", set, condition, values, credit.ErrInsufficient)
	writes := append([]write{put, balance}, more...)
	if e.Key != "" {
		guard, err := t.put(onceRow{PK: walletKey(account), SK: "K#" + ids.Hash(e.Key), Entry: e.ID}, "attribute_not_exists(PK)", credit.ErrMoved)
		if err != nil {
			return err
		}
		writes = append([]write{guard}, writes...)
	}
	return run.Retry(ctx, func() error { return t.commit(ctx, writes...) })
}

// onceRow says which entry an idempotency key moved.
type onceRow struct {
	PK    string `dynamodbav:"PK"`
	SK    string `dynamodbav:"SK"`
	Entry string `dynamodbav:"entry_id"`
}

// EntryOf returns the entry that a key moved.
func (t *Table) EntryOf(ctx context.Context, account, key string) (credit.Entry, error) {
	var row onceRow
	if err := t.get(ctx, walletKey(account), "K#"+ids.Hash(key), &row, credit.ErrEntryNotFound); err != nil {
		return credit.Entry{}, err
	}
	return t.Entry(ctx, account, row.Entry)
}

// AddUp adds the whole ledger up, with the balance of the same moment: when the
// wallet moved while it was read, it is read again.
func (t *Table) AddUp(ctx context.Context, account string) (credit.Audit, error) {
	var audit credit.Audit
	for range 8 {
		var before, after walletRow
		if err := t.get(ctx, walletKey(account), "WALLET", &before, errNoWallet); err != nil && !errors.Is(err, errNoWallet) {
			return audit, err
		}
		items, err := t.read(ctx, kindsIn(walletKey(account), "L#"), 0)
		if err != nil {
			return audit, err
		}
		if err := t.get(ctx, walletKey(account), "WALLET", &after, errNoWallet); err != nil && !errors.Is(err, errNoWallet) {
			return audit, err
		}
		audit = credit.Audit{Account: account, Balance: after.Balance, Entries: after.Entries, Counted: int64(len(items))}
		for _, it := range items {
			var row entryRow
			if err := attributevalue.UnmarshalMap(it, &row); err != nil {
				return audit, err
			}
			audit.Sum += row.Amount
		}
		if before == after {
			return audit, nil
		}
	}
	return audit, errors.New("dynamo: the ledger moves faster than it can be added up")
}

// DueAudits lists accounts whose ledger moved since it was last added up.
func (t *Table) DueAudits(ctx context.Context, at time.Time, limit int) ([]string, error) {
	keys, err := t.dueKeys(ctx, dueAudits, at, limit)
	if err != nil {
		return nil, err
	}
	accounts := make([]string, len(keys))
	for i, k := range keys {
		accounts[i] = strings.TrimSuffix(strings.TrimPrefix(k.PK, "A#"), "#W")
	}
	return slices.Compact(accounts), nil
}

// Audited takes an account off that list, unless its ledger moved meanwhile.
func (t *Table) Audited(ctx context.Context, a credit.Audit) error {
	err := t.commit(ctx, t.update(walletKey(a.Account), "WALLET", "REMOVE DuePK, DueSK", "entries = :n", item{":n": num(a.Entries)}, errMovedOn))
	if errors.Is(err, errMovedOn) {
		return nil
	}
	return err
}

var errMovedOn = errors.New("dynamo: it moved on by itself")
