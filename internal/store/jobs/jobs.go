// Package jobs owns the rows of jobs: the job, its rounds, its events, and the full results of its reads.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/live/hook"
	"piloto/internal/runs/plan"
	"piloto/internal/store/hooks"
	"piloto/internal/store/kv"
)

// Store is the jobs of a table.
type Store struct{ table *kv.Table }

// New returns the jobs of a table.
func New(table *kv.Table) *Store { return &Store{table} }

const (
	jobKind   = "JOB"
	roundKind = "ROUND#"
	eventKind = "EVENT#"
	textKind  = "TEXT#"
	waitKind  = "WAIT"
	dueJobs   = "JOBS"
)

// life is how long the rows of a job are kept after its latest end.
const life = 90 * 24 * time.Hour

func jobsOf(account ids.Account) string { return kv.Account(account) + "#JOBS" }

func keyOf(account ids.Account, id, sk string) kv.Key { return kv.Key{PK: kv.Job(account, id), SK: sk} }

var (
	jobDocument   = kv.Document[job.Job]{Name: "job"}
	roundDocument = kv.Document[job.Round]{Name: "round"}
	eventList     = kv.Document[[]job.Event]{Name: "job_events"}
)

type jobRow struct {
	kv.Key
	ListPK  string      `dynamodbav:"GSI1PK"`
	ListSK  string      `dynamodbav:"GSI1SK"`
	JobID   string      `dynamodbav:"job_id"`
	Account ids.Account `dynamodbav:"account"`
	Job     []byte      `dynamodbav:"job"` // JSON of job.Job, gzipped when that is shorter
	Version int64       `dynamodbav:"version"`
	Listed  bool        `dynamodbav:"listed,omitempty"` // its waitRow is in the list
	DuePK   string      `dynamodbav:"DuePK,omitempty"`  // until it ended
	DueSK   string      `dynamodbav:"DueSK,omitempty"`
	TTL     int64       `dynamodbav:"ttl"`
}

func rowOfJob(j job.Job) (jobRow, error) {
	raw, err := jobDocument.Pack(j)
	row := jobRow{
		Key: keyOf(j.Account, j.ID, jobKind), ListPK: jobsOf(j.Account), ListSK: kv.At(j.CreatedAt, j.ID),
		JobID: j.ID, Account: j.Account, Job: raw, Version: j.Version, Listed: j.Listed, TTL: j.EndsAt.Add(life).Unix(),
	}
	if !j.Status.Terminal() {
		row.DuePK, row.DueSK = kv.DueList(dueJobs, j.Account), kv.At(j.DueAt, j.ID)
	}
	return row, err
}

func (row jobRow) job() (job.Job, error) {
	j, err := jobDocument.Unpack(row.Job)
	j.ID, j.Account, j.Version, j.Listed = row.JobID, row.Account, row.Version, row.Listed
	var ms int64
	if _, scanErr := fmt.Sscanf(row.DueSK, "%d#", &ms); scanErr == nil {
		j.DueAt = kv.Time(ms)
	}
	return j, err
}

// roundRow is a round. Its state is beside the document, because conditions compare it.
type roundRow struct {
	kv.Key
	Attempt  int    `dynamodbav:"attempt"`
	Answered bool   `dynamodbav:"answered"`
	Round    []byte `dynamodbav:"round"` // JSON of job.Round, gzipped when that is shorter
	TTL      int64  `dynamodbav:"ttl"`
}

func rowOfRound(j job.Job, r job.Round) (roundRow, error) {
	raw, err := roundDocument.Pack(r)
	return roundRow{
		Key: keyOf(j.Account, j.ID, roundKind+kv.Pad(int64(r.N), 4)), Attempt: r.Attempt, Answered: !r.Answered.IsZero(), Round: raw,
		TTL: j.EndsAt.Add(life).Unix(),
	}, err
}

// eventsRow is the events of one write, by the number of the last one.
type eventsRow struct {
	kv.Key
	Events []byte `dynamodbav:"events"` // JSON of []job.Event, gzipped when that is shorter
	TTL    int64  `dynamodbav:"ttl"`
}

// textRow is the full result of a read.
type textRow struct {
	kv.Key
	Text []byte `dynamodbav:"text"` // gzipped when that is shorter
	TTL  int64  `dynamodbav:"ttl"`
}

// waitRow is a job that waits for a person. When it waits no longer it has no list key.
type waitRow struct {
	kv.Key
	ListPK string `dynamodbav:"GSI1PK,omitempty"`
	ListSK string `dynamodbav:"GSI1SK,omitempty"`
	ChatID string `dynamodbav:"chat_id"`
	Agent  string `dynamodbav:"agent"`
	Title  string `dynamodbav:"title"`
	RunID  string `dynamodbav:"run_id,omitempty"`
	Asked  int64  `dynamodbav:"asked_at"` // unix milliseconds, as Due
	Due    int64  `dynamodbav:"due_at"`
	TTL    int64  `dynamodbav:"ttl"`
}

