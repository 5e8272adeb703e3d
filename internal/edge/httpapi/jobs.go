package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/rate"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/chats/toolset"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// Jobs starts and stops jobs.
type Jobs interface {
	Start(ctx context.Context, o job.Order) (job.Job, error)
	Stop(ctx context.Context, account ids.Account, id string) (job.Job, error)
	Tell(ctx context.Context, account ids.Account, user, id string, results []job.ToolResult) (job.Job, error)
}

// Works serves the routes of jobs: POST /api/agents/{name}/jobs, and those below /api/jobs.
func Works(c Config, jobs Jobs, stored job.Reader) http.Handler {
	a := newAPI(c)
	a.jobs(jobs, stored)
	return a.handler()
}

func (a *api) jobs(jobs Jobs, stored job.Reader) {
	a.function = FunctionJobs
	h := jobHandler{a.config, jobs, stored}
	register(a, operation{
		method: http.MethodPost, path: "/api/agents/{name}/jobs", id: "startJob", access: withChat, class: rate.Turns, status: http.StatusAccepted,
		summary:  "Have an agent work on a prompt, for longer than a turn; what it would change is proposed as a plan",
		failures: []int{404, 409, 413, 415, 422, 503},
	}, h.start)
	register(a, operation{
		method: http.MethodGet, path: "/api/jobs", id: "listJobs", access: withChat,
		summary: "List the jobs, newest first", failures: []int{422},
	}, h.list)
	register(a, operation{
		method: http.MethodGet, path: "/api/jobs/{id}", id: "readJob", access: withChat,
		summary: "Read a job", failures: []int{404},
	}, h.read)
	register(a, operation{
		method: http.MethodGet, path: "/api/jobs/{id}/events", id: "listJobEvents", access: withChat,
		summary: "Read what happened in a job, in order", failures: []int{404, 422},
	}, h.events)
	register(a, operation{
		method: http.MethodPost, path: "/api/jobs/{id}/stop", id: "stopJob", access: withChat, class: rate.Decisions, status: http.StatusAccepted,
		summary:  "Stop a job; a plan of it that waits or runs stays as it is",
		failures: []int{404, 409},
	}, h.stop)
	register(a, operation{
		method: http.MethodPost, path: "/api/jobs/{id}/results", id: "tellJob", access: withChat, status: http.StatusAccepted,
		summary:  "Answer the calls of tools that the client of a job carries out itself",
		failures: []int{404, 409, 413, 415, 422},
	}, h.addResults)
}

// JobRequest is the body that starts a job. Absent bounds are those of the agent.
type JobRequest struct {
	Prompt       string `json:"prompt" minLength:"1" doc:"at most 32 KB of UTF-8"`
	ChatID       string `json:"chat_id,omitempty" doc:"where its plans and its answer stand; a chat of its own when absent"`
	BudgetMicros int64  `json:"budget_micros,omitempty" minimum:"1" doc:"what its models may cost, in millionths of a US dollar"`
	MaxSteps     int    `json:"max_steps,omitempty" minimum:"1" maximum:"200" doc:"calls of its model; one more, without tools, closes what was not done by then"`
	TimeoutS     int    `json:"timeout_s,omitempty" minimum:"1" maximum:"604800" doc:"seconds that it may work; what it waits for a plan does not count, and it ends after 7 days"`
	Eval         string `json:"eval,omitempty" enum:"off,basic,full"`
	DryRun       bool   `json:"dry_run,omitempty" doc:"nothing is proposed: it says what it would propose"`

	Mode      string           `json:"mode,omitempty" enum:"confirm-all,confirm-sensitive,yolo" doc:"confirm-all: what would be read is proposed, too"`
	Assistant *agent.Assistant `json:"assistant,omitempty" doc:"the model that works, in place of the agent's"`
	Servers   *[]string        `json:"servers,omitempty" maxItems:"100" doc:"ids of services: of those of the agent it may use only these; an empty list: none"`

	Tools    []ClientTool `json:"tools,omitempty" maxItems:"20" doc:"that the client carries out itself, on its own machine: the job waits for its answers to their calls"`
	Context  string       `json:"context,omitempty" maxLength:"24576" doc:"what the client tells the model about its machine, such as a tree of its files"`
	TimeZone string       `json:"time_zone,omitempty" maxLength:"64" doc:"of the person, as Europe/Madrid: the model is told the time there"`
	Cache    bool         `json:"cache,omitempty" doc:"its model is not asked again what it answered within a day; only where one machine is the deployment"`
}

// ClientTool is a tool that the client of a job carries out itself.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description" doc:"for the model, at most 2000 bytes"`
	Schema      json.RawMessage `json:"schema" doc:"JSON Schema of its arguments, which are an object; at most 4 KB"`
	Writes      bool            `json:"writes,omitempty" doc:"it changes something: a dry run does not call it"`
}

// Resolve refuses a model without a name, and tools that no model can call.
func (r *JobRequest) Resolve(huma.Context) []error {
	wrong := append(r.Assistant.Check(), job.CheckTools(clientTools(r.Tools), toolset.OfServices)...)
	errs := wrongZone(r.TimeZone)
	if len(wrong) > 0 {
		errs = append(errs, errInvalid.At(wrong...))
	}
	return errs
}

