// Package step owns one effect of a run: is it still allowed, what exactly is
// sent, and what is known of it afterwards. An effect is a step ("s2"), one element
// of a step that is done for each of a list ("s2[3]"), or the undo of either.
//
// The order is what makes it safe. An intent is written before the call and a
// result after it, each conditional on what was read. An intent without a
// result is in doubt: a method that may be repeated is repeated with the same
// Idempotency-Key, any other never is; a step that declares a check is looked for
// with it. What comes back is data: it is stored and shown, and decides nothing but
// the references that name it.
//
// Before the first call of a step the account's rules are read again. What they deny
// is not called; what asks waits until somebody approved exactly what is sent. What
// the plan showed that the step is about must still be that.
package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// The names of the errors a step may end an invocation with; the state machine
// retries by them.
const (
	Transient = "Step.Transient" // nothing reached the server, or the method may be repeated
	Throttled = "Step.Throttled" // the server asked us to wait
	Rejected  = "Step.Rejected"  // refused, by the server or before anything was sent
	InDoubt   = "Step.InDoubt"   // sent and not answered, and not to be repeated
	Cancelled = "Step.Cancelled" // the run was asked to stop
)

// How often a call is made before its step fails.
const (
	mostTransient = 4
	mostThrottled = 8
)

// maxAnswer is how much of an answer is read: compressed, twice that of JSON
// fits an item with room to spare, and more than a person or a model reads.
const maxAnswer = 2 << 20

// Error ends an invocation of a step without success.
type Error struct {
	Name    string
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Name + ": " + e.Message }

// TaskErrorName is the name by which the state machine retries or catches it.
func (e *Error) TaskErrorName() string { return e.Name }

// Task names one step of a run.
type Task struct {
	Account string `json:"account_id"`
	RunID   string `json:"run_id"`
	StepID  string `json:"step_id"`
}

// Outcome says how the state machine goes on after an invocation that did not fail.
type Outcome string

// The outcomes.
const (
	OutcomeDone     Outcome = "done"     // or skipped
	OutcomeApproval Outcome = "approval" // somebody must approve: Await, then the step again
	OutcomeEach     Outcome = "each"     // the effects in Items, then the step again
	OutcomeReason   Outcome = "reason"   // a command failed: another may be thought of, then the step again
)

// Done is what a step that did not fail returns to the state machine: only names of
// effects. The result itself stays in the store.
type Done struct {
	Outcome Outcome  `json:"outcome"`
	Items   []string `json:"items"` // never nil
}

func goOn(o Outcome, items ...string) Done {
	return Done{Outcome: o, Items: append([]string{}, items...)}
}

// Store reads runs and writes intents and results. Its verbs are conditional on
// the run and the step being as they were read (plan.ErrMoved otherwise), and
// move the run by exactly one event.
type Store interface {
	run.Catalogue
	Run(ctx context.Context, account, id string) (plan.Run, error)
	Credential(ctx context.Context, account string, s tool.Server) (tool.Credential, error)
	// FreezeTool notes that a server's tool is another than the approved one, while
	// seen is the allowlist in force.
	FreezeTool(ctx context.Context, account, serverID, seen, tool string, at time.Time) error
	// AskApproval notes that a step waits for an approval, and moves the run to
	// waiting. The run must not be asked to stop.
	AskApproval(ctx context.Context, r plan.Run, st plan.StepState, due time.Time, rec run.Record) (plan.Run, error)
	// BeginStep writes the intent of an attempt. The run must not be asked to stop;
	// for an undo, undoing must have begun.
	BeginStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error)
	// EndStep writes what became of an attempt, or why none was made. A run in which
	// no step waits any more runs again.
	EndStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error)
	// Whole returns a result with all of its body, when it is stored apart.
	Whole(ctx context.Context, r plan.Run, stepID string, res plan.Result) (plan.Result, error)
}

// Sender sends a request once and reads at most limit bytes of the answer. Its
// errors are tool.ErrNotSent, when nothing reached the server, tool.ErrLost,
// when it may have been applied, and tool.ErrRequest for one that must not be
// sent.
type Sender interface {
	Send(ctx context.Context, r tool.Request, key *tool.Credential, limit int64) (tool.Answer, error)
}

