package step

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// decide writes the moves that f returns for the run, and repeats it while other writers change the run
// first. f gets the run as the last write of this invocation left it, if that is known, and otherwise as it
// is read, after the moves of the effects that are written in the same transaction. The move of an effect that is
// handed out is written to its row alone. The writes depend on the
// state that f was given, so a known state is as safe as one that was just read.
func (x *Executor) decide(ctx context.Context, t Task, f func(plan.Run) ([]run.Move, error)) error {
	return retry.Do(ctx, func() error {
		handed, err := x.isHanded(ctx, t)
		switch {
		case err != nil:
			return err
		case handed:
			return x.writeHanded(ctx, t, f)
		}
		own := &change{of: t.progress.last, decide: f}
		changes, done, err := x.locks.lock(ctx, t.RunID, own)
		if err != nil {
			return err
		}
		defer done()
		if len(changes) > 0 {
			x.write(ctx, t, changes)
		}
		if t.progress.last.known = own.after != nil; own.after != nil {
			t.progress.last.run, t.progress.run = *own.after, *own.after
		}
		return own.err
	})
}

// write writes changes in one transaction; the first one is that of the caller. A change that cannot be
// written with the others is left to its own writer, and so are all others when the transaction fails for
// another reason than that the run moved: the reason may be one of them.
func (x *Executor) write(ctx context.Context, t Task, changes []*change) {
	err := x.read(ctx, t)
	if err == nil {
		err = x.takeBack(ctx, t)
	}
	if err != nil {
		changes[0].end(nil, err)
		return
	}
	t.progress.last.known = false // until the write succeeds
	r := t.progress.run
	var moves []run.Move
	var joined []*change
	after := r
	for _, c := range changes {
		own, err := c.moves(after)
		switch {
		case err != nil || len(own) == 0:
			c.end(nil, err)
		case shareEffect(moves, own):
		default:
			joined, moves, after = append(joined, c), append(moves, own...), afterMoves(after, own)
		}
	}
	if len(joined) == 0 {
		return
	}
	next, err := x.advance(ctx, r, after, moves)
	if err != nil && len(joined) > 1 && !errors.Is(err, fault.ErrMoved) {
		if joined[0] == changes[0] {
			x.write(ctx, t, joined[:1])
		}
		return
	}
	for _, c := range joined {
		if err != nil {
			c.end(nil, err)
		} else {
			c.end(&next, nil)
		}
	}
}

// shareEffect reports whether two lists of moves are about the same effect.
func shareEffect(a, b []run.Move) bool {
	return slices.ContainsFunc(a, func(m run.Move) bool {
		return m.State != nil && slices.ContainsFunc(b, func(other run.Move) bool { return other.State != nil && other.State.StepID == m.State.StepID })
	})
}

// afterMoves returns a run as moves leave it, as far as other moves depend on it.
func afterMoves(r plan.Run, moves []run.Move) plan.Run {
	for _, m := range moves {
		if m.State != nil {
			r = r.With(*m.State)
		}
		if m.To != "" {
			r.Status = m.To
		}
	}
	return r
}

// begins returns the move that begins a queued run, before its first other one.
func (x *Executor) begins(r plan.Run) []run.Move {
	if r.Status != plan.Queued {
		return nil
	}
	return []run.Move{run.StartMove(x.IDs, r, x.Now())}
}

// advance makes moves of the run. It also ends a run whose steps have then all ended well. after is the run
// as the moves leave it.
func (x *Executor) advance(ctx context.Context, r, after plan.Run, moves []run.Move) (plan.Run, error) {
	x.add(ctx, r, func(ctx context.Context) error {
		if !after.EndedWell() || after.HandedOut() {
			return nil
		}
		chat, err := x.Store.Chat(ctx, r.Account, r.ChatID)
		if err != nil && !errors.Is(err, conversation.ErrChatNotFound) {
			return err
		}
		told, err := x.withTold(ctx, after)
		if err == nil {
			moves = append(moves, run.DoneMove(x.IDs, told, chat, x.Now()))
		}
		return err
	})
	next, err := x.Store.MoveRun(ctx, r, moves...)
	if err == nil && next.Status.Terminal() && !r.Status.Terminal() {
		run.LogEnd(ctx, x.Log, next)
	}
	return next, err
}

