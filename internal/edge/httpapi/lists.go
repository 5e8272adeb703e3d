package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// lists adds the routes that list records of an account over all its chats.
func (a *api) lists(s runRecords) {
	register(a, operation{
		method: http.MethodGet, path: "/api/runs", id: "listRuns", access: withChat,
		summary: "List the runs, newest first", failures: []int{404, 422},
	}, s.listRuns)
	register(a, operation{
		method: http.MethodGet, path: "/api/waiting", id: "listWaiting", access: withChat,
		summary: "List what waits for a person, by the time at which it is due, the first one first", failures: []int{404, 422},
	}, s.listWaiting)
}

// RunSummary is a run in a list.
type RunSummary struct {
	RunID       string      `json:"run_id"`
	ChatID      string      `json:"chat_id"`
	ProjectID   string      `json:"project_id,omitempty"`
	Goal        string      `json:"goal"`
	Status      plan.Status `json:"status" enum:"draft,queued,running,waiting,done,error,in_doubt,cancelled,expired,superseded"`
	Digest      plan.Digest `json:"digest"`
	ExpiresAt   time.Time   `json:"expires_at"`
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
	EndedAt     *time.Time  `json:"ended_at,omitempty"`
	ProposedBy  string      `json:"proposed_by" doc:"the user who asked for it"`
	ConfirmedBy string      `json:"confirmed_by,omitempty"`
	Reason      string      `json:"reason,omitempty" doc:"why somebody rejected the draft"`

	Withdrawn *plan.Withdrawal `json:"withdrawn,omitempty" doc:"the model took the draft back, and no person cancelled it"`

	Retries    string        `json:"retries,omitempty" doc:"the run that this one goes on from"`
	StepsDone  int           `json:"steps_done"`
	StepsTotal int           `json:"steps_total"`
	Error      *plan.Failure `json:"error,omitempty"`
	Waits      []RunWait     `json:"waits" nullable:"false" doc:"what waits for a person in it; one may be over"`
}

// RunWait is one thing of a run that waits for a person.
type RunWait struct {
	Kind    plan.WaitKind `json:"kind" enum:"draft,approval,doubt"`
	StepID  string        `json:"step_id,omitempty" doc:"what an approval or a verdict names"`
	AskedAt time.Time     `json:"asked_at"`
	DueAt   *time.Time    `json:"due_at,omitempty" doc:"a doubt has no deadline"`
	Request plan.Digest   `json:"request_digest,omitempty" doc:"of an approval: its request, which the decision must name"`
}

// RunList is a page of runs.
type RunList struct {
	Runs   []RunSummary `json:"runs" nullable:"false"`
	Cursor string       `json:"cursor,omitempty" doc:"of the next page, when there is one. A page may have fewer than limit, or none, although there is one"`
}

// Wait is one thing that waits for a person, with the ids that open it.
type Wait struct {
	Kind     plan.WaitKind `json:"kind" enum:"draft,approval,doubt,job"`
	StepID   string        `json:"step_id,omitempty" doc:"what an approval or a verdict names"`
	AskedAt  time.Time     `json:"asked_at"`
	DueAt    *time.Time    `json:"due_at,omitempty" doc:"a doubt has no deadline; a job ends then, with what it has"`
	RunID    string        `json:"run_id,omitempty" doc:"of a job, the plan for which it waits, if it does not ask"`
	JobID    string        `json:"job_id,omitempty" doc:"the job; of a plan, the job that proposed it"`
	Agent    string        `json:"agent,omitempty" doc:"of a job"`
	ChatID   string        `json:"chat_id"`
	Title    string        `json:"title" doc:"of the step; of a draft, its goal; of a job, the beginning of what it asks, or of its prompt"`
	Goal     string        `json:"goal,omitempty" doc:"of the plan; a job has none"`
	Services []string      `json:"services" nullable:"false" doc:"names of the services that it calls"`
	Digest   plan.Digest   `json:"digest,omitempty" doc:"of the plan, for a confirmation or an approval; a job has none"`
	Request  plan.Digest   `json:"request_digest,omitempty" doc:"of an approval: its request, which the decision must name"`
}

// WaitList is a page of waits.
type WaitList struct {
	Waiting []Wait `json:"waiting" nullable:"false"`
	Cursor  string `json:"cursor,omitempty" doc:"of the next page, when there is one. A page may have fewer than limit, or none, although there is one"`
}

