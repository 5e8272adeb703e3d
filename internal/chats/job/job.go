// Package job owns the work of an agent that takes longer than a turn: its states, its rounds, and how it is started,
// stopped, woken and repaired.
//
// A job is a prompt for an agent. It works in rounds. A round is one call of a model, and the results of the tool calls
// in its answer. Package turn makes a round; the state machine AgentJob asks it for one after the other. A plan that a
// round proposes is a draft as any other. The job waits until the plan ended, and its outcome is the result of the call.
// A question waits for the next message of a person in the same way.
//
// Invariants: a round is stored before its model is called, and its answer is stored before anything is done with it. So
// a round that was killed is asked again, and no round is answered twice. The possible cost of a lost call counts as
// spent. A job ends once, and its last message stands in its chat. One execution makes the rounds of a job. Others ask
// it to stop, or answer its question. Every write has the condition that the version is the one that was read.
package job

import (
	"context"
	"encoding/json"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/models/credit"
)

// Status is the state of a job.
type Status string

// The states of a job. The last three are final.
const (
	Running Status = "running" // a round goes on, or is about to begin
	Waiting Status = "waiting" // its plan or its question waits for a person, or the plan runs
	Success Status = "success"
	Partial Status = "partial" // it was ended before the agent was done, or its evaluation says that something is missing
	Failed  Status = "failed"
)

// Terminal reports whether a job with this status has ended.
func (s Status) Terminal() bool { return s == Success || s == Partial || s == Failed }

// Next says how the execution of a job goes on.
type Next string

// The steps that may follow a step of a job.
const (
	NextRound Next = "round"
	NextWait  Next = "wait"  // until its plan ended, or its question was answered
	NextClose Next = "close" // it is ended, with a last text
	NextEnd   Next = "end"   // it ended
)

// MostRefused is how many plans of a job a person refuses, without one that they confirm between them, before it asks no
// more. It is more than the three after which a request is refused by itself, so that who steers a job by refusals has some of them.
const MostRefused = 5

// Graceful reports whether the model of a job that is ended for a reason is asked for a last text. It is not asked after
// a person stopped the job or refused its plans, because they want no more of it, nor when it may not be asked at all.
// When the client is gone the model does not know which calls were done.
func Graceful(r conversation.StopReason) bool {
	switch r {
	case "", conversation.StopPerson, conversation.StopRefused, conversation.StopBlocked, conversation.StopClient:
		return false
	}
	return true
}

// MostLife is the longest time of a job, with its waits; the executions of its state machine end then, too.
const MostLife = 7 * 24 * time.Hour

// Job is the work of an agent on a prompt.
type Job struct {
	ID      string      `json:"-"`
	Account ids.Account `json:"-"`

	User      string     `json:"user"` // who asked for it
	Agent     string     `json:"agent"`
	Loop      agent.Loop `json:"loop"` // the agent as it was when the job began
	ChatID    string     `json:"chat_id"`
	MessageID string     `json:"message_id"` // of the prompt, in the chat
	ProjectID string     `json:"project_id,omitempty"`
	Prompt    string     `json:"prompt"`
	Locale    string     `json:"locale"`
	TimeZone  string     `json:"time_zone,omitempty"` // of who asked for it
	TraceID   string     `json:"trace_id,omitempty"`
	DryRun    bool       `json:"dry_run,omitempty"` // nothing is proposed
	Cache     bool       `json:"cache,omitempty"`   // repeated calls of its model are answered from the cache
	Tools     []Tool     `json:"tools,omitempty"`   // of its client
	Context   string     `json:"context,omitempty"` // its client's description of its machine; for the model

	Status     Status                  `json:"status"`
	StopReason conversation.StopReason `json:"stop_reason,omitempty"`
	Why        string                  `json:"why,omitempty"`    // of a block, for a person: its cause, and the next step
	StopAt     time.Time               `json:"stop_at,omitzero"` // when a person asked it to stop

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	EndsAt    time.Time `json:"ends_at"` // the latest time of its end
	EndedAt   time.Time `json:"ended_at,omitzero"`

	Rounds   int           `json:"rounds"`             // that were answered
	Worked   time.Duration `json:"worked"`             // of all rounds, nanoseconds; waits do not count
	Reads    int           `json:"looks"`              // how many were made
	Events   int           `json:"events"`             // how many were written
	Micros   int64         `json:"micros"`             // spent, with the possible cost of lost calls; millionths of a US dollar
	Lost     int           `json:"lost,omitempty"`     // calls whose answers were lost
	RunID    string        `json:"run_id,omitempty"`   // the plan that it waits for
	Refused  int           `json:"refused,omitempty"`  // plans that a person refused since they confirmed one
	Question string        `json:"question,omitempty"` // that it waits for an answer to
	Reply    string        `json:"reply,omitempty"`    // the answer, until the next round has it
	ReplyID  string        `json:"reply_id,omitempty"` // its message
	Token    string        `json:"token,omitempty"`    // of the execution that waits
	Waited   time.Time     `json:"waited,omitzero"`    // since when it waits
	Open     []OpenCall    `json:"open,omitempty"`     // that it waits for its client to answer
	Seen     time.Time     `json:"seen,omitzero"`      // when its client was there last; zero: it never said so
	Absent   bool          `json:"absent,omitempty"`   // it waits until its client says that it is there
	Results  []ToolResult  `json:"told,omitempty"`     // the answers so far, until the next round has them
	Record   Record        `json:"record,omitzero"`    // of the deeds that were done for it
	Output   string        `json:"output,omitempty"`
	ReadFrom []string      `json:"read_from,omitempty"` // ids of the services whose data its model has read

	Notes   []conversation.Note   `json:"notes,omitempty"`   // of Output, or of Question while it is asked
	Options []conversation.Option `json:"options,omitempty"` // of the question
	Denied  []conversation.Note   `json:"denied,omitempty"`  // the rule denials of its agent, and the data removed to make room for its changes, for its last message

	Summary string `json:"summary,omitempty"` // of its rounds up to the number Summed, which its prompt has no more
	Summed  int    `json:"summed,omitempty"`

	Changes Changes  `json:"changes,omitzero"`       // of files
	Next    *Changes `json:"next_changes,omitempty"` // its changes when the plan is there that the round proposes

	DueAt   time.Time `json:"-"` // when the sweep checks it
	Listed  bool      `json:"-"` // its stored row stands in the list of waiting jobs; the store sets it
	Version int64     `json:"-"`
}

