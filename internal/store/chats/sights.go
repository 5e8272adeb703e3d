package chats

import (
	"context"
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

type sightRow struct {
	kv.Key
	RunID  string `dynamodbav:"run_id"`
	Digest string `dynamodbav:"digest"`
	At     int64  `dynamodbav:"at"`
	Until  int64  `dynamodbav:"until"`
	TTL    int64  `dynamodbav:"ttl"`
}

func sightKey(viewer string) string { return "SIGHT#" + viewer }

// Sight returns the write that notes which plan a viewer of a chat was shown.
func Sight(account ids.Account, chatID string, s plan.Sight) kv.Write {
	return kv.Put(sightRow{
		Key: kv.Key{PK: kv.Chat(account, chatID), SK: sightKey(s.Viewer)}, RunID: s.RunID, Digest: string(s.Digest),
		At: kv.Millis(s.At), Until: kv.Millis(s.Until), TTL: s.Until.Add(time.Hour).Unix(),
	})
}

// Show notes that a viewer is shown a draft, and adds messages to its chat, all or none. It returns
// fault.ErrMoved when the chat does not wait for that draft any more.
func (s *Store) Show(ctx context.Context, draft plan.Run, sight plan.Sight, said ...conversation.Message) error {
	writes := Append(conversation.Key{Account: draft.Account, ChatID: draft.ChatID}, said)
	seen := Sight(draft.Account, draft.ChatID, sight)
	waits := Touch(draft.Account, draft.ChatID, sight.At).If(kv.Is("pending_run_id", draft.ID))
	return s.table.Commit(ctx, append(writes, seen, waits)...)
}

var errUnseen = errors.New("store: the viewer was shown nothing")

// Shown returns the plan that a viewer of a chat was shown last. It is the zero Sight when there is
// none, or when the plan has expired by the time at.
func (s *Store) Shown(ctx context.Context, key conversation.Key, viewer string, at time.Time) (plan.Sight, error) {
	var row sightRow
	err := s.table.Get(ctx, kv.Key{PK: kv.Chat(key.Account, key.ChatID), SK: sightKey(viewer)}, &row, errUnseen)
	if errors.Is(err, errUnseen) || err == nil && !at.Before(kv.Time(row.Until)) {
		return plan.Sight{}, nil
	}
	return plan.Sight{
		Viewer: viewer, RunID: row.RunID, Digest: plan.Digest(row.Digest), At: kv.Time(row.At), Until: kv.Time(row.Until),
	}, err
}
