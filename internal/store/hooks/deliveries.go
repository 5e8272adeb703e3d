package hooks

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/live/hook"
	"piloto/internal/store/kv"
	"piloto/internal/store/setups"
)

var (
	messageList = kv.Document[[]hook.Message]{Name: "hook_messages"}
	attemptList = kv.Document[[]hook.Attempt]{Name: "hook_attempts"}
)

const (
	outbox     = "#OUTBOX"
	owner      = "#H#"
	lifeOutbox = 30 * 24 * time.Hour // of a row of the outbox that no sweep takes
	lifeStuck  = 30 * 24 * time.Hour // of a delivery that does not end
)

// outboxRow holds the messages of one transaction, until a sweep makes deliveries of them.
type outboxRow struct {
	kv.Key
	Messages []byte `dynamodbav:"messages"` // JSON of []hook.Message, gzipped when that is shorter
	DuePK    string `dynamodbav:"DuePK"`
	DueSK    string `dynamodbav:"DueSK"`
	TTL      int64  `dynamodbav:"ttl"`
}

// deliveryRow is one message to one hook, and its attempts.
type deliveryRow struct {
	kv.Key
	ID        string      `dynamodbav:"id"`
	HookID    string      `dynamodbav:"hook_id"`
	Account   ids.Account `dynamodbav:"account"`
	Type      string      `dynamodbav:"type"`
	Body      []byte      `dynamodbav:"body"` // as it is sent
	State     string      `dynamodbav:"state"`
	Tries     int         `dynamodbav:"tries,omitempty"`
	Attempts  []byte      `dynamodbav:"attempts,omitempty"` // JSON of []hook.Attempt
	CreatedAt int64       `dynamodbav:"created_at"`         // unix milliseconds, as NextAt
	NextAt    int64       `dynamodbav:"next_at,omitempty"`
	DuePK     string      `dynamodbav:"DuePK,omitempty"`
	DueSK     string      `dynamodbav:"DueSK,omitempty"`
	TTL       int64       `dynamodbav:"ttl"`
}

// Tell returns the write that puts messages into the outbox of an account; none when no hook of the account wants them.
// The write belongs to the transaction that the messages are about, and key is unique to that transaction. When there are
// messages, Tell reads which events the hooks want.
func Tell(ctx context.Context, table *kv.Table, account ids.Account, key string, at time.Time, messages ...hook.Message) ([]kv.Write, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	set, err := setups.New(table).Read(ctx, account)
	if err != nil {
		return nil, err
	}
	messages = slices.DeleteFunc(messages, func(m hook.Message) bool { return !slices.Contains(set.Hooks, string(m.Type)) })
	if len(messages) == 0 {
		return nil, nil
	}
	raw, err := messageList.Pack(messages)
	return []kv.Write{kv.Put(outboxRow{
		Key: kv.Key{PK: kv.Account(account) + outbox, SK: key}, Messages: raw, DuePK: kv.DueList(dueHooks, account), DueSK: kv.At(at, key),
		TTL: at.Add(lifeOutbox).Unix(),
	})}, err
}

func rowOfDelivery(d hook.Delivery) (deliveryRow, error) {
	row := deliveryRow{
		Key: deliveryKey(d.Account, d.HookID, d.ID), ID: d.ID, HookID: d.HookID, Account: d.Account, Type: string(d.Type),
		Body: d.Body, State: string(d.State), Tries: d.Tries, CreatedAt: kv.Millis(d.CreatedAt), NextAt: kv.Millis(d.NextAt), TTL: d.Ends().Unix(),
	}
	if d.State == hook.Pending {
		row.DuePK, row.DueSK, row.TTL = kv.DueList(dueHooks, d.Account), hook.Place(d.NextAt, d.ID, ""), d.CreatedAt.Add(lifeStuck).Unix()
	}
	if len(d.Attempts) == 0 {
		return row, nil
	}
	var err error
	row.Attempts, err = attemptList.Encode(d.Attempts)
	return row, err
}

func deliveryOf(it kv.Item) (hook.Delivery, error) {
	var row deliveryRow
	if err := kv.Decode(it, &row); err != nil {
		return hook.Delivery{}, err
	}
	d := hook.Delivery{
		ID: row.ID, HookID: row.HookID, Account: row.Account, Type: hook.Event(row.Type), Body: row.Body, State: hook.State(row.State),
		Tries: row.Tries, CreatedAt: kv.Time(row.CreatedAt), NextAt: kv.Time(row.NextAt), Lease: row.DueSK,
	}
	if len(row.Attempts) == 0 {
		return d, nil
	}
	var err error
	d.Attempts, err = attemptList.Decode(row.Attempts)
	return d, err
}

// Deliveries implements hook.Store.
func (s *Store) Deliveries(ctx context.Context, account ids.Account, hookID, cursor string, limit int) ([]hook.Delivery, string, error) {
	span := kv.Rows(deliveriesOf(account, hookID), deliveryKind)
	span.Newest = true
	var err error
	if span.Before, err = kv.ReadCursor(span.Of(), cursor); err != nil {
		return nil, "", err
	}
	items, err := s.table.Read(ctx, span, limit+1)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(items) > limit {
		items = items[:limit]
		next = kv.WriteCursor(span.Of(), kv.Text(items[limit-1], "SK"))
	}
	list := make([]hook.Delivery, len(items))
	for i, it := range items {
		if list[i], err = deliveryOf(it); err != nil {
			return nil, "", err
		}
	}
	return list, next, nil
}