// Chat returns the key of the job's chat.
func (j Job) Chat() conversation.Key { return conversation.Key{Account: j.Account, ChatID: j.ChatID} }

// Changes are a job's changes of the files of its project or chat. Each is a change set, see files.Workspace; "" is none.
type Changes struct {
	Round    int    `json:"round,omitempty"`    // that proposes; of Next
	Set      string `json:"set,omitempty"`      // that was not applied
	Proposed string `json:"proposed,omitempty"` // the part of it that was proposed last
	Rest     string `json:"rest,omitempty"`     // the part that is left when that is applied
}

// WaitsForPerson reports whether a job waits until a person decided about its plan, or answered its question. One that
// was asked to stop waits no longer.
func (j Job) WaitsForPerson() bool {
	return j.Status == Waiting && j.StopAt.IsZero() && j.Reply == "" && len(j.Open) == 0 && !j.Absent
}

// Awaits reports whether the agent of a job will get the outcome of a run as a tool result, and go on. A plan that a
// round proposed before it was stored as such is found by that round.
func (j Job) Awaits(runID string) bool {
	if j.Status.Terminal() || j.StopReason != "" || !j.StopAt.IsZero() {
		return false
	}
	return j.RunID == runID || j.Status == Running
}

// AsksPerson reports whether a job waits for the answer to a question.
func (j Job) AsksPerson() bool { return j.WaitsForPerson() && j.Question != "" }

// Round is one call of a model, and the results of the tool calls in its answer.
type Round struct {
	N       int       `json:"n"`       // from 1
	Attempt int       `json:"attempt"` // of the call, from 1
	Asked   time.Time `json:"asked"`
	Held    int64     `json:"held"`              // the most that the call may cost, millionths of a US dollar
	Lost    bool      `json:"lost,omitempty"`    // there is no answer, and the possible cost of the call is counted
	Closing bool      `json:"closing,omitempty"` // the last call, without tools
	Eval    bool      `json:"eval,omitempty"`    // a call that judges the answer of the round before it
	Doubted bool      `json:"doubted,omitempty"` // the record does not bear its text out: the model was asked once more
	Now     string    `json:"now,omitempty"`     // the state that the prompt has; after the first one, the news

	Answered time.Time       `json:"answered,omitzero"`
	Text     string          `json:"text,omitempty"`
	Thought  string          `json:"thought,omitempty"` // as llm.Reply: it goes back to the model, and nobody reads it
	Extra    json.RawMessage `json:"extra,omitempty"`   // as llm.Reply
	From     string          `json:"from,omitempty"`    // as llm.Reply
	Calls    []Call          `json:"calls,omitempty"`
	Cut      bool            `json:"cut,omitempty"` // as llm.Reply: its calls are not made
	Micros   int64           `json:"micros,omitempty"`
	Used     *credit.Turn    `json:"used,omitempty"` // the record of its usage, which is written after the answer
	Provider string          `json:"provider,omitempty"`
	Model    string          `json:"model,omitempty"`

	Handled time.Time `json:"handled,omitzero"`
	Results []string  `json:"results,omitempty"` // of the calls, in their order
	Reads   []Read    `json:"looks,omitempty"`
	RunID   string    `json:"run_id,omitempty"` // the plan that it proposed

	Question string                `json:"question,omitempty"` // that it asked the person, with its options
	Options  []conversation.Option `json:"options,omitempty"`

	Open []OpenCall `json:"open,omitempty"` // that its client answers
	Did  [][]Deed   `json:"did,omitempty"`  // the deeds of its calls at the client, in their order; nil: the client did not report them
}

