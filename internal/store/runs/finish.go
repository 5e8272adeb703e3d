package runs

import (
	"context"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/jobs"
	"piloto/internal/store/kv"
)

// Limits of the states in one transaction, beside the rest of a transition. DynamoDB takes 100
// writes and 4 MB.
const (
	mostStates = 40
	mostBytes  = 2 << 20
)

// end adds the end of a run to a transition: the last states of its open steps, and that its chat is
// free, if the chat still has this run. States that do not fit into the transaction are written
// before it: then these steps cannot begin any more, and nothing else changes.
func (s *Store) end(ctx context.Context, t *transition, e run.End, rec run.Record) error {
	if t.next.HandedOut() {
		return errHandedOut
	}
	states, err := s.closing(ctx, t, e.Closed)
	if err != nil {
		return err
	}
	t.add(states...)
	for _, st := range e.Closed {
		t.next = t.next.With(st)
	}
	t.end()
	if e.Error != nil {
		t.next.Error = e.Error
		raw, err := failures.Encode(*e.Error)
		t.row = t.row.Set("error", raw).Unless(err)
	}
	if e.Concludes && t.from.JobID != "" { // its agent gets the outcome, and writes about it itself
		agent, err := jobs.Awaits(ctx, s.table, t.from.Account, t.from.JobID, t.from.ID)
		if err != nil {
			return err
		}
		e.Concludes = !agent
	}
	if e.Concludes {
		t.row = t.row.Set("conclude", plan.ConcludeDue)
		t.next.Conclude = plan.ConcludeDue
		t.add(concludeLater(t.from, rec.At))
	}
	if e.Chat.ID != "" {
		t.post(rec)
		t.add(leave(t.from, e.Chat, t.next.Status, rec.At))
	}
	return nil
}

// closing writes all parts of the states but the last, and returns the writes of that one.
func (s *Store) closing(ctx context.Context, t *transition, closed []plan.StepState) ([]kv.Write, error) {
	parts := divide(t.closings(closed))
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

// closings returns the writes of each of the last states. The chat's record of its request is written with it, because a
// state that is written is not closed again.
func (t *transition) closings(closed []plan.StepState) [][]kv.Write {
	groups := make([][]kv.Write, len(closed))
	for i, st := range closed {
		groups[i] = append(t.notes(st), putStep(t.from, st, time.Time{}))
	}
	return groups
}

// divide divides groups of writes into parts that fit into a transaction. A group stays together.
func divide(groups [][]kv.Write) [][]kv.Write {
	var parts [][]kv.Write
	size := 0
	for _, g := range groups {
		bytes := 0
		for _, w := range g {
			bytes += 1<<10 + len(kv.Bytes(w.Row(), "state"))
		}
		if last := len(parts) - 1; last >= 0 && len(parts[last])+len(g) <= mostStates && size+bytes <= mostBytes {
			parts[last], size = append(parts[last], g...), size+bytes
			continue
		}
		parts, size = append(parts, slices.Clone(g)), bytes
	}
	return parts
}

// leave returns the change of the chat at the end of a run. A waiting run that another one replaced
// in the chat frees nothing, and becomes the last run only when it is newer than that one.
func leave(r plan.Run, chat conversation.Chat, to plan.Status, at time.Time) kv.Write {
	w := chats.Touch(r.Account, chat.ID, at)
	last := w.Set("last_run_id", r.ID).Set("last_run_status", to).Set("last_run_ts", at)
	switch {
	case chat.ActiveRunID == r.ID:
		return last.Remove("active_run_id").If(kv.Is("active_run_id", r.ID))
	case chat.LastRunID < r.ID:
		return last.If(kv.Any(kv.Missing("active_run_id"), kv.IsNot("active_run_id", r.ID)), kv.Any(kv.Missing("last_run_id"), kv.Less("last_run_id", r.ID)))
	}
	return w.If(kv.Greater("last_run_id", r.ID))
}
