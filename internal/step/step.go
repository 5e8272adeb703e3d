// Package step owns one effect of a run: is it still allowed, what exactly is
// sent, and what is known of it afterwards.
//
// The order is what makes it safe. An intent is written before the call and a
// result after it, each conditional on what was read. An intent without a
// result is in doubt: a method that may be repeated is repeated with the same
// Idempotency-Key, any other never is. What comes back is data: it is stored
// and shown, and decides nothing but the references that name it.
package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/fault"
	"piloto/internal/ident"
	"piloto/internal/locale"
	"piloto/internal/plan"
	"piloto/internal/run"
	"piloto/internal/tool"
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

// Done is what a successful step returns to the state machine; the result
// itself stays in the store.
type Done struct {
	StepID string          `json:"step_id"`
	Status plan.StepStatus `json:"status"`
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
	// BeginStep writes the intent of an attempt. The run must be running and
	// not asked to stop.
	BeginStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error)
	// EndStep writes what became of an attempt, or why none was made.
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

// Executor runs steps.
type Executor struct {
	Store  Store
	Sender Sender
	Caller Caller
	IDs    *ident.Source
	Now    func() time.Time
	Log    *slog.Logger

	// AloneSince says that no other executor has made calls since then: an open
	// attempt from before it has nobody who could end it. Zero: there may be others.
	AloneSince time.Time

	turns  turns
	intact intact
}

// Execute makes one attempt at a step, unless it already ended: then it says
// again how. It returns *Error when the step did not succeed; any other error is
// ours, and the invocation may be repeated.
func (x *Executor) Execute(ctx context.Context, t Task) (Done, error) {
	r, step, err := x.load(ctx, t)
	if err != nil {
		return Done{}, err
	}
	st := r.State(step.ID)
	switch {
	case st.Status == plan.StepDone:
		return Done{StepID: step.ID, Status: st.Status}, nil
	case st.Status.Terminal():
		return Done{}, &Error{Name: nameOf(st.Status), Message: messageOf(st)}
	case r.Status != plan.Running:
		return Done{}, &Error{Name: Cancelled, Message: fmt.Sprintf("the run is %s", r.Status)}
	case st.Last.Open && !plan.Idempotent(step.Method) && x.mayBeCalling(st):
		return Done{}, &Error{Name: Throttled, Message: "another invocation may still be in its call"}
	case st.Last.Open && !plan.Idempotent(step.Method):
		return x.end(ctx, t, &r, x.doubt(r, st))
	case r.CancelAt != nil && st.Last.Open && step.Risk != plan.Read:
		return x.end(ctx, t, &r, x.doubt(r, st))
	case r.CancelAt != nil:
		return x.end(ctx, t, &r, ending{status: plan.StepCancelled, kind: plan.EventStepFailed, failure: x.failure(r, "step.cancelled")})
	case x.Now().Before(st.NotBefore):
		return Done{}, &Error{Name: Throttled, Message: "the server asked us to wait"}
	}
	call, refused, err := x.prepare(ctx, r, step)
	if err != nil {
		return Done{}, err
	}
	if refused != nil {
		return x.end(ctx, t, &r, ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: refused})
	}
	known := &r
	if !alone(r.Plan, step.ID) { // its neighbours have moved the run by now
		known = nil
	}
	r, err = x.begin(ctx, t, known, call)
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
	return x.end(ctx, t, known, x.judge(r, step, r.State(step.ID), answer, err))
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
// of it, which does not mean that it ended.
func (x *Executor) mayBeCalling(st plan.StepState) bool {
	if !x.AloneSince.IsZero() && st.Last.SentAt.Before(x.AloneSince) {
		return false
	}
	return x.Now().Before(st.Last.SentAt.Add(longestCall))
}

