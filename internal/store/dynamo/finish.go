package dynamo

import (
	"context"
	"encoding/json"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// What one transaction holds of states beside the rest of a transition: DynamoDB
// takes 100 writes and 4 MB in one.
const (
	mostStates = 40
	mostBytes  = 2 << 20
)

// Finish moves an active run to its end with what became of the steps that were open,
// and frees its chat, if the chat still is its. closed are those steps' last states;
// when they are more than a transaction holds, they are written before it, which
// changes nothing but that they cannot begin any more.
func (t *Table) Finish(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, closed []plan.StepState, rec run.Record) (plan.Run, error) {
	states, err := t.closing(ctx, r, closed)
	if err != nil {
		return r, err
	}
	set, values := "", item{}
	if r.Error != nil {
		raw, err := json.Marshal(r.Error)
		if err != nil {
			return r, err
		}
		set, values = "#error = :error", item{":error": &binary{Value: raw}}
	}
	moved, err := t.end(r, to, rec, set, values)
	if err != nil {
		return r, err
	}
	if r.Error != nil {
		moved.Update.ExpressionAttributeNames["#error"] = "error"
	}
	writes, err := t.record(r, chat.ID != "", rec)
	if err != nil {
		return r, err
	}
	writes = append(append(writes, moved), states...)
	if chat.ID != "" {
		writes = append(writes, t.leave(r, chat, to, rec.At))
	}
	ended := after(r, to, rec)
	for _, st := range closed {
		ended = ended.With(st)
	}
	return ended, t.moved(ctx, ended, chat.ID != "", rec, t.commit(ctx, writes...))
}

// closing returns the writes of the last portion of the states; the others it made.
func (t *Table) closing(ctx context.Context, r plan.Run, closed []plan.StepState) ([]write, error) {
	var writes []write
	for _, st := range closed {
		w, err := t.putStep(r, st, time.Time{})
		if err != nil {
			return nil, err
		}
		writes = append(writes, w)
	}
	parts := portions(writes)
	if len(parts) == 0 {
		return nil, nil
	}
	last := len(parts) - 1
	for _, part := range parts[:last] {
		if err := t.commit(ctx, part...); err != nil {
			return nil, err
		}
	}
	return parts[last], nil
}

// portions divides writes of states into what a transaction holds.
func portions(writes []write) [][]write {
	var parts [][]write
	size := 0
	for _, w := range writes {
		bytes := 1 << 10
		if state, ok := w.Put.Item["state"].(*binary); ok {
			bytes += len(state.Value)
		}
		if last := len(parts) - 1; last >= 0 && len(parts[last]) < mostStates && size+bytes <= mostBytes {
			parts[last], size = append(parts[last], w), size+bytes
			continue
		}
		parts, size = append(parts, []write{w}), bytes
	}
	return parts
}

// leave is what the end of a run changes of its chat. A run that another took the
// place of while it waited frees nothing, and is the last one only when it is newer
// than the one that is.
func (t *Table) leave(r plan.Run, chat conversation.Chat, to plan.Status, at time.Time) write {
	const last = "last_run_id = :run, last_run_status = :to, last_run_ts = :now"
	values := item{":run": str(r.ID), ":to": str(string(to))}
	switch {
	case chat.ActiveRunID == r.ID:
		return t.touch(r.Account, chat.ID, at, last, "active_run_id", "active_run_id = :run", values)
	case chat.LastRunID < r.ID:
		return t.touch(r.Account, chat.ID, at, last, "",
			"(attribute_not_exists(active_run_id) OR active_run_id <> :run) AND (attribute_not_exists(last_run_id) OR last_run_id < :run)", values)
	}
	return t.touch(r.Account, chat.ID, at, "", "", "last_run_id > :run", item{":run": str(r.ID)})
}
