package step

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// shareFor is the time in which an invocation may begin effects. An effect that begins at its end
// ends within the timeout of the step function.
const shareFor = 10 * time.Second

// handOver is the pause before a call is repeated by another invocation. The state machine would
// wait as long before its first repetition.
const handOver = time.Second

// sideBySide is the number of effects that one invocation carries out at the same time.
const sideBySide = 8

// progress is how far an invocation came with a run.
type progress struct {
	run   plan.Run // as the last write about the effect left it
	last  *latest
	alone bool // no other invocation carries out effects of the run now

	learned *learned // of what was tried

	left  int       // how many effects may still begin
	until time.Time // when no further one begins
	ended int       // how many effects ended
	begun *begun
}

// latest is a run as the last write of an invocation left it. It is used under the lock of the run,
// or by the only user of it.
type latest struct {
	run   plan.Run
	known bool
}

// begun is an effect whose intent is written with the result of the one before it.
type begun struct {
	step   plan.Step
	call   prepared
	intent run.Move
}

// mayGoOn reports whether a further effect may begin in an invocation.
func (x *Executor) mayGoOn(p *progress) bool {
	return p.left > 0 && x.Now().Before(p.until) && (x.Stopping == nil || !x.Stopping())
}

// Drive carries out the next effects of a run, at most Steps of them. Its outcome tells the state
// machine what to do next. It returns an error when a wave is over and one of its steps did not end
// well, and when an attempt must be repeated. A repeated call is safe.
func (x *Executor) Drive(ctx context.Context, account, runID string) (Done, error) {
	p := &progress{last: &latest{}, alone: true, left: max(1, x.Steps), until: x.Now().Add(shareFor)}
	t := Task{Account: account, RunID: runID, progress: p}
	for {
		if err := x.read(ctx, t); err != nil {
			return Done{}, err
		}
		if p.run.HandedOut() { // the wave before this invocation is over
			if err := x.takeBackNow(ctx, t); err != nil {
				return Done{}, err
			}
		}
		seen := p.run.EventSeq
		if refused, err := x.refuseUnfit(ctx, t); err != nil || refused {
			if err != nil {
				return Done{}, err
			}
			continue
		}
		effects, done, err := x.next(p.run)
		switch {
		case err != nil, done.Outcome != "":
			return done, err
		case p.ended > 0 && !x.mayGoOn(p):
			return continueWith(OutcomeNext), nil
		}
		if len(effects) == 1 {
			done, err = x.one(ctx, t, effects[0])
		} else {
			done, err = x.several(ctx, t, effects)
		}
		if err == nil && done.Outcome == OutcomeApproval && p.ended > 0 { // before somebody is asked in vain
			done, err = x.asksInVain(ctx, t, done)
		}
		if err != nil || done.Outcome != "" {
			return done, err
		}
		if p.last.known && p.last.run.EventSeq == seen {
			return Done{}, fmt.Errorf("run %s does not go on from event %d", runID, seen)
		}
	}
}

// read brings the run of an invocation up to date.
func (x *Executor) read(ctx context.Context, t Task) error {
	if !t.progress.last.known {
		r, err := x.Store.Bare(ctx, t.Account, t.RunID)
		if err != nil {
			return err
		}
		*t.progress.last = latest{r, true}
	}
	t.progress.run = t.progress.last.run
	return nil
}

// next returns the effects of a run that can be carried out now, or how its execution goes on when
// there are none. Steps that failed are an error when all steps of their wave have ended.
func (x *Executor) next(r plan.Run) ([]plan.EffectID, Done, error) {
	switch {
	case r.Status.Active():
	case r.Conclude == plan.ConcludeDue:
		return nil, continueWith(OutcomeConclude), nil
	default:
		return nil, continueWith(OutcomeDone), nil
	}
	effects, failed := open(r)
	if failed != nil {
		return nil, Done{}, failed
	}
	if len(effects) == 0 {
		return nil, continueWith(OutcomeSettle), nil
	}
	var now, thinks []plan.EffectID
	for _, id := range effects {
		step, _ := r.Plan.Step(id)
		st := r.State(id)
		switch {
		case r.CancelAt != nil && !id.Undo():
			now = append(now, id)
		case st.Status == plan.StepWaiting && st.Approval.Open(x.Now()):
		case x.canReason(r, step, st):
			thinks = append(thinks, id)
		default:
			now = append(now, id)
		}
	}
	switch {
	case len(now) > 0:
		return now, Done{}, nil
	case len(thinks) > 0:
		return nil, continueWith(OutcomeReason, thinks[0]), nil
	}
	return nil, continueWith(OutcomeApproval), nil
}

// open returns the effects that are the next to end: the newest undo that is left, or the steps of
// the first wave that is not over. A wave in which a step did not end well is over when all of its
// steps have ended, and no wave follows it: that is the error. Beside a step that failed unsent, only
// the effects that have begun are open.
func open(r plan.Run) ([]plan.EffectID, error) {
	if r.UndoAt != nil {
		for _, id := range run.UndoIDs(r) {
			if !r.State(id).Status.Terminal() {
				return []plan.EffectID{id}, nil
			}
		}
		return nil, nil
	}
	waves, err := plan.Waves(r.Plan.Steps)
	if err != nil {
		return nil, err
	}
	ends := hasUnsent(r)
	for _, wave := range waves {
		var effects []plan.EffectID
		var failed error
		for _, id := range wave {
			switch st := r.State(id); {
			case !st.Status.Terminal() && ends && st.Attempts == 0: // it does not begin any more
			case !st.Status.Terminal():
				effects = append(effects, id)
			case st.Status != plan.StepDone && st.Status != plan.StepSkipped:
				failed = &Error{Name: errorName(st.Status), Message: messageOf(st)}
			}
		}
		switch {
		case len(effects) > 0:
			return effects, nil
		case failed != nil:
			return nil, failed
		}
	}
	return nil, nil
}