// Caller calls a tool of a server that speaks the Model Context Protocol, once.
// Its errors are Sender's, tool.ErrToolChanged when the tool is another than the
// approved one (it was not called), and tool.ErrRefusedUs when the server does not
// take the key (neither was it).
type Caller interface {
	CallTool(ctx context.Context, c tool.Call) (tool.Answer, error)
}

// Waker lets an execution that waits with a token go on.
type Waker interface {
	Wake(ctx context.Context, token string) error
}

// Executor runs steps.
type Executor struct {
	Store   Store
	Schemas tool.Compiler // judges the arguments of calls
	Sender  Sender
	Caller  Caller
	Waker   Waker
	IDs     *ids.Source
	Now     func() time.Time
	Log     *slog.Logger

	// AloneSince says that no other executor has made calls since then: an open
	// attempt from before it has nobody who could end it. Zero: there may be others.
	AloneSince time.Time

	turns  turns
	intact intact
}

// Execute makes one attempt at an effect, or says what it waits for, unless it
// already ended: then it says again how. It returns *Error when the effect did not
// succeed; any other error is ours, and the invocation may be repeated.
func (x *Executor) Execute(ctx context.Context, t Task) (Done, error) {
	r, step, err := x.load(ctx, t)
	if err != nil {
		return Done{}, err
	}
	st := r.State(step.ID)
	switch {
	case st.Status == plan.StepDone, st.Status == plan.StepSkipped:
		return goOn(OutcomeDone), nil
	case st.Status.Terminal():
		return Done{}, &Error{Name: nameOf(st.Status), Message: messageOf(st)}
	}
	if why := misplaced(r, step); why != "" {
		return Done{}, &Error{Name: Cancelled, Message: why}
	}
	stopping := r.CancelAt != nil && !plan.ParseEffect(step.ID).Undo
	unsure := st.Last.Open && (st.Error != nil || !plan.Idempotent(step.Method) || stopping && step.Risk != plan.Read)
	switch {
	case unsure && x.mayBeCalling(st):
		return Done{}, &Error{Name: Throttled, Message: "another invocation may still be in its call"}
	case stopping && !unsure && !st.Expanded:
		return x.end(ctx, t, &r, ending{status: plan.StepCancelled, kind: plan.EventStepFailed, failure: x.failure(r, "step.cancelled")})
	case x.Now().Before(st.NotBefore):
		return Done{}, &Error{Name: Throttled, Message: "it is too early to ask again"}
	case unsure:
		return x.check(ctx, t, r, step)
	}
	return x.attempt(ctx, t, r, step)
}

// misplaced says why an effect has no place in the run as it stands, or nothing.
func misplaced(r plan.Run, step plan.Step) string {
	e := plan.ParseEffect(step.ID)
	if r.Status != plan.Running && r.Status != plan.Waiting {
		return fmt.Sprintf("the run is %s", r.Status)
	}
	if e.Undo {
		e.Undo = false
		base := r.State(e.String())
		switch {
		case r.UndoAt == nil:
			return "nothing is being undone"
		case base.Status != plan.StepDone && (base.Settled == nil || base.Settled.Outcome != plan.OutcomeDone):
			return "what would be undone was not done"
		}
		return ""
	}
	if r.UndoAt != nil {
		return "the run is being undone"
	}
	if e.Item >= 0 {
		if parent := r.State(e.Step); !parent.Expanded || parent.Status.Terminal() || e.Item >= parent.Items {
			return "the step is not being done for that element"
		}
	}
	return ""
}

