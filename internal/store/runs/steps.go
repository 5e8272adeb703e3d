package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/kv"
)

// stepRow is the state of an effect. State is the JSON of a plan.StepState, gzipped when that is
// shorter; status, attempts and open are the conditions, and of
// a step that waits for an approval until when it does (unix milliseconds).
type stepRow struct {
	PK       string `dynamodbav:"PK"`
	SK       string `dynamodbav:"SK"`
	Status   string `dynamodbav:"status"`
	Attempts int    `dynamodbav:"attempts"`
	Open     bool   `dynamodbav:"open"`
	Until    int64  `dynamodbav:"until,omitempty"`
	Reused   bool   `dynamodbav:"reused,omitempty"` // it is another run's; a plan that does not name it has none
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
	slices.SortStableFunc(beside, func(a, b plan.EffectID) int {
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
		PK: kv.Run(r.Account, r.ID), SK: "STEP#" + st.StepID.String(), Status: string(st.Status),
		Attempts: st.Attempts, Open: st.Last.Open, State: state, Reused: st.Reused != "",
	}
	if st.Approval != nil && st.Approval.Decision == "" {
		row.Until = kv.Millis(st.Approval.ExpiresAt)
	}
	return row, err
}

// packState returns the stored bytes of a state. The bodies of answers stay as they were
// received: no character is escaped.
func packState(st plan.StepState) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(st); err != nil {
		return nil, err
	}
	return kv.Zip(b.Bytes())
}

// putStep returns the write of a step's state, which needs the one before it to be as
// the run that was read has it. A decision also needs that the step still waits by at.
func putStep(r plan.Run, st plan.StepState, decided time.Time) kv.Write {
	row, err := rowOfStep(r, st)
	before := slices.IndexFunc(r.Steps, func(s plan.StepState) bool { return s.StepID == st.StepID && !s.UpdatedAt.IsZero() })
	if before < 0 {
		return kv.Put(row, "attribute_not_exists(PK) OR attribute_exists(reused)", fault.ErrMoved).Unless(err)
	}
	was := r.Steps[before]
	condition, values := "attempts = :n AND #open = :open AND #status = :was", kv.Item{
		":n": kv.N(int64(was.Attempts)), ":open": kv.Bool(was.Last.Open), ":was": kv.S(string(was.Status)),
	}
	w := kv.Put(row, condition, fault.ErrMoved).With(values).Named("#open", "open").Named("#status", "status").Unless(err)
	if !decided.IsZero() {
		values[":now"] = kv.N(kv.Millis(decided))
		w = w.If(condition+" AND #until > :now", values).Named("#until", "until")
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

// BeginStep writes the intent of an attempt. It is the first one, or the one before it has ended, or
// may be repeated and is as it was read. No step begins after a request to stop the run, and no undo
// before BeginUndo.
func (s *Store) BeginStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error) {
	condition := "attribute_not_exists(cancel_at) AND attribute_not_exists(undo_at)"
	if st.StepID.Undo() {
		condition = "attribute_exists(undo_at)"
	}
	return s.writeStep(ctx, stepWrite{run: r, state: st, to: statusAfter(r, st), rec: rec, condition: condition})
}

// EndStep writes the result of the attempt that was read, or the reason why there was none.
func (s *Store) EndStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error) {
	return s.writeStep(ctx, stepWrite{run: r, state: st, to: statusAfter(r, st), rec: rec})
}

// statusAfter returns the status of a run after a step's new state: a waiting run runs again
// when none of its steps waits any more.
func statusAfter(r plan.Run, st plan.StepState) plan.Status {
	waits := func(s plan.StepState) bool { return s.Status == plan.StepWaiting }
	if r.Status == plan.Waiting && !slices.ContainsFunc(r.With(st).Steps, waits) {
		return plan.Running
	}
	return r.Status
}

// stepWrite is a step's new state and the run's transition that goes with it: to
// another status, or to the one it has.
type stepWrite struct {
	run       plan.Run
	state     plan.StepState
	to        plan.Status
	rec       run.Record
	condition string    // on the run, beside that it is as it was read
	due       time.Time // when the sweep looks again; zero: as it was, or soon for a run that goes on
	decided   time.Time // of a decision: the step must still wait by then
}

// writeStep writes all of it, or nothing when the run or the step is not as it was
// read.
func (s *Store) writeStep(ctx context.Context, step stepWrite) (plan.Run, error) {
	r := step.run
	st, err := s.apart(ctx, r, step.state)
	if err != nil {
		return r, err
	}
	t, err := stay(r, step.rec)
	if step.to != r.Status {
		t, err = begin(r, step.to, step.rec)
	}
	if err != nil {
		return r, err
	}
	t.post()
	t.add(putStep(r, st, step.decided))
	if step.due.IsZero() && step.to != r.Status {
		step.due = step.rec.At.Add(run.CheckEvery)
	}
	set, remove, values := "", "", kv.Item(nil)
	switch {
	case r.Status.Terminal():
		remove = "link"
		set, values = needsPlace(step.rec.At, r.ID)
	case !step.due.IsZero():
		set, values = "DueSK = :at", kv.Item{":at": kv.S(kv.At(step.due, r.ID))}
	}
	t.update(set, remove, step.condition, values)
	t.next = t.next.With(st)
	if !step.due.IsZero() {
		t.next.DueAt = step.due
	}
	return s.commit(ctx, t)
}