// Delivery implements hook.Store.
func (s *Store) Delivery(ctx context.Context, account ids.Account, hookID, id string) (hook.Delivery, error) {
	it, err := s.table.Row(ctx, deliveryKey(account, hookID, id))
	if err != nil {
		return hook.Delivery{}, err
	}
	if it == nil {
		return hook.Delivery{}, hook.ErrDeliveryNotFound
	}
	return deliveryOf(it)
}

// Resend implements hook.Store.
func (s *Store) Resend(ctx context.Context, d hook.Delivery, at time.Time) error {
	w := kv.Update(deliveryKey(d.Account, d.HookID, d.ID)).Set("state", hook.Pending).Set("next_at", at).Set("ttl", at.Add(lifeStuck).Unix()).Remove("tries")
	w = w.Set("DuePK", kv.DueList(dueHooks, d.Account)).Set("DueSK", hook.Place(at, d.ID, ""))
	return s.table.Do(ctx, w.If(kv.Exists("PK")).Else(hook.ErrDeliveryNotFound))
}

// DueHooks implements hook.Store.
func (s *Store) DueHooks(ctx context.Context, at time.Time, limit int) ([]sweep.Row[hook.Due], error) {
	return kv.DueRows(ctx, s.table, dueHooks, at, limit, func(k kv.DueKey) (hook.Due, error) {
		if strings.HasSuffix(k.PK, outbox) {
			return hook.Due{Account: kv.AccountOf(k.PK, outbox), Outbox: k.SK}, nil
		}
		account, id, ok := strings.Cut(strings.TrimPrefix(k.PK, kv.Account("")), owner)
		if !ok {
			return hook.Due{}, k.Unknown()
		}
		return hook.Due{Account: ids.Account(account), HookID: id, Delivery: strings.TrimPrefix(k.SK, deliveryKind), Seen: k.DueSK}, nil
	})
}

// OutboxRow implements hook.Store.
func (s *Store) OutboxRow(ctx context.Context, account ids.Account, key string) (*hook.OutboxRow, error) {
	it, err := s.table.Row(ctx, kv.Key{PK: kv.Account(account) + outbox, SK: key})
	if err != nil || it == nil {
		return nil, err
	}
	list, err := messageList.Unpack(kv.Bytes(it, "messages"))
	return &hook.OutboxRow{Key: key, Account: account, Messages: list}, err
}

var errTaken = errors.New("hooks: another sweep made the deliveries")

// Spread implements hook.Store: the row goes and the deliveries come in one transaction.
func (s *Store) Spread(ctx context.Context, t hook.OutboxRow, list []hook.Delivery) (bool, error) {
	writes := []kv.Write{kv.Delete(kv.Key{PK: kv.Account(t.Account) + outbox, SK: t.Key}).If(kv.Exists("PK")).Else(errTaken)}
	for _, d := range list {
		row, err := rowOfDelivery(d)
		writes = append(writes, kv.Insert(row).Else(errTaken).Unless(err))
	}
	err := s.table.Commit(ctx, writes...)
	if errors.Is(err, errTaken) {
		return false, nil
	}
	return err == nil, err
}

// Lease implements hook.Store. Its condition is the queue key, which each lease and each record changes.
func (s *Store) Lease(ctx context.Context, d hook.Due, by string, until time.Time) (*hook.Delivery, error) {
	row, done, err := s.table.Try(ctx, unleased(d).Set("DueSK", hook.Place(until, d.Delivery, by)))
	if err != nil || !done {
		return nil, err
	}
	leased, err := deliveryOf(row)
	return &leased, err
}

// unleased returns an update of a delivery that is due as it was seen.
func unleased(d hook.Due) kv.Write {
	return kv.Update(deliveryKey(d.Account, d.HookID, d.Delivery)).If(kv.Is("DueSK", d.Seen))
}

// DelayHook implements hook.Store.
func (s *Store) DelayHook(ctx context.Context, d hook.Due, at time.Time) error {
	_, _, err := s.table.Try(ctx, unleased(d).Set("DueSK", hook.Place(at, d.Delivery, "")).Set("next_at", at))
	return err
}

// Record implements hook.Store.
func (s *Store) Record(ctx context.Context, d hook.Delivery) error {
	row, err := rowOfDelivery(d)
	w := kv.Update(row.Key).Set("state", row.State).Set("tries", row.Tries).Set("attempts", row.Attempts).Set("ttl", row.TTL)
	if row.DueSK == "" {
		w = w.Remove("DuePK", "DueSK", "next_at")
	} else {
		w = w.Set("DueSK", row.DueSK).Set("next_at", row.NextAt)
	}
	_, _, err = s.table.Try(ctx, w.If(kv.Is("DueSK", d.Lease)).Unless(err))
	return err
}
