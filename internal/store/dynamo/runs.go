package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
	"piloto/internal/live/realtime"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Run returns a run with the states of its steps, as the last write left them.
func (t *Table) Run(ctx context.Context, account, id string) (plan.Run, error) {
	items, err := t.read(ctx, kindsIn(runKey(account, id), "RUN", "STEP#"), 0)
	if err != nil {
		return plan.Run{}, err
	}
	if len(items) == 0 {
		return plan.Run{}, plan.ErrRunNotFound
	}
	var row runRow
	if err := attributevalue.UnmarshalMap(items[0], &row); err != nil {
		return plan.Run{}, err
	}
	if row.SK != "RUN" { // what it reuses was written, and it was not
		return plan.Run{}, plan.ErrRunNotFound
	}
	r, err := row.run()
	if err != nil {
		return r, err
	}
	states := make([]plan.StepState, len(items)-1)
	for i, it := range items[1:] {
		if states[i], err = stepOf(it); err != nil {
			return r, err
		}
	}
	r.Steps = arranged(r.Plan, states)
	return r, nil
}

// Events returns a run's events after a sequence number, in order.
func (t *Table) Events(ctx context.Context, account, runID string, after, limit int) ([]plan.Event, error) {
	s := kindsIn(runKey(account, runID), "EVENT#")
	s.from = eventKey(after + 1)
	items, err := t.read(ctx, s, limit)
	if err != nil {
		return nil, err
	}
	events := make([]plan.Event, len(items))
	for i, it := range items {
		var row eventRow
		if err := attributevalue.UnmarshalMap(it, &row); err != nil {
			return nil, err
		}
		events[i] = plan.Event{Seq: row.Seq, At: fromMillis(row.At), Type: row.Type, StepID: row.StepID, Data: row.Data, Hash: row.Hash}
	}
	return events, nil
}

// record returns the writes of a transition's event and messages. The run as
// it was read gives the event its place; the condition on the run keeps it.
func (t *Table) record(r plan.Run, chat bool, rec run.Record) ([]write, error) {
	event, err := chained(r, rec)
	if err != nil {
		return nil, err
	}
	w, err := t.put(eventRow{
		PK: runKey(r.Account, r.ID), SK: eventKey(event.Seq), Seq: event.Seq, At: millis(event.At),
		Type: event.Type, StepID: event.StepID, Data: event.Data, Hash: event.Hash,
	}, "attribute_not_exists(PK)", plan.ErrMoved)
	if err != nil {
		return nil, err
	}
	writes := []write{w}
	if !chat {
		return writes, nil
	}
	if rec.Shown != nil {
		sight, err := t.sight(r.Account, r.ChatID, *rec.Shown)
		if err != nil {
			return nil, err
		}
		writes = append(writes, sight)
	}
	messages, err := t.messages(r.Account, r.ChatID, rec.Messages)
	return append(writes, messages...), err
}

// chained is the event of a transition, with its place in the run and its hash.
func chained(r plan.Run, rec run.Record) (plan.Event, error) {
	event, err := rec.Event(r.EventSeq + 1)
	if err != nil {
		return event, err
	}
	return event.Chained(r.Chain)
}

// advance returns the write that moves a run one event further. set, values and
// the extra condition come on top of what every transition has.
func (t *Table) advance(r plan.Run, rec run.Record, set, remove, condition string, values item) write {
	expr := "SET event_seq = :next, updated_at = :now, chain = :chain"
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
	all := item{
		":next": num(int64(r.EventSeq + 1)), ":seen": num(int64(r.EventSeq)),
		":now": num(millis(rec.At)), ":was": str(string(r.Status)), ":chain": str(after(r, r.Status, rec).Chain),
	}
	for k, v := range values {
		all[k] = v
	}
	w := t.update(runKey(r.Account, r.ID), "RUN", expr, cond, all, plan.ErrMoved)
	w.Update.ExpressionAttributeNames = map[string]string{"#status": "status"}
	return w
}

