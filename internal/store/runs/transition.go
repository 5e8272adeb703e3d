package runs

import (
	"context"
	"maps"
	"slices"
	"strings"
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

// transition is one or more steps in the life of a run. It is computed once: the events, the run
// after them, and the writes, of which all or none are made.
type transition struct {
	from   plan.Run // as it was read
	next   plan.Run // as the commit leaves it; Events are set
	at     time.Time
	writes []kv.Write
	said   []conversation.Message // to the run's chat

	noted []string // keys of the requests of which the chat notes whether they are answered

	// The parts of the update of the run's own row, which commit adds. Without parts of its own the
	// update still holds what every transition has: the run is as it was read, and has its new events.
	set, remove, condition []string
	values                 kv.Item
	names                  map[string]string
	dueList, dueKey        string // empty: as they were
	apart                  bool   // the row is written in another way
	err                    error
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
	t := &transition{from: r, next: r, values: kv.Item{}}
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

// unnumbered notes a change that is no event. It is a change of the run: whoever read the run before it reads again.
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
	t.add(chats.Replaced(t.from.Account, t.from.ChatID, rec.Replaced, rec.Messages)...)
}

// update sets attributes of the run's row: "name = :value" and their values.
func (t *transition) update(set string, values kv.Item) {
	t.set = append(t.set, set)
	maps.Copy(t.values, values)
}

// need adds a condition on the run's row as it was read.
func (t *transition) need(condition string, values kv.Item) {
	if !slices.Contains(t.condition, condition) {
		t.condition = append(t.condition, condition)
	}
	maps.Copy(t.values, values)
}

// due sets when the sweep looks at the run again.
func (t *transition) due(at time.Time) {
	t.dueKey = kv.At(at, t.from.ID)
	t.next.DueAt = at
}

// end has the sweep give the run a place in the chain of receipts, if nothing else does. A run that is due by then
// stays due, because a place in another list costs as much as the row. Any other is put on the list of those that
// need a place.
func (t *transition) end() {
	if due := t.from.DueAt; !due.IsZero() && t.from.Status != plan.Draft && !due.After(t.at.Add(receipt.SealGrace)) {
		t.dueList, t.dueKey = "", ""
		return
	}
	t.dueList, t.dueKey = kv.DueList(DueUnplaced, t.from.Account), kv.At(t.at.Add(receipt.SealGrace), t.from.ID)
}

// row returns the write of the run's row.
func (t *transition) row() kv.Write {
	r := t.from
	set := append([]string{"event_seq = :next", "updated_at = :now", "chain = :chain"}, t.set...)
	values := kv.Item{
		":next": kv.N(int64(t.next.EventSeq)), ":seen": kv.N(int64(r.EventSeq)),
		":now": kv.N(kv.Millis(t.at)), ":was": kv.S(string(r.Status)), ":chain": kv.S(t.next.Chain),
	}
	if t.next.Status != r.Status {
		set = append(set, "#status = :to")
		values[":to"] = kv.S(string(t.next.Status))
	}
	for _, due := range [...]struct{ name, value string }{{"DuePK", t.dueList}, {"DueSK", t.dueKey}} {
		if due.value != "" {
			set = append(set, due.name+" = :"+due.name)
			values[":"+due.name] = kv.S(due.value)
		}
	}
	maps.Copy(values, t.values)
	unchanged := "attribute_not_exists(handouts)"
	if r.Handouts > 0 {
		unchanged, values[":handouts"] = "handouts = :handouts", kv.N(int64(r.Handouts))
	}
	if t.next.Handouts > r.Handouts {
		set = append(set, "handouts = :handed")
		values[":handed"] = kv.N(int64(t.next.Handouts))
	}
	expr := "SET " + strings.Join(set, ", ")
	if len(t.remove) > 0 {
		expr += " REMOVE " + strings.Join(t.remove, ", ")
	}
	condition := strings.Join(append([]string{"event_seq = :seen", "#status = :was", unchanged}, t.condition...), " AND ")
	w := kv.Update(kv.Run(r.Account, r.ID), "RUN", expr, condition, values, fault.ErrMoved).Named("#status", "status")
	for placeholder, name := range t.names {
		w = w.Named(placeholder, name)
	}
	return w.Unless(t.err)
}

// all returns the writes of the transition.
func (t *transition) all() []kv.Write {
	var all []kv.Write
	t.mirror()
	t.count()
	if len(t.next.Events) > 0 {
		all = append(all, kv.Put(rowOfEvents(t.from, t.next.Events), "attribute_not_exists(PK)", fault.ErrMoved))
	}
	if !t.apart {
		all = append(all, t.row())
	}
	return slices.Concat(all, t.writes, chats.Append(t.from.Account, t.from.ChatID, t.said))
}

// commit makes the writes and those that tell the hooks of them, in one transaction. It returns the run that they left;
// the run as it was read when they failed.
func (s *Store) commit(ctx context.Context, t *transition) (plan.Run, error) {
	messages, err := t.told()
	if err != nil {
		return t.from, err
	}
	told, err := hooks.Tell(ctx, s.table, t.from.Account, t.from.ID+"#"+eventKey(t.next.EventSeq), t.at, messages...)
	if err != nil {
		return t.from, err
	}
	if err := s.table.Commit(ctx, append(t.all(), told...)...); err != nil {
		return t.from, err
	}
	return t.next, nil
}
