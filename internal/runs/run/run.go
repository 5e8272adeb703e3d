// Package run implements the life of a plan after it was proposed: confirmation, cancellation,
// start, approvals, undos, the end, the resolution of steps in doubt, the draft that continues an
// incomplete run, and the sweep that repairs the effects of a crash.
//
// Every transition is one conditional write, which also appends its event and the message to the
// user. The condition is that the run is still as it was read; otherwise the run is read and
// decided again. A confirmed run is started until it runs, and a run whose execution ended is
// finished until its chat is free. The sweep finds both by their due time, so the outbox is an
// index over the runs themselves. The same holds for a run that waits: the decision on a step is
// stored before its execution is resumed, and the sweep resumes an execution that was not.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/ground/sweep"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// Times of the sweep, and the number of attempts of a decision.
const (
	startGrace = 2 * time.Second // after this time the sweep starts a confirmed run again
	CheckEvery = 2 * time.Minute // how often the sweep compares an active run with its execution
)

// Record holds the event of a transition and the messages that it posts. Messages to a deleted chat
// are dropped.
type Record struct {
	At       time.Time
	Type     string
	StepID   plan.EffectID
	Data     map[string]any
	Messages []conversation.Message
	Replaced []conversation.Message // superseded by the last of Messages
	Shown    *plan.Sight            // of a draft: the viewer who is shown it
}

// Event returns the event of the record with the number seq.
func (r Record) Event(seq int) (plan.Event, error) {
	data := r.Data
	if data == nil {
		data = map[string]any{}
	}
	raw, err := json.Marshal(data)
	return plan.Event{Seq: seq, At: r.At, Type: r.Type, StepID: r.StepID, Data: raw}, err
}

// Runs stores runs. Each method takes the run (and the chat) as it was read, and writes its whole
// transition or nothing. It returns fault.ErrMoved when the run or the chat changed since, or when
// the lifecycle has no such edge.
type Runs interface {
	plan.Reader
	plan.BareReader
	plan.RevisionReader
	plan.EventReader
	Proposer
	Mover

	// Confirm moves a draft to queued and its chat from pending to active. by is the id of the
	// confirmation, and user is the user who confirmed. r already holds the further owners. If the
	// chat has another active run, that run must be waiting, and is displaced.
	Confirm(ctx context.Context, r plan.Run, chat conversation.Chat, by, user string, due time.Time, rec Record) (plan.Run, error)
	// Discard moves a draft to cancelled or expired, with its Reason, and frees its chat.
	Discard(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, rec Record) (plan.Run, error)
	// RequestCancel marks an active run, so that no further step begins.
	RequestCancel(ctx context.Context, r plan.Run, due time.Time, rec Record) (plan.Run, error)
	// BeginUndo marks that the undo of the run's effects has begun.
	BeginUndo(ctx context.Context, r plan.Run, rec Record) (plan.Run, error)

	// Due lists at most limit runs that are due, the oldest first.
	Due(ctx context.Context, now time.Time, limit int) ([]sweep.Row[Key], error)
	// Postpone sets the next due time of the run, and changes nothing else.
	Postpone(ctx context.Context, r plan.Run, until time.Time) error
	// LeaveUnplaced puts a run that ended into the queue of those whose receipt has no link yet, from a time on. It changes
	// nothing when the run has a link.
	LeaveUnplaced(ctx context.Context, r plan.Run, from time.Time) error
}

// Chats reads chats, and appends to them.
type Chats interface {
	conversation.ChatReader
	conversation.MessageReader
	// AddMessages appends messages to a chat, unless they were before.
	AddMessages(ctx context.Context, key conversation.Key, title string, at time.Time, list ...conversation.Message) error
}

// Proposer writes a draft, makes it the pending run of its chat and posts its message, in one
// transaction that also moves an older draft to superseded. It copies the states of r that come
// from another run (Reused), and stores r as the Next of the run that it continues. It returns
// fault.ErrMoved when the chat or the older draft moved.
type Proposer interface {
	Propose(ctx context.Context, r plan.Run, chat conversation.Chat, old *plan.Run, rec Record) (plan.Run, error)
}

// Mover writes moves of a run, all in one transaction. It returns the run after them, or
// fault.ErrMoved when the run changed since it was read, or may not make one of the moves.
type Mover interface {
	MoveRun(ctx context.Context, r plan.Run, moves ...Move) (plan.Run, error)
}

// EffectMover writes the moves of a dispatched effect: its state and an unsequenced event, in the row of the effect alone. It
// returns the run after it, or fault.ErrMoved when the row is not as it was read. Handed of the new state is the id of the
// write.
type EffectMover interface {
	MoveEffect(ctx context.Context, r plan.Run, m Move) (plan.Run, error)
}

// Move is one event of a run, with its changes. States of one transaction are of different effects. A move without a type is
// no event: it dispatches an effect, reclaims it, or lets its call go on.
type Move struct {
	Record
	To      plan.Status     // of the run. Empty: as it was, but a waiting run runs again when none of its steps waits any more
	State   *plan.StepState // the new state of the effect that the event is about
	Begins  bool            // State begins something: the run must not be stopping, and for an undo, undoing must have begun
	Decided time.Time       // State holds a decision, made at this time: the approval must still be open
	Refused [][]string      // sets of requests that a person refused with it, which the chat remembers (plan.Plan.RequestsOf)
	Due     time.Time       // when the sweep checks it again. Zero: as it was, or after CheckEvery when the status changes
	End     *End            // To is a final status
}

