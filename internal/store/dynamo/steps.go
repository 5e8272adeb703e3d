package dynamo

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

type binary = types.AttributeValueMemberB

// stepRow is what became of a step. State is the JSON of a plan.StepState,
// gzipped when that is shorter; status, attempts and open are the conditions, and of
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

// arranged are the states of a plan's effects: of its steps in their order, then of
// elements and undos that there are. What is another run's counts only while the plan
// names it, and what the plan has no step of does not count.
func arranged(p plan.Plan, stored []plan.StepState) []plan.StepState {
	known := map[string]plan.StepState{}
	var beside []string
	for _, st := range stored {
		if st.Reused != "" && (p.Reuse == nil || !slices.Contains(p.Reuse.Steps, st.StepID)) {
			continue
		}
		if _, ok := p.Step(st.StepID); !ok {
			continue
		}
		if e := plan.ParseEffect(st.StepID); e.Undo || e.Item >= 0 {
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
		states, place[s.ID] = append(states, st), i
	}
	slices.SortStableFunc(beside, func(a, b string) int {
		x, y := plan.ParseEffect(a), plan.ParseEffect(b)
		if x.Undo != y.Undo {
			return map[bool]int{false: -1, true: 1}[x.Undo]
		}
		return cmp.Or(place[x.Step]-place[y.Step], x.Item-y.Item)
	})
	for _, id := range beside {
		states = append(states, known[id])
	}
	return states
}

func stepOf(it item) (plan.StepState, error) {
	var row stepRow
	var st plan.StepState
	if err := attributevalue.UnmarshalMap(it, &row); err != nil {
		return st, err
	}
	raw, err := unzip(row.State)
	if err != nil {
		return st, fmt.Errorf("dynamo: %s %s: %w", row.PK, row.SK, err)
	}
	return st, json.Unmarshal(raw, &st)
}

// rowOfStep is a step's state as it is stored.
func rowOfStep(r plan.Run, st plan.StepState) (stepRow, error) {
	raw, err := written(st)
	if err != nil {
		return stepRow{}, err
	}
	state, err := zip(raw)
	if err != nil {
		return stepRow{}, err
	}
	if len(state) > maxState {
		if raw, err = written(shortened(st)); err != nil {
			return stepRow{}, err
		}
		if state, err = zip(raw); err != nil {
			return stepRow{}, err
		}
	}
	row := stepRow{
		PK: runKey(r.Account, r.ID), SK: "STEP#" + st.StepID, Status: string(st.Status),
		Attempts: st.Attempts, Open: st.Last.Open, State: state, Reused: st.Reused != "",
	}
	if st.Approval != nil && st.Approval.Decision == "" {
		row.Until = millis(st.Approval.ExpiresAt)
	}
	return row, nil
}

// written is the JSON of a state. What was answered stays as it was answered: no
// character of it is written as another.
func written(st plan.StepState) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(st)
	return b.Bytes(), err
}

// putStep returns the write of a step's state, which needs the one before it to be as
// the run that was read has it. A decision also needs that the step still waits by at.
func (t *Table) putStep(r plan.Run, st plan.StepState, decided time.Time) (write, error) {
	row, err := rowOfStep(r, st)
	if err != nil {
		return write{}, err
	}
	before := slices.IndexFunc(r.Steps, func(s plan.StepState) bool { return s.StepID == st.StepID && !s.UpdatedAt.IsZero() })
	if before < 0 {
		return t.put(row, "attribute_not_exists(PK) OR attribute_exists(reused)", plan.ErrMoved)
	}
	was := r.Steps[before]
	w, err := t.put(row, "attempts = :n AND #open = :open AND #status = :was", plan.ErrMoved)
	if err != nil {
		return w, err
	}
	w.Put.ExpressionAttributeValues = item{
		":n": num(int64(was.Attempts)), ":open": &types.AttributeValueMemberBOOL{Value: was.Last.Open}, ":was": str(string(was.Status)),
	}
	w.Put.ExpressionAttributeNames = map[string]string{"#open": "open", "#status": "status"}
	if !decided.IsZero() {
		w.Put.ConditionExpression = aws.String(*w.Put.ConditionExpression + " AND #until > :now")
		w.Put.ExpressionAttributeNames["#until"] = "until"
		w.Put.ExpressionAttributeValues[":now"] = num(millis(decided))
	}
	return w, nil
}

// shortened is a state that is too large for an item even so: it keeps the beginning
// of what was, or would be, sent, whose hash is kept whole.
func shortened(st plan.StepState) plan.StepState {
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

// BeginStep writes the intent of an attempt: before it, there was none, or the
// one before it has ended, or may be repeated and is as it was read. No step begins
// after somebody asked the run to stop, and no undo before undoing began.
func (t *Table) BeginStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error) {
	condition := "attribute_not_exists(cancel_at) AND attribute_not_exists(undo_at)"
	if plan.ParseEffect(st.StepID).Undo {
		condition = "attribute_exists(undo_at)"
	}
	return t.writeStep(ctx, stepWrite{run: r, state: st, to: goesOn(r, st), rec: rec, condition: condition})
}

// EndStep writes what became of the attempt that was read, or why there was none.
func (t *Table) EndStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error) {
	return t.writeStep(ctx, stepWrite{run: r, state: st, to: goesOn(r, st), rec: rec})
}

// goesOn is the status of a run when a step of it does: one that waited runs again
// when none of its steps waits any more.
func goesOn(r plan.Run, st plan.StepState) plan.Status {
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
func (t *Table) writeStep(ctx context.Context, s stepWrite) (plan.Run, error) {
	r := s.run
	st, err := t.apart(ctx, r, s.state)
	if err != nil {
		return r, err
	}
	w, err := t.putStep(r, st, s.decided)
	if err != nil {
		return r, err
	}
	writes, err := t.record(r, true, s.rec)
	if err != nil {
		return r, err
	}
	if s.due.IsZero() && s.to != r.Status {
		s.due = s.rec.At.Add(run.CheckEvery)
	}
	set, remove, values := "", "", item(nil)
	switch {
	case r.Status.Terminal():
		remove = "link"
		set, values = unplaced(s.rec.At, r.ID)
	case !s.due.IsZero():
		set, values = "DueSK = :at", item{":at": str(dueAt(s.due, r.ID))}
	}
	moved := t.advance(r, s.rec, set, remove, s.condition, values)
	if s.to != r.Status {
		if moved, err = t.move(r, s.to, s.rec, set, s.condition, values); err != nil {
			return r, err
		}
	}
	next := after(r, s.to, s.rec).With(st)
	if !s.due.IsZero() {
		next.DueAt = s.due
	}
	return next, t.moved(ctx, next, true, s.rec, t.commit(ctx, append(writes, w, moved)...))
}

func zip(raw []byte) ([]byte, error) {
	if len(raw) < 1024 {
		return raw, nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(raw); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	if b.Len() >= len(raw) {
		return raw, nil
	}
	return b.Bytes(), nil
}

// maxUnzipped bounds what one stored value may grow to.
const maxUnzipped = 64 << 20

func unzip(raw []byte) ([]byte, error) {
	if len(raw) < 2 || raw[0] != 0x1f || raw[1] != 0x8b {
		return raw, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, maxUnzipped+1))
	if len(out) > maxUnzipped {
		return nil, errors.New("larger than anything that was stored")
	}
	return out, err
}
