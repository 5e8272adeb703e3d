// Package run owns what becomes of a plan after it was proposed: confirmation,
// cancellation, start, approvals, undoing, finish, what a person says of a step in
// doubt, the draft that goes on from a run that did not do everything, and the sweep
// that heals what a crash left.
//
// Every transition is one conditional write that also appends its event and the
// message a person sees. The condition is that the run is still as it was read;
// when it is not, it is read and decided again. A run that was confirmed is
// started until it runs, and a run whose execution ended is settled until its
// chat is free: both are found again by the time at which they are due, so that
// the outbox is an index over the runs themselves. So is a run that waits: what was
// decided of a step is in the run before its execution is woken, and an execution
// that was not is woken by the sweep.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// When the sweep looks again, and how often a decision is made again.
const (
	startGrace   = 2 * time.Second // a confirmed run that is not running by then is started again
	CheckEvery   = 2 * time.Minute // one that runs is compared with its execution
	mostAttempts = 64              // of one decision, against writers that keep winning
)

// Record is what a transition leaves behind besides the new state: its event,
// and the messages a person sees. Messages to a chat that is gone are dropped.
type Record struct {
	At       time.Time
	Type     string
	StepID   string
	Data     map[string]any
	Messages []conversation.Message
	Shown    *plan.Sight // of a draft: to whom it is answered
}

// Event returns the record's event with its place in the run.
func (r Record) Event(seq int) (plan.Event, error) {
	data := r.Data
	if data == nil {
		data = map[string]any{}
	}
	raw, err := json.Marshal(data)
	return plan.Event{Seq: seq, At: r.At, Type: r.Type, StepID: r.StepID, Data: raw}, err
}

// Store keeps runs. Every verb takes the run (and chat) as it was read, writes
// all of its transition or nothing, and returns plan.ErrMoved when either is no
// longer so, or when the lifecycle has no such edge.
type Store interface {
	Run(ctx context.Context, account, id string) (plan.Run, error)
	Chat(ctx context.Context, account, id string) (conversation.Chat, error)

	// Confirm moves a draft to queued and its chat from pending to active. by names the
	// confirmation, user who confirmed; who else's own the run is by then is in it. A run that the chat names as active must be
	// waiting by then; it loses its place.
	Confirm(ctx context.Context, r plan.Run, chat conversation.Chat, by, user string, due time.Time, rec Record) (plan.Run, error)
	// Discard moves a draft to cancelled or expired, with its Reason, and frees its chat.
	Discard(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, rec Record) (plan.Run, error)
	// Start moves a queued run to running.
	Start(ctx context.Context, r plan.Run, due time.Time, rec Record) (plan.Run, error)
	// RequestCancel marks an active run: no further step begins.
	RequestCancel(ctx context.Context, r plan.Run, due time.Time, rec Record) (plan.Run, error)
	// Finish moves an active run to its end, with its Error and the last states of the
	// steps that were open (closed), and frees its chat. A run that is not its chat's
	// active one any more is the chat's last one only when it is newer than that.
	Finish(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, closed []plan.StepState, rec Record) (plan.Run, error)

	// Propose writes a draft, makes it its chat's pending run and posts its message,
	// in one transaction in which an older draft becomes superseded. The states of r that
	// are another run's (Reused) are its own from then on, and the
	// run that it goes on from names it (Next).
	Propose(ctx context.Context, r plan.Run, chat conversation.Chat, old *plan.Run, rec Record) (plan.Run, error)
	// Revise gives a draft another plan, and keeps the one before it. rev is the new
	// one; the chat must still wait for the run.
	Revise(ctx context.Context, r plan.Run, chat conversation.Chat, rev plan.Revision, rec Record) (plan.Run, error)
	// Revisions lists the plans a run had, the oldest first and the current one last.
	Revisions(ctx context.Context, r plan.Run) ([]plan.Revision, error)
	// AskApproval notes that a step waits, and moves the run to waiting.
	AskApproval(ctx context.Context, r plan.Run, st plan.StepState, due time.Time, rec Record) (plan.Run, error)
	// Decide writes what somebody said to a step that waits; the run moves to its
	// next status (to), which may be the one it is in. The approval must not be over by
	// the time of the record.
	Decide(ctx context.Context, r plan.Run, st plan.StepState, to plan.Status, due time.Time, rec Record) (plan.Run, error)
	// SettleStep writes what a person said of a step in doubt, or that another run goes on
	// from it, of a run that ended; its status stays. st may be nil.
	SettleStep(ctx context.Context, r plan.Run, st *plan.StepState, rec Record) (plan.Run, error)
	// BeginUndo marks that what the run did is being undone.
	BeginUndo(ctx context.Context, r plan.Run, rec Record) (plan.Run, error)

	// Due lists runs whose time to be looked at has come, the oldest first, at
	// most limit. One that cannot be told is an error beside the others.
	Due(ctx context.Context, now time.Time, limit int) ([]Overdue, error)
	// PutOff sets when the sweep looks again at a run that it could not heal, and counts the
	// try. It changes nothing when the time was changed since the run was listed.
	PutOff(ctx context.Context, o Overdue, until time.Time) error
	// Postpone sets when the sweep looks at the run again; nothing else changes.
	Postpone(ctx context.Context, r plan.Run, until time.Time) error
}

