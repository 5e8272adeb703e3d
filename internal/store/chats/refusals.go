package chats

import (
	"cmp"
	"context"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/jcs"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

type refusalRow struct {
	kv.Key
	Requests []string `dynamodbav:"requests"`
	RunID    string   `dynamodbav:"run_id"`
	Reason   string   `dynamodbav:"reason,omitempty"`
	At       int64    `dynamodbav:"at"`
	TTL      int64    `dynamodbav:"ttl"`
}

const refusalLife = 365 * 24 * time.Hour

const refusalKind = "REFUSED#"

// Refuse returns the write that records that a person refused requests together in a chat: one of the sets of
// plan.Plan.Requests or RequestsOf. A later refusal of the same set overwrites it.
func Refuse(account ids.Account, chatID string, requests []string, r plan.Refusal) (kv.Write, error) {
	sum, err := jcs.Sum(requests)
	return kv.Put(refusalRow{
		Key: kv.Key{PK: kv.Chat(account, chatID), SK: refusalKind + sum}, Requests: requests,
		RunID: r.RunID, Reason: r.Reason, At: kv.Millis(r.At), TTL: r.At.Add(refusalLife).Unix(),
	}), err
}

// copyRefusals copies the refusals of a chat to its branch.
func (r rows) copyRefusals(ctx context.Context, account ids.Account, from, to string) error {
	items, err := r.table.Read(ctx, kv.Rows(kv.Chat(account, from), refusalKind), 0)
	if err != nil {
		return err
	}
	rows, err := kv.DecodeAll[refusalRow](items)
	if err != nil {
		return err
	}
	for _, row := range rows {
		row.PK = kv.Chat(account, to)
		if err := r.table.Do(ctx, kv.Put(row)); err != nil {
			return err
		}
	}
	return nil
}

// often is the number of refused runs with a request after which the request is refused in any set.
const often = 3

// Refused returns the refusals in a chat that some requests meet: those of which all requests are among them, and for a request that
// was refused often the newest. It reads those of the chat at once, and sums no requests before, because most chats have none.
func (s *Store) Refused(ctx context.Context, chat conversation.Key, requests func() ([]string, error)) ([]plan.Refusal, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Chat(chat.Account, chat.ChatID), refusalKind), 0)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	sums, err := requests()
	if err != nil {
		return nil, err
	}
	rows, err := kv.DecodeAll[refusalRow](items)
	slices.SortStableFunc(rows, func(a, b refusalRow) int { return cmp.Compare(b.At, a.At) })
	runs := map[string][]string{} // of each request, in which it was refused
	for _, sum := range sums {
		runs[sum] = []string{}
	}
	newest := map[string]plan.Refusal{}
	var list []plan.Refusal
	for _, row := range rows {
		was := plan.Refusal{RunID: row.RunID, Reason: row.Reason, At: kv.Time(row.At)}
		all := len(row.Requests) > 0
		for _, sum := range row.Requests {
			in, has := runs[sum]
			if all = all && has; !has || slices.Contains(in, row.RunID) {
				continue
			}
			if len(in) == 0 {
				newest[sum] = was
			}
			if runs[sum] = append(in, row.RunID); len(runs[sum]) == often {
				list = append(list, newest[sum])
			}
		}
		if all {
			list = append(list, was)
		}
	}
	return list, err
}