// move is advance to another status; the lifecycle must have the edge.
func (t *Table) move(r plan.Run, to plan.Status, rec run.Record, set, condition string, values item) (write, error) {
	if !r.Status.CanBecome(to) {
		return write{}, plan.ErrMoved
	}
	all := item{":to": str(string(to))}
	for k, v := range values {
		all[k] = v
	}
	if set != "" {
		set = ", " + set
	}
	return t.advance(r, rec, "#status = :to"+set, "", condition, all), nil
}

// after is the run as a committed transition left it.
func after(r plan.Run, to plan.Status, rec run.Record) plan.Run {
	if event, err := chained(r, rec); err == nil { // record, which every transition has, tells of one that cannot be written
		r.Chain = event.Hash
	}
	r.Status, r.EventSeq, r.UpdatedAt = to, r.EventSeq+1, rec.At
	if to.Terminal() {
		r.DueAt, r.Link = time.Time{}, 0
	}
	return r
}

// Propose writes a draft, makes it the chat's pending run and posts its
// message, in one transaction in which an older draft becomes superseded.
// It returns plan.ErrMoved when the chat or the older draft is not as it was read.
// What the draft has of an earlier run is written first: it is nobody's until the
// draft is there.
func (t *Table) Propose(ctx context.Context, r plan.Run, chat conversation.Chat, old *plan.Run, rec run.Record) (plan.Run, error) {
	if err := t.reuse(ctx, r); err != nil {
		return r, err
	}
	r.Status, r.DueAt, r.CreatedAt = plan.Draft, r.Plan.ExpiresAt, rec.At
	first := after(r, plan.Draft, rec)
	row, err := rowOfRun(first)
	if err != nil {
		return r, err
	}
	put, err := t.put(row, "attribute_not_exists(PK)", fault.New(fault.Internal, "run.id_taken"))
	if err != nil {
		return r, err
	}
	writes, err := t.record(r, true, rec)
	if err != nil {
		return r, err
	}
	kept, err := t.revision(r, plan.Revision{Plan: r.Plan, Digest: r.Digest, By: r.User, Model: modelOf(rec), At: rec.At})
	if err != nil {
		return r, err
	}
	writes = append(writes, kept)
	values := item{":run": str(r.ID)}
	condition := "attribute_not_exists(pending_run_id)"
	if chat.PendingRunID != "" {
		condition, values[":seen"] = "pending_run_id = :seen", str(chat.PendingRunID)
	}
	writes = append(writes, put, t.touch(r.Account, chat.ID, rec.At, "pending_run_id = :run", "", condition, values))
	if r.Retries != "" {
		writes = append(writes, t.update(runKey(r.Account, r.Retries), "RUN", "SET next_run_id = :id", "attribute_exists(PK)", item{":id": str(r.ID)}, plan.ErrMoved))
	}
	var earlier []realtime.Event
	if old != nil {
		superseded := run.Record{At: rec.At, Type: plan.EventSuperseded, Data: map[string]any{"by": r.ID}}
		gone, err := t.end(*old, plan.Superseded, superseded, "", nil)
		if err != nil {
			return r, err
		}
		event, err := t.record(*old, false, superseded)
		if err != nil {
			return r, err
		}
		writes = append(append(writes, gone), event...)
		earlier = progress(after(*old, plan.Superseded, superseded), superseded)
	}
	return first, t.moved(ctx, first, true, rec, t.commit(ctx, writes...), earlier...)
}

// reuse writes the states that a draft has of an earlier run.
func (t *Table) reuse(ctx context.Context, r plan.Run) error {
	if r.Plan.Reuse == nil {
		return nil
	}
	if err := t.copyResults(ctx, r); err != nil {
		return err
	}
	var writes []write
	for _, st := range r.Steps {
		if st.Reused == "" {
			continue
		}
		row, err := rowOfStep(r, st)
		if err != nil {
			return err
		}
		w, err := t.put(row, "", nil)
		if err != nil {
			return err
		}
		writes = append(writes, w)
	}
	for _, part := range portions(writes) {
		if err := t.commit(ctx, part...); err != nil {
			return err
		}
	}
	return nil
}

