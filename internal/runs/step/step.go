// Package step executes one effect of a run: it checks that the effect is still allowed, sends the
// request, and records the result. An effect is a step ("s2"), one element of a step that is done
// for each element of a list ("s2[3]"), or the undo of either.
//
// The order of writes makes it safe. The attempt is written before the call and its result after
// it, each on the condition that the run is as it was read; or, for an effect that is handed out,
// that its own row is as it was read (handed.go). An attempt without a result is in
// doubt: if the method may be repeated, it is repeated with the same Idempotency-Key, else it is
// never repeated. If the step declares a check, the check decides. A response is untrusted data: it
// is stored and shown, and only the references that name it use it.
//
// Before the first call of a step the account's rules are read again. A denied call is not made. A
// call that needs approval waits until a person approves exactly the request that is sent. The
// targets that the plan showed must be unchanged.
package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	Account string
	RunID   string
	StepID  plan.EffectID

	progress *progress
}

// Outcome tells the state machine how to continue after an invocation without error.
type Outcome string

// The outcomes.
const (
	OutcomeDone     Outcome = "done"     // of a step: done or skipped; of a run: it ended
	OutcomeApproval Outcome = "approval" // a person must approve: Await, then again
	OutcomeEach     Outcome = "each"     // of a step: the effects in Items, then the step again
	OutcomeReason   Outcome = "reason"   // a command failed: Reason may replace it, then again
	OutcomeNext     Outcome = "next"     // of a run: it goes on with another invocation
	OutcomeWave     Outcome = "wave"     // of a run: the effects in Items side by side, then again
	OutcomeConclude Outcome = "conclude" // of a run: it ended, and the model tells what came of it
	OutcomeSettle   Outcome = "settle"   // of a run: no step can begin, and it did not end
)

// Done is the response of an invocation without error. It holds only the ids of effects; the
// results stay in the store.
type Done struct {
	Outcome Outcome         `json:"outcome"`
	Items   []plan.EffectID `json:"items"` // never nil
}

func continueWith(o Outcome, items ...plan.EffectID) Done {
	return Done{Outcome: o, Items: append([]plan.EffectID{}, items...)}
}

// Store reads runs and writes attempts and results. Each write requires that the run and the step
// are as they were read (else fault.ErrMoved), and adds one event to the run for each move.
type Store interface {
	run.Catalogue
	plan.BareReader
	plan.UnansweredReader
	plan.ResultReader
	tool.KeyReader
	tool.Freezer
	conversation.ChatReader
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
	Store   Store
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
	r, err := x.Store.Bare(ctx, t.Account, t.RunID)
	if err != nil {
		return Done{}, err
	}
	t.progress = &progress{run: r, last: &latest{r, true}}
	return x.execute(ctx, t, r)
}

func (x *Executor) execute(ctx context.Context, t Task, r plan.Run) (Done, error) {
	step, ok := r.Plan.Step(t.StepID)
	if !ok {
		return Done{}, &Error{Name: Rejected, Message: "the plan has no step " + t.StepID.String()}
	}
	st := r.State(step.ID)
	switch {
	case st.Status == plan.StepDone, st.Status == plan.StepSkipped:
		return continueWith(OutcomeDone), nil
	case st.Status.Terminal():
		return Done{}, &Error{Name: errorName(st.Status), Message: messageOf(st)}
	}
	if why := misplacedReason(r, step); why != "" {
		return Done{}, &Error{Name: Cancelled, Message: why}
	}
	stopping := r.CancelAt != nil && !step.ID.Undo()
	unsure := st.Last.Open && (st.Error != nil || !plan.Idempotent(step.Method) || stopping && step.Risk != plan.Read)
	switch {
	case unsure && x.mayBeCalling(st):
		return Done{}, &Error{Name: Throttled, Message: "another invocation may still be in its call"}
	case stopping && !unsure && !st.Expanded:
		return x.end(ctx, t, ending{status: plan.StepCancelled, kind: plan.EventStepFailed, failure: failure(r, "step.cancelled")})
	case x.Now().Before(st.NotBefore):
		return Done{}, &Error{Name: Throttled, Message: "it is too early to ask again"}
	case unsure:
		return x.check(ctx, t, r, step)
	}
	return x.attempt(ctx, t, r, step)
}

// misplacedReason returns the reason why an effect may not run in the present state of the run;
// empty when it may.
func misplacedReason(r plan.Run, step plan.Step) string {
	if !r.Status.Active() {
		return fmt.Sprintf("the run is %s", r.Status)
	}
	if step.ID.Undo() {
		base := r.State(step.ID.Base())
		switch {
		case r.UndoAt == nil:
			return "nothing is being undone"
		case base.Status != plan.StepDone && (base.Resolved == nil || base.Resolved.Outcome != plan.OutcomeDone):
			return "what would be undone was not done"
		}
		return ""
	}
	if r.UndoAt != nil {
		return "the run is being undone"
	}
	if n := step.ID.Item(); n >= 0 {
		if parent := r.State(plan.EffectOf(step.ID.Step())); !parent.Expanded || parent.Status.Terminal() || n >= parent.Items {
			return "the step is not being done for that element"
		}
	}
	return ""
}