// Key names a run.
type Key struct{ Account, RunID string }

// Overdue is a run that the sweep must look at.
type Overdue struct {
	Key
	Tries int    // how often the sweep could not heal it, since it was last given a time
	Mark  string // of the store: the time as it was listed
}

// Execution is what the state machine says of a run.
type Execution string

// The states of an execution.
const (
	ExecutionNone    Execution = "none" // it was never started
	ExecutionRunning Execution = "running"
	ExecutionEnded   Execution = "ended"
)

// Executions starts and watches the state machine. Starting the same run twice
// starts it once.
type Executions interface {
	StartExecution(ctx context.Context, account, runID string) error
	// Wake lets an execution that waits with a token go on. A token that nothing
	// waits for any more is no error.
	Wake(ctx context.Context, token string) error
	ExecutionOf(ctx context.Context, runID string) (Execution, error)
}

// Sealer puts the end of a run into the chain of its account, and signs it. It is called once
// when a run ends. When that fails, its own sweep does it.
type Sealer interface {
	Seal(ctx context.Context, account, runID string) error
}

// Catalogue is what a step is bound to.
type Catalogue interface {
	Server(ctx context.Context, account, id string) (tool.Server, error)
	Operation(ctx context.Context, account string, s tool.Server, e tool.Entry) (tool.Operation, error)
	Entries(ctx context.Context, account string, s tool.Server) ([]tool.Entry, error) // of the catalogue in force
	Project(ctx context.Context, account, id string) (conversation.Project, error)
	Rules(ctx context.Context, account string) (rule.Set, error)
}

// Service decides transitions of runs.
type Service struct {
	Store      Store
	Catalogue  Catalogue
	Executions Executions
	IDs        *ids.Source
	Now        func() time.Time
	Log        *slog.Logger

	Sealer    Sealer        // nil: its sweep seals
	DraftLife time.Duration // how long a draft that goes on from a run may be confirmed
}

// Decision is a transition somebody asked for, and what the chat says of it.
type Decision struct {
	Run     plan.Run
	Chat    conversation.Chat
	Message conversation.Message
}

// decide reads the run and its chat and lets f decide, again and again while
// other writers move them first.
func (s *Service) decide(ctx context.Context, account, id string, f func(plan.Run, conversation.Chat) error) error {
	return s.over(ctx, account, id, func(r plan.Run) error {
		chat, err := s.chatOf(ctx, r)
		if err != nil {
			return err
		}
		return f(r, chat)
	})
}

// over is decide for what the run alone decides.
func (s *Service) over(ctx context.Context, account, id string, f func(plan.Run) error) error {
	return Retry(ctx, func() error {
		r, err := s.Store.Run(ctx, account, id)
		if err != nil {
			return err
		}
		return f(r)
	})
}

// chatOf returns the run's chat, empty when it is gone.
func (s *Service) chatOf(ctx context.Context, r plan.Run) (conversation.Chat, error) {
	chat, err := s.Store.Chat(ctx, r.Account, r.ChatID)
	if errors.Is(err, conversation.ErrChatNotFound) {
		return conversation.Chat{}, nil
	}
	return chat, err
}

// Retry calls f until it returns anything but plan.ErrMoved, pausing a random
// moment that grows, so that many writers of one run take turns.
func Retry(ctx context.Context, f func() error) error {
	var err error
	for attempt := range mostAttempts {
		if err = f(); !errors.Is(err, plan.ErrMoved) {
			return err
		}
		pause := rand.N(time.Duration(min(attempt, 8)+1) * 4 * time.Millisecond)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return err
}

// message makes a message of the assistant about a run.
func (s *Service) message(r plan.Run, kind conversation.Kind, at time.Time, text string) conversation.Message {
	return Message(s.IDs, r, kind, at, text)
}

// Message makes a message of the assistant about a run. The final one has an id
// of its own, so that there can be only one.
func Message(ids *ids.Source, r plan.Run, kind conversation.Kind, at time.Time, text string) conversation.Message {
	seq := ids.New(at)
	m := conversation.Message{
		ID: seq, Seq: seq, Role: conversation.RoleAssistant, Kind: kind, Content: text, RunID: r.ID, At: at,
	}
	if kind == conversation.KindFinal {
		m.ID = conversation.FinalID(r.ID)
	}
	return m
}

// said makes the message of the person who decided, when it was typed.
func (s *Service) said(typed string, at time.Time) []conversation.Message {
	if typed == "" {
		return nil
	}
	seq := s.IDs.New(at)
	return []conversation.Message{{
		ID: seq, Seq: seq, Role: conversation.RoleUser, Kind: conversation.KindText, Content: typed, At: at,
	}}
}

func tagOf(r plan.Run) locale.Tag { return locale.Tag(r.Locale) }

func count(n int) string { return strconv.Itoa(n) }
