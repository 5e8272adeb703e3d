package chats

import (
	"context"
	"errors"
	"time"

	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

type refusalRow struct {
	PK     string `dynamodbav:"PK"`
	SK     string `dynamodbav:"SK"`
	RunID  string `dynamodbav:"run_id"`
	Reason string `dynamodbav:"reason,omitempty"`
	At     int64  `dynamodbav:"at"`
	TTL    int64  `dynamodbav:"ttl"`
}

const refusalLife = 365 * 24 * time.Hour

func refusalKey(requests string) string { return "REFUSED#" + requests }

// Refuse returns the write that notes that a person refused requests in a chat. requests is the sum of what a draft would have
// sent (plan.Plan.Requests), or of the request of one step (plan.Plan.EachRequest).
func Refuse(account, chatID, requests string, r plan.Refusal) kv.Write {
	return kv.Put(refusalRow{
		PK: kv.Chat(account, chatID), SK: refusalKey(requests), RunID: r.RunID, Reason: r.Reason, At: kv.Millis(r.At), TTL: r.At.Add(refusalLife).Unix(),
	}, "", nil)
}

var errNotRefused = errors.New("store: nobody refused it")

// Refused returns when a person last refused such requests in a chat; the zero Refusal when nobody did.
func (s *Store) Refused(ctx context.Context, account, chatID, requests string) (plan.Refusal, error) {
	var row refusalRow
	err := s.table.Get(ctx, kv.Chat(account, chatID), refusalKey(requests), &row, errNotRefused)
	if errors.Is(err, errNotRefused) {
		return plan.Refusal{}, nil
	}
	return plan.Refusal{RunID: row.RunID, Reason: row.Reason, At: kv.Time(row.At)}, err
}