// one carries out an effect, and those after it whose intent was written with its result. An empty
// outcome means that the run can be looked at again.
func (x *Executor) one(ctx context.Context, t Task, id plan.EffectID) (Done, error) {
	p := t.progress
	t.StepID = id
	p.left--
	done, err := x.execute(ctx, t, p.run)
	for err == nil && p.begun != nil {
		next := p.begun
		t.StepID, p.begun = next.step.ID, nil
		p.left--
		p.ended++
		done, err = x.call(ctx, t, next.step, next.call)
	}
	if err == nil && done.Outcome == OutcomeEach {
		if len(done.Items) == 0 {
			return Done{}, nil
		}
		return x.several(ctx, t, done.Items)
	}
	switch {
	case err == nil && done.Outcome == OutcomeReason:
		return continueWith(OutcomeReason, t.StepID), nil
	case err == nil && done.Outcome == OutcomeApproval:
		return done, nil
	case err == nil:
		p.ended++
		return Done{}, nil
	case again(err) && p.ended == 0: // the state machine repeats it
		return Done{}, err
	case again(err):
		if err := retry.Wait(ctx, handOver); err != nil {
			return Done{}, err
		}
		return continueWith(OutcomeNext), nil
	}
	return Done{}, x.unrecorded(ctx, t, err)
}

// again reports whether an error asks for a repetition.
func again(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Name == Transient || e.Name == Throttled)
}

// unrecorded returns nil for the error of an effect that ended: the run says how it goes on.
func (x *Executor) unrecorded(ctx context.Context, t Task, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	if err := x.read(ctx, t); err != nil {
		return err
	}
	if t.progress.run.State(t.StepID).Status.Terminal() {
		t.progress.ended++
		return nil
	}
	return err
}

// several carries out effects that do not need each other: in this invocation when it may carry out
// all of them, and otherwise each in one of its own. Of a step that is done for each element, it
// takes the elements.
func (x *Executor) several(ctx context.Context, t Task, effects []plan.EffectID) (Done, error) {
	all, asks, err := x.withElements(ctx, t, effects)
	switch {
	case err != nil:
		return Done{}, err
	case len(all) == 0 && asks:
		return continueWith(OutcomeApproval), nil
	case len(all) == 0:
		return Done{}, nil
	case len(all) > t.progress.left || t.progress.ended > 0 && !x.mayGoOn(t.progress):
		return x.handOut(ctx, t, all)
	}
	left, asked, err := x.abreast(ctx, t, all)
	switch {
	case err != nil:
		return Done{}, err
	case len(left) > 0:
		if err := retry.Wait(ctx, handOver); err != nil {
			return Done{}, err
		}
		return x.handOut(ctx, t, left)
	case asks || asked:
		return continueWith(OutcomeApproval), nil
	}
	return Done{}, nil
}

// withElements returns effects, with elements in the place of the steps that are done for each
// element. It reports whether such a step needs an approval.
func (x *Executor) withElements(ctx context.Context, t Task, effects []plan.EffectID) (all []plan.EffectID, asks bool, err error) {
	for _, id := range effects {
		step, _ := t.progress.run.Plan.Step(id)
		if step.ForEach == "" {
			all = append(all, id)
			continue
		}
		t.StepID = id
		done, err := x.execute(ctx, t, t.progress.run)
		switch {
		case again(err):
			all = append(all, id)
		case err != nil:
			if err := x.unrecorded(ctx, t, err); err != nil {
				return nil, false, err
			}
		}
		asks = asks || done.Outcome == OutcomeApproval
		all = append(all, done.Items...)
		if err := x.read(ctx, t); err != nil {
			return nil, false, err
		}
	}
	return all, asks, nil
}

// abreast carries out effects at the same time. It returns those that are left for invocations of
// their own, because they must be repeated or could not begin in time, and reports whether one needs
// an approval.
func (x *Executor) abreast(ctx context.Context, t Task, all []plan.EffectID) (left []plan.EffectID, asks bool, err error) {
	p := t.progress
	outcomes, errs := make([]Done, len(all)), make([]error, len(all))
	slots := make(chan struct{}, sideBySide)
	var group sync.WaitGroup
	for i, id := range all {
		slots <- struct{}{}
		if i > 0 && !x.mayGoOn(p) {
			all, left = all[:i], all[i:]
			break
		}
		p.left--
		group.Go(func() {
			defer func() { <-slots }()
			own := t
			own.StepID, own.progress = id, &progress{run: p.run, last: p.last, alone: true}
			outcomes[i], errs[i] = x.guarded(ctx, own)
		})
	}
	group.Wait()
	for i, id := range all {
		var recorded *Error
		switch {
		case again(errs[i]):
			left = append(left, id)
		case errs[i] != nil && !errors.As(errs[i], &recorded):
			return nil, false, errs[i]
		}
		asks = asks || outcomes[i].Outcome == OutcomeApproval
	}
	p.ended += len(all)
	return left, asks, nil
}

// guarded carries out an effect. A panic is an error: it must not end the process, in which other
// runs are under way.
func (x *Executor) guarded(ctx context.Context, t Task) (done Done, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			x.Log.ErrorContext(ctx, "step.panicked", "run_id", t.RunID, "step", t.StepID, "error", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("step %s panicked: %v", t.StepID, cause)
		}
	}()
	return x.execute(ctx, t, t.progress.run)
}
