package runs

import (
	"cmp"
	"context"
	"slices"

	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/store/chats"
	"piloto/internal/store/kv"
)

// unansweredRow is a plan.Unanswered of a run.
type unansweredRow struct {
	StepID  string `dynamodbav:"step_id"`
	Request string `dynamodbav:"request"`
	Key     string `dynamodbav:"key"`
	Undoes  string `dynamodbav:"undoes,omitempty"`
}

func (row unansweredRow) unanswered() plan.Unanswered {
	return plan.Unanswered{Request: row.Request, Key: row.Key, StepID: plan.ParseEffect(row.StepID), Undoes: row.Undoes}
}

// Unanswered implements plan.UnansweredReader.
func (s *Store) Unanswered(ctx context.Context, account ids.Account, chatID string) ([]plan.Unanswered, error) {
	return chats.Unanswered(ctx, s.table, account, chatID)
}

// mostCarried bounds the keys that a run carries: they are in its row, of 400 KB at most.
const mostCarried = 1000

// carry has a run send requests of its chat again with their keys, those of the newest runs.
func (t *transition) carry(list []plan.Unanswered) {
	if len(list) > mostCarried {
		slices.SortStableFunc(list, func(a, b plan.Unanswered) int { return cmp.Compare(b.RunID, a.RunID) })
		list = list[:mostCarried]
	}
	if t.next.Unanswered = list; len(list) == 0 {
		return
	}
	rows := make([]unansweredRow, len(list))
	for i, u := range list {
		rows[i] = unansweredRow{u.StepID.String(), u.Request, u.Key, u.Undoes}
	}
	t.row = t.row.Set("unanswered", rows)
}

// notes returns the write by which the chat notes whether the request of an effect with a new state is answered; none for most.
func (t *transition) notes(st plan.StepState) []kv.Write {
	r, was := t.from, t.from.State(st.StepID)
	step, ok := r.Plan.Step(st.StepID)
	if !ok || step.Risk == plan.Read || st.Last.Key == "" {
		return nil
	}
	opens := st.Unanswered() && (was.Handed != "" || !was.Unanswered())
	answered := st.Answered() && (was.Unanswered() || r.Carries(st.Last.Key))
	if !opens && !answered || slices.Contains(t.noted, st.Last.Key) { // a transaction writes a row once
		return nil
	}
	t.noted = append(t.noted, st.Last.Key)
	u, err := r.AsUnanswered(st)
	return []kv.Write{chats.NoteUnanswered(r.Account, r.ChatID, u, answered, st.UpdatedAt).Unless(err)}
}