func rowOfWait(j job.Job) waitRow {
	row := waitRow{
		Key: keyOf(j.Account, j.ID, waitKind), ChatID: j.ChatID, Agent: j.Agent, Title: conversation.Title(cmp.Or(j.Question, j.Prompt)), RunID: j.RunID,
		Asked: kv.Millis(j.Waited), Due: kv.Millis(j.EndsAt), TTL: j.EndsAt.Add(life).Unix(),
	}
	if j.Listed {
		row.ListPK, row.ListSK = kv.Waiting(j.Account), kv.At(j.EndsAt, j.ID)
	}
	return row
}

var errNoWait = errors.New("jobs: it never waited")

// WaitOf reads the wait of a job for a list; nil when the job does not wait.
func WaitOf(ctx context.Context, table *kv.Table, account ids.Account, id string) (*plan.ListedWait, error) {
	var row waitRow
	err := table.Get(ctx, keyOf(account, id, waitKind), &row, errNoWait)
	if errors.Is(err, errNoWait) || err == nil && row.ListPK == "" {
		return nil, nil
	}
	return &plan.ListedWait{
		Wait: plan.Wait{Kind: plan.WaitJob, Asked: kv.Time(row.Asked), Due: kv.Time(row.Due)},
		Job:  plan.JobWait{ID: id, Agent: row.Agent, ChatID: row.ChatID, Title: row.Title, RunID: row.RunID},
	}, err
}

// Awaits reports whether the agent of a job gets the outcome of a run: the job goes on when the run ended.
func Awaits(ctx context.Context, table *kv.Table, account ids.Account, id, runID string) (bool, error) {
	j, err := New(table).Job(ctx, account, id)
	if errors.Is(err, job.ErrNotFound) {
		return false, nil
	}
	return j.Awaits(runID), err
}

// Hurry makes a job due for the next sweep. A job that ended, or that is missing, stays as it is.
func Hurry(ctx context.Context, table *kv.Table, account ids.Account, id string) error {
	return table.Do(ctx, kv.Update(keyOf(account, id, jobKind)).Set("DueSK", kv.At(time.UnixMilli(0), id)).If(kv.Exists("DuePK")))
}

// CreateJob implements job.Store.
func (s *Store) CreateJob(ctx context.Context, j job.Job, events ...job.Event) (job.Job, error) {
	j, writes, err := writesOf(j, events)
	if err != nil {
		return j, err
	}
	row, err := rowOfJob(j)
	created := kv.Insert(row).Else(kv.ErrTaken).Unless(err)
	err = s.table.Commit(ctx, append([]kv.Write{created}, writes...)...) // the job first: when it is there, its events are, too
	if errors.Is(err, kv.ErrTaken) {
		return s.Job(ctx, j.Account, j.ID)
	}
	return j, err
}

// SaveJob implements job.Store. The end of a failed job has a notification.
func (s *Store) SaveJob(ctx context.Context, j job.Job, rounds []job.Round, events ...job.Event) (job.Job, error) {
	if failpoint.On && len(events) > 0 { // a write is a failpoint of its own for each list of events
		name := nameOf(events)
		failpoint.At("jobs", name, "before")
		defer failpoint.At("jobs", name, "after")
	}
	seen, listed := j.Version, j.Listed
	j, writes, err := writesOf(j, events)
	if err != nil {
		return j, err
	}
	for _, r := range rounds {
		row, err := rowOfRound(j, r)
		writes = append(writes, kv.Put(row).Unless(err))
	}
	if j.Listed = j.WaitsForPerson(); j.Listed || listed {
		writes = append(writes, kv.Put(rowOfWait(j)))
	}
	row, err := rowOfJob(j)
	saved := kv.Put(row).If(kv.Is("version", seen)).Else(fault.ErrMoved).Unless(err)
	outbox, err := s.notifications(ctx, j, events)
	if err != nil {
		return j, err
	}
	return j, s.table.Commit(ctx, slices.Concat(writes, []kv.Write{saved}, outbox)...)
}

// notifications returns the outbox row for the end of a job that failed, if its events have one.
func (s *Store) notifications(ctx context.Context, j job.Job, events []job.Event) ([]kv.Write, error) {
	ended := slices.IndexFunc(events, func(e job.Event) bool { return e.Type == job.EventEnded })
	if ended < 0 || j.Status != job.Failed {
		return nil, nil
	}
	m, err := hook.NewMessage(hook.AgentFailed, events[ended].At, hook.AgentData{
		Agent: j.Agent, Error: string(j.StopReason), ChatID: j.ChatID, JobID: j.ID, User: j.User, Path: hook.ChatPath(j.ChatID),
	})
	if err != nil {
		return nil, err
	}
	return hooks.Tell(ctx, s.table, j.Account, j.ID, m.At, m)
}