// IsText reports whether the model was done with this round: it answered in text.
func (r Round) IsText() bool {
	return !r.Answered.IsZero() && len(r.Calls) == 0 && !r.Eval && !r.Closing
}

// Call is a tool call in an answer, as llm.Call.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Extra     json.RawMessage `json:"extra,omitempty"`
}

// Read is a read that a round made. Call identifies its request among those of the job.
type Read struct {
	Call   string              `json:"call"`
	Source conversation.Source `json:"source"`
}

// Event is one thing that happened in a job. Seq counts from 1 without gaps.
type Event struct {
	Seq  int             `json:"seq"`
	At   time.Time       `json:"at"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// The types of events.
const (
	EventStarted    = "job.started"
	EventAnswered   = "job.round"    // a model answered: round, text, calls, cost, and the calls of no tool as deeds
	EventJudged     = "job.judged"   // an answer was judged: round, verdict, cost
	EventLost       = "job.lost"     // the answer of a call was lost: round, and its possible cost
	EventRead       = "job.looked"   // a read was made: request and hashes
	EventProposed   = "job.proposed" // a plan was proposed: run_id
	EventAsked      = "job.asked"    // the person was asked: round, question
	EventReplied    = "job.replied"  // the person answered: message_id
	EventCalled     = "job.called"   // its client is to answer calls: round, names, objects
	EventToolResult = "job.told"     // its client answered: names and deeds
	EventResumed    = "job.resumed"  // it goes on: run_id and status of the plan that ended, or message_id of the answer
	EventStopping   = "job.stopping"
	EventEnded      = "job.ended"
)

// NewEvent returns an event without a number: the store gives it.
func NewEvent(at time.Time, kind string, data map[string]any) (Event, error) {
	raw, err := json.Marshal(data)
	return Event{At: at, Type: kind, Data: raw}, err
}

// Faults of jobs.
var (
	ErrNotFound = fault.New(fault.NotFound, "job.not_found")
	ErrEnded    = fault.New(fault.Conflict, "job.ended")
)

// Store stores jobs. A write of a job whose version is not the stored one returns fault.ErrMoved.
type Store interface {
	Reader
	// CreateJob stores a new job with its first events; nothing when the same job is there already.
	CreateJob(ctx context.Context, j Job, events ...Event) (Job, error)
	// SaveJob stores a job with some of its rounds and its next events, all or nothing, and returns it with its new
	// version.
	SaveJob(ctx context.Context, j Job, rounds []Round, events ...Event) (Job, error)
	// AskRound stores a round as asked, over its earlier attempts. It returns fault.ErrMoved when the round was
	// answered, or asked by another.
	AskRound(ctx context.Context, j Job, r Round) error
	// AnswerRound stores the answer of a round while its attempt is the stored one, else it returns fault.ErrMoved.
	AnswerRound(ctx context.Context, j Job, r Round) error
	// Rounds returns all rounds of a job, in order.
	Rounds(ctx context.Context, account ids.Account, id string) ([]Round, error)
	// KeepText stores the whole answer of a read, of which the prompt has only a part; Text returns it, or "".
	KeepText(ctx context.Context, j Job, readID, text string) error
	Text(ctx context.Context, account ids.Account, id, readID string) (string, error)
	// DueJobs lists at most limit jobs that are due, the oldest first.
	DueJobs(ctx context.Context, at time.Time, limit int) ([]sweep.Row[Key], error)
}

// Reader reads jobs.
type Reader interface {
	// Job returns a job, or ErrNotFound.
	Job(ctx context.Context, account ids.Account, id string) (Job, error)
	// Jobs returns the account's jobs, the newest first, and a cursor when there are more.
	Jobs(ctx context.Context, account ids.Account, cursor string, limit int) ([]Job, string, error)
	// JobEvents returns at most limit events of a job after a number.
	JobEvents(ctx context.Context, account ids.Account, id string, after, limit int) ([]Event, error)
}

// Key identifies a job.
type Key struct {
	Account ids.Account
	ID      string
}
