package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
)

// revisionRow is a plan as it stood, of a run that has another by now.
type revisionRow struct {
	PK       string `dynamodbav:"PK"`
	SK       string `dynamodbav:"SK"`
	Revision []byte `dynamodbav:"revision"` // JSON, gzipped when that is shorter
}

func revisionKey(n int) string { return "REV#" + pad(int64(n), 6) }

// Revise gives a draft another plan, and keeps all that it had. Of the results that
// the draft has of an earlier run, it keeps those that the new plan names.
func (t *Table) Revise(ctx context.Context, r plan.Run, chat conversation.Chat, rev plan.Revision, rec run.Record) (plan.Run, error) {
	if r.Status != plan.Draft {
		return r, plan.ErrMoved
	}
	raw, err := json.Marshal(rev.Plan)
	if err != nil {
		return r, err
	}
	due := rev.Plan.ExpiresAt
	moved := t.advance(r, rec, "#plan = :plan, digest = :digest, expires_at = :expires, DueSK = :due", "", "digest = :before", item{
		":plan": &binary{Value: raw}, ":digest": str(string(rev.Digest)), ":before": str(string(r.Digest)),
		":expires": num(millis(due)), ":due": str(dueAt(due, r.ID)),
	})
	moved.Update.ExpressionAttributeNames["#plan"] = "plan"
	before, err := t.revision(r, rev)
	if err != nil {
		return r, err
	}
	writes, err := t.record(r, true, rec)
	if err != nil {
		return r, err
	}
	writes = append(writes, moved, before, t.touch(r.Account, chat.ID, rec.At, "", "", "pending_run_id = :run", item{":run": str(r.ID)}))
	next := after(r, plan.Draft, rec)
	next.Plan, next.Digest, next.DueAt = rev.Plan, rev.Digest, due
	next.Steps = arranged(rev.Plan, r.Steps)
	return next, t.moved(ctx, next, true, rec, t.commit(ctx, writes...))
}

func (t *Table) revision(r plan.Run, rev plan.Revision) (write, error) {
	raw, err := json.Marshal(rev)
	if err != nil {
		return write{}, err
	}
	if raw, err = zip(raw); err != nil {
		return write{}, err
	}
	return t.put(revisionRow{PK: runKey(r.Account, r.ID), SK: revisionKey(rev.Plan.Revision), Revision: raw}, "attribute_not_exists(PK)", plan.ErrMoved)
}

// Revisions lists the plans a run had, the oldest first.
func (t *Table) Revisions(ctx context.Context, r plan.Run) ([]plan.Revision, error) {
	items, err := t.read(ctx, kindsIn(runKey(r.Account, r.ID), "REV#"), 0)
	if err != nil {
		return nil, err
	}
	list := make([]plan.Revision, len(items))
	for i, it := range items {
		var row revisionRow
		if err := attributevalue.UnmarshalMap(it, &row); err != nil {
			return nil, err
		}
		raw, err := unzip(row.Revision)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// AskApproval notes that a step waits, and moves the run to waiting.
func (t *Table) AskApproval(ctx context.Context, r plan.Run, st plan.StepState, due time.Time, rec run.Record) (plan.Run, error) {
	if r.Status != plan.Running && r.Status != plan.Waiting || st.Approval == nil {
		return r, plan.ErrMoved
	}
	return t.writeStep(ctx, stepWrite{run: r, state: st, to: plan.Waiting, rec: rec, due: due, condition: "attribute_not_exists(cancel_at)"})
}

// Decide writes what somebody said to a step that waits, while it still waits.
func (t *Table) Decide(ctx context.Context, r plan.Run, st plan.StepState, to plan.Status, due time.Time, rec run.Record) (plan.Run, error) {
	if r.Status != plan.Waiting || st.Approval == nil {
		return r, plan.ErrMoved
	}
	return t.writeStep(ctx, stepWrite{run: r, state: st, to: to, rec: rec, due: due, decided: rec.At})
}

// SettleStep writes what a person said of a step in doubt of a run that ended, or that
// another goes on from it. What is said in the chat is in the record only while there
// is one.
func (t *Table) SettleStep(ctx context.Context, r plan.Run, st *plan.StepState, rec run.Record) (plan.Run, error) {
	if !r.Status.Terminal() {
		return r, plan.ErrMoved
	}
	if st != nil {
		return t.writeStep(ctx, stepWrite{run: r, state: *st, to: r.Status, rec: rec})
	}
	writes, err := t.record(r, true, rec)
	if err != nil {
		return r, err
	}
	next := after(r, r.Status, rec)
	set, values := unplaced(rec.At, r.ID)
	return next, t.moved(ctx, next, true, rec, t.commit(ctx, append(writes, t.advance(r, rec, set, "link", "", values))...))
}

// BeginUndo marks that what the run did is being undone.
func (t *Table) BeginUndo(ctx context.Context, r plan.Run, rec run.Record) (plan.Run, error) {
	writes, err := t.record(r, true, rec)
	if err != nil {
		return r, err
	}
	at := rec.At
	writes = append(writes, t.advance(r, rec, "undo_at = :now", "", "attribute_not_exists(undo_at)", nil))
	marked := after(r, r.Status, rec)
	marked.UndoAt = &at
	return marked, t.moved(ctx, marked, true, rec, t.commit(ctx, writes...))
}

type rulesRow struct {
	PK        string `dynamodbav:"PK"`
	SK        string `dynamodbav:"SK"`
	Rules     []byte `dynamodbav:"rules"`
	Version   int    `dynamodbav:"version"`
	By        string `dynamodbav:"by"`
	UpdatedAt int64  `dynamodbav:"updated_at"`
}

// Rules returns the account's rules; none when it never set any.
func (t *Table) Rules(ctx context.Context, account string) (rule.Set, error) {
	var row rulesRow
	missing := fault.New(fault.NotFound, "rules.none")
	err := t.get(ctx, accountKey(account), "RULES", &row, missing)
	if errors.Is(err, missing) {
		return rule.Set{}, nil
	}
	if err != nil {
		return rule.Set{}, err
	}
	set := rule.Set{Version: row.Version, By: row.By, UpdatedAt: fromMillis(row.UpdatedAt)}
	return set, json.Unmarshal(row.Rules, &set.Rules)
}

// SetRules replaces the account's rules, while seen is their version; rule.ErrMoved.
func (t *Table) SetRules(ctx context.Context, account string, seen int, set rule.Set) error {
	raw, err := json.Marshal(set.Rules)
	if err != nil {
		return err
	}
	condition := "attribute_not_exists(PK)"
	if seen > 0 {
		condition = "version = :seen"
	}
	w, err := t.put(rulesRow{
		PK: accountKey(account), SK: "RULES", Rules: raw, Version: seen + 1, By: set.By, UpdatedAt: millis(set.UpdatedAt),
	}, condition, rule.ErrMoved)
	if err != nil {
		return err
	}
	if seen > 0 {
		w.Put.ExpressionAttributeValues = item{":seen": num(int64(seen))}
	}
	return t.commit(ctx, w)
}
