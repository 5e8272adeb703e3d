package access

import (
	"context"
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
	"piloto/internal/store/kv"
)

type connectionRow struct {
	kv.Key
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
	kv.Key
	Account ids.Account `dynamodbav:"account"`
	TTL     int64       `dynamodbav:"ttl"`
}

const socketSK = "CONN"

func socketsOf(account ids.Account) string { return kv.Account(account) + "#WS" }
func socketKey(id string) kv.Key           { return kv.Key{PK: "WS#" + id, SK: socketSK} }
func connectionSK(id string) string        { return "CONN#" + id }

func connectionKey(account ids.Account, id string) kv.Key {
	return kv.Key{PK: socketsOf(account), SK: connectionSK(id)}
}

func (row connectionRow) connection(account ids.Account) realtime.Connection {
	return realtime.Connection{
		Account: account, ID: row.ID, User: row.User, Parent: row.Parent, ConnectedAt: kv.Time(row.ConnectedAt),
		PingedAt: kv.Time(row.PingedAt), ExpiresAt: kv.Time(row.ExpiresAt), Seq: row.Seq,
		Says: row.Says, ChatID: row.ChatID,
	}
}

// AddConnection stores a new connection, to be found by its account and by its id.
func (s *Store) AddConnection(ctx context.Context, c realtime.Connection) error {
	ttl := c.ConnectedAt.Add(realtime.Forgotten).Unix()
	row := kv.Insert(connectionRow{
		Key: connectionKey(c.Account, c.ID), ID: c.ID, User: c.User, Parent: c.Parent,
		ConnectedAt: kv.Millis(c.ConnectedAt), PingedAt: kv.Millis(c.PingedAt), ExpiresAt: kv.Millis(c.ExpiresAt), Seq: c.Seq, TTL: ttl,
	})
	found := kv.Insert(socketRow{Key: socketKey(c.ID), Account: c.Account, TTL: ttl})
	return s.table.Commit(ctx, row.Else(kv.ErrTaken), found.Else(kv.ErrTaken))
}

// Connections returns an account's connections, expired ones among them.
func (s *Store) Connections(ctx context.Context, account ids.Account) ([]realtime.Connection, error) {
	items, err := s.table.Read(ctx, kv.Rows(socketsOf(account), connectionSK("")), 0)
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
	if err := s.table.Get(ctx, socketKey(id), &of, realtime.ErrGone); err != nil {
		return realtime.Connection{}, err
	}
	var row connectionRow
	err := s.table.Get(ctx, connectionKey(of.Account, id), &row, realtime.ErrGone)
	return row.connection(of.Account), err
}

// Advance takes the next n numbers of a connection and returns the last; it is
// realtime.ErrGone when there is none, or it expired by at.
func (s *Store) Advance(ctx context.Context, account ids.Account, id string, n int, at time.Time) (int64, error) {
	return s.renumber(ctx, kv.Update(connectionKey(account, id)).Add("seq", n).If(kv.Greater("expires_at", at)))
}

// Renew notes a ping, sets when the connection expires, and skips numbers.
func (s *Store) Renew(ctx context.Context, account ids.Account, id string, at, until time.Time, skip int) (int64, error) {
	return s.renumber(ctx, kv.Update(connectionKey(account, id)).Set("pinged_at", at).Set("expires_at", until).Add("seq", skip))
}

// SetOpen stores the chat that a connection has open.
func (s *Store) SetOpen(ctx context.Context, id string, chat conversation.Key) error {
	return s.table.Do(ctx, kv.Update(connectionKey(chat.Account, id)).Set("says", true).Set("chat_id", chat.ChatID).If(kv.Exists("PK")).Else(realtime.ErrGone))
}

// renumber changes a connection that is there and returns its number.
func (s *Store) renumber(ctx context.Context, w kv.Write) (int64, error) {
	row, done, err := s.table.Try(ctx, w.If(kv.Exists("PK")))
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

// RemoveConnection removes a connection; deleting a missing connection is no error.
func (s *Store) RemoveConnection(ctx context.Context, account ids.Account, id string) error {
	for _, key := range []kv.Key{connectionKey(account, id), socketKey(id)} {
		if _, _, err := s.table.Try(ctx, kv.Delete(key)); err != nil {
			return err
		}
	}
	return nil
}
