package runs

import (
	"slices"

	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

// waitKey begins the keys of the waits of steps; a draft waits with the row of its run. They follow the plan of the run,
// so that one query reads the row of the run, its plan and its waits, and not the states of its steps.
const waitKey = "RUN#WAIT#"

// waitRow is a step, or its undo, that waits for a person. When it waits no longer it has no list key.
type waitRow struct {
	kv.Key
	ListPK string `dynamodbav:"GSI1PK,omitempty"`
	ListSK string `dynamodbav:"GSI1SK,omitempty"`
	ChatID string `dynamodbav:"chat_id,omitempty"`
	Kind   string `dynamodbav:"kind,omitempty"`
	StepID string `dynamodbav:"step_id,omitempty"`
	Asked  int64  `dynamodbav:"asked_at,omitempty"`
	Due    int64  `dynamodbav:"due_at,omitempty"`

	Request string `dynamodbav:"request,omitempty"` // of an approval
}

func (row waitRow) wait() plan.Wait {
	return plan.Wait{Kind: plan.WaitKind(row.Kind), StepID: plan.ParseEffect(row.StepID), Asked: kv.Time(row.Asked), Due: kv.Time(row.Due), Request: row.Request}
}

func putWait(r plan.Run, w plan.Wait) kv.Write {
	return kv.Put(waitRow{
		Key: kv.Key{PK: kv.Run(r.Account, r.ID), SK: keyOf(w)}, ListPK: kv.Waiting(r.Account), ListSK: kv.At(w.At(), r.ID) + "#" + w.Slot().String(),
		ChatID: r.ChatID, Kind: string(w.Kind), StepID: w.StepID.String(), Asked: kv.Millis(w.Asked), Due: kv.Millis(w.Due), Request: w.Request,
	})
}

// mirror adds the changes of the list of waits to a transition. The row of a new draft has its list key from the beginning
// (rowOfRun).
func (t *transition) mirror() {
	was, is := t.from.Waits(), t.next.Waits()
	if draft := t.from.Status == plan.Draft; draft && t.next.Status != plan.Draft {
		t.row = t.row.Remove("GSI1PK", "GSI1SK")
	} else if draft && !t.apart && !was[0].Due.Equal(is[0].Due) {
		t.row = t.row.Set("GSI1PK", kv.Waiting(t.from.Account)).Set("GSI1SK", kv.At(is[0].Due, t.from.ID))
	}
	for _, w := range is {
		if w.Kind != plan.WaitDraft && !slices.Contains(was, w) {
			t.add(putWait(t.next, w))
		}
	}
	for _, w := range was {
		if w.Kind != plan.WaitDraft && !slices.ContainsFunc(is, func(other plan.Wait) bool { return other.Slot() == w.Slot() }) {
			t.add(kv.Update(kv.Key{PK: kv.Run(t.from.Account, t.from.ID), SK: keyOf(w)}).Remove("GSI1PK", "GSI1SK"))
		}
	}
}

// count adds the fields that lists show to the update of the run's row: how many steps are done, and when it ended. The row
// does not yet count the steps that dispatched effects completed.
func (t *transition) count() {
	if done := t.next.DoneSteps(); done != t.from.DoneSteps() || t.from.HandedOut() {
		t.row = t.row.Set("done", done)
	}
	if t.next.Status.Terminal() && !t.from.Status.Terminal() {
		t.row = t.row.Set("ended_at", t.at)
	}
}
