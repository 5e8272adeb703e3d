package job

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/ground/sweep"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Executions starts, watches and resumes executions of the state machine of jobs. A second start of the same job has no
// effect.
type Executions interface {
	run.Waker
	StartJob(ctx context.Context, account ids.Account, jobID string) error
	ExecutionOf(ctx context.Context, jobID string) (run.Execution, error)
}

// Chats creates the chat of a job, and adds its prompt.
type Chats interface {
	conversation.ChatReader
	CreateChat(ctx context.Context, account ids.Account, c conversation.Chat) error
	AddMessages(ctx context.Context, key conversation.Key, title string, at time.Time, list ...conversation.Message) error
}

// Service starts, stops, wakes and repairs jobs.
type Service struct {
	Store      Store
	Chats      Chats
	Agents     agent.LoopReader
	Known      agent.Known // for Start only
	Runs       plan.StatusReader
	Executions Executions
	IDs        *ids.Source
	Now        func() time.Time
	Log        *slog.Logger
	Caches     bool // the deployment keeps answers of models

	// AloneSince is the start of the only process: jobs that an earlier one left are checked regardless of their due
	// time. Zero for any other deployment.
	AloneSince time.Time
}

// Order asks for a job. Its ID and At are those of the request, so that a repeated one is the same job.
type Order struct {
	ID        string
	At        time.Time
	Principal auth.Principal
	Locale    locale.Tag
	TimeZone  string // of who asks for it; "": unknown
	TraceID   string
	Agent     string
	Prompt    string
	ChatID    string // "": a chat of its own
	DryRun    bool

	// They replace those of the agent; zero: the agent's.
	BudgetMicros int64
	MaxSteps     int
	TimeoutS     int // seconds
	Eval         agent.Eval
	Mode         agent.Mode
	Assistant    *agent.Assistant
	Servers      *[]string // of those of the agent, only these; nil: all of them

	Tools   []Tool // of the client
	Context string // the client's description of its machine
	Cache   bool   // repeated calls of its model get the stored answers
}

// startGrace is the time after which the sweep starts a job that was not started.
const startGrace = 5 * time.Second

// Start stores a job and starts its execution. It returns agent.ErrNoAgent, agent.ErrNotALoop, conversation.ErrChatNotFound,
// agent.ErrRouted for a chat that the router answers, and ErrOrder.
func (s *Service) Start(ctx context.Context, o Order) (Job, error) {
	account := o.Principal.Account
	loop, err := agent.Resolve(ctx, s.Agents, account, o.Agent)
	if err != nil {
		return Job{}, err
	}
	if err := o.check(ctx, s.Known, loop, s.Caches); err != nil {
		return Job{}, err
	}
	j := o.job(loop)
	chat, err := s.chat(ctx, o, &j)
	if err == nil {
		err = admits(chat)
	}
	if err != nil {
		return Job{}, err
	}
	prompt := conversation.Message{
		ID: j.MessageID, Seq: j.MessageID, Role: conversation.RoleUser, Kind: conversation.KindText, Content: o.Prompt, JobID: j.ID, Writers: []string{j.User}, At: o.At,
	}
	title := ""
	if chat.Title == "" {
		title = conversation.Title(o.Prompt)
	}
	err = retry.Do(ctx, func() error {
		return s.Chats.AddMessages(ctx, conversation.Key{Account: account, ChatID: j.ChatID}, title, o.At, prompt)
	})
	if err != nil {
		return Job{}, err
	}
	started, err := NewEvent(o.At, EventStarted, map[string]any{"agent": j.Agent, "chat_id": j.ChatID, "dry_run": j.DryRun})
	if err != nil {
		return Job{}, err
	}
	if j, err = s.Store.CreateJob(ctx, j, started); err != nil {
		return Job{}, err
	}
	failpoint.Here("job.start.before")
	err = s.Executions.StartJob(ctx, account, j.ID)
	failpoint.Here("job.start.after")
	if err != nil { // the sweep starts it
		s.Log.WarnContext(ctx, "job.not_started", "account", account, "job_id", j.ID, "error", err)
	}
	s.Log.InfoContext(ctx, "job.started", "account", account, "job_id", j.ID, "agent", j.Agent)
	return j, nil
}

