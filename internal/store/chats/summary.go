package chats

import (
	"context"
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/store/kv"
)

// summaryLife is how long a summary is kept after it was made. Without it a turn reads the messages themselves.
const summaryLife = 60 * 24 * time.Hour

// summaryRow is the summary of the older messages of a chat. At is unix milliseconds.
type summaryRow struct {
	kv.Key
	Until string   `dynamodbav:"until"`
	Text  string   `dynamodbav:"text"`
	Read  []string `dynamodbav:"read,omitempty"`
	At    int64    `dynamodbav:"at"`
	TTL   int64    `dynamodbav:"ttl"`
}

func summaryKey(key conversation.Key) kv.Key {
	return kv.Key{PK: kv.Chat(key.Account, key.ChatID), SK: "SUMMARY"}
}

// Summary returns the summary of a chat at a time; the zero Summary when there is none.
func (s *Store) Summary(ctx context.Context, key conversation.Key, at time.Time) (conversation.Summary, error) {
	var row summaryRow
	err := s.table.Get(ctx, summaryKey(key), &row, errNoSummary)
	if errors.Is(err, errNoSummary) || err == nil && row.TTL <= at.Unix() {
		return conversation.Summary{}, nil
	}
	return conversation.Summary{Until: row.Until, Text: row.Text, Read: row.Read, At: kv.Time(row.At)}, err
}

// PutSummary replaces the summary of a chat.
func (s *Store) PutSummary(ctx context.Context, key conversation.Key, sum conversation.Summary) error {
	return s.table.Do(ctx, kv.Put(summaryRow{
		Key: summaryKey(key), Until: sum.Until, Text: sum.Text, Read: sum.Read, At: kv.Millis(sum.At), TTL: sum.At.Add(summaryLife).Unix(),
	}))
}

var errNoSummary = errors.New("store: the chat has no summary")
