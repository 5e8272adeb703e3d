package runs

import (
	"context"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/kv"
)

// revisionRow is one of the plans that a run had.
type revisionRow struct {
	PK       string `dynamodbav:"PK"`
	SK       string `dynamodbav:"SK"`
	Revision []byte `dynamodbav:"revision"` // JSON, gzipped when that is shorter
}

func revisionKey(n int) string { return "REV#" + kv.Pad(int64(n), 6) }

// Revise gives a draft another plan, and keeps the earlier ones. Of the results that the draft takes
// from an earlier run, it keeps those that the new plan names.
func (s *Store) Revise(ctx context.Context, r plan.Run, chat conversation.Chat, rev plan.Revision, rec run.Record) (plan.Run, error) {
	if r.Status != plan.Draft {
		return r, fault.ErrMoved
	}
	t, err := stay(r, rec)
	if err != nil {
		return r, err
	}
	t.post()
	raw, err := plans.Encode(rev.Plan)
	due := rev.Plan.ExpiresAt
	t.add(t.updated("#plan = :plan, digest = :digest, expires_at = :expires, DueSK = :due", "", "digest = :before", kv.Item{
		":plan": kv.B(raw), ":digest": kv.S(string(rev.Digest)), ":before": kv.S(string(r.Digest)),
		":expires": kv.N(kv.Millis(due)), ":due": kv.S(kv.At(due, r.ID)),
	}).Named("#plan", "plan").Unless(err))
	t.add(revise(r, rev), chats.Touch(r.Account, chat.ID, rec.At, "", "", "pending_run_id = :run", kv.Item{":run": kv.S(r.ID)}))
	t.next.Plan, t.next.Digest, t.next.DueAt = rev.Plan, rev.Digest, due
	t.next.Steps = arrange(rev.Plan, r.Steps)
	return s.commit(ctx, t)
}

// revise returns the write that keeps a plan as it stood.
func revise(r plan.Run, rev plan.Revision) kv.Write {
	raw, err := revisions.Pack(rev)
	return kv.Put(revisionRow{PK: kv.Run(r.Account, r.ID), SK: revisionKey(rev.Plan.Revision), Revision: raw}, "attribute_not_exists(PK)", fault.ErrMoved).Unless(err)
}

// Revisions lists the plans a run had, the oldest first.
func (s *Store) Revisions(ctx context.Context, r plan.Run) ([]plan.Revision, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Run(r.Account, r.ID), "REV#"), 0)
	if err != nil {
		return nil, err
	}
	list := make([]plan.Revision, len(items))
	for i, it := range items {
		var row revisionRow
		if err := kv.Decode(it, &row); err != nil {
			return nil, err
		}
		if list[i], err = revisions.Unpack(row.Revision); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// AskApproval notes that a step waits, and moves the run to waiting.
func (s *Store) AskApproval(ctx context.Context, r plan.Run, st plan.StepState, due time.Time, rec run.Record) (plan.Run, error) {
	if r.Status != plan.Running && r.Status != plan.Waiting || st.Approval == nil {
		return r, fault.ErrMoved
	}
	return s.writeStep(ctx, stepWrite{run: r, state: st, to: plan.Waiting, rec: rec, due: due, condition: "attribute_not_exists(cancel_at)"})
}

// Decide writes the decision on a waiting step, while it still waits.
func (s *Store) Decide(ctx context.Context, r plan.Run, st plan.StepState, to plan.Status, due time.Time, rec run.Record) (plan.Run, error) {
	if r.Status != plan.Waiting || st.Approval == nil {
		return r, fault.ErrMoved
	}
	return s.writeStep(ctx, stepWrite{run: r, state: st, to: to, rec: rec, due: due, decided: rec.At})
}

// ResolveStep writes a person's verdict on a step in doubt of a run that ended, or, when st is nil,
// that another run goes on from it. The record has messages only while the chat exists.
func (s *Store) ResolveStep(ctx context.Context, r plan.Run, st *plan.StepState, rec run.Record) (plan.Run, error) {
	if !r.Status.Terminal() {
		return r, fault.ErrMoved
	}
	if st != nil {
		return s.writeStep(ctx, stepWrite{run: r, state: *st, to: r.Status, rec: rec})
	}
	t, err := stay(r, rec)
	if err != nil {
		return r, err
	}
	t.post()
	set, values := needsPlace(rec.At, r.ID)
	t.update(set, "link", "", values)
	return s.commit(ctx, t)
}

// BeginUndo marks that the effects of the run are being undone.
func (s *Store) BeginUndo(ctx context.Context, r plan.Run, rec run.Record) (plan.Run, error) {
	t, err := stay(r, rec)
	if err != nil {
		return r, err
	}
	t.post()
	t.update("undo_at = :now", "", "attribute_not_exists(undo_at)", nil)
	t.next.UndoAt = &rec.At
	return s.commit(ctx, t)
}
