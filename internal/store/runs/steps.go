package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/internal/conversation/wire"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/order"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/chats"
	"piloto/internal/store/kv"
)

// stepRow is the state of an effect. State is the JSON of a plan.StepState, gzipped when that is
// shorter; status, attempts, open and handed are the conditions, and of
// a step that waits for an approval until when it does (unix milliseconds).
type stepRow struct {
	kv.Key
	Status   string `dynamodbav:"status"`
	Attempts int    `dynamodbav:"attempts"`
	Open     bool   `dynamodbav:"open"`
	Until    int64  `dynamodbav:"until,omitempty"`
	Reused   bool   `dynamodbav:"reused,omitempty"` // it is another run's; a plan that does not name it has none
	Handed   string `dynamodbav:"handed,omitempty"` // while it is dispatched: the id of the last write
	State    []byte `dynamodbav:"state"`
}

// maxState leaves an item of 400 KB room for its keys.
const maxState = 380 << 10

// arrange returns the states of a plan's effects: of its steps in their order, then of the
// elements and undos that exist. The states of another run count only while the plan names
// them. A state without a step does not count.
func arrange(p plan.Plan, stored []plan.StepState) []plan.StepState {
	known := map[plan.EffectID]plan.StepState{}
	var beside []plan.EffectID
	for _, st := range stored {
		if st.Reused != "" && (p.Reuse == nil || !slices.Contains(p.Reuse.Steps, st.StepID)) {
			continue
		}
		if _, ok := p.Step(st.StepID); !ok {
			continue
		}
		if !st.StepID.Whole() {
			beside = append(beside, st.StepID)
		}
		known[st.StepID] = st
	}
	states := make([]plan.StepState, 0, len(p.Steps)+len(beside))
	place := map[string]int{}
	for i, s := range p.Steps {
		st, ok := known[s.ID]
		if !ok {
			st = plan.StepState{StepID: s.ID, Status: plan.StepPending}
		}
		states, place[s.ID.Step()] = append(states, st), i
	}
	order.By(beside, func(a, b plan.EffectID) int {
		if a.Undo() != b.Undo() {
			return map[bool]int{false: -1, true: 1}[a.Undo()]
		}
		return cmp.Or(place[a.Step()]-place[b.Step()], a.Item()-b.Item())
	})
	for _, id := range beside {
		states = append(states, known[id])
	}
	return states
}

func stepOf(it kv.Item) (plan.StepState, error) {
	var row stepRow
	var st plan.StepState
	if err := kv.Decode(it, &row); err != nil {
		return st, err
	}
	st, err := states.Unpack(row.State)
	if err != nil {
		return st, fmt.Errorf("store: %s %s: %w", row.PK, row.SK, err)
	}
	st.Handed = row.Handed
	return st, nil
}

// rowOfStep returns a step's state as it is stored. A state that is too large for a row loses
// its end.
func rowOfStep(r plan.Run, st plan.StepState) (stepRow, error) {
	state, err := packState(st)
	if err == nil && len(state) > maxState {
		state, err = packState(shorten(st))
	}
	row := stepRow{
		Key: kv.Key{PK: kv.Run(r.Account, r.ID), SK: "STEP#" + st.StepID.String()}, Status: string(st.Status),
		Attempts: st.Attempts, Open: st.Last.Open, State: state, Reused: st.Reused != "", Handed: st.Handed,
	}
	if st.Approval != nil && st.Approval.Decision == "" {
		row.Until = kv.Millis(st.Approval.ExpiresAt)
	}
	return row, err
}

// packState returns the stored bytes of a state. The bodies of answers stay as they were
// received: no character is escaped.
func packState(st plan.StepState) ([]byte, error) {
	text, err := jcs.Marshal(st)
	if err != nil {
		return nil, err
	}
	return kv.Zip(text)
}

// putStep returns the write of a step's state, which needs the one before it to be as
// the run that was read has it. A decision also needs that the step still waits by at.
func putStep(r plan.Run, st plan.StepState, decided time.Time) kv.Write {
	row, err := rowOfStep(r, st)
	w := kv.Put(row).Else(fault.ErrMoved).Unless(err)
	before := slices.IndexFunc(r.Steps, func(s plan.StepState) bool { return s.StepID == st.StepID && !s.UpdatedAt.IsZero() })
	if before < 0 {
		return w.If(kv.Any(kv.Missing("PK"), kv.Exists("reused")))
	}
	was := r.Steps[before]
	w = w.If(kv.Is("attempts", was.Attempts), kv.Is("open", was.Last.Open), kv.Is("status", was.Status), kv.Unchanged("handed", was.Handed))
	if !decided.IsZero() {
		w = w.If(kv.Greater("until", decided))
	}
	return w
}

