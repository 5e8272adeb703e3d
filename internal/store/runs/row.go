package runs

import (
	"fmt"

	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/store/kv"
)

var (
	revisions = kv.Document[plan.Revision]{Name: "revision"}
	failures  = kv.Document[plan.Failure]{Name: "failure"}
	withdrawn = kv.Document[plan.Withdrawal]{Name: "withdrawal"}
	dropped   = kv.Document[plan.Dropped]{Name: "dropped plan"}
	states    = kv.Document[plan.StepState]{Name: "step"}
	ruleLists = kv.Document[[]rule.Rule]{Name: "rules"}
)

// runRow is a run as it is stored. Its plan stands beside it (planKey), because every event writes
// this row, and nothing changes the plan of a run that was confirmed.
type runRow struct {
	Format int `dynamodbav:"v"` // kv.Format
	kv.Key
	RunID      string          `dynamodbav:"run_id"`
	Account    ids.Account     `dynamodbav:"account"`
	User       string          `dynamodbav:"user"`
	ChatID     string          `dynamodbav:"chat_id"`
	ProjectID  string          `dynamodbav:"project_id,omitempty"`
	Locale     string          `dynamodbav:"locale"`
	TraceID    string          `dynamodbav:"trace_id,omitempty"`
	Digest     string          `dynamodbav:"digest"`
	Status     string          `dynamodbav:"status"`
	Error      []byte          `dynamodbav:"error,omitempty"`
	EventSeq   int             `dynamodbav:"event_seq"`
	CancelAt   int64           `dynamodbav:"cancel_at,omitempty"`
	ConfirmBy  string          `dynamodbav:"confirm_by,omitempty"`
	Confirmer  string          `dynamodbav:"confirmer,omitempty"`
	Reason     string          `dynamodbav:"reason,omitempty"`
	Withdrawn  []byte          `dynamodbav:"withdrawn,omitempty"` // plan.Withdrawal
	Dropped    []byte          `dynamodbav:"dropped,omitempty"`   // plan.Dropped
	Retries    string          `dynamodbav:"retries,omitempty"`
	Besides    []string        `dynamodbav:"besides,omitempty"`
	Next       string          `dynamodbav:"next_run_id,omitempty"`
	UndoAt     int64           `dynamodbav:"undo_at,omitempty"`
	Question   string          `dynamodbav:"question,omitempty"`
	Conclude   string          `dynamodbav:"conclude,omitempty"`
	Chain      string          `dynamodbav:"chain,omitempty"`
	Link       int             `dynamodbav:"link,omitempty"`
	Handouts   int             `dynamodbav:"handouts,omitempty"`
	JobID      string          `dynamodbav:"job_id,omitempty"`
	ReadFrom   []string        `dynamodbav:"read_from,omitempty"`
	Unanswered []unansweredRow `dynamodbav:"unanswered,omitempty"` // requests of its chat whose keys it sends again
	ExpiresAt  int64           `dynamodbav:"expires_at"`           // unix milliseconds, as every time here
	CreatedAt  int64           `dynamodbav:"created_at"`
	UpdatedAt  int64           `dynamodbav:"updated_at"`
	DuePK      string          `dynamodbav:"DuePK,omitempty"`
	DueSK      string          `dynamodbav:"DueSK,omitempty"`
	ListPK     string          `dynamodbav:"GSI1PK,omitempty"` // of a draft: kv.Waiting
	ListSK     string          `dynamodbav:"GSI1SK,omitempty"`
	Done       int             `dynamodbav:"done"` // how many steps are done
	EndedAt    int64           `dynamodbav:"ended_at,omitempty"`
	Micros     int64           `dynamodbav:"cost_micros,omitempty"` // of the model calls that were made for it; see Spend
}

func rowOfRun(r plan.Run) runRow {
	row := runRow{
		Format: kv.Format, Key: runKey(r.Account, r.ID), RunID: r.ID, Account: r.Account, User: r.User, ChatID: r.ChatID,
		ProjectID: r.ProjectID, Locale: r.Locale, TraceID: r.TraceID, Digest: string(r.Digest),
		Status: string(r.Status), EventSeq: r.EventSeq, ConfirmBy: r.ConfirmBy, Confirmer: r.Confirmer,
		Reason: r.Reason, Retries: r.Retries, Besides: r.Besides, Question: r.Question, Conclude: string(r.Conclude), Chain: r.Chain, Link: r.Link, Handouts: r.Handouts, JobID: r.JobID, ReadFrom: r.ReadFrom,
		ExpiresAt: kv.Millis(r.Plan.ExpiresAt), CreatedAt: kv.Millis(r.CreatedAt), UpdatedAt: kv.Millis(r.UpdatedAt),
	}
	if !r.DueAt.IsZero() {
		row.DuePK, row.DueSK = kv.DueList(dueRuns, r.Account), kv.At(r.DueAt, r.ID)
	}
	if r.Status == plan.Draft {
		row.ListPK, row.ListSK = kv.Waiting(r.Account), kv.At(r.Plan.ExpiresAt, r.ID)
	}
	row.Done = r.DoneSteps()
	if r.Dropped != nil {
		row.Dropped, _ = dropped.Encode(*r.Dropped) // texts and a number
	}
	return row
}

