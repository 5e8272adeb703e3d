// Package runs owns the rows of runs: the run, its steps, events, plans and results; and the
// rules of an account.
package runs

import (
	"context"
	"slices"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/kv"
)

// The queues of runs that the sweep reads.
const (
	dueRuns     = "DUE"      // by the time it is due
	DueUnplaced = "UNPLACED" // that ended and have no link in the chain of receipts
)

// Store is the runs of a table.
type Store struct {
	table  *kv.Table
	lists  lists
	bodies bodies
}

// New returns the runs of a table.
func New(table *kv.Table) *Store { return &Store{table, lists{table}, bodies{table}} }

const runSK = "RUN"

func runKey(account ids.Account, id string) kv.Key { return kv.Key{PK: kv.Run(account, id), SK: runSK} }

func eventKey(seq int) string { return "EVENT#" + kv.Pad(int64(seq), 6) }

// Run returns a run with the states of its steps, as the last write left them.
func (s *Store) Run(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	r, err := s.Bare(ctx, account, id)
	if err != nil {
		return r, err
	}
	return s.bodies.fill(ctx, r)
}

// Bare implements plan.BareReader.
func (s *Store) Bare(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Run(account, id), runSK, planKey, "STEP#"), 0)
	if err != nil {
		return plan.Run{}, err
	}
	if len(items) == 0 {
		return plan.Run{}, plan.ErrRunNotFound
	}
	if kv.Text(items[0], "SK") != runSK { // the states that it reuses were written, and the run was not
		return plan.Run{}, plan.ErrRunNotFound
	}
	var row runRow
	if err := kv.DecodeOfFormat(items[0], &row); err != nil {
		return plan.Run{}, err
	}
	r, err := row.run()
	if err != nil {
		return r, err
	}
	items = items[1:]
	if len(items) > 0 && kv.Text(items[0], "SK") == planKey {
		rev, err := revisionOf(items[0])
		if err != nil {
			return r, err
		}
		r.Plan, r.Taken = rev.Plan, rev.Taken
		items = items[1:]
	}
	states := make([]plan.StepState, len(items))
	for i, it := range items {
		if states[i], err = stepOf(it); err != nil {
			return r, err
		}
	}
	r.Steps = arrange(r.Plan, states)
	return r, nil
}

// Status implements plan.StatusReader. It reads only the row of the run.
func (s *Store) Status(ctx context.Context, account ids.Account, id string) (plan.Status, error) {
	row, err := s.table.Row(ctx, runKey(account, id))
	switch {
	case err != nil:
		return "", err
	case row == nil:
		return "", plan.ErrRunNotFound
	}
	return plan.Status(kv.Text(row, "status")), nil
}

// Events returns a run's events after a sequence number, in order.
func (s *Store) Events(ctx context.Context, account ids.Account, runID string, after, limit int) ([]plan.Event, error) {
	span := kv.Rows(kv.Run(account, runID), "EVENT#")
	span.From = eventKey(after + 1)
	items, err := s.table.Read(ctx, span, limit)
	if err != nil {
		return nil, err
	}
	events := []plan.Event{}
	for _, it := range items {
		var row eventRow
		if err := kv.Decode(it, &row); err != nil {
			return nil, err
		}
		for _, e := range row.events() {
			if e.Seq > after && (limit == 0 || len(events) < limit) {
				events = append(events, e)
			}
		}
	}
	return events, nil
}