// shorten returns a state with only the beginnings of its bodies. The hash of the request is
// that of the whole body.
func shorten(st plan.StepState) plan.StepState {
	const keep = 64 << 10
	if len(st.Last.Body) > keep {
		st.Last.Body = beginning(st.Last.Body)
	}
	if st.Approval != nil && len(st.Approval.Body) > keep {
		asked := *st.Approval
		asked.Body = beginning(asked.Body)
		st.Approval = &asked
	}
	if st.Result != nil && len(st.Result.Body) > maxHere {
		res := *st.Result
		res.Body, res.Truncated = beginning(res.Body), true
		st.Result = &res
	}
	return st
}

// errHandedOut is a transition that must not happen while effects are dispatched.
var errHandedOut = errors.New("store: effects of the run are handed out")

// MoveEffect implements run.EffectMover. Its write is no transaction: the row of the run stays as it is. The id of the
// write shows whether a write whose answer was lost, and which was therefore repeated, was made.
func (s *Store) MoveEffect(ctx context.Context, r plan.Run, m run.Move) (plan.Run, error) {
	failpoint.At("runs", "handed."+m.Type, "before")
	st, err := s.bodies.apart(ctx, r, *m.State)
	if err != nil {
		return r, err
	}
	was := r.State(st.StepID)
	if was.Handed == "" || st.Handed == "" || st.Handed == was.Handed {
		return r, fault.ErrMoved
	}
	if m.Type != "" {
		st.Loose = append(slices.Clone(was.Loose), plan.LooseEvent{At: m.At, Type: m.Type, Data: m.Data, Messages: wire.Messages(m.Messages)})
	}
	found, done, err := s.table.Try(ctx, putStep(r, st, m.Decided))
	failpoint.At("runs", "handed."+m.Type, "after")
	switch {
	case err != nil:
		return r, err
	case !done && kv.Text(found, "handed") != st.Handed:
		return r, fault.ErrMoved
	}
	return r.With(st), nil
}

// MoveRun implements run.Mover.
func (s *Store) MoveRun(ctx context.Context, r plan.Run, moves ...run.Move) (plan.Run, error) {
	if failpoint.On { // a transaction is a failpoint of its own for each list of events
		var events []string
		for _, m := range moves {
			kind := m.Type
			switch {
			case m.Type == "" && m.State.Handed != "":
				kind = "handed_out"
			case r.HandedOut() && m.End == nil:
				kind = "taken_back"
			}
			if n := len(events); n == 0 || kind == m.Type || kind != events[n-1] {
				events = append(events, kind)
			}
		}
		failpoint.At("runs", strings.Join(events, "+"), "before")
		defer failpoint.At("runs", strings.Join(events, "+"), "after")
	}
	t := of(r)
	for _, m := range moves {
		if err := s.apply(ctx, t, m); err != nil {
			return r, err
		}
	}
	if begins(moves, true) {
		t.row = t.row.If(kv.Exists("undo_at"))
	}
	if begins(moves, false) {
		t.row = t.row.If(kv.Missing("cancel_at"), kv.Missing("undo_at"))
	}
	return s.commit(ctx, t)
}

// begins reports whether a step, or an undo of one, begins with some moves.
func begins(moves []run.Move, undo bool) bool {
	return slices.ContainsFunc(moves, func(m run.Move) bool { return m.Begins && m.Type != "" && m.State.StepID.Undo() == undo })
}

// apply adds a move to a transition.
func (s *Store) apply(ctx context.Context, t *transition, m run.Move) error {
	if m.State != nil {
		st, err := s.bodies.apart(ctx, t.from, *m.State)
		if err != nil {
			return err
		}
		t.add(putStep(t.from, st, m.Decided))
		t.add(t.notes(*m.State)...)
		t.next = t.next.With(st)
	}
	if m.Type == "" { // an effect is dispatched, reclaimed, or its call goes on: another state of it, and no event
		t.unnumbered(m.At)
		return nil
	}
	to, was := m.To, t.next.Status
	if to == "" {
		to = statusAfter(t.next)
	}
	if to != was {
		if err := t.move(to, m.Record); err != nil {
			return err
		}
	} else if err := t.event(to, m.Record); err != nil {
		return err
	}
	if m.End != nil {
		return s.end(ctx, t, *m.End, m.Record)
	}
	t.post(m.Record)
	for _, requests := range m.Refused {
		write, err := chats.Refuse(t.from.Account, t.from.ChatID, requests, plan.Refusal{RunID: t.from.ID, At: m.At, Reason: m.State.Approval.Note})
		if err != nil {
			return err
		}
		t.add(write)
	}
	switch {
	case was.Terminal():
		t.row = t.row.Remove("link")
		t.end()
	case !m.Due.IsZero():
		t.due(m.Due)
	case to != was && was != plan.Queued: // a run that begins stays due as it was: most runs end before the sweep
		t.due(m.Record.At.Add(run.CheckEvery))
	}
	return nil
}

// statusAfter returns the status of a run after a step's new state: a waiting run runs again
// when none of its steps waits any more.
func statusAfter(r plan.Run) plan.Status {
	if r.Status == plan.Waiting && !slices.ContainsFunc(r.Steps, func(s plan.StepState) bool { return s.Status == plan.StepWaiting }) {
		return plan.Running
	}
	return r.Status
}
