package access

import (
	"context"
	"errors"
	"time"

	"piloto/internal/live/realtime"
	"piloto/internal/store/kv"
)

type connectionRow struct {
	PK          string `dynamodbav:"PK"`
	SK          string `dynamodbav:"SK"`
	ID          string `dynamodbav:"id"`
	User        string `dynamodbav:"user"`
	Parent      string `dynamodbav:"parent"`
	ConnectedAt int64  `dynamodbav:"connected_at"`
	PingedAt    int64  `dynamodbav:"pinged_at,omitempty"`
	ExpiresAt   int64  `dynamodbav:"expires_at"`
	Seq         int64  `dynamodbav:"seq"`
	Says        bool   `dynamodbav:"says,omitempty"`
	ChatID      string `dynamodbav:"chat_id,omitempty"`
	TTL         int64  `dynamodbav:"ttl"` // cleans up; the comparison is on expires_at
}

// socketRow is how the account of a connection is found by its id.
type socketRow struct {
	PK      string `dynamodbav:"PK"`
	SK      string `dynamodbav:"SK"`
	Account string `dynamodbav:"account"`
	TTL     int64  `dynamodbav:"ttl"`
}

const socketSK = "CONN"

func socketsKey(account string) string { return kv.Account(account) + "#WS" }
func socketKey(id string) string       { return "WS#" + id }
func connectionSK(id string) string    { return "CONN#" + id }

func (row connectionRow) connection(account string) realtime.Connection {
	return realtime.Connection{
		Account: account, ID: row.ID, User: row.User, Parent: row.Parent, ConnectedAt: kv.Time(row.ConnectedAt),
		PingedAt: kv.Time(row.PingedAt), ExpiresAt: kv.Time(row.ExpiresAt), Seq: row.Seq,
		Says: row.Says, ChatID: row.ChatID,
	}
}

// AddConnection stores a new connection, to be found by its account and by its id.
func (s *Store) AddConnection(ctx context.Context, c realtime.Connection) error {
	ttl := c.ConnectedAt.Add(realtime.Forgotten).Unix()
	row := kv.Put(connectionRow{
		PK: socketsKey(c.Account), SK: connectionSK(c.ID), ID: c.ID, User: c.User, Parent: c.Parent,
		ConnectedAt: kv.Millis(c.ConnectedAt), PingedAt: kv.Millis(c.PingedAt), ExpiresAt: kv.Millis(c.ExpiresAt), Seq: c.Seq, TTL: ttl,
	}, "attribute_not_exists(PK)", kv.ErrTaken)
	found := kv.Put(socketRow{PK: socketKey(c.ID), SK: socketSK, Account: c.Account, TTL: ttl}, "attribute_not_exists(PK)", kv.ErrTaken)
	return s.table.Commit(ctx, row, found)
}

// Connections returns an account's connections, expired ones among them.
func (s *Store) Connections(ctx context.Context, account string) ([]realtime.Connection, error) {
	items, err := s.table.Read(ctx, kv.Rows(socketsKey(account), connectionSK("")), 0)
	if err != nil {
		return nil, err
	}
	list := make([]realtime.Connection, len(items))
	for i, it := range items {
		var row connectionRow
		if err := kv.Decode(it, &row); err != nil {
			return nil, err
		}
		list[i] = row.connection(account)
	}
	return list, nil
}

// Connection returns the connection with an id; realtime.ErrGone when there is none.
func (s *Store) Connection(ctx context.Context, id string) (realtime.Connection, error) {
	var of socketRow
	if err := s.table.Get(ctx, socketKey(id), socketSK, &of, realtime.ErrGone); err != nil {
		return realtime.Connection{}, err
	}
	var row connectionRow
	err := s.table.Get(ctx, socketsKey(of.Account), connectionSK(id), &row, realtime.ErrGone)
	return row.connection(of.Account), err
}

// Advance takes the next n numbers of a connection and returns the last; it is
// realtime.ErrGone when there is none, or it expired by at.
func (s *Store) Advance(ctx context.Context, account, id string, n int, at time.Time) (int64, error) {
	return s.renumber(ctx, account, id, "ADD seq :n", "attribute_exists(PK) AND expires_at > :now", kv.Item{
		":n": kv.N(int64(n)), ":now": kv.N(kv.Millis(at)),
	})
}

// Renew notes a ping, sets when the connection expires, and skips numbers.
func (s *Store) Renew(ctx context.Context, account, id string, at, until time.Time, skip int) (int64, error) {
	return s.renumber(ctx, account, id, "SET pinged_at = :now, expires_at = :until ADD seq :n", "attribute_exists(PK)", kv.Item{
		":n": kv.N(int64(skip)), ":now": kv.N(kv.Millis(at)), ":until": kv.N(kv.Millis(until)),
	})
}

// Look notes which chat a connection has open.
func (s *Store) Look(ctx context.Context, account, id, chatID string) error {
	return s.table.Do(ctx, kv.Update(socketsKey(account), connectionSK(id), "SET says = :yes, chat_id = :chat", "attribute_exists(PK)",
		kv.Item{":yes": kv.Bool(true), ":chat": kv.S(chatID)}, realtime.ErrGone))
}

// renumber changes a connection that is there and returns its number.
func (s *Store) renumber(ctx context.Context, account, id, change, condition string, values kv.Item) (int64, error) {
	row, done, err := s.table.Try(ctx, kv.Update(socketsKey(account), connectionSK(id), change, condition, values, nil))
	if err != nil {
		return 0, err
	}
	if !done {
		return 0, realtime.ErrGone
	}
	n, ok, err := kv.Int(row, "seq")
	if err == nil && !ok {
		err = errors.New("store: a connection without a number")
	}
	return n, err
}

// RemoveConnection removes a connection; one that is not there is removed already.
func (s *Store) RemoveConnection(ctx context.Context, account, id string) error {
	for _, w := range []kv.Write{
		kv.Delete(socketsKey(account), connectionSK(id), "", nil),
		kv.Delete(socketKey(id), socketSK, "", nil),
	} {
		if _, _, err := s.table.Try(ctx, w); err != nil {
			return err
		}
	}
	return nil
}
