package chats

import (
	"context"
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/store/kv"
)

type stopRow struct {
	kv.Key
	At  int64 `dynamodbav:"at"`
	TTL int64 `dynamodbav:"ttl"`
}

// AskStop notes a request to end the answer that is being written.
func (s *Store) AskStop(ctx context.Context, key conversation.Key, at time.Time) error {
	return s.table.Do(ctx, stop(key, at))
}

func stop(key conversation.Key, at time.Time) kv.Write {
	return kv.Put(stopRow{Key: kv.Key{PK: kv.Chat(key.Account, key.ChatID), SK: "STOP"}, At: kv.Millis(at), TTL: at.Add(time.Hour).Unix()})
}

// StopAsked returns the time of the last such request; the zero time when there was none.
func (s *Store) StopAsked(ctx context.Context, key conversation.Key) (time.Time, error) {
	var row stopRow
	err := s.table.Get(ctx, kv.Key{PK: kv.Chat(key.Account, key.ChatID), SK: "STOP"}, &row, errNoStop)
	if errors.Is(err, errNoStop) {
		return time.Time{}, nil
	}
	return kv.Time(row.At), err
}

var errNoStop = errors.New("store: nobody asked to stop")
