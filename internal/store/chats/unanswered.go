package chats

import (
	"context"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

// unansweredRow is a plan.Unanswered of the chat. It stays when the answer is known, because who writes it may delete nothing.
type unansweredRow struct {
	PK       string `dynamodbav:"PK"`
	SK       string `dynamodbav:"SK"`
	Request  string `dynamodbav:"request"`
	Key      string `dynamodbav:"key"`
	RunID    string `dynamodbav:"run_id"`
	StepID   string `dynamodbav:"step_id"`
	Undoes   string `dynamodbav:"undoes,omitempty"`
	Answered bool   `dynamodbav:"answered,omitempty"`
	TTL      int64  `dynamodbav:"ttl"`
}

const unansweredLife = 365 * 24 * time.Hour

const unansweredKind = "UNANSWERED#"

// NoteUnanswered returns the write that notes whether the answer to a request is known.
func NoteUnanswered(account ids.Account, chatID string, u plan.Unanswered, answered bool, at time.Time) kv.Write {
	return kv.Put(unansweredRow{
		PK: kv.Chat(account, chatID), SK: unansweredKind + u.Request + "#" + u.Key, Request: u.Request, Key: u.Key, RunID: u.RunID, StepID: u.StepID.String(), Undoes: u.Undoes,
		Answered: answered, TTL: at.Add(unansweredLife).Unix(),
	})
}

// Unanswered returns the requests of a chat to which no answer is known.
func Unanswered(ctx context.Context, table *kv.Table, account ids.Account, chatID string) ([]plan.Unanswered, error) {
	items, err := table.Read(ctx, kv.Rows(kv.Chat(account, chatID), unansweredKind), 0)
	if err != nil {
		return nil, err
	}
	rows, err := kv.DecodeAll[unansweredRow](items)
	var list []plan.Unanswered
	for _, row := range rows {
		if row.Answered {
			continue
		}
		list = append(list, plan.Unanswered{Request: row.Request, Key: row.Key, RunID: row.RunID, StepID: plan.ParseEffect(row.StepID), Undoes: row.Undoes})
	}
	return list, err
}