// alone reports whether no other step of the plan may run beside this one.
func alone(p plan.Plan, id string) bool {
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

// decide lets f decide over the run: first as it is known, if it is, and then as
// it is read, again and again while other writers move it first. What f writes
// is conditional on what it was given, so that knowing it from before is as safe
// as having read it.
func (x *Executor) decide(ctx context.Context, t Task, known *plan.Run, f func(plan.Run, plan.Step) error) error {
	return run.Retry(ctx, func() error {
		done, err := x.turns.take(ctx, t.RunID)
		if err != nil {
			return err
		}
		defer done()
		if known != nil {
			r := *known
			known = nil
			step, _ := r.Plan.Step(t.StepID)
			return f(r, step)
		}
		r, step, err := x.load(ctx, t)
		if err != nil {
			return err
		}
		return f(r, step)
	})
}

// begin writes the intent and the message that goes with it. It returns the run
// as that left it.
func (x *Executor) begin(ctx context.Context, t Task, known *plan.Run, call prepared) (plan.Run, error) {
	var next plan.Run
	err := x.decide(ctx, t, known, func(r plan.Run, step plan.Step) error {
		st := r.State(step.ID)
		if r.Status != plan.Running || r.CancelAt != nil || st.Status.Terminal() || st.Last.Open && !plan.Idempotent(step.Method) {
			return &Error{Name: Transient, Message: "the step moved while it was prepared"}
		}
		at := x.Now()
		again := st.Attempts > 0
		reason := x.reason(r, st)
		st.Status, st.Attempts, st.UpdatedAt, st.NotBefore = plan.StepRunning, st.Attempts+1, at, time.Time{}
		st.Last = plan.Attempt{Number: st.Attempts, URL: call.request.URL, Body: call.body, SentAt: at, Open: true}
		rec := run.Record{At: at, Type: plan.EventStepStart, StepID: step.ID, Data: map[string]any{
			"attempt": st.Attempts, "method": call.request.Method, "url": call.request.URL, "title": step.Title,
		}}
		if step.Tool != "" {
			rec.Data["tool"] = step.Tool
		}
		if again {
			rec.Type = plan.EventStepRetry
			rec.Data["reason"] = reason
			rec.Messages = x.say(r, step, at, "run.step_retried", "attempt", fmt.Sprint(st.Attempts-1), "reason", reason)
		} else {
			rec.Messages = x.say(r, step, at, "run.step_started")
		}
		begun, err := x.Store.BeginStep(ctx, r, st, rec)
		next = begun
		return err
	})
	return next, err
}

// ending is what became of an attempt. An empty name is success.
type ending struct {
	name      string // of the error for the state machine; derived from status when empty
	status    plan.StepStatus
	kind      string
	result    *plan.Result
	failure   *plan.Failure
	notBefore time.Time
	quiet     bool // not over: no event of its own, the retry will say why
}

// end writes what became of an attempt and says it to the state machine.
func (x *Executor) end(ctx context.Context, t Task, known *plan.Run, e ending) (Done, error) {
	err := x.decide(ctx, t, known, func(r plan.Run, step plan.Step) error {
		st := r.State(step.ID)
		if st.Status.Terminal() { // somebody settled it meanwhile; the first word stands
			return nil
		}
		at := x.Now()
		st.Status, st.Result, st.Error, st.NotBefore, st.UpdatedAt = e.status, e.result, e.failure, e.notBefore, at
		st.Last.Open = false
		_, err := x.Store.EndStep(ctx, r, st, x.record(r, step, st, e, at))
		return err
	})
	switch {
	case err != nil:
		return Done{}, err
	case e.status == plan.StepDone:
		return Done{StepID: t.StepID, Status: e.status}, nil
	case e.name == "":
		e.name = nameOf(e.status)
	}
	return Done{}, &Error{Name: e.name, Message: e.failure.Message}
}

func (x *Executor) record(r plan.Run, step plan.Step, st plan.StepState, e ending, at time.Time) run.Record {
	rec := run.Record{At: at, Type: e.kind, StepID: step.ID, Data: map[string]any{"attempt": st.Attempts, "title": step.Title}}
	if e.result != nil {
		rec.Data["status"], rec.Data["bytes"] = e.result.Status, e.result.Bytes
	}
	if e.failure != nil {
		rec.Data["error"] = e.failure
	}
	switch {
	case e.quiet:
	case e.status == plan.StepDone:
		rec.Messages = x.say(r, step, at, "run.step_done", "status", fmt.Sprint(e.result.Status))
	case e.status == plan.StepInDoubt:
		rec.Messages = x.say(r, step, at, "run.step_doubt", "reason", e.failure.Message)
	case e.status == plan.StepFailed:
		rec.Messages = x.say(r, step, at, "run.step_failed", "reason", e.failure.Message)
	}
	return rec
}

// say makes the chat's message about a step.
func (x *Executor) say(r plan.Run, step plan.Step, at time.Time, key string, more ...string) []conversation.Message {
	place := 1
	for i, s := range r.Plan.Steps {
		if s.ID == step.ID {
			place = i + 1
		}
	}
	args := append([]string{"at", fmt.Sprint(place), "n", fmt.Sprint(len(r.Plan.Steps)), "title", step.Title}, more...)
	text := locale.Text(locale.Tag(r.Locale), key, args...)
	return []conversation.Message{run.Message(x.IDs, r, conversation.KindProgress, at, text)}
}

func (x *Executor) failure(r plan.Run, code string, pairs ...string) *plan.Failure {
	return &plan.Failure{Code: code, Message: locale.Text(locale.Tag(r.Locale), code, pairs...)}
}

// refusal turns a fault whose sentence is in locale into a failure.
func (x *Executor) refusal(r plan.Run, err error) (*plan.Failure, bool) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil, false
	}
	if _, ok := locale.Lookup(locale.Tag(r.Locale), f.Code); !ok {
		return nil, false
	}
	return &plan.Failure{Code: f.Code, Message: locale.Fill(locale.Tag(r.Locale), f.Code, f.Args)}, true
}

func nameOf(s plan.StepStatus) string {
	switch s {
	case plan.StepInDoubt:
		return InDoubt
	case plan.StepCancelled:
		return Cancelled
	}
	return Rejected
}

func messageOf(st plan.StepState) string {
	if st.Error != nil {
		return st.Error.Message
	}
	return string(st.Status)
}

// reason says why an attempt follows another: what ended that one, or that
// nobody knows, since it was cut off in the middle.
func (x *Executor) reason(r plan.Run, st plan.StepState) string {
	if st.Last.Open {
		return x.failure(r, "step.interrupted").Message
	}
	return messageOf(st)
}
