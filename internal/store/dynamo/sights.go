package dynamo

import (
	"context"
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

type sightRow struct {
	PK     string `dynamodbav:"PK"`
	SK     string `dynamodbav:"SK"`
	RunID  string `dynamodbav:"run_id"`
	Digest string `dynamodbav:"digest"`
	At     int64  `dynamodbav:"at"`
	Until  int64  `dynamodbav:"until"`
	TTL    int64  `dynamodbav:"ttl"`
}

func sightKey(viewer string) string { return "SIGHT#" + viewer }

// sight returns the write that notes what a viewer of a chat was shown.
func (t *Table) sight(account, chatID string, s plan.Sight) (write, error) {
	return t.put(sightRow{
		PK: chatKey(account, chatID), SK: sightKey(s.Viewer), RunID: s.RunID, Digest: string(s.Digest),
		At: millis(s.At), Until: millis(s.Until), TTL: s.Until.Add(time.Hour).Unix(),
	}, "", nil)
}

// Show notes that a viewer is shown a draft, and adds the messages that are said with
// it, all or none. It returns plan.ErrMoved when the chat waits for that draft no more.
func (t *Table) Show(ctx context.Context, draft plan.Run, s plan.Sight, said ...conversation.Message) error {
	writes, err := t.messages(draft.Account, draft.ChatID, said)
	if err != nil {
		return err
	}
	sight, err := t.sight(draft.Account, draft.ChatID, s)
	if err != nil {
		return err
	}
	waits := t.touch(draft.Account, draft.ChatID, s.At, "", "", "pending_run_id = :run", item{":run": str(draft.ID)})
	err = t.commit(ctx, append(writes, sight, waits)...)
	return t.told(ctx, draft.Account, draft.ChatID, said, err)
}

var errUnseen = errors.New("dynamo: the viewer was shown nothing")

// Shown returns which plan a viewer of a chat was shown last, at a time: the zero
// Sight when none, or when what they saw has expired by then.
func (t *Table) Shown(ctx context.Context, account, chatID, viewer string, at time.Time) (plan.Sight, error) {
	var row sightRow
	err := t.get(ctx, chatKey(account, chatID), sightKey(viewer), &row, errUnseen)
	if errors.Is(err, errUnseen) || err == nil && !at.Before(fromMillis(row.Until)) {
		return plan.Sight{}, nil
	}
	return plan.Sight{
		Viewer: viewer, RunID: row.RunID, Digest: plan.Digest(row.Digest), At: fromMillis(row.At), Until: fromMillis(row.Until),
	}, err
}