// job returns the job of an order, with its agent as it is now.
func (o Order) job(loop agent.Loop) Job {
	loop.BudgetMicros = cmp.Or(o.BudgetMicros, loop.BudgetMicros)
	loop.MaxSteps = cmp.Or(o.MaxSteps, loop.MaxSteps)
	loop.TimeoutS = cmp.Or(o.TimeoutS, loop.TimeoutS)
	loop.Eval = cmp.Or(o.Eval, loop.Eval)
	loop.Mode = cmp.Or(o.Mode, loop.Mode)
	loop.Assistant = cmp.Or(o.Assistant, loop.Assistant)
	if o.Servers != nil {
		loop.Servers = loop.Only(*o.Servers)
	}
	return Job{
		ID: o.ID, Account: o.Principal.Account, User: o.Principal.User, Agent: loop.Name, Loop: loop, ChatID: o.ChatID, MessageID: o.ID,
		Prompt: o.Prompt, Locale: string(o.Locale), TimeZone: o.TimeZone, TraceID: o.TraceID, DryRun: o.DryRun, Cache: o.Cache, Status: Running, Tools: o.Tools, Context: o.Context,
		CreatedAt: o.At, UpdatedAt: o.At, EndsAt: o.At.Add(MostLife), DueAt: o.At.Add(startGrace),
	}
}

// chat returns the chat of an order, and creates it when the order names none. A repeated order finds the same one.
func (s *Service) chat(ctx context.Context, o Order, j *Job) (conversation.Chat, error) {
	account := o.Principal.Account
	if o.ChatID == "" {
		j.ChatID = ids.Derive("job", o.ID)
	}
	chat, err := s.Chats.Chat(ctx, account, j.ChatID)
	if o.ChatID != "" || !errors.Is(err, conversation.ErrChatNotFound) {
		j.ProjectID = chat.ProjectID
		return chat, err
	}
	chat = conversation.Chat{ID: j.ChatID, CreatedAt: o.At, UpdatedAt: o.At}
	return chat, s.Chats.CreateChat(ctx, account, chat)
}

// change reads a job, changes it and stores it. When another writer was faster, it does so again. f returns the events of
// the change; without events nothing is stored.
func (s *Service) change(ctx context.Context, account ids.Account, id string, f func(j *Job) ([]Event, error)) (Job, error) {
	var out Job
	err := retry.Do(ctx, func() error {
		j, err := s.Store.Job(ctx, account, id)
		if err != nil {
			return err
		}
		out = j
		events, err := f(&j)
		if err != nil || len(events) == 0 {
			return err
		}
		j.UpdatedAt = s.Now()
		out, err = s.Store.SaveJob(ctx, j, nil, events...)
		return err
	})
	return out, err
}

// Stop asks a job to stop. The call of its model is ended. A plan of the job that waits or runs stays as it is. It
// returns ErrNotFound and ErrEnded.
func (s *Service) Stop(ctx context.Context, account ids.Account, id string) (Job, error) {
	j, err := s.change(ctx, account, id, func(j *Job) ([]Event, error) {
		switch {
		case j.Status.Terminal():
			return nil, ErrEnded.With("status", string(j.Status))
		case !j.StopAt.IsZero():
			return nil, nil
		}
		j.StopAt = s.Now()
		j.DueAt = j.StopAt.Add(startGrace)
		e, err := NewEvent(j.StopAt, EventStopping, map[string]any{})
		return []Event{e}, err
	})
	if err == nil {
		s.resume(ctx, j)
	}
	return j, err
}

// resume resumes a job that waits. A failure is logged: the sweep repeats it.
func (s *Service) resume(ctx context.Context, j Job) {
	if j.Token == "" {
		return
	}
	if err := s.wake(ctx, j.Token); err != nil {
		s.Log.WarnContext(ctx, "job.not_woken", "job_id", j.ID, "run_id", j.RunID, "error", err)
	}
}