// withTold returns a run with all of the result that its final message tells.
func (x *Executor) withTold(ctx context.Context, r plan.Run) (plan.Run, error) {
	id, ok := run.Told(r)
	if !ok {
		return r, nil
	}
	st := r.State(id)
	whole, err := x.Store.Whole(ctx, r, id, *st.Result)
	st.Result = &whole
	return r.With(st), err
}

// addTime limits what is prepared to be written with a result. It leaves time to write the result.
const addTime = 5 * time.Second

// add prepares what can be written with a result that was received. The result is written also when
// that fails or panics: another invocation then prepares it again, and meets the same error.
func (x *Executor) add(ctx context.Context, r plan.Run, prepare func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, addTime)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			x.Log.ErrorContext(ctx, "step.panicked", "run_id", r.ID, "error", cause, "stack", string(debug.Stack()))
		}
	}()
	if err := prepare(ctx); err != nil {
		x.Log.WarnContext(ctx, "step.not_added", "run_id", r.ID, "error", err)
	}
}

// begin writes the start of the attempt and its message.
func (x *Executor) begin(ctx context.Context, t Task, call prepared) error {
	return x.decide(ctx, t, func(r plan.Run) ([]run.Move, error) {
		step, _ := r.Plan.Step(t.StepID)
		st := r.State(step.ID)
		if !mayBegin(r, step) || st.Status.Terminal() || st.Last.Open && !plan.Idempotent(step.Method) {
			return nil, &Error{Name: Transient, Message: "the step moved while it was prepared"}
		}
		return append(x.begins(r), x.intent(r, step, call)), nil
	})
}

// mayBegin reports whether an attempt of an effect may begin in the present state of the run.
func mayBegin(r plan.Run, step plan.Step) bool {
	return misplacedReason(r, step) == "" && (r.CancelAt == nil || step.ID.Undo())
}

// intent returns the move that begins the next attempt of an effect.
func (x *Executor) intent(r plan.Run, step plan.Step, call prepared) run.Move {
	st, at := r.State(step.ID), x.Now()
	again := st.Attempts > 0
	reason := x.reason(r, st)
	st.Status, st.Attempts, st.UpdatedAt, st.NotBefore = plan.StepRunning, st.Attempts+1, at, time.Time{}
	st.Result, st.Error, st.Lost = nil, nil, st.Lost || st.Last.Open
	st.Last = plan.Attempt{
		Number: st.Attempts, URL: call.request.URL, Headers: call.args.Headers, Body: call.body, Key: call.idempotency, SentAt: at, Open: true,
		Lasts: lasting(x.callTime(call)),
	}
	rec := run.Record{At: at, Type: plan.EventStepStart, StepID: step.ID, Data: map[string]any{
		"attempt": st.Attempts, "method": call.request.Method, "url": call.request.URL, "title": step.Title, "request": call.hash,
	}}
	if step.Tool != "" {
		rec.Data["tool"] = step.Tool
	}
	if len(call.args.Headers) > 0 {
		rec.Data["headers"] = call.args.Headers
	}
	switch {
	case again:
		rec.Type = plan.EventStepRetry
		rec.Data["reason"] = reason
		rec.Messages = x.messages(r, step, at, "retried", "attempt", fmt.Sprint(st.Attempts-1), "reason", reason)
	case call.unanswered:
		rec.Messages = x.messages(r, step, at, "again")
	default:
		rec.Messages = x.messages(r, step, at, "started")
	}
	return run.Move{Record: rec, State: &st, Begins: true}
}

// prepareNext prepares the effect that follows in the run as it will be, when it is a single call that
// can be made at once, and when no later step is known to be impossible; nil otherwise.
func (x *Executor) prepareNext(ctx context.Context, p progress, after plan.Run) (*begun, error) {
	p.run = after
	if _, why, err := x.unfit(ctx, &p); err != nil || why != nil {
		return nil, err
	}
	effects, _, err := x.next(after)
	if err != nil || len(effects) != 1 {
		return nil, err
	}
	step, _ := after.Plan.Step(effects[0])
	if st := after.State(step.ID); step.ForEach != "" || st.Attempts > 0 || !mayBegin(after, step) {
		return nil, nil
	}
	call, first, err := x.ready(ctx, after, step)
	if err != nil || first != (obstacle{}) {
		return nil, err
	}
	return &begun{step, call, x.intent(after, step, call)}, nil
}