// modelOf is the model that an event of a proposal names.
func modelOf(rec run.Record) string {
	model, _ := rec.Data["model"].(string)
	return model
}

// Confirm moves a draft to queued, once, and only as it was seen: the status,
// the digest, the expiry and the chat's pending run are its conditions. The chat runs
// nothing, or what it runs waits for somebody's approval, which then goes on waiting
// without the chat.
func (t *Table) Confirm(ctx context.Context, r plan.Run, chat conversation.Chat, by, user string, due time.Time, rec run.Record) (plan.Run, error) {
	set, its := "confirm_by = :by, confirmer = :who, DuePK = :due, DueSK = :at", item{
		":by": str(by), ":who": str(user), ":digest": str(string(r.Digest)), ":due": str(dueKey), ":at": str(dueAt(due, r.ID)),
	}
	if len(r.Besides) > 0 {
		besides, err := attributevalue.Marshal(r.Besides)
		if err != nil {
			return r, err
		}
		set, its[":besides"] = set+", besides = :besides", besides
	}
	moved, err := t.move(r, plan.Queued, rec, set, "digest = :digest AND expires_at > :now", its)
	if err != nil {
		return r, err
	}
	writes, err := t.record(r, true, rec)
	if err != nil {
		return r, err
	}
	condition, values := "pending_run_id = :run AND attribute_not_exists(active_run_id)", item{":run": str(r.ID)}
	switch chat.ActiveRunID {
	case "":
	case r.ID: // it was confirmed after it was read
		return r, plan.ErrMoved
	default:
		condition, values[":waits"] = "pending_run_id = :run AND active_run_id = :waits", str(chat.ActiveRunID)
		writes = append(writes, t.displace(r.Account, chat.ActiveRunID, rec.At))
	}
	writes = append(writes, moved, t.touch(r.Account, chat.ID, rec.At, "active_run_id = :run", "pending_run_id", condition, values))
	queued := after(r, plan.Queued, rec)
	queued.ConfirmBy, queued.Confirmer, queued.DueAt = by, user, due
	return queued, t.moved(ctx, queued, true, rec, t.commit(ctx, writes...))
}

// displace notes in a run that waits that its chat runs another: it is no
// transition of that run, and only holds that it waits.
func (t *Table) displace(account, runID string, at time.Time) write {
	w := t.update(runKey(account, runID), "RUN", "SET displaced_at = :now", "#status = :waiting",
		item{":now": num(millis(at)), ":waiting": str(string(plan.Waiting))}, plan.ErrMoved)
	w.Update.ExpressionAttributeNames = map[string]string{"#status": "status"}
	return w
}

// Discard moves a draft to cancelled or expired, with its reason, and frees its
// chat, if the chat still waits for it.
func (t *Table) Discard(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, rec run.Record) (plan.Run, error) {
	set, values := "", item(nil)
	if r.Reason != "" {
		set, values = "reason = :reason", item{":reason": str(r.Reason)}
	}
	moved, err := t.end(r, to, rec, set, values)
	if err != nil {
		return r, err
	}
	writes, err := t.record(r, chat.ID != "", rec)
	if err != nil {
		return r, err
	}
	writes = append(writes, moved)
	if chat.ID != "" && chat.PendingRunID == r.ID {
		writes = append(writes, t.touch(r.Account, chat.ID, rec.At, "", "pending_run_id",
			"pending_run_id = :run", item{":run": str(r.ID)}))
	}
	gone := after(r, to, rec)
	return gone, t.moved(ctx, gone, chat.ID != "", rec, t.commit(ctx, writes...))
}