// Propose writes a draft, makes it the chat's pending run and posts its message, in one
// transaction in which an older draft becomes superseded. It returns fault.ErrMoved when the
// chat or the older draft is not as it was read. The states that the draft takes from an
// earlier run are written first: nothing refers to them until the draft exists.
func (s *Store) Propose(ctx context.Context, r plan.Run, chat conversation.Chat, old *plan.Run, rec run.Record) (plan.Run, error) {
	if err := s.reuse(ctx, r); err != nil {
		return r, err
	}
	r.Status, r.DueAt, r.CreatedAt = plan.Draft, r.Plan.ExpiresAt, rec.At
	t, err := stay(r, rec)
	if err != nil {
		return r, err
	}
	t.apart = true
	t.post(rec)
	t.add(
		current(r, plan.Revision{Plan: r.Plan, Digest: r.Digest, By: r.User, Model: modelOf(rec), At: rec.At, Taken: r.Taken}),
		kv.Insert(rowOfRun(t.next)).Else(errIDTaken),
		chats.Touch(r.Account, chat.ID, rec.At).Set("pending_run_id", r.ID).If(kv.Unchanged("pending_run_id", chat.PendingRunID)),
	)
	if r.Retries != "" {
		t.add(kv.Update(runKey(r.Account, r.Retries)).Set("next_run_id", r.ID).If(kv.Exists("PK")).Else(fault.ErrMoved))
	}
	if old != nil {
		gone, err := supersede(*old, r.ID, rec.At)
		if err != nil {
			return r, err
		}
		gone.end()
		t.add(gone.all()...)
	}
	return s.commit(ctx, t)
}

var errIDTaken = fault.New(fault.Internal, "run.id_taken")

func supersede(old plan.Run, by string, at time.Time) (*transition, error) {
	return begin(old, plan.Superseded, run.Record{At: at, Type: plan.EventSuperseded, Data: map[string]any{"by": by}})
}

// Superseded returns a draft as the proposal of another left it, at a time.
func Superseded(old plan.Run, by string, at time.Time) (plan.Run, error) {
	t, err := supersede(old, by, at)
	if err != nil {
		return old, err
	}
	return t.next, nil
}

