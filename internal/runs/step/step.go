// Package step executes one effect of a run: it checks that the effect is still allowed, sends the
// request, and records the result. An effect is a step ("s2"), one element of a step that is done
// for each element of a list ("s2[3]"), or the undo of either.
//
// The order of writes makes it safe. The attempt is written before the call and its result after
// it, each on the condition that the run is as it was read; or, for a dispatched effect, that its own
// row is as it was read (handed.go). An attempt without a result is in doubt: if the method may be
// repeated, it is repeated with the same Idempotency-Key, else it is never repeated. If the step
// declares a check, the check decides. A response is untrusted data: it is stored and shown, and only
// the references that name it use it.
//
// Before the first call of a step the account's rules are read again. A denied call is not made. A
// call that needs approval waits until a person approves exactly the request that is sent. The
// targets that the plan showed must be unchanged.
//
// An effect is prepared (preparer), sent (wire), judged (attempt) and written with its messages (journal, notes). Executor makes
// one effect of these parts, and driver carries out those of a run that are next, unless its outlook says that a later one
// can never be done.
package step

import (
	"context"
	"log/slog"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/files"
)

// The names of the errors by which the state machine retries or catches an invocation.
const (
	Transient = "Step.Transient" // the request did not reach the server, or the method may be repeated
	Throttled = "Step.Throttled" // the server asked for a pause
	Rejected  = "Step.Rejected"  // refused by the server, or before it was sent
	InDoubt   = "Step.InDoubt"   // sent without a response, and not repeatable
	Cancelled = "Step.Cancelled" // the run was asked to stop
)

// The number of attempts before a step fails.
const (
	maxTransient = 4
	maxThrottled = 8
)

// maxAnswer is the greatest number of bytes that are read of a response. Twice that amount of JSON,
// compressed, fits into an item, and it is more than a person or a model reads.
const maxAnswer = 2 << 20

// Error is the failure of an invocation.
type Error struct {
	Name    string
	Message string
}

// Error returns the name and the message.
func (e *Error) Error() string { return e.Name + ": " + e.Message }

// TaskErrorName returns the name by which the state machine retries or catches the error.
func (e *Error) TaskErrorName() string { return e.Name }

// Task identifies one step of a run.
type Task struct {
	Account ids.Account
	RunID   string
	StepID  plan.EffectID
}

// Outcome decides how the state machine continues after an invocation without error.
type Outcome string

// The outcomes.
const (
	OutcomeDone     Outcome = "done"     // of a step: done or skipped; of a run: it ended
	OutcomeApproval Outcome = "approval" // a person must approve: Await, then again
	OutcomeEach     Outcome = "each"     // of a step: the effects in Items, then the step again
	OutcomeReason   Outcome = "reason"   // a command failed: Reason may replace it, then again
	OutcomeNext     Outcome = "next"     // of a run: it goes on with another invocation
	OutcomeWave     Outcome = "wave"     // of a run: the effects in Items side by side, then again
	OutcomeConclude Outcome = "conclude" // of a run: it ended, and the model writes its conclusion
	OutcomeSettle   Outcome = "settle"   // of a run: no step can begin, and it did not end
)

// Settled returns how an execution goes on after run.Service.Settle.
func Settled(ended plan.Run, undoing bool) Outcome {
	switch {
	case undoing:
		return OutcomeNext
	case ended.Conclude == plan.ConcludeDue:
		return OutcomeConclude
	}
	return OutcomeDone
}

// Done is the response of an invocation without error. It holds only the ids of effects; the
// results stay in the store.
type Done struct {
	Outcome Outcome         `json:"outcome"`
	Items   []plan.EffectID `json:"items"` // never nil
}

func continueWith(o Outcome, items ...plan.EffectID) Done {
	return Done{Outcome: o, Items: append([]plan.EffectID{}, items...)}
}

// Stores has the data from which calls are made.
type Stores struct {
	Catalogue run.Catalogue
	Tools     Tools
	Chats     conversation.ChatReader
	Runs      Runs
}

// Tools reads the keys of servers, and freezes a tool that changed.
type Tools interface {
	tool.KeyReader
	tool.Freezer
}

// Runs reads runs.
type Runs interface {
	plan.BareReader
	plan.UnansweredReader
	plan.ResultReader
}

// Moves writes attempts and results. Each write requires that the run and the step are as they were
// read (else fault.ErrMoved), and adds one event to the run for each move.
type Moves interface {
	run.Mover
	run.EffectMover
}

// Sender sends a request once and reads at most limit bytes of the response. It returns
// tool.ErrNotSent when the request did not reach the server, tool.ErrLost when it may have been
// applied, and tool.ErrRequest when it must not be sent.
type Sender interface {
	Send(ctx context.Context, r tool.Request, keys tool.Keys, limit int64) (tool.Answer, error)
}

// Executor runs steps.
type Executor struct {
	Stores  Stores
	Moves   Moves
	Schemas tool.Compiler // checks the arguments of calls
	Sender  Sender
	Caller  tool.Caller
	Files   files.Workspace // changes the files of a project or a chat
	Waker   run.Waker
	IDs     *ids.Source
	Now     func() time.Time
	Log     *slog.Logger

	// AloneSince is the time since which no other executor makes calls: an open attempt from before
	// it is no longer in flight. Zero: there may be other executors.
	AloneSince time.Time

	// Patience is how long a request may take, and a tool without news of its progress: up to MostPatience. 0 is
	// UsualPatience.
	Patience time.Duration

	// Steps is how many effects one invocation of Drive carries out, one after the other or side by
	// side; 0 is 1.
	Steps int
	// Stopping reports that the process is about to end: no further effect begins. Nil: never.
	Stopping func() bool

	locks    runLocks
	verified digestCache
}

// Execute makes one attempt at an effect, or returns the condition that it waits for. An effect
// that already ended is not repeated; its ending is returned again. Execute returns *Error when the
// effect failed. Any other error is internal, and the invocation may be repeated.
func (x *Executor) Execute(ctx context.Context, t Task) (Done, error) {
	e := x.effect(x.journal(t))
	e.id = t.StepID
	if err := e.journal.read(ctx); err != nil {
		return Done{}, err
	}
	return e.execute(ctx)
}

func (x *Executor) journal(t Task) *journal {
	return &journal{runs: x.Stores.Runs, chats: x.Stores.Chats, moves: x.Moves, ids: x.IDs, locks: &x.locks, now: x.Now, log: x.Log, account: t.Account, runID: t.RunID, last: &latest{}}
}

func (x *Executor) preparer() preparer {
	return preparer{stores: x.Stores, schemas: x.Schemas, verified: &x.verified, patience: x.Patience, now: x.Now}
}

func (x *Executor) effect(j *journal) effect {
	return effect{
		calls: x.preparer(), wire: wire{sender: x.Sender, caller: x.Caller, files: x.Files, tools: x.Stores.Tools}, notes: notes{x.IDs}, journal: j,
		now: x.Now, log: x.Log, aloneSince: x.AloneSince,
	}
}
