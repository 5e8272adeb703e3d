package dynamo

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/plan"
	"piloto/internal/run"
)

type binary = types.AttributeValueMemberB

// stepRow is what became of a step. State is the JSON of a plan.StepState,
// gzipped when that is shorter; attempts and open are the conditions.
type stepRow struct {
	PK       string `dynamodbav:"PK"`
	SK       string `dynamodbav:"SK"`
	Status   string `dynamodbav:"status"`
	Attempts int    `dynamodbav:"attempts"`
	Open     bool   `dynamodbav:"open"`
	State    []byte `dynamodbav:"state"`
}

// maxState leaves an item of 400 KB room for its keys.
const maxState = 380 << 10

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

// putStep returns the write of a step's state. A conditional one needs the state to
// be as the run that was read has it.
func (t *Table) putStep(r plan.Run, st plan.StepState, conditional bool) (write, error) {
	raw, err := json.Marshal(st)
	if err != nil {
		return write{}, err
	}
	state, err := zip(raw)
	if err != nil {
		return write{}, err
	}
	if len(state) > maxState && st.Result != nil {
		// Incompressible and too large for one item: keep that there was an
		// answer and its beginning, and say that it was cut.
		return t.putStep(r, shortened(st), conditional)
	}
	row := stepRow{
		PK: runKey(r.Account, r.ID), SK: "STEP#" + st.StepID, Status: string(st.Status),
		Attempts: st.Attempts, Open: st.Last.Open, State: state,
	}
	if !conditional {
		return t.put(row, "", plan.ErrMoved)
	}
	before := slices.IndexFunc(r.Steps, func(s plan.StepState) bool { return s.StepID == st.StepID && !s.UpdatedAt.IsZero() })
	if before < 0 {
		return t.put(row, "attribute_not_exists(PK)", plan.ErrMoved)
	}
	was := r.Steps[before]
	w, err := t.put(row, "attempts = :n AND #open = :open AND #status = :was", plan.ErrMoved)
	if err == nil {
		w.Put.ExpressionAttributeValues = item{
			":n": num(int64(was.Attempts)), ":open": &types.AttributeValueMemberBOOL{Value: was.Last.Open}, ":was": str(string(was.Status)),
		}
		w.Put.ExpressionAttributeNames = map[string]string{"#open": "open", "#status": "status"}
	}
	return w, err
}

// Whole returns a result with all of its body.
func (t *Table) Whole(_ context.Context, _ plan.Run, _ string, res plan.Result) (plan.Result, error) {
	return res, nil
}

func shortened(st plan.StepState) plan.StepState {
	const keep = 64 << 10
	res := *st.Result
	head := []byte(res.Body)
	if len(head) > keep {
		head = head[:keep]
	}
	res.Body, _ = json.Marshal(string(bytes.ToValidUTF8(head, nil)))
	res.Truncated = true
	st.Result = &res
	if len(st.Last.Body) > keep {
		st.Last.Body = nil
	}
	return st
}

// BeginStep writes the intent of an attempt: before it, there was none, or the
// one before it has ended, or may be repeated and is as it was read.
func (t *Table) BeginStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error) {
	condition := "attribute_not_exists(cancel_at)"
	if plan.ParseEffect(st.StepID).Undo {
		condition = "attribute_exists(undo_at)"
	}
	return t.writeStep(ctx, r, r.Status, st, rec, "", "", condition, nil)
}

// EndStep writes what became of the attempt that was read, or why there was none.
func (t *Table) EndStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error) {
	return t.writeStep(ctx, r, r.Status, st, rec, "", "", "", nil)
}

func seen(st plan.StepState) item {
	return item{":n": num(int64(st.Attempts)), ":open": &types.AttributeValueMemberBOOL{Value: st.Last.Open}}
}

// writeStep writes a step's state and the run's transition that goes with it: to
// another status, or none. Both are as they were read, or nothing is written.
func (t *Table) writeStep(ctx context.Context, r plan.Run, to plan.Status, st plan.StepState, rec run.Record,
	set, remove, onRun string, values item,
) (plan.Run, error) {
	w, err := t.putStep(r, st, true)
	if err != nil {
		return r, err
	}
	writes, err := t.record(r, true, rec)
	if err != nil {
		return r, err
	}
	moved := t.advance(r, rec, set, remove, onRun, values)
	if to != r.Status {
		if moved, err = t.move(r, to, rec, set, remove, onRun, values); err != nil {
			return r, err
		}
	}
	next := withState(after(r, to, rec), st)
	return next, t.moved(ctx, next, true, rec, t.commit(ctx, append(writes, w, moved)...))
}

// withState is the run with a step's new state.
func withState(r plan.Run, st plan.StepState) plan.Run {
	at := slices.IndexFunc(r.Steps, func(s plan.StepState) bool { return s.StepID == st.StepID })
	r.Steps = slices.Clone(r.Steps)
	if at < 0 {
		r.Steps = append(r.Steps, st)
	} else {
		r.Steps[at] = st
	}
	return r
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