// Reply gives a person's message to the job that asks in its chat. It reports false when the job waits for no answer, and
// true again for the message that it took.
func (s *Service) Reply(ctx context.Context, account ids.Account, id, messageID, text string) (taken bool, err error) {
	j, err := s.change(ctx, account, id, func(j *Job) ([]Event, error) {
		if taken = j.ReplyID == messageID; taken || !j.AsksPerson() {
			return nil, nil
		}
		j.Reply, j.ReplyID, taken = text, messageID, true
		e, err := NewEvent(s.Now(), EventReplied, map[string]any{"message_id": messageID})
		return []Event{e}, err
	})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err == nil && taken {
		s.resume(ctx, j)
	}
	return taken && err == nil, err
}

// Await stores the token with which the execution of a job waits for its plan, or for the answer to its question. When
// there is nothing to wait for any more, the execution goes on at once.
func (s *Service) Await(ctx context.Context, account ids.Account, id, token string) error {
	var j Job
	err := retry.Do(ctx, func() (err error) {
		if j, err = s.Store.Job(ctx, account, id); err != nil || j.Status.Terminal() {
			return err
		}
		j.Token, j.DueAt = token, s.Now().Add(j.checkEvery())
		j, err = s.Store.SaveJob(ctx, j, nil)
		return err
	})
	if err != nil {
		return err
	}
	over, err := s.waitIsOver(ctx, j)
	if err != nil || !over {
		return err
	}
	return s.wake(ctx, token)
}

// wake resumes the execution that waits with a token.
func (s *Service) wake(ctx context.Context, token string) error {
	failpoint.Here("job.wake.before")
	err := s.Executions.Wake(ctx, token)
	failpoint.Here("job.wake.after")
	return err
}

// RunEnded resumes the job that waits for a run which ended. A failure is logged: the sweep repeats it.
func (s *Service) RunEnded(ctx context.Context, r plan.Run) {
	if r.JobID == "" {
		return
	}
	j, err := s.Store.Job(ctx, r.Account, r.JobID)
	switch {
	case err == nil && j.RunID == r.ID:
		s.resume(ctx, j)
	case err != nil && !errors.Is(err, ErrNotFound):
		s.Log.WarnContext(ctx, "job.not_woken", "job_id", r.JobID, "run_id", r.ID, "error", err)
	}
}

// Swept counts the effects of one sweep.
type Swept struct {
	Restarted int `json:"restarted"`
	Woken     int `json:"woken"`
	Ended     int `json:"ended"`
	Failed    int `json:"failed"`
}

// Times of the sweep.
const (
	sweepLimit = 1000
	CheckEvery = 2 * time.Minute  // while a job goes on
	waitEvery  = 15 * time.Minute // while it waits

	longestDelay = time.Hour // of a job that cannot be repaired
)

// Sweep starts the jobs that were not started, wakes those whose wait is over, and ends those whose execution ended
// before them.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	due := sweep.List[Key]{
		Name: "jobs", Most: sweepLimit, Longest: longestDelay, Now: s.Now, Log: s.Log,
		Due: func(ctx context.Context, at time.Time, limit int) ([]sweep.Row[Key], error) {
			if left := s.AloneSince.Add(waitEvery); left.After(at) {
				at = left
			}
			return s.Store.DueJobs(ctx, at, limit)
		},
		Do: func(ctx context.Context, k Key) error {
			if err := s.repair(ctx, k, &swept); !errors.Is(err, ErrNotFound) {
				return err
			}
			return nil
		},
	}
	count, err := due.Sweep(ctx)
	swept.Failed = count.Failed
	return swept, err
}

func (s *Service) repair(ctx context.Context, k Key, swept *Swept) error {
	j, err := s.Store.Job(ctx, k.Account, k.ID)
	if err != nil || j.Status.Terminal() || !s.isDue(j) {
		return err
	}
	execution, err := s.Executions.ExecutionOf(ctx, j.ID)
	if err != nil {
		return err
	}
	switch execution {
	case run.ExecutionNone:
		swept.Restarted++
		if err := s.Executions.StartJob(ctx, j.Account, j.ID); err != nil {
			return err
		}
	case run.ExecutionEnded:
		swept.Ended++
		return s.abandon(ctx, j)
	case run.ExecutionRunning:
		over, err := s.waitIsOver(ctx, j)
		if err != nil {
			return err
		}
		if over {
			swept.Woken++
			if err := s.wake(ctx, j.Token); err != nil {
				return err
			}
		}
	}
	return s.postpone(ctx, k, j.checkEvery())
}

