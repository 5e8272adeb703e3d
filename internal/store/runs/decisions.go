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

// revisionRow is the plan of a run, or one that it had before.
type revisionRow struct {
	kv.Key
	Number   int    `dynamodbav:"number"`
	Revision []byte `dynamodbav:"revision"` // JSON, gzipped when that is shorter
}

// planKey is the key of a run's plan. It follows that of the run, so that one query reads both.
const planKey = "RUN#PLAN"

// revisionKey is the key of an earlier plan.
func revisionKey(n int) string { return "REV#" + kv.Pad(int64(n), 6) }

// Revise gives a draft another plan, and keeps the earlier ones. Of the results that the draft takes
// from an earlier run, it keeps those that the new plan names.
func (s *Store) Revise(ctx context.Context, r plan.Run, chat conversation.Chat, rev plan.Revision, rec run.Record) (plan.Run, error) {
	if r.Status != plan.Draft {
		return r, fault.ErrMoved
	}
	before, err := s.planOf(ctx, r)
	if err != nil {
		return r, err
	}
	t, err := stay(r, rec)
	if err != nil {
		return r, err
	}
	t.post(rec)
	t.add(earlier(before), current(r, rev), chats.Touch(r.Account, chat.ID, rec.At).If(kv.Is("pending_run_id", r.ID)))
	t.row = t.row.Set("digest", rev.Digest).Set("expires_at", rev.Plan.ExpiresAt).If(kv.Is("digest", r.Digest))
	if len(r.ReadFrom) > 0 {
		t.row = t.row.Set("read_from", r.ReadFrom)
	}
	if len(r.Besides) > 0 {
		t.row = t.row.Set("besides", r.Besides)
	}
	if r.Dropped != nil {
		raw, err := dropped.Encode(*r.Dropped)
		t.row = t.row.Set("dropped", raw).Unless(err)
	}
	t.due(rev.Plan.ExpiresAt)
	t.next.Plan, t.next.Digest, t.next.Taken = rev.Plan, rev.Digest, rev.Taken
	t.next.Steps = arrange(rev.Plan, r.Steps)
	return s.commit(ctx, t)
}

// Retake implements turn.Plans.
func (s *Store) Retake(ctx context.Context, r plan.Run, taken []plan.Taken, rec run.Record) (plan.Run, error) {
	if r.Status != plan.Draft {
		return r, fault.ErrMoved
	}
	row, err := s.planOf(ctx, r)
	if err != nil {
		return r, err
	}
	rev, err := revisionOf(row)
	switch {
	case err != nil:
		return r, err
	case rev.Digest != r.Digest:
		return r, fault.ErrMoved
	}
	t, err := stay(r, rec)
	if err != nil {
		return r, err
	}
	rev.Taken = taken
	t.add(current(r, rev))
	t.next.Taken = taken
	return s.commit(ctx, t)
}

// planOf reads the row of a run's plan; fault.ErrMoved when it is gone with the run.
func (s *Store) planOf(ctx context.Context, r plan.Run) (kv.Item, error) {
	row, err := s.table.Row(ctx, kv.Key{PK: kv.Run(r.Account, r.ID), SK: planKey})
	if err == nil && row == nil {
		err = fault.ErrMoved
	}
	return row, err
}

// current returns the write of the plan that a run has.
func current(r plan.Run, rev plan.Revision) kv.Write {
	raw, err := revisions.Pack(rev)
	return kv.Put(revisionRow{Key: kv.Key{PK: kv.Run(r.Account, r.ID), SK: planKey}, Number: rev.Plan.Revision, Revision: raw}).Unless(err)
}

// earlier returns the write that keeps a plan as it stood. The row is of the run's own plan.
func earlier(row kv.Item) kv.Write {
	var rev revisionRow
	err := kv.Decode(row, &rev)
	rev.SK = revisionKey(rev.Number)
	return kv.Insert(rev).Else(fault.ErrMoved).Unless(err)
}

// Revisions lists the plans a run had, the oldest first.
func (s *Store) Revisions(ctx context.Context, r plan.Run) ([]plan.Revision, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Run(r.Account, r.ID), "REV#", planKey), 0)
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

// RequestCancel marks an active run, so that no further step begins.
func (s *Store) RequestCancel(ctx context.Context, r plan.Run, due time.Time, rec run.Record) (plan.Run, error) {
	if r.HandedOut() {
		return r, errHandedOut
	}
	t, err := stay(r, rec)
	if err != nil {
		return r, err
	}
	t.post(rec)
	t.row = t.row.Set("cancel_at", rec.At).If(kv.Missing("cancel_at"))
	t.due(due)
	t.next.CancelAt = &rec.At
	return s.commit(ctx, t)
}

// BeginUndo marks that the effects of the run are being undone.
func (s *Store) BeginUndo(ctx context.Context, r plan.Run, rec run.Record) (plan.Run, error) {
	if r.HandedOut() {
		return r, errHandedOut
	}
	t, err := stay(r, rec)
	if err != nil {
		return r, err
	}
	t.post(rec)
	t.row = t.row.Set("undo_at", rec.At).If(kv.Missing("undo_at"))
	t.next.UndoAt = &rec.At
	return s.commit(ctx, t)
}
