package runs

import (
	"context"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/kv"
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
func (s *Store) Finish(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, closed []plan.StepState, rec run.Record) (plan.Run, error) {
	states, err := s.closing(ctx, r, closed)
	if err != nil {
		return r, err
	}
	t, err := begin(r, to, rec)
	if err != nil {
		return r, err
	}
	if chat.ID != "" {
		t.post()
	}
	ended := t.end("", nil)
	if r.Error != nil {
		raw, err := failures.Encode(*r.Error)
		ended = t.end("#error = :error", kv.Item{":error": kv.B(raw)}).Named("#error", "error").Unless(err)
	}
	t.add(ended)
	t.add(states...)
	if chat.ID != "" {
		t.add(leave(r, chat, to, rec.At))
	}
	for _, st := range closed {
		t.next = t.next.With(st)
	}
	return s.commit(ctx, t)
}

// closing returns the writes of the last portion of the states; the others it made.
func (s *Store) closing(ctx context.Context, r plan.Run, closed []plan.StepState) ([]kv.Write, error) {
	var writes []kv.Write
	for _, st := range closed {
		writes = append(writes, putStep(r, st, time.Time{}))
	}
	parts := divide(writes)
	if len(parts) == 0 {
		return nil, nil
	}
	last := len(parts) - 1
	for _, part := range parts[:last] {
		if err := s.table.Commit(ctx, part...); err != nil {
			return nil, err
		}
	}
	return parts[last], nil
}

// divide divides writes of states into what a transaction holds.
func divide(writes []kv.Write) [][]kv.Write {
	var parts [][]kv.Write
	size := 0
	for _, w := range writes {
		bytes := 1<<10 + len(kv.Bytes(w.Row(), "state"))
		if last := len(parts) - 1; last >= 0 && len(parts[last]) < mostStates && size+bytes <= mostBytes {
			parts[last], size = append(parts[last], w), size+bytes
			continue
		}
		parts, size = append(parts, []kv.Write{w}), bytes
	}
	return parts
}

// leave is what the end of a run changes of its chat. A run that another took the
// place of while it waited frees nothing, and is the last one only when it is newer
// than the one that is.
func leave(r plan.Run, chat conversation.Chat, to plan.Status, at time.Time) kv.Write {
	const last = "last_run_id = :run, last_run_status = :to, last_run_ts = :now"
	values := kv.Item{":run": kv.S(r.ID), ":to": kv.S(string(to))}
	switch {
	case chat.ActiveRunID == r.ID:
		return chats.Touch(r.Account, chat.ID, at, last, "active_run_id", "active_run_id = :run", values)
	case chat.LastRunID < r.ID:
		return chats.Touch(r.Account, chat.ID, at, last, "",
			"(attribute_not_exists(active_run_id) OR active_run_id <> :run) AND (attribute_not_exists(last_run_id) OR last_run_id < :run)", values)
	}
	return chats.Touch(r.Account, chat.ID, at, "", "", "last_run_id > :run", kv.Item{":run": kv.S(r.ID)})
}