// isDue reports whether the sweep checks a job now. The only process sets due times from AloneSince plus checkEvery on,
// so an earlier due time was set by an earlier process.
func (s *Service) isDue(j Job) bool {
	return !s.Now().Before(j.DueAt) || j.DueAt.Before(s.AloneSince.Add(j.checkEvery()))
}

// checkEvery returns how often the sweep checks a job.
func (j Job) checkEvery() time.Duration {
	switch {
	case j.AwaitsClient() && !j.Seen.IsZero():
		return ClientSilence
	case j.Status == Waiting:
		return waitEvery
	}
	return CheckEvery
}

// abandon ends a job whose execution could not end it. Its message has the id of the message that the execution would have
// stored.
func (s *Service) abandon(ctx context.Context, j Job) error {
	if j.EndedAt.IsZero() {
		j.EndedAt = s.Now()
		var err error
		if j, err = s.Store.SaveJob(ctx, j, nil); err != nil {
			return err
		}
	}
	at := j.EndedAt
	j.CloseRecord()
	j.Status, j.StopReason, j.UpdatedAt, j.Token = j.Record.Ended(Failed), cmp.Or(j.StopReason, conversation.StopModel), at, ""
	j.Output = locale.Lines(append([]locale.Phrase{locale.Say("job.abandoned")}, j.Record.Phrases()...)...).In(locale.Tag(j.Locale))
	m := conversation.Message{
		ID: conversation.AnswerID(j.MessageID), Seq: EndSeq(j), Role: conversation.RoleAssistant, Kind: conversation.KindNotice, Content: j.Output, JobID: j.ID, At: at,
	}
	err := retry.Do(ctx, func() error { return s.Chats.AddMessages(ctx, j.Chat(), "", at, m) })
	if err != nil && !errors.Is(err, conversation.ErrChatNotFound) {
		return err
	}
	e, err := j.EndEvent(at)
	if err != nil {
		return err
	}
	s.Log.ErrorContext(ctx, "job.abandoned", "account", j.Account, "job_id", j.ID)
	_, err = s.Store.SaveJob(ctx, j, nil, e)
	return err
}

// EndEvent returns the event of the end of a job.
func (j Job) EndEvent(at time.Time) (Event, error) {
	return NewEvent(at, EventEnded, map[string]any{
		"status": j.Status, "stop_reason": j.StopReason, "rounds": j.Rounds, "looks": j.Reads, "cost_micros": j.Micros,
		"changes": len(j.Record.Changes), "commands": len(j.Record.Commands), "refused": len(j.Record.Refused),
	})
}

// EndSeq returns the position of a job's last message in its chat, after all messages of the same millisecond.
func EndSeq(j Job) string { return ids.DeriveAt(j.EndedAt.Add(time.Millisecond), "job", j.ID, "end") }

// waitIsOver reports whether a job waits for a run that ended or for a question that was answered, or was asked to stop.
func (s *Service) waitIsOver(ctx context.Context, j Job) (bool, error) {
	if j.Token == "" {
		return false, nil
	}
	nothing := j.RunID == "" && (j.Question == "" || j.Reply != "") && !j.AwaitsClient()
	if nothing || !j.StopAt.IsZero() || !s.Now().Before(j.EndsAt) || j.ClientGone(Watch{s.Now(), s.AloneSince}) {
		return true, nil
	}
	switch _, err := s.Chats.Chat(ctx, j.Account, j.ChatID); {
	case errors.Is(err, conversation.ErrChatNotFound): // nobody decides there
		return true, nil
	case err != nil:
		return false, err
	}
	if j.RunID == "" {
		return false, nil
	}
	status, err := s.Runs.Status(ctx, j.Account, j.RunID)
	if errors.Is(err, plan.ErrRunNotFound) {
		return true, nil
	}
	return status.Terminal(), err
}

func (s *Service) postpone(ctx context.Context, k Key, by time.Duration) error {
	return retry.Do(ctx, func() error {
		j, err := s.Store.Job(ctx, k.Account, k.ID)
		if err != nil || j.Status.Terminal() {
			return err
		}
		j.DueAt = s.Now().Add(by)
		_, err = s.Store.SaveJob(ctx, j, nil)
		return err
	})
}
