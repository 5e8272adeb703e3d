package chats

import (
	"context"
	"slices"
	"strings"
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

const refusalKind = "REFUSED#"

// Refuse returns the write that notes that a person refused requests in a chat. requests is the sum of what a draft would have
// sent (plan.Plan.Requests), or of the request of one step (plan.Plan.EachRequest).
func Refuse(account, chatID, requests string, r plan.Refusal) kv.Write {
	return kv.Put(refusalRow{
		PK: kv.Chat(account, chatID), SK: refusalKind + requests, RunID: r.RunID, Reason: r.Reason, At: kv.Millis(r.At), TTL: r.At.Add(refusalLife).Unix(),
	}, "", nil)
}

// copyRefusals copies what was refused in a chat to another: who branches it has refused that, too.
func (s *Store) copyRefusals(ctx context.Context, account, from, to string) error {
	items, err := s.table.Read(ctx, kv.Rows(kv.Chat(account, from), refusalKind), 0)
	if err != nil {
		return err
	}
	rows, err := kv.DecodeAll[refusalRow](items)
	if err != nil {
		return err
	}
	for _, row := range rows {
		row.PK = kv.Chat(account, to)
		if err := s.table.Do(ctx, kv.Put(row, "", nil)); err != nil {
			return err
		}
	}
	return nil
}

// Refused returns the refusals of any of some requests in a chat. It reads those of the chat at once, because most chats have
// none, and a plan has up to fifty requests.
func (s *Store) Refused(ctx context.Context, account, chatID string, requests []string) ([]plan.Refusal, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Chat(account, chatID), refusalKind), 0)
	if err != nil {
		return nil, err
	}
	rows, err := kv.DecodeAll[refusalRow](items)
	var list []plan.Refusal
	for _, row := range rows {
		if slices.Contains(requests, strings.TrimPrefix(row.SK, refusalKind)) {
			list = append(list, plan.Refusal{RunID: row.RunID, Reason: row.Reason, At: kv.Time(row.At)})
		}
	}
	return list, err
}