// attempt makes the next call of an effect, unless another part must come first: the condition, the
// elements, the approval, or the reasoning about a failed command.
func (x *Executor) attempt(ctx context.Context, t Task, r plan.Run, step plan.Step) (Done, error) {
	if step.ForEach != "" {
		return x.each(ctx, t, r, step)
	}
	call, first, err := x.ready(ctx, r, step)
	switch {
	case err != nil:
		return Done{}, err
	case first.ending != nil:
		return x.end(ctx, t, *first.ending)
	case first.outcome != "":
		return continueWith(first.outcome), nil
	}
	return x.sendAttempt(ctx, t, r, step, call)
}

// obstacle is the reason why the call of an effect cannot be made now. The effect ends without it,
// or the outcome says what must be done first.
type obstacle struct {
	ending  *ending
	outcome Outcome
}

// ready prepares the next call of an effect. The call may be made when there is no obstacle.
func (x *Executor) ready(ctx context.Context, r plan.Run, step plan.Step) (prepared, obstacle, error) {
	st := r.State(step.ID)
	look := x.results(ctx, r, step.ID)
	if e, err := x.skipped(r, step, look); e != nil || err != nil {
		return prepared{}, obstacle{ending: e}, err
	}
	call, refused, err := x.prepare(ctx, r, step, look)
	if err != nil || refused != nil {
		return call, obstacle{ending: failedEnding(refused)}, err
	}
	waits, refused := x.gate(r, st, call.approvalRequest())
	switch {
	case refused != nil:
		e := failedEnding(refused)
		if refused.Code == codeCommandFailed { // the response of the command is the cause
			e.result = st.Result
		}
		return call, obstacle{ending: e}, nil
	case waits:
		return call, obstacle{outcome: OutcomeApproval}, nil
	case x.canReason(r, step, st):
		return call, obstacle{outcome: OutcomeReason}, nil
	}
	return call, obstacle{}, x.attachKeys(ctx, r, &call)
}

// skipped returns the ending of a step that is skipped before its first attempt; nil for any other.
func (x *Executor) skipped(r plan.Run, step plan.Step, look *results) (*ending, error) {
	if !step.ID.Whole() || r.State(step.ID).Attempts > 0 {
		return nil, nil
	}
	return x.skippedEnding(r, step, look)
}

// sendAttempt writes the attempt, makes the call and writes the result.
func (x *Executor) sendAttempt(ctx context.Context, t Task, r plan.Run, step plan.Step, call prepared) (Done, error) {
	forget := func() { // what effects of other invocations have changed by now
		if !t.progress.alone && !runsAlone(r.Plan, step.ID) && r.State(step.ID).Handed == "" {
			t.progress.last.known = false
		}
	}
	forget()
	if err := x.begin(ctx, t, call); err != nil {
		return Done{}, err
	}
	forget()
	return x.call(ctx, t, step, call)
}

// call makes the call of an attempt that was written, and writes the result.
func (x *Executor) call(ctx context.Context, t Task, step plan.Step, call prepared) (Done, error) {
	r := t.progress.run
	answer, err := x.send(ctx, t, call)
	if errors.Is(err, tool.ErrToolChanged) {
		if freezeErr := x.Store.FreezeTool(context.WithoutCancel(ctx), r.Account, call.server.ID, call.server.Catalogue, step.Tool, x.Now()); freezeErr != nil {
			x.Log.ErrorContext(ctx, "step.not_frozen", "mcp_id", call.server.ID, "tool", step.Tool, "error", freezeErr)
		}
	}
	// The result must be written even if the invocation was cancelled.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	return x.end(ctx, t, x.judge(r, step, r.State(step.ID), call, answer, err))
}

// send makes the call. It takes as long as the attempt says, or as it is granted meanwhile.
func (x *Executor) send(ctx context.Context, t Task, call prepared) (tool.Answer, error) {
	r := t.progress.run
	within := r.State(t.StepID).Last.Until().Sub(x.Now()) - outlives
	if call.tool == nil || call.server.Kind == tool.KindFiles {
		return x.sendWithin(ctx, r, call, within)
	}
	call.tool.Within, call.tool.Prolong = within, x.prolong(t)
	return x.sendWithin(ctx, r, call, longestCall)
}

// sendWithin makes a call that takes at most a time.
func (x *Executor) sendWithin(ctx context.Context, r plan.Run, call prepared, within time.Duration) (tool.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	switch {
	case call.tool == nil:
		return x.Sender.Send(ctx, call.request, call.keys, maxAnswer)
	case call.server.Kind == tool.KindFiles:
		return x.changeFiles(ctx, r, *call.tool)
	}
	return x.Caller.CallTool(ctx, *call.tool)
}

// runsAlone reports whether no other effect of the run executes at the same time.
func runsAlone(p plan.Plan, id plan.EffectID) bool {
	if id.Undo() || id.Item() >= 0 {
		return id.Undo()
	}
	waves, err := plan.Waves(p.Steps)
	return err == nil && slices.ContainsFunc(waves, func(wave []plan.EffectID) bool { return len(wave) == 1 && wave[0] == id })
}