// Job is the JSON form of a job.
type Job struct {
	JobID      string                  `json:"job_id"`
	Agent      string                  `json:"agent"`
	ChatID     string                  `json:"chat_id"`
	Prompt     string                  `json:"prompt"`
	DryRun     bool                    `json:"dry_run,omitempty"`
	Status     job.Status              `json:"status" enum:"running,waiting,success,partial,failed"`
	StopReason conversation.StopReason `json:"stop_reason,omitempty" enum:"max_steps,timeout,budget_exceeded,context_full,user_interrupt,llm_error,waiting_expired,client_gone,blocked,throttled,plans_refused" doc:"absent when the agent was done, or is not yet"`
	Stopping   bool                    `json:"stopping,omitempty" doc:"a person asked it to stop"`
	Output     string                  `json:"output,omitempty" doc:"the last text; a message of the chat as well, with its sources"`
	Notes      []conversation.Note     `json:"notes,omitempty" doc:"lines of the system about output, or about question while it waits for its answer, as those of a message"`
	WaitsFor   string                  `json:"waits_for,omitempty" doc:"run_id of the plan that it waits for"`
	Calls      []job.OpenCall          `json:"calls,omitempty" doc:"that its client has to answer: POST …/results"`
	ClientSeen *time.Time              `json:"client_seen,omitempty" doc:"when the client said last that it is there; 90 seconds later it is gone"`
	Changes    []job.ChangedFile       `json:"changes" nullable:"false" doc:"files that its client changed, each once"`
	Commands   []job.RanCommand        `json:"commands" nullable:"false" doc:"that its client ran, in their order"`
	Refused    []JobRefusal            `json:"refused" nullable:"false" doc:"what was refused or could not be done, and was not done since; then the job ends as partial"`
	Unknown    []string                `json:"unknown" nullable:"false" doc:"calls that its client did not answer before the end: they may be done"`
	Unlisted   int                     `json:"unlisted,omitempty" doc:"entries that had no room in these lists"`
	Acted      bool                    `json:"acted" doc:"something was changed, by its client or by a plan, or may have been"`
	Question   string                  `json:"question,omitempty" doc:"that it asks, when it waits for an answer: the next message in its chat"`
	Options    []conversation.Option   `json:"options,omitempty" doc:"of the question: answers to choose from, at most 10"`
	Rounds     int                     `json:"rounds" doc:"calls of its model"`
	Reads      int                     `json:"looks" doc:"reads that it made"`
	CostMicros int64                   `json:"cost_micros" doc:"millionths of a US dollar, with what lost calls may have cost"`
	LostCalls  int                     `json:"lost_calls,omitempty" doc:"calls whose answers were lost"`
	Events     int                     `json:"events" doc:"how many things happened in it: the seq of the last one of GET …/events"`
	MaxSteps   int                     `json:"max_steps"`
	Budget     int64                   `json:"budget_micros,omitempty"`
	CreatedAt  time.Time               `json:"created_at"`
	UpdatedAt  time.Time               `json:"updated_at"`
	EndsAt     time.Time               `json:"ends_at" doc:"the latest time of its end"`
	EndedAt    *time.Time              `json:"ended_at,omitempty"`
}

// JobRefusal is something that was refused in a job.
type JobRefusal struct {
	job.Refusal
	Why string `json:"why" doc:"code as a part of a sentence, in the language of the job"`
}

// JobList is a page of jobs.
type JobList struct {
	Jobs   []Job  `json:"jobs" nullable:"false"`
	Cursor string `json:"cursor,omitempty" doc:"of the next page, when there is one"`
}

// JobEvent is one thing that happened in a job.
type JobEvent struct {
	Seq  int             `json:"seq"`
	At   time.Time       `json:"at"`
	Type string          `json:"type" enum:"job.started,job.round,job.judged,job.lost,job.looked,job.proposed,job.asked,job.replied,job.called,job.told,job.resumed,job.stopping,job.ended"`
	Data json.RawMessage `json:"data"`
}

// JobEventList is a page of a job's events.
type JobEventList struct {
	Events []JobEvent `json:"events" nullable:"false"`
}

func showJob(j job.Job) Job {
	v := Job{
		JobID: j.ID, Agent: j.Agent, ChatID: j.ChatID, Prompt: j.Prompt, DryRun: j.DryRun, Status: j.Status, StopReason: j.StopReason,
		Stopping: !j.StopAt.IsZero() && !j.Status.Terminal(), Output: j.Output, Notes: j.Notes, Rounds: j.Rounds, Reads: j.Reads,
		CostMicros: j.Micros, LostCalls: j.Lost, Events: j.Events, MaxSteps: j.Loop.MaxSteps, Budget: j.Loop.BudgetMicros, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt, EndsAt: j.EndsAt,
	}
	r := j.Record
	v.Changes, v.Commands, v.Unknown, v.Refused = list(r.Changes), list(r.Commands), list(r.Unknown), []JobRefusal{}
	for _, f := range r.Refused {
		v.Refused = append(v.Refused, JobRefusal{f, f.Why().In(locale.Tag(j.Locale))})
	}
	v.Unlisted, v.Acted = r.More, r.Acted()
	switch {
	case j.Status == job.Waiting:
		v.WaitsFor, v.Question, v.Options = j.RunID, j.Question, j.Options
		v.Calls = j.OpenCalls()
		if j.AwaitsClient() && !j.Seen.IsZero() {
			v.ClientSeen = &j.Seen
		}
	case j.Status.Terminal():
		v.EndedAt = &j.EndedAt
	}
	return v
}