// End has the changes at the end of a run, beside its status.
type End struct {
	Chat      conversation.Chat // as it was read; it becomes free. Empty when it was deleted. A run that another one displaced from its chat becomes the chat's last run only when it is newer
	Error     *plan.Failure     // of the run
	Closed    []plan.StepState  // the final states of the steps that were open
	Concludes bool              // the model writes the conclusion of the run, unless the agent does whose job proposed it
}

// Decider confirms and cancels runs.
type Decider interface {
	Confirm(ctx context.Context, c Confirmation) (Decision, error)
	Cancel(ctx context.Context, c Cancellation) (Decision, error)
}

// Withdrawer takes drafts back.
type Withdrawer interface {
	Withdraw(ctx context.Context, t Retraction) (Decision, error)
}

// Key identifies a run.
type Key struct {
	Account ids.Account
	RunID   string
}

// Execution is the state of a run's execution in the state machine.
type Execution string

// The states of an execution.
const (
	ExecutionNone    Execution = "none" // it was never started
	ExecutionRunning Execution = "running"
	ExecutionEnded   Execution = "ended"
)

// Executions starts and watches executions of the state machine. A second start of the same run has
// no effect.
type Executions interface {
	Waker
	StartExecution(ctx context.Context, k Key) error
	ExecutionOf(ctx context.Context, runID string) (Execution, error)
}

// Waker resumes an execution that waits with a token. It returns nil for a token that is no longer
// in use.
type Waker interface {
	Wake(ctx context.Context, token string) error
}

// Sealer appends the end of a run to the chain of its account, and signs it. It is called once when
// a run ends. When it fails, its own sweep repeats it.
type Sealer interface {
	Seal(ctx context.Context, k Key) error
}

// Catalogue is the servers, operations, projects and rules that a plan depends on.
type Catalogue struct {
	Servers    tool.ServerReader
	Operations Operations
	Projects   conversation.ProjectReader
	Rules      rule.Reader
}

// Operations reads the operations and entries of a server.
type Operations interface {
	tool.OperationReader
	tool.EntryReader
}

// Service decides the transitions of runs.
type Service struct {
	Runs       Runs
	Chats      Chats
	Catalogue  Catalogue
	Executions Executions
	IDs        *ids.Source
	Now        func() time.Time
	Log        *slog.Logger

	Drafts    Drafts        // needed by Retry, Reverse and Repeat only
	Sealer    Sealer        // nil: only its sweep seals
	DraftLife time.Duration // how long a draft that continues a run can be confirmed
}

// Decision is the result of a requested transition, with the message to the chat.
type Decision struct {
	Run     plan.Run
	Chat    conversation.Chat
	Message conversation.Message
}

// decide reads the run and its chat and calls f. It repeats both while other writers change them
// first. A draft and its chat change in one write: where the chat does not wait for the draft, that write came between the
// two reads, and f would decide about a run that was never so.
func (s *Service) decide(ctx context.Context, k Key, f func(plan.Run, conversation.Chat) error) error {
	return s.decideRun(ctx, k, func(r plan.Run) error {
		chat, err := s.chatOf(ctx, r)
		if err != nil {
			return err
		}
		if r.Status == plan.Draft && chat.ID != "" && chat.PendingRunID != r.ID {
			return fault.ErrMoved
		}
		return f(r, chat)
	})
}

// decideRun is decide for transitions that need only the run. Its dispatched effects are reclaimed first, because their events
// come before the decision, and an effect that has not begun needs the run as the decision leaves it.
func (s *Service) decideRun(ctx context.Context, k Key, f func(plan.Run) error) error {
	return retry.Do(ctx, func() error {
		r, err := s.Runs.Run(ctx, k.Account, k.RunID)
		if err == nil && r.HandedOut() {
			r, err = s.takenBack(ctx, k)
		}
		if err != nil {
			return err
		}
		return f(r)
	})
}

// chatOf returns the run's chat, empty when the chat was deleted.
func (s *Service) chatOf(ctx context.Context, r plan.Run) (conversation.Chat, error) {
	chat, err := s.Chats.Chat(ctx, r.Account, r.ChatID)
	if errors.Is(err, conversation.ErrChatNotFound) {
		return conversation.Chat{}, nil
	}
	return chat, err
}

// message returns a message of the assistant about a run, in the language of the run.
func (s *Service) message(r plan.Run, kind conversation.Kind, at time.Time, text locale.Phrase) conversation.Message {
	return Message(s.IDs, r, kind, at, locale.Tag(r.Locale), text)
}

// Message returns a message of the assistant about a run, in a language. The final message has a
// fixed id, so that there can be only one.
func Message(ids *ids.Source, r plan.Run, kind conversation.Kind, at time.Time, tag locale.Tag, text locale.Phrase) conversation.Message {
	seq := ids.New(at)
	m := conversation.Message{
		ID: seq, Seq: seq, Role: conversation.RoleAssistant, Kind: kind, Content: text.In(tag), RunID: r.ID, At: at,
	}
	if kind == conversation.KindFinal {
		m.ID = conversation.FinalID(r.ID)
	}
	return m
}

// typedMessage returns the message of the user who decided by typing; nil if nothing was typed.
func (s *Service) typedMessage(user, typed string, at time.Time) []conversation.Message {
	if typed == "" {
		return nil
	}
	seq := s.IDs.New(at)
	return []conversation.Message{{
		ID: seq, Seq: seq, Role: conversation.RoleUser, Kind: conversation.KindText, Content: typed, Writers: []string{user}, At: at,
	}}
}