func (s runRecords) listRuns(ctx context.Context, in *struct {
	PageInput
	Status []string `query:"status,explode" maxItems:"10" doc:"only runs of these, repeated or separated by commas: draft, queued, running, waiting, done, error, in_doubt, cancelled, expired, superseded"`
	ChatID string   `query:"chat_id" doc:"only the runs of this chat"`
	From   string   `query:"from" maxLength:"40" doc:"only runs that were proposed from a day (2026-03-01, UTC) or a moment (RFC 3339) on"`
	To     string   `query:"to" maxLength:"40" doc:"only runs that were proposed until a day, which is in it, or before a moment"`
},
) (*reply[RunList], error) {
	account := caller(ctx).Account
	statuses, err := readStatuses(in.Status)
	if err != nil {
		return nil, err
	}
	from, to, _, err := parseEnds(in.From, in.To, errInvalid)
	if err != nil {
		return nil, err
	}
	if err := s.chatOf(ctx, account, in.ChatID); err != nil {
		return nil, err
	}
	heads, cursor, err := s.runs.Runs(ctx, account, plan.Filter{ChatID: in.ChatID, Statuses: statuses, From: from, To: to}, in.Cursor, in.size())
	if err != nil {
		return nil, err
	}
	v := RunList{Runs: make([]RunSummary, len(heads)), Cursor: cursor}
	for i, h := range heads {
		v.Runs[i] = showHead(h)
	}
	return answer(v), nil
}

func (s runRecords) listWaiting(ctx context.Context, in *struct {
	PageInput
	ChatID string `query:"chat_id" doc:"only what waits in this chat"`
},
) (*reply[WaitList], error) {
	account := caller(ctx).Account
	if err := s.chatOf(ctx, account, in.ChatID); err != nil {
		return nil, err
	}
	waits, cursor, err := s.runs.Waiting(ctx, account, in.ChatID, s.config.Now(), in.Cursor, in.size())
	if err != nil {
		return nil, err
	}
	v := WaitList{Waiting: make([]Wait, len(waits)), Cursor: cursor}
	for i, w := range waits {
		v.Waiting[i] = showListedWait(w)
	}
	return answer(v), nil
}

// readStatuses returns the statuses that a query names.
func readStatuses(values []string) ([]plan.Status, error) {
	var list []plan.Status
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			if !slices.Contains(plan.Statuses(), plan.Status(name)) {
				return nil, errInvalid.At(field("enum", "query", "status"))
			}
			list = append(list, plan.Status(name))
		}
	}
	return list, nil
}

// chatOf returns an error for a chat that is not the account's; "" means none.
func (s runRecords) chatOf(ctx context.Context, account ids.Account, id string) error {
	if id == "" {
		return nil
	}
	if !ids.Valid(id) {
		return conversation.ErrChatNotFound
	}
	_, err := s.chats.Chat(ctx, account, id)
	return err
}

func showHead(h plan.Head) RunSummary {
	v := RunSummary{
		RunID: h.ID, ChatID: h.ChatID, ProjectID: h.ProjectID, Goal: h.Plan.Goal, Status: h.Status, Digest: h.Digest,
		ExpiresAt: h.Plan.ExpiresAt.UTC(), CreatedAt: h.CreatedAt.UTC(), UpdatedAt: h.UpdatedAt.UTC(), EndedAt: optionalTime(h.EndedAt.UTC()),
		ProposedBy: h.User, ConfirmedBy: h.Confirmer, Reason: h.Reason, Withdrawn: h.Withdrawn, Retries: h.Retries,
		StepsDone: h.Done, StepsTotal: len(h.Plan.Steps), Error: h.Error, Waits: make([]RunWait, len(h.Open)),
	}
	for i, w := range h.Open {
		v.Waits[i] = showWait(w)
	}
	return v
}

func showWait(w plan.Wait) RunWait {
	return RunWait{Kind: w.Kind, StepID: w.StepID.String(), AskedAt: w.Asked.UTC(), DueAt: optionalTime(w.Due.UTC()), Request: plan.Digest(w.Request)}
}

func showListedWait(w plan.ListedWait) Wait {
	p, shown := w.Run.Plan, showWait(w.Wait)
	if w.Kind == plan.WaitJob {
		return Wait{
			Kind: w.Kind, AskedAt: shown.AskedAt, DueAt: shown.DueAt, RunID: w.Job.RunID, JobID: w.Job.ID, Agent: w.Job.Agent,
			ChatID: w.Job.ChatID, Title: w.Job.Title, Services: []string{},
		}
	}
	v := Wait{
		Kind: w.Kind, StepID: shown.StepID, AskedAt: shown.AskedAt, DueAt: shown.DueAt, RunID: w.Run.ID, JobID: w.Run.JobID,
		ChatID: w.Run.ChatID, Title: p.Goal, Goal: p.Goal, Services: view.Services(p, w.StepID), Digest: w.Run.Digest, Request: plan.Digest(w.Request),
	}
	if step, ok := p.Step(w.StepID); ok {
		v.Title = step.Title
	}
	return v
}
