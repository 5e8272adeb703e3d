package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// effect carries out one effect of a run in one invocation.
type effect struct {
	id      plan.EffectID
	calls   preparer
	wire    wire
	notes   notes
	journal *journal

	alone bool    // no other invocation carries out effects of the run now
	share *share  // nil: no other effect follows in this invocation
	ahead outlook // for the effects that follow

	now        func() time.Time
	log        *slog.Logger
	aloneSince time.Time // Executor.AloneSince
}

// execute makes one attempt at the effect, as Executor.Execute does.
func (e *effect) execute(ctx context.Context) (Done, error) {
	r := e.journal.run
	step, ok := r.Plan.Step(e.id)
	if !ok {
		return Done{}, &Error{Name: Rejected, Message: "the plan has no step " + e.id.String()}
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
	case unsure && e.mayBeCalling(st):
		return Done{}, &Error{Name: Throttled, Message: "another invocation may still be in its call"}
	case stopping && !unsure && !st.Expanded:
		return e.end(ctx, ending{status: plan.StepCancelled, kind: plan.EventStepFailed, failure: failure(r, "step.cancelled")})
	case e.now().Before(st.NotBefore):
		return Done{}, &Error{Name: Throttled, Message: "it is too early to ask again"}
	case unsure:
		return e.check(ctx, step)
	}
	return e.attempt(ctx, step)
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
func (e *effect) attempt(ctx context.Context, step plan.Step) (Done, error) {
	if step.ForEach != "" {
		return e.each(ctx, step)
	}
	call, first, err := e.calls.ready(ctx, e.journal.run, step)
	switch {
	case err != nil:
		return Done{}, err
	case first.ending != nil:
		return e.end(ctx, *first.ending)
	case first.outcome != "":
		return continueWith(first.outcome), nil
	}
	return e.send(ctx, step, call)
}

// send writes the attempt, makes the call and writes the result.
func (e *effect) send(ctx context.Context, step plan.Step, call prepared) (Done, error) {
	r := e.journal.run
	forget := func() { // effects of other invocations may have changed the run
		if !e.alone && !runsAlone(r.Plan, step.ID) && r.State(step.ID).Handed == "" {
			e.journal.last.known = false
		}
	}
	forget()
	if err := e.begin(ctx, call); err != nil {
		return Done{}, err
	}
	forget()
	return e.call(ctx, step, call)
}

// call makes the call of an attempt that was written, and writes the result.
func (e *effect) call(ctx context.Context, step plan.Step, call prepared) (Done, error) {
	r := e.journal.run
	within := r.State(e.id).Last.Until().Sub(e.now()) - outlives // or as it is granted meanwhile
	if call.tool != nil && call.server.Kind != tool.KindFiles {
		call.tool.Within, call.tool.Prolong = within, e.prolong()
		within = longestCall
	}
	answer, err := e.wire.send(ctx, r, call, within)
	if errors.Is(err, tool.ErrToolChanged) {
		if freezeErr := e.wire.tools.FreezeTool(context.WithoutCancel(ctx), r.Account, call.server.ID, call.server.Catalogue, step.Tool, e.now()); freezeErr != nil {
			e.log.ErrorContext(ctx, "step.not_frozen", "mcp_id", call.server.ID, "tool", step.Tool, "error", freezeErr)
		}
	}
	// The result must be written even if the invocation was cancelled.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	return e.end(ctx, attemptOf(r, step, e.now()).judge(call, answer, err))
}

// begin writes the start of the attempt and its message.
func (e *effect) begin(ctx context.Context, call prepared) error {
	return e.journal.decide(ctx, e.id, func(r plan.Run) ([]run.Move, error) {
		step, _ := r.Plan.Step(e.id)
		st := r.State(step.ID)
		if !mayBegin(r, step) || st.Status.Terminal() || st.Last.Open && !plan.Idempotent(step.Method) {
			return nil, &Error{Name: Transient, Message: "the step moved while it was prepared"}
		}
		return append(e.journal.begins(r), e.notes.intent(r, step, call, e.now())), nil
	})
}

// mayBegin reports whether an attempt of an effect may begin in the present state of the run.
func mayBegin(r plan.Run, step plan.Step) bool {
	return misplacedReason(r, step) == "" && (r.CancelAt == nil || step.ID.Undo())
}

// prepareNext prepares the effect that follows in the run as it will be, when it is a single call that
// can be made at once, and when no later step is known to be impossible; nil otherwise.
func (e *effect) prepareNext(ctx context.Context, after plan.Run) (*begun, error) {
	if _, why, err := e.ahead.unfit(ctx, after); err != nil || why != nil {
		return nil, err
	}
	effects, _, err := next(after, e.now())
	if err != nil || len(effects) != 1 {
		return nil, err
	}
	step, _ := after.Plan.Step(effects[0])
	if st := after.State(step.ID); step.ForEach != "" || st.Attempts > 0 || !mayBegin(after, step) {
		return nil, nil
	}
	call, first, err := e.calls.ready(ctx, after, step)
	if err != nil || first != (obstacle{}) {
		return nil, err
	}
	return &begun{step, call, e.notes.intent(after, step, call, e.now())}, nil
}

// runsAlone reports whether no other effect of the run executes at the same time.
func runsAlone(p plan.Plan, id plan.EffectID) bool {
	if id.Undo() || id.Item() >= 0 {
		return id.Undo()
	}
	waves, err := plan.Waves(p.Steps)
	return err == nil && slices.ContainsFunc(waves, func(wave []plan.EffectID) bool { return len(wave) == 1 && wave[0] == id })
}