// ending is the result of an attempt, or the reason why there was none. An empty name means
// success.
type ending struct {
	name      string // of the error for the state machine; derived from status when empty
	outcome   Outcome
	status    plan.StepStatus
	kind      string
	result    *plan.Result
	failure   *plan.Failure
	notBefore time.Time
	quiet     bool           // not final: no message, because the retry posts the reason
	open      bool           // the outcome of the call is still to be found out
	lost      bool           // the response of the attempt was lost
	checks    int            // number of checks so far
	data      map[string]any // of its event, in addition to the common members
	message   string         // key of the message, if not the one of its status
	reason    string         // for the message
}

// isUnanswered reports whether an effect ends as not done without a response that refuses every attempt at it. If the
// response of an earlier attempt was lost, the outcome is then unknown.
func (e ending) isUnanswered() bool {
	switch {
	case e.status != plan.StepFailed && e.status != plan.StepCancelled, e.checks > 0:
		return false
	}
	return e.result == nil || !meaning.OfRequest(e.result.Status) || e.result.OfRouter()
}

// unknownResult returns the response of an ending that does not say what became of the request; nil when there is none.
func (e ending) unknownResult() *plan.Result {
	if e.result != nil && (meaning.Of(e.result.Status, false) == meaning.Unknown || isPage(e.result)) {
		return e.result
	}
	return nil
}

func failedEnding(why *plan.Failure) *ending {
	return &ending{status: plan.StepFailed, kind: plan.EventStepFailed, failure: why}
}

// end writes the result of an attempt and returns it to the state machine. When the invocation may
// go on, the intent of the next effect is written with it.
func (x *Executor) end(ctx context.Context, t Task, first ending) (Done, error) {
	e := first
	err := x.decide(ctx, t, func(r plan.Run) ([]run.Move, error) {
		step, _ := r.Plan.Step(t.StepID)
		st := r.State(step.ID)
		e, t.progress.begun = first, nil
		if st.Status.Terminal() { // another invocation ended it first, and its result stays
			return nil, nil
		}
		if st.Lost = st.Lost || e.lost; st.Lost && e.isUnanswered() && step.Risk != plan.Read {
			e = x.unknownEnding(r, step, st, first.unknownResult())
			e.result = first.result
		}
		at := x.Now()
		st.Status, st.Result, st.Error, st.NotBefore, st.UpdatedAt = e.status, e.result, e.failure, e.notBefore, at
		st.Last.Open, st.Checks = e.open, max(st.Checks, e.checks)
		moves := append(x.begins(r), run.Move{Record: x.record(r, step, st, e, at), State: &st})
		if x.mayGoOn(t.progress) && e.endsWell() {
			x.add(ctx, r, func(ctx context.Context) (err error) {
				t.progress.begun, err = x.prepareNext(ctx, *t.progress, r.With(st))
				return err
			})
			if next := t.progress.begun; next != nil {
				moves = append(moves, next.intent)
			}
		}
		return moves, nil
	})
	switch {
	case err != nil:
		return Done{}, err
	case e.outcome != "":
		return continueWith(e.outcome), nil
	case e.endsWell():
		return continueWith(OutcomeDone), nil
	case e.name == "":
		e.name = errorName(e.status)
	}
	return Done{}, &Error{Name: e.name, Message: e.failure.Message}
}

func (e ending) endsWell() bool { return e.status == plan.StepDone || e.status == plan.StepSkipped }

func (x *Executor) record(r plan.Run, step plan.Step, st plan.StepState, e ending, at time.Time) run.Record {
	rec := run.Record{At: at, Type: e.kind, StepID: step.ID, Data: map[string]any{"attempt": st.Attempts, "title": step.Title}}
	maps.Copy(rec.Data, e.data)
	status := ""
	if e.result != nil && e.checks == 0 { // the event of a check describes the check only
		status = fmt.Sprint(e.result.Status)
		rec.Data["status"], rec.Data["bytes"], rec.Data["sha256"] = e.result.Status, e.result.Bytes, e.result.SHA256
	}
	if e.failure != nil {
		rec.Data["error"] = e.failure
		e.reason = e.failure.Message
	}
	key := e.message
	if key == "" {
		key = map[plan.StepStatus]string{plan.StepDone: "done", plan.StepInDoubt: "doubt", plan.StepFailed: "failed", plan.StepSkipped: "skipped"}[e.status]
	}
	if key != "" && !e.quiet {
		rec.Messages = x.messages(r, step, at, key, "status", status, "reason", e.reason, "items", fmt.Sprint(e.data["items"]))
	}
	return rec
}