type jobHandler struct {
	config Config
	jobs   Jobs
	stored job.Reader
}

type jobInput struct {
	ID string `path:"id"`
}

func (h jobHandler) start(ctx context.Context, in *struct {
	Keyed
	Name string `path:"name"`
	Body JobRequest
},
) (*replayed[Job], error) {
	switch {
	case in.Body.ChatID != "" && !ids.Valid(in.Body.ChatID):
		return nil, conversation.ErrChatNotFound
	case len(in.Body.Prompt) > conversation.MaxMessage:
		return nil, errInvalid.At(field("string_too_long", "body", "prompt"))
	}
	return serveTurn(ctx, h.config, func(ctx context.Context, t ticket) (Job, error) {
		j, err := h.jobs.Start(ctx, job.Order{
			ID: t.ID, At: t.At.UTC(), Principal: caller(ctx), Locale: requestInfoFrom(ctx).lang, TimeZone: in.Body.TimeZone, TraceID: h.config.Trace(ctx),
			Agent: in.Name, Prompt: in.Body.Prompt, ChatID: in.Body.ChatID, DryRun: in.Body.DryRun,
			BudgetMicros: in.Body.BudgetMicros, MaxSteps: in.Body.MaxSteps, TimeoutS: in.Body.TimeoutS, Eval: agent.Eval(in.Body.Eval),
			Mode: agent.Mode(in.Body.Mode), Assistant: in.Body.Assistant, Servers: in.Body.Servers,
			Tools: clientTools(in.Body.Tools), Context: in.Body.Context, Cache: in.Body.Cache,
		})
		return showJob(j), err
	})
}

func (h jobHandler) list(ctx context.Context, in *struct{ PageInput }) (*reply[JobList], error) {
	jobs, cursor, err := h.stored.Jobs(ctx, caller(ctx).Account, in.Cursor, in.size())
	if err != nil {
		return nil, err
	}
	out := JobList{Jobs: []Job{}, Cursor: cursor}
	for _, j := range jobs {
		out.Jobs = append(out.Jobs, showJob(j))
	}
	return answer(out), nil
}

func (h jobHandler) read(ctx context.Context, in *jobInput) (*reply[Job], error) {
	if !ids.Valid(in.ID) {
		return nil, job.ErrNotFound
	}
	j, err := h.stored.Job(ctx, caller(ctx).Account, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(showJob(j)), nil
}

func (h jobHandler) events(ctx context.Context, in *struct {
	ID    string `path:"id"`
	After int    `query:"after" minimum:"0" doc:"the last sequence number known"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" doc:"200 when absent"`
},
) (*reply[JobEventList], error) {
	if !ids.Valid(in.ID) {
		return nil, job.ErrNotFound
	}
	limit := in.Limit
	if limit == 0 {
		limit = eventsSize
	}
	account := caller(ctx).Account
	events, err := h.stored.JobEvents(ctx, account, in.ID, in.After, limit)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 { // no new events, or no such job
		if _, err := h.stored.Job(ctx, account, in.ID); err != nil {
			return nil, err
		}
	}
	out := JobEventList{Events: []JobEvent{}}
	for _, e := range events {
		out.Events = append(out.Events, JobEvent(e))
	}
	return answer(out), nil
}

// ResultsRequest is the body that answers the calls of a job.
type ResultsRequest struct {
	Results []job.ToolResult `json:"results" nullable:"false" maxItems:"100" doc:"of some of the job's calls, or of all: it goes on when each was answered. An empty list says that the client is there: one that said so is gone when it does not say so for 90 seconds, and its job ends as partial"`
}

func (h jobHandler) addResults(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body ResultsRequest
},
) (*reply[Job], error) {
	if !ids.Valid(in.ID) {
		return nil, job.ErrNotFound
	}
	j, err := h.jobs.Tell(ctx, caller(ctx).Account, caller(ctx).User, in.ID, in.Body.Results)
	if err != nil {
		return nil, err
	}
	return answer(showJob(j)), nil
}

func clientTools(list []ClientTool) []job.Tool {
	out := make([]job.Tool, len(list))
	for i, t := range list {
		out[i] = job.Tool(t)
	}
	return out
}

func (h jobHandler) stop(ctx context.Context, in *jobInput) (*reply[Job], error) {
	if !ids.Valid(in.ID) {
		return nil, job.ErrNotFound
	}
	j, err := h.jobs.Stop(ctx, caller(ctx).Account, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(showJob(j)), nil
}