// nameOf returns the types of events as the name of a failpoint.
func nameOf(events []job.Event) string {
	var types []string
	for _, e := range events {
		types = append(types, strings.TrimPrefix(e.Type, "job."))
	}
	return strings.Join(types, "+")
}

// writesOf numbers the events of a write, and returns the job after it with the write of the events.
func writesOf(j job.Job, events []job.Event) (job.Job, []kv.Write, error) {
	j.Version++
	if len(events) == 0 {
		return j, nil, nil
	}
	for i := range events {
		j.Events++
		events[i].Seq = j.Events
	}
	raw, err := eventList.Pack(events)
	row := eventsRow{
		Key: keyOf(j.Account, j.ID, eventKind+kv.Pad(int64(j.Events), 6)), Events: raw, TTL: j.EndsAt.Add(life).Unix(),
	}
	return j, []kv.Write{kv.Insert(row).Else(fault.ErrMoved)}, err
}

// AskRound implements job.Store.
func (s *Store) AskRound(ctx context.Context, j job.Job, r job.Round) error {
	row, err := rowOfRound(j, r)
	unchanged := kv.Missing("PK")
	if r.Attempt > 1 {
		unchanged = kv.All(kv.Is("attempt", r.Attempt-1), kv.Is("answered", false))
	}
	return s.table.Do(ctx, kv.Put(row).If(unchanged).Else(fault.ErrMoved).Unless(err))
}

// AnswerRound implements job.Store.
func (s *Store) AnswerRound(ctx context.Context, j job.Job, r job.Round) error {
	row, err := rowOfRound(j, r)
	w := kv.Put(row).If(kv.Is("attempt", r.Attempt), kv.Is("answered", false))
	return s.table.Do(ctx, w.Else(fault.ErrMoved).Unless(err))
}

// KeepText implements job.Store.
func (s *Store) KeepText(ctx context.Context, j job.Job, lookID, text string) error {
	packed, err := kv.Zip([]byte(text))
	row := textRow{Key: keyOf(j.Account, j.ID, textKind+lookID), Text: packed, TTL: j.EndsAt.Add(life).Unix()}
	return s.table.Do(ctx, kv.Put(row).Unless(err))
}

var errNoText = errors.New("jobs: no text of this look is kept")

// Text implements job.Store.
func (s *Store) Text(ctx context.Context, account ids.Account, id, lookID string) (string, error) {
	var row textRow
	err := s.table.Get(ctx, keyOf(account, id, textKind+lookID), &row, errNoText)
	if errors.Is(err, errNoText) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := kv.Unzip(row.Text)
	return string(text), err
}

// Job implements job.Reader.
func (s *Store) Job(ctx context.Context, account ids.Account, id string) (job.Job, error) {
	var row jobRow
	if err := s.table.Get(ctx, keyOf(account, id, jobKind), &row, job.ErrNotFound); err != nil {
		return job.Job{}, err
	}
	return row.job()
}

// Jobs implements job.Reader.
func (s *Store) Jobs(ctx context.Context, account ids.Account, cursor string, limit int) ([]job.Job, string, error) {
	items, next, err := s.table.Page(ctx, "jobs\x00"+string(account), kv.Listed(jobsOf(account)), cursor, limit)
	if err != nil {
		return nil, "", err
	}
	list, err := kv.Readable(ctx, s.table, items, jobRow.job)
	return list, next, err
}

// Rounds implements job.Store.
func (s *Store) Rounds(ctx context.Context, account ids.Account, id string) ([]job.Round, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Job(account, id), roundKind), 0)
	if err != nil {
		return nil, err
	}
	rows, err := kv.DecodeAll[roundRow](items)
	if err != nil {
		return nil, err
	}
	list := make([]job.Round, len(rows))
	for i, row := range rows {
		if list[i], err = roundDocument.Unpack(row.Round); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// JobEvents implements job.Reader.
func (s *Store) JobEvents(ctx context.Context, account ids.Account, id string, after, limit int) ([]job.Event, error) {
	span := kv.Rows(kv.Job(account, id), eventKind)
	span.From = eventKind + kv.Pad(int64(after+1), 6)
	var list []job.Event
	err := s.table.Each(ctx, span, limit, func(it kv.Item) (bool, error) {
		var row eventsRow
		if err := kv.Decode(it, &row); err != nil {
			return false, err
		}
		events, err := eventList.Unpack(row.Events)
		for _, e := range events {
			if e.Seq > after && len(list) < limit {
				list = append(list, e)
			}
		}
		return len(list) < limit, err
	})
	return list, err
}

// DueJobs implements job.Store.
func (s *Store) DueJobs(ctx context.Context, at time.Time, limit int) ([]sweep.Row[job.Key], error) {
	return kv.DueRows(ctx, s.table, dueJobs, at, limit, func(k kv.DueKey) (job.Key, error) {
		account, id, ok := kv.JobOf(k.PK)
		if !ok {
			return job.Key{}, k.Unknown()
		}
		return job.Key{Account: account, ID: id}, nil
	})
}