// reuse writes the states that a draft has of an earlier run.
func (s *Store) reuse(ctx context.Context, r plan.Run) error {
	if r.Plan.Reuse == nil {
		return nil
	}
	if err := s.bodies.copyResults(ctx, r); err != nil {
		return err
	}
	var writes [][]kv.Write
	for _, st := range r.Steps {
		if st.Reused == "" {
			continue
		}
		st, err := s.bodies.apart(ctx, r, st)
		if err != nil {
			return err
		}
		row, err := rowOfStep(r, st)
		writes = append(writes, []kv.Write{kv.Put(row).Unless(err)})
	}
	for _, part := range divide(writes) {
		if err := s.table.Commit(ctx, part...); err != nil {
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

// Confirm moves a draft to queued, once, and only as it was shown: its conditions are the status,
// the digest, the expiry and the chat's pending run. The chat has no active run, or a run that waits
// for an approval, which then goes on waiting without the chat.
func (s *Store) Confirm(ctx context.Context, r plan.Run, chat conversation.Chat, by, user string, due time.Time, rec run.Record) (plan.Run, error) {
	t, err := begin(r, plan.Queued, rec)
	if err != nil {
		return r, err
	}
	unanswered, err := s.Unanswered(ctx, r.Account, r.ChatID)
	if err != nil {
		return r, err
	}
	t.carry(unanswered)
	t.post(rec)
	t.row = t.row.Set("confirm_by", by).Set("confirmer", user)
	t.dueList = kv.DueList(dueRuns, r.Account)
	t.due(due)
	if len(r.Besides) > 0 {
		t.row = t.row.Set("besides", r.Besides)
	}
	t.row = t.row.If(kv.Is("digest", r.Digest), kv.Greater("expires_at", rec.At))
	switch chat.ActiveRunID {
	case "":
	case r.ID: // it was confirmed after it was read
		return r, fault.ErrMoved
	default:
		t.add(displace(r.Account, chat.ActiveRunID, rec.At))
	}
	t.add(chats.Touch(r.Account, chat.ID, rec.At).Set("active_run_id", r.ID).Remove("pending_run_id").
		If(kv.Is("pending_run_id", r.ID), kv.Unchanged("active_run_id", chat.ActiveRunID)))
	t.next.ConfirmBy, t.next.Confirmer = by, user
	return s.commit(ctx, t)
}

// displace notes in a waiting run that its chat runs another. That is no transition: it only
// holds while the run waits.
func displace(account ids.Account, runID string, at time.Time) kv.Write {
	return kv.Update(runKey(account, runID)).Set("displaced_at", at).If(kv.Is("status", plan.Waiting)).Else(fault.ErrMoved)
}

// Discard moves a draft to cancelled, expired or superseded, with the reason of the person or of the model that took it
// back, and frees its chat, if the chat still waits for it.
func (s *Store) Discard(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, rec run.Record) (plan.Run, error) {
	t, err := begin(r, to, rec)
	if err != nil {
		return r, err
	}
	t.end()
	if r.Reason != "" {
		t.row = t.row.Set("reason", r.Reason)
	}
	if r.Withdrawn != nil {
		raw, err := withdrawn.Encode(*r.Withdrawn)
		t.row = t.row.Set("withdrawn", raw).Unless(err)
	}
	if chat.ID != "" {
		t.post(rec)
	}
	if chat.ID != "" && to == plan.Cancelled && r.Withdrawn == nil { // a person did it
		refused, err := s.refusals(ctx, r, chat.ID, rec.At)
		if err != nil {
			return r, err
		}
		t.add(refused...)
	}
	if chat.ID != "" && chat.PendingRunID == r.ID {
		t.add(chats.Touch(r.Account, chat.ID, rec.At).Remove("pending_run_id").If(kv.Is("pending_run_id", r.ID)))
	}
	return s.commit(ctx, t)
}

// mostRefused is how many sets of requests of one draft are remembered as refused.
const mostRefused = 20

// refusals returns the writes that record the refused plans of a draft: the last one, and the earlier revisions, which the
// person was shown first and did not want either.
func (s *Store) refusals(ctx context.Context, r plan.Run, chatID string, at time.Time) ([]kv.Write, error) {
	plans := []plan.Plan{r.Plan}
	if r.Plan.Revision > 1 {
		before, err := s.Revisions(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, rev := range before {
			plans = append(plans, rev.Plan)
		}
	}
	var writes []kv.Write
	var noted []string
	for _, p := range plans {
		sets, err := p.Requests()
		if err != nil {
			return nil, err
		}
		for _, requests := range sets {
			name := strings.Join(requests, " ")
			if len(writes) == mostRefused || slices.Contains(noted, name) {
				continue
			}
			write, err := chats.Refuse(r.Account, chatID, requests, plan.Refusal{RunID: r.ID, At: at, Reason: r.Reason})
			if err != nil {
				return nil, err
			}
			writes, noted = append(writes, write), append(noted, name)
		}
	}
	return writes, nil
}

// Due lists the runs that are due for the sweep, the oldest first, at most limit.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) ([]sweep.Row[run.Key], error) {
	return kv.DueRows(ctx, s.table, dueRuns, now, limit, runOf)
}

// runOf returns the run of a row.
func runOf(k kv.DueKey) (run.Key, error) {
	account, id, ok := kv.RunOf(k.PK)
	if !ok {
		return run.Key{}, k.Unknown()
	}
	return run.Key{Account: account, RunID: id}, nil
}

// Postpone sets when the sweep checks a run again, if it is as it was read.
func (s *Store) Postpone(ctx context.Context, r plan.Run, until time.Time) error {
	return s.table.Do(ctx, dueAt(r, until))
}

// dueAt returns the update that sets when the sweep checks a run again, if it is as it was read.
func dueAt(r plan.Run, at time.Time) kv.Write {
	return kv.Update(runKey(r.Account, r.ID)).Set("DueSK", kv.At(at, r.ID)).If(kv.Is("status", r.Status), kv.Exists("DuePK"))
}

// LeaveUnplaced puts a run that ended into the queue of those that need a link in the chain of receipts.
func (s *Store) LeaveUnplaced(ctx context.Context, r plan.Run, from time.Time) error {
	return s.table.Do(ctx, dueAt(r, from).Set("DuePK", kv.DueList(DueUnplaced, r.Account)))
}