// Start moves a queued run to running.
func (t *Table) Start(ctx context.Context, r plan.Run, due time.Time, rec run.Record) (plan.Run, error) {
	moved, err := t.move(r, plan.Running, rec, "DueSK = :at", "", item{":at": str(dueAt(due, r.ID))})
	if err != nil {
		return r, err
	}
	writes, err := t.record(r, true, rec)
	if err != nil {
		return r, err
	}
	started := after(r, plan.Running, rec)
	started.DueAt = due
	return started, t.moved(ctx, started, true, rec, t.commit(ctx, append(writes, moved)...))
}

// RequestCancel marks an active run, so that no further step begins.
func (t *Table) RequestCancel(ctx context.Context, r plan.Run, due time.Time, rec run.Record) (plan.Run, error) {
	writes, err := t.record(r, true, rec)
	if err != nil {
		return r, err
	}
	at := rec.At
	writes = append(writes, t.advance(r, rec, "cancel_at = :now, DueSK = :at", "", "attribute_not_exists(cancel_at)",
		item{":at": str(dueAt(due, r.ID))}))
	marked := after(r, r.Status, rec)
	marked.CancelAt, marked.DueAt = &at, due
	return marked, t.moved(ctx, marked, true, rec, t.commit(ctx, writes...))
}

// Due lists runs whose time to be looked at has come, the oldest first, at most
// limit.
func (t *Table) Due(ctx context.Context, now time.Time, limit int) ([]run.Overdue, error) {
	keys, err := t.dueKeys(ctx, dueKey, now, limit)
	var list []run.Overdue
	for _, k := range keys {
		account, id, ok := strings.Cut(strings.TrimPrefix(k.PK, "A#"), "#R#")
		if !ok {
			err = errors.Join(err, fmt.Errorf("dynamo: %q is due and no run", k.PK))
			continue
		}
		list = append(list, run.Overdue{Key: run.Key{Account: account, RunID: id}, Tries: triesOf(k.DueSK), Mark: k.DueSK})
	}
	return list, err
}

// PutOff sets when the sweep looks again at a run that it could not heal. The number of tries
// is stored with the time, so that any other write of the time resets it.
func (t *Table) PutOff(ctx context.Context, o run.Overdue, until time.Time) error {
	next := dueAt(until, o.RunID) + triesMark + strconv.Itoa(o.Tries+1)
	err := t.commit(ctx, t.update(runKey(o.Account, o.RunID), "RUN", "SET DueSK = :next", "DueSK = :seen",
		item{":next": str(next), ":seen": str(o.Mark)}, errMovedOn))
	if errors.Is(err, errMovedOn) {
		return nil
	}
	return err
}

// triesMark separates the due time of a run from the number of failed tries.
const triesMark = "#tries#"

func triesOf(due string) int {
	_, tries, _ := strings.Cut(due, triesMark)
	n, _ := strconv.Atoi(tries)
	return n
}

// Postpone sets when the sweep looks at a run again, if it is as it was read.
func (t *Table) Postpone(ctx context.Context, r plan.Run, until time.Time) error {
	w := t.update(runKey(r.Account, r.ID), "RUN", "SET DueSK = :at", "#status = :was AND attribute_exists(DuePK)",
		item{":at": str(dueAt(until, r.ID)), ":was": str(string(r.Status))}, nil)
	failpoint.Verb("dynamo", "dynamo.(*Table)", "before")
	_, err := t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: w.Update.Key, UpdateExpression: w.Update.UpdateExpression,
		ConditionExpression: w.Update.ConditionExpression, ExpressionAttributeValues: w.Update.ExpressionAttributeValues,
		ExpressionAttributeNames: map[string]string{"#status": "status"},
	})
	failpoint.Verb("dynamo", "dynamo.(*Table)", "after")
	if conditionFailed(err) { // it moved on by itself
		return nil
	}
	return err
}