// attempt makes the next call of an effect that may make one, unless something
// stands before it: a condition, elements, an approval, a thought.
func (x *Executor) attempt(ctx context.Context, t Task, r plan.Run, step plan.Step) (Done, error) {
	st := r.State(step.ID)
	look := x.results(ctx, r, step.ID)
	if effect := plan.ParseEffect(step.ID); st.Attempts == 0 && effect.Item < 0 && !effect.Undo {
		e, err := x.skipped(r, step, look)
		if e != nil || err != nil {
			return x.ended(ctx, t, r, e, err)
		}
	}
	if step.ForEach != "" {
		return x.each(ctx, t, r, step, look)
	}
	call, refused, err := x.prepare(ctx, r, step, look)
	if err != nil || refused != nil {
		return x.ended(ctx, t, r, refusedWith(refused), err)
	}
	waits, refused := x.gate(r, st, call.wanted())
	switch {
	case refused != nil:
		e := refusedWith(refused)
		if refused.Code == codeCommandFailed { // what the command answered is why
			e.result = st.Result
		}
		return x.ended(ctx, t, r, e, nil)
	case waits:
		return goOn(OutcomeApproval), nil
	case x.thinks(r, step, st):
		return goOn(OutcomeReason), nil
	}
	if err := x.keyed(ctx, r, &call); err != nil {
		return Done{}, err
	}
	return x.make(ctx, t, r, step, call)
}

// ended writes an ending that came before any call, unless it is an error of ours.
func (x *Executor) ended(ctx context.Context, t Task, r plan.Run, e *ending, err error) (Done, error) {
	if err != nil {
		return Done{}, err
	}
	return x.end(ctx, t, &r, *e)
}

// make makes the call: intent, call, result.
func (x *Executor) make(ctx context.Context, t Task, r plan.Run, step plan.Step, call prepared) (Done, error) {
	known := &r
	if !alone(r.Plan, step.ID) { // its neighbours have moved the run by now
		known = nil
	}
	r, err := x.begin(ctx, t, known, call)
	if err != nil {
		return Done{}, err
	}
	if known != nil {
		known = &r
	}
	answer, err := x.send(ctx, call)
	if errors.Is(err, tool.ErrToolChanged) {
		if untold := x.Store.FreezeTool(context.WithoutCancel(ctx), r.Account, call.server.ID, call.server.Catalogue, step.Tool, x.Now()); untold != nil {
			x.Log.ErrorContext(ctx, "step.not_frozen", "mcp_id", call.server.ID, "tool", step.Tool, "error", untold)
		}
	}
	// Whatever became of the call must be written, also when the caller is gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	return x.end(ctx, t, known, x.judge(r, step, r.State(step.ID), call, answer, err))
}

// wholeCall is how long a call may take with all that belongs to it: a token, a
// session, the list of tools. What the step function is given leaves time to write
// what became of it.
const wholeCall = 70 * time.Second

// send makes the call.
func (x *Executor) send(ctx context.Context, call prepared) (tool.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeCall)
	defer cancel()
	if call.tool == nil {
		return x.Sender.Send(ctx, call.request, call.key, maxAnswer)
	}
	return x.Caller.CallTool(ctx, *call.tool)
}

// longestCall is how long an invocation can be in its call: what the step
// function is given, and time to spare for clocks that differ.
const longestCall = 2 * time.Minute

// mayBeCalling reports whether the invocation that wrote the open attempt may
// still get its answer. The state machine invokes a step again when it lost sight
// of it, which does not mean that it ended. An open attempt with an error has ended:
// its answer did not come.
func (x *Executor) mayBeCalling(st plan.StepState) bool {
	switch {
	case st.Error != nil:
		return false
	case !x.AloneSince.IsZero() && st.Last.SentAt.Before(x.AloneSince):
		return false
	}
	return x.Now().Before(st.Last.SentAt.Add(longestCall))
}

// alone reports whether no other effect of the run may move it beside this one.
func alone(p plan.Plan, id string) bool {
	e := plan.ParseEffect(id)
	if e.Undo || e.Item >= 0 {
		return e.Undo
	}
	waves, err := plan.Waves(p.Steps)
	return err == nil && slices.ContainsFunc(waves, func(wave []string) bool { return len(wave) == 1 && wave[0] == id })
}

func (x *Executor) load(ctx context.Context, t Task) (plan.Run, plan.Step, error) {
	r, err := x.Store.Run(ctx, t.Account, t.RunID)
	if err != nil {
		return r, plan.Step{}, err
	}
	step, ok := r.Plan.Step(t.StepID)
	if !ok {
		return r, step, &Error{Name: Rejected, Message: "the plan has no step " + t.StepID}
	}
	return r, step, nil
}
