package runs

import (
	"context"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/kv"
)

// transition is one step in the life of a run. It is computed once: the event, the run after
// it, and the writes, of which all or none are made.
type transition struct {
	from   plan.Run // as it was read
	next   plan.Run // as the commit leaves it; Event is set
	rec    run.Record
	writes []kv.Write
}

// begin computes the transition of a run to another status. It returns fault.ErrMoved when the
// lifecycle has no such edge.
func begin(r plan.Run, to plan.Status, rec run.Record) (*transition, error) {
	if !r.Status.CanBecome(to) {
		return nil, fault.ErrMoved
	}
	return transit(r, to, rec)
}

// stay computes a transition that leaves the run's status as it is.
func stay(r plan.Run, rec run.Record) (*transition, error) { return transit(r, r.Status, rec) }

func transit(r plan.Run, to plan.Status, rec run.Record) (*transition, error) {
	event, err := rec.Event(r.EventSeq + 1)
	if err != nil {
		return nil, err
	}
	if event, err = event.Chained(r.Chain); err != nil {
		return nil, err
	}
	t := &transition{from: r, next: r, rec: rec}
	t.next.Status, t.next.EventSeq, t.next.UpdatedAt = to, event.Seq, rec.At
	t.next.Chain, t.next.Event = event.Hash, event
	if to.Terminal() {
		t.next.DueAt, t.next.Link = time.Time{}, 0
	}
	t.add(kv.Put(eventRow{
		PK: kv.Run(r.Account, r.ID), SK: eventKey(event.Seq), Seq: event.Seq, At: kv.Millis(event.At),
		Type: event.Type, StepID: event.StepID.String(), Data: event.Data, Hash: event.Hash,
	}, "attribute_not_exists(PK)", fault.ErrMoved))
	return t, nil
}

// add adds writes, also those of other stores.
func (t *transition) add(writes ...kv.Write) { t.writes = append(t.writes, writes...) }

// post adds the messages of the record to the run's chat, and who was shown a plan in it.
func (t *transition) post() {
	if t.rec.Shown != nil {
		t.add(chats.Sight(t.from.Account, t.from.ChatID, *t.rec.Shown))
	}
	t.add(chats.Append(t.from.Account, t.from.ChatID, t.rec.Messages)...)
}

// update adds the write of the run itself. set, remove, condition and values come on top of the
// parts that every transition has: the run is as it was read, and has one event more.
func (t *transition) update(set, remove, condition string, values kv.Item) {
	t.add(t.updated(set, remove, condition, values))
}

// updated returns the write that update adds.
func (t *transition) updated(set, remove, condition string, values kv.Item) kv.Write {
	r := t.from
	expr := "SET event_seq = :next, updated_at = :now, chain = :chain"
	all := kv.Item{
		":next": kv.N(int64(t.next.EventSeq)), ":seen": kv.N(int64(r.EventSeq)),
		":now": kv.N(kv.Millis(t.rec.At)), ":was": kv.S(string(r.Status)), ":chain": kv.S(t.next.Chain),
	}
	if t.next.Status != r.Status {
		expr += ", #status = :to"
		all[":to"] = kv.S(string(t.next.Status))
	}
	if set != "" {
		expr += ", " + set
	}
	if remove != "" {
		expr += " REMOVE " + remove
	}
	cond := "event_seq = :seen AND #status = :was"
	if condition != "" {
		cond += " AND " + condition
	}
	for k, v := range values {
		all[k] = v
	}
	return kv.Update(kv.Run(r.Account, r.ID), "RUN", expr, cond, all, fault.ErrMoved).Named("#status", "status")
}

// end adds the write of a run that ends: update, and a place in the list of the runs that need
// a place in the chain of receipts.
func (t *transition) end(set string, values kv.Item) kv.Write {
	due, all := needsPlace(t.rec.At, t.from.ID)
	if set != "" {
		due += ", " + set
	}
	for k, v := range values {
		all[k] = v
	}
	return t.updated(due, "", "", all)
}

// needsPlace is the part of an update that puts a run on that list.
func needsPlace(at time.Time, runID string) (set string, values kv.Item) {
	return "DuePK = :unplaced, DueSK = :since", kv.Item{
		":unplaced": kv.S(DueUnplaced), ":since": kv.S(kv.At(at.Add(receipt.SealGrace), runID)),
	}
}

// commit makes the writes and returns the run that they left; the run as it was read when they
// failed.
func (s *Store) commit(ctx context.Context, t *transition) (plan.Run, error) {
	if err := s.table.Commit(ctx, t.writes...); err != nil {
		return t.from, err
	}
	return t.next, nil
}
