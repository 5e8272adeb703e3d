package runs

import (
	"context"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/hooks"
	"piloto/internal/store/kv"
)

// transition is one or more steps in the life of a run. It is computed once: the events, the run after them, and the writes of
// one transaction.
type transition struct {
	from   plan.Run // as it was read
	next   plan.Run // as the commit leaves it; Events are set
	at     time.Time
	writes []kv.Write
	said   []conversation.Message // to the run's chat

	noted []string // keys of the requests whose unanswered state in the chat changes

	row             kv.Write // the update of the run's own row; update adds the fields of every transition
	dueList, dueKey string   // empty: as they were
	apart           bool     // the row is written in another way
}

// begin computes the transition of a run to another status. It returns fault.ErrMoved when the
// lifecycle has no such edge.
func begin(r plan.Run, to plan.Status, rec run.Record) (*transition, error) {
	t := of(r)
	return t, t.move(to, rec)
}

// stay computes a transition that leaves the run's status as it is.
func stay(r plan.Run, rec run.Record) (*transition, error) {
	t := of(r)
	return t, t.event(r.Status, rec)
}

// of returns a transition without events.
func of(r plan.Run) *transition {
	t := &transition{from: r, next: r, row: kv.Update(runKey(r.Account, r.ID)).Else(fault.ErrMoved)}
	t.next.Events = nil
	return t
}

// move adds the event that takes the run to another status.
func (t *transition) move(to plan.Status, rec run.Record) error {
	if !t.next.Status.CanBecome(to) {
		return fault.ErrMoved
	}
	return t.event(to, rec)
}

// event adds an event.
func (t *transition) event(to plan.Status, rec run.Record) error {
	event, err := rec.Event(t.next.EventSeq + 1)
	if err != nil {
		return err
	}
	if event, err = event.Chained(t.next.Chain); err != nil {
		return err
	}
	event.After = to
	t.at = rec.At
	t.next.Status, t.next.EventSeq, t.next.UpdatedAt = to, event.Seq, rec.At
	t.next.Chain, t.next.Events = event.Hash, append(t.next.Events, event)
	if to.Terminal() {
		t.next.DueAt, t.next.Link = time.Time{}, 0
	}
	return nil
}

// unnumbered bumps the version of the run without an event, so that concurrent writers conflict and retry.
func (t *transition) unnumbered(at time.Time) {
	t.next.Handouts++
	if t.next.UpdatedAt.Before(at) {
		t.next.UpdatedAt = at
	}
	if t.at.Before(at) {
		t.at = at
	}
}

// add adds writes, also those of other stores.
func (t *transition) add(writes ...kv.Write) { t.writes = append(t.writes, writes...) }

// post adds the messages of a record to the run's chat, and who was shown a plan in it.
func (t *transition) post(rec run.Record) {
	if rec.Shown != nil {
		t.add(chats.Sight(t.from.Account, t.from.ChatID, *rec.Shown))
	}
	t.said = append(t.said, rec.Messages...)
	t.add(chats.Replaced(conversation.Key{Account: t.from.Account, ChatID: t.from.ChatID}, rec.Replaced, rec.Messages...)...)
}

// due sets when the sweep checks the run again.
func (t *transition) due(at time.Time) {
	t.dueKey = kv.At(at, t.from.ID)
	t.next.DueAt = at
}

// end has the sweep give the run a link in the chain of receipts, if nothing else does. A run that is due by then stays
// due, because a key in another queue costs as much as the row. Any other is put into the queue of those that need a link.
func (t *transition) end() {
	if due := t.from.DueAt; !due.IsZero() && t.from.Status != plan.Draft && !due.After(t.at.Add(receipt.SealGrace)) {
		t.dueList, t.dueKey = "", ""
		return
	}
	t.dueList, t.dueKey = kv.DueList(DueUnplaced, t.from.Account), kv.At(t.at.Add(receipt.SealGrace), t.from.ID)
}

// update returns the write of the run's row: the run is as it was read, and has its new events.
func (t *transition) update() kv.Write {
	r := t.from
	w := t.row.Set("event_seq", t.next.EventSeq).Set("updated_at", t.at).Set("chain", t.next.Chain).
		If(kv.Is("event_seq", r.EventSeq), kv.Is("status", r.Status), kv.Unchanged("handouts", r.Handouts))
	if t.next.Status != r.Status {
		w = w.Set("status", t.next.Status)
	}
	if t.dueList != "" {
		w = w.Set("DuePK", t.dueList)
	}
	if t.dueKey != "" {
		w = w.Set("DueSK", t.dueKey)
	}
	if t.next.Handouts > r.Handouts {
		w = w.Set("handouts", t.next.Handouts)
	}
	return w
}

// all returns the writes of the transition.
func (t *transition) all() []kv.Write {
	var all []kv.Write
	t.mirror()
	t.count()
	if len(t.next.Events) > 0 {
		all = append(all, kv.Insert(rowOfEvents(t.from, t.next.Events)).Else(fault.ErrMoved))
	}
	if !t.apart {
		all = append(all, t.update())
	}
	return slices.Concat(all, t.writes, chats.Append(conversation.Key{Account: t.from.Account, ChatID: t.from.ChatID}, t.said))
}

// commit makes the writes and their outbox row in one transaction. It returns the run that they left; the run as it was
// read when they failed.
func (s *Store) commit(ctx context.Context, t *transition) (plan.Run, error) {
	messages, err := t.notifications()
	if err != nil {
		return t.from, err
	}
	outbox, err := hooks.Tell(ctx, s.table, t.from.Account, t.from.ID+"#"+eventKey(t.next.EventSeq), t.at, messages...)
	if err != nil {
		return t.from, err
	}
	if err := s.table.Commit(ctx, append(t.all(), outbox...)...); err != nil {
		return t.from, err
	}
	return t.next, nil
}