func (row runRow) run() (plan.Run, error) {
	r := plan.Run{
		ID: row.RunID, Account: row.Account, User: row.User, ChatID: row.ChatID, ProjectID: row.ProjectID,
		Locale: row.Locale, TraceID: row.TraceID, Digest: plan.Digest(row.Digest), Status: plan.Status(row.Status),
		EventSeq: row.EventSeq, ConfirmBy: row.ConfirmBy, Confirmer: row.Confirmer, Reason: row.Reason,
		Retries: row.Retries, Besides: row.Besides, Next: row.Next, Question: row.Question, Conclude: plan.Conclude(row.Conclude), Chain: row.Chain, Link: row.Link,
		Handouts: row.Handouts, JobID: row.JobID, ReadFrom: row.ReadFrom, CreatedAt: kv.Time(row.CreatedAt), UpdatedAt: kv.Time(row.UpdatedAt),
	}
	for _, u := range row.Unanswered {
		r.Unanswered = append(r.Unanswered, u.unanswered())
	}
	if row.CancelAt != 0 {
		at := kv.Time(row.CancelAt)
		r.CancelAt = &at
	}
	if row.UndoAt != 0 {
		at := kv.Time(row.UndoAt)
		r.UndoAt = &at
	}
	if kv.IsDue(row.DuePK, dueRuns) && !r.Status.Terminal() { // one that ended waits for its link in the chain
		var ms int64
		if _, err := fmt.Sscanf(row.DueSK, "%d#", &ms); err == nil {
			r.DueAt = kv.Time(ms)
		}
	}
	var err error
	if r.Error, err = optional(failures, row.Error); err != nil {
		return r, fmt.Errorf("store: run %s: %w", row.RunID, err)
	}
	if r.Withdrawn, err = optional(withdrawn, row.Withdrawn); err != nil {
		return r, fmt.Errorf("store: run %s: %w", row.RunID, err)
	}
	if r.Dropped, err = optional(dropped, row.Dropped); err != nil {
		return r, fmt.Errorf("store: run %s: %w", row.RunID, err)
	}
	return r, nil
}

// optional reads a document that a row may have; nil when it has none.
func optional[T any](d kv.Document[T], raw []byte) (*T, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := d.Decode(raw)
	return &v, err
}

// revisionOf returns the revision of its row.
func revisionOf(it kv.Item) (plan.Revision, error) {
	var row revisionRow
	if err := kv.Decode(it, &row); err != nil {
		return plan.Revision{}, err
	}
	rev, err := revisions.Unpack(row.Revision)
	if err != nil {
		return rev, fmt.Errorf("store: %s %s: %w", row.PK, row.SK, err)
	}
	return rev, nil
}

// eventRow is the events of one transaction: its last one, whose number is in the key, and in Before
// those before it.
type eventRow struct {
	kv.Key
	Seq    int         `dynamodbav:"seq"`
	At     int64       `dynamodbav:"at"`
	Type   string      `dynamodbav:"type"`
	StepID string      `dynamodbav:"step_id,omitempty"`
	Data   []byte      `dynamodbav:"data"`
	Hash   string      `dynamodbav:"hash"`
	Before []eventPart `dynamodbav:"before,omitempty"`
	ListPK string      `dynamodbav:"GSI1PK,omitempty"` // of the first event: runsOf
	ListSK string      `dynamodbav:"GSI1SK,omitempty"`
	ChatID string      `dynamodbav:"chat_id,omitempty"` // of the first event
}

type eventPart struct {
	Seq    int    `dynamodbav:"seq"`
	At     int64  `dynamodbav:"at"`
	Type   string `dynamodbav:"type"`
	StepID string `dynamodbav:"step_id,omitempty"`
	Data   []byte `dynamodbav:"data"`
	Hash   string `dynamodbav:"hash"`
}

// rowOfEvents returns the row of the events of a transaction.
func rowOfEvents(r plan.Run, events []plan.Event) eventRow {
	parts := make([]eventPart, len(events))
	for i, e := range events {
		parts[i] = eventPart{Seq: e.Seq, At: kv.Millis(e.At), Type: e.Type, StepID: e.StepID.String(), Data: e.Data, Hash: e.Hash}
	}
	before, last := parts[:len(parts)-1], parts[len(parts)-1]
	row := eventRow{
		Key: kv.Key{PK: kv.Run(r.Account, r.ID), SK: eventKey(last.Seq)}, Seq: last.Seq, At: last.At, Type: last.Type, StepID: last.StepID,
		Data: last.Data, Hash: last.Hash,
	}
	if len(before) > 0 {
		row.Before = before
	}
	if events[0].Seq == 1 {
		row.ListPK, row.ListSK, row.ChatID = runsOf(r.Account), kv.At(r.CreatedAt, r.ID), r.ChatID
	}
	return row
}

// events returns the events of a row, in order.
func (row eventRow) events() []plan.Event {
	var events []plan.Event
	for _, p := range append(row.Before, eventPart{row.Seq, row.At, row.Type, row.StepID, row.Data, row.Hash}) {
		events = append(events, plan.Event{Seq: p.Seq, At: kv.Time(p.At), Type: p.Type, StepID: plan.ParseEffect(p.StepID), Data: p.Data, Hash: p.Hash})
	}
	return events
}
