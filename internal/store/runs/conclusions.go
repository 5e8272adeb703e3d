package runs

import (
	"context"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/kv"
)

// dueConclusions is the list of the conclusions that were not written.
const dueConclusions = "CONCLUDING"

// conclusionKey sorts before the rows that are read with a run.
const conclusionKey = "CONCLUSION"

func conclusionOf(account ids.Account, runID string) kv.Key {
	return kv.Key{PK: kv.Run(account, runID), SK: conclusionKey}
}

// conclusionRow is the conclusion of a run: from its end on, and until it was written also in the list.
type conclusionRow struct {
	kv.Key
	Until   int64  `dynamodbav:"taken_until,omitempty"`
	Tries   int    `dynamodbav:"tries,omitempty"`
	Outcome string `dynamodbav:"outcome,omitempty"` // after its end
	DuePK   string `dynamodbav:"DuePK,omitempty"`
	DueSK   string `dynamodbav:"DueSK,omitempty"`
}

// concludeLater returns the write that makes the conclusion of a run due, in the transaction that ends the run.
func concludeLater(r plan.Run, at time.Time) kv.Write {
	row := conclusionRow{
		Key:   conclusionOf(r.Account, r.ID),
		DuePK: kv.DueList(dueConclusions, r.Account), DueSK: kv.At(at.Add(run.ConclusionGrace), r.ID),
	}
	return kv.Insert(row).Else(fault.ErrMoved)
}

// TakeConclusion implements run.Concluder. It leaves the queue key of the row.
func (s *Store) TakeConclusion(ctx context.Context, account ids.Account, runID string, at time.Time, lease time.Duration) (run.Conclusion, error) {
	if failpoint.On {
		failpoint.At("runs", "conclusion.taken", "before")
		defer failpoint.At("runs", "conclusion.taken", "after")
	}
	until := at.Add(lease)
	c := run.Conclusion{Key: run.Key{Account: account, RunID: runID}, Until: kv.Time(kv.Millis(until))}
	var row conclusionRow
	err := s.table.Get(ctx, conclusionOf(account, runID), &row, run.ErrConcluded)
	switch {
	case err != nil:
		return c, err
	case row.Outcome != "":
		return c, run.ErrConcluded
	case row.Until > kv.Millis(at):
		return c, run.ErrConcluding
	}
	c.Tries = row.Tries + 1
	w := kv.Update(conclusionOf(account, runID)).Set("taken_until", until).Set("tries", c.Tries).
		If(kv.Exists("PK"), kv.Missing("outcome"), kv.Unchanged("taken_until", row.Until))
	return c, s.table.Commit(ctx, w.Else(run.ErrConcluding))
}

// EndConclusion implements run.Concluder.
func (s *Store) EndConclusion(ctx context.Context, c run.Conclusion, chat conversation.Key, outcome string, at time.Time, said ...conversation.Message) error {
	if failpoint.On {
		failpoint.At("runs", "conclusion.ended", "before")
		defer failpoint.At("runs", "conclusion.ended", "after")
	}
	w := kv.Update(conclusionOf(c.Account, c.RunID)).Set("outcome", outcome).Remove("DuePK", "DueSK").
		If(kv.Is("taken_until", c.Until), kv.Missing("outcome"))
	writes := []kv.Write{w.Else(run.ErrConcluding)}
	if len(said) > 0 {
		writes = append(writes, chats.Append(chat, said)...)
		writes = append(writes, chats.Touch(chat.Account, chat.ChatID, at).Else(conversation.ErrChatNotFound))
	}
	return s.table.Commit(ctx, writes...)
}

// LeftConclusions implements run.Concluder.
func (s *Store) LeftConclusions(ctx context.Context, at time.Time, limit int) ([]sweep.Row[run.Key], error) {
	return kv.DueRows(ctx, s.table, dueConclusions, at, limit, runOf)
}
