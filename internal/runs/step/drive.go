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

// share is how much of a run an invocation still carries out.
type share struct {
	left     int       // how many effects may still begin
	until    time.Time // when no further one begins
	stopping func() bool
	ended    int // how many effects ended
	begun    *begun
}

// goesOn reports whether a further effect may begin.
func (s *share) goesOn(now time.Time) bool {
	return s != nil && s.left > 0 && now.Before(s.until) && (s.stopping == nil || !s.stopping())
}

// begun is an effect whose intent is written with the result of the one before it.
type begun struct {
	step   plan.Step
	call   prepared
	intent run.Move
}

// Drive carries out the next effects of the run of a task, at most Steps of them; it ignores the step of the task. Its
// outcome is the next state of the state machine. It returns an error when a wave is over and one of its steps did not end
// well, and when an attempt must be repeated. A repeated call is safe.
func (x *Executor) Drive(ctx context.Context, t Task) (Done, error) {
	e := x.effect(x.journal(t))
	e.alone = true
	e.share = &share{left: max(1, x.Steps), until: x.Now().Add(shareFor), stopping: x.Stopping}
	e.ahead = outlook{calls: e.calls, stores: x.Stores, learned: newLearned()}
	return (&driver{pattern: e, journal: e.journal, share: e.share}).drive(ctx)
}

// driver carries out the effects of a run that are next, as many as its share.
type driver struct {
	pattern effect // the others are copies of it
	journal *journal
	share   *share
}

// effect returns an effect of the run, which writes to the journal of the driver.
func (d *driver) effect(id plan.EffectID) *effect {
	e := d.pattern
	e.id = id
	return &e
}

func (d *driver) drive(ctx context.Context) (Done, error) {
	for {
		if err := d.journal.read(ctx); err != nil {
			return Done{}, err
		}
		if d.journal.run.HandedOut() { // the wave before this invocation is over
			if err := d.journal.takeBackNow(ctx); err != nil {
				return Done{}, err
			}
		}
		seen := d.journal.run.EventSeq
		if refused, err := d.refuseUnfit(ctx); err != nil || refused {
			if err != nil {
				return Done{}, err
			}
			continue
		}
		effects, done, err := next(d.journal.run, d.journal.now())
		switch {
		case err != nil, done.Outcome != "":
			return done, err
		case d.share.ended > 0 && !d.share.goesOn(d.journal.now()):
			return continueWith(OutcomeNext), nil
		}
		if len(effects) == 1 {
			done, err = d.one(ctx, effects[0])
		} else {
			done, err = d.several(ctx, effects)
		}
		if err == nil && done.Outcome == OutcomeApproval && d.share.ended > 0 { // before somebody is asked in vain
			done, err = d.asksInVain(ctx, done)
		}
		if err != nil || done.Outcome != "" {
			return done, err
		}
		if last := d.journal.last; last.known && last.run.EventSeq == seen {
			return Done{}, fmt.Errorf("run %s does not go on from event %d", d.journal.runID, seen)
		}
	}
}

// next returns the effects of a run that can be carried out now, or how its execution goes on when
// there are none. Steps that failed are an error when all steps of their wave have ended.
func next(r plan.Run, at time.Time) ([]plan.EffectID, Done, error) {
	if !r.Status.Active() {
		return nil, continueWith(Settled(r, false)), nil
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
		case st.Status == plan.StepWaiting && st.Approval.Open(at):
		case attemptOf(r, step, at).canReason():
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
		for _, id := range r.Undos() {
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

// one carries out an effect, and those after it whose intent was written with its result. After an empty outcome the run is
// read again for its next effects.
func (d *driver) one(ctx context.Context, id plan.EffectID) (Done, error) {
	s := d.share
	s.left--
	done, err := d.effect(id).execute(ctx)
	for err == nil && s.begun != nil {
		next := s.begun
		id, s.begun = next.step.ID, nil
		s.left--
		s.ended++
		done, err = d.effect(id).call(ctx, next.step, next.call)
	}
	if err == nil && done.Outcome == OutcomeEach {
		if len(done.Items) == 0 {
			return Done{}, nil
		}
		return d.several(ctx, done.Items)
	}
	switch {
	case err == nil && done.Outcome == OutcomeReason:
		return continueWith(OutcomeReason, id), nil
	case err == nil && done.Outcome == OutcomeApproval:
		return done, nil
	case err == nil:
		s.ended++
		return Done{}, nil
	case again(err) && s.ended == 0: // the state machine repeats it
		return Done{}, err
	case again(err):
		if err := retry.Wait(ctx, handOver); err != nil {
			return Done{}, err
		}
		return continueWith(OutcomeNext), nil
	}
	return Done{}, d.unrecorded(ctx, id, err)
}

// again reports whether an error asks for a repetition.
func again(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Name == Transient || e.Name == Throttled)
}

// unrecorded returns nil for the error of an effect that ended: the run says how it goes on.
func (d *driver) unrecorded(ctx context.Context, id plan.EffectID, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	if err := d.journal.read(ctx); err != nil {
		return err
	}
	if d.journal.run.State(id).Status.Terminal() {
		d.share.ended++
		return nil
	}
	return err
}

// several carries out effects that do not need each other: in this invocation when it may carry out
// all of them, and otherwise each in one of its own. Of a step that is done for each element, it
// takes the elements.
func (d *driver) several(ctx context.Context, effects []plan.EffectID) (Done, error) {
	all, asks, err := d.withElements(ctx, effects)
	switch {
	case err != nil:
		return Done{}, err
	case len(all) == 0 && asks:
		return continueWith(OutcomeApproval), nil
	case len(all) == 0:
		return Done{}, nil
	case len(all) > d.share.left || d.share.ended > 0 && !d.share.goesOn(d.journal.now()):
		return d.journal.handOut(ctx, all)
	}
	left, asked, err := d.abreast(ctx, all)
	switch {
	case err != nil:
		return Done{}, err
	case len(left) > 0:
		if err := retry.Wait(ctx, handOver); err != nil {
			return Done{}, err
		}
		return d.journal.handOut(ctx, left)
	case asks || asked:
		return continueWith(OutcomeApproval), nil
	}
	return Done{}, nil
}

// withElements returns effects, with elements instead of the steps that are done for each element. It reports whether such a
// step needs an approval.
func (d *driver) withElements(ctx context.Context, effects []plan.EffectID) (all []plan.EffectID, asks bool, err error) {
	for _, id := range effects {
		step, _ := d.journal.run.Plan.Step(id)
		if step.ForEach == "" {
			all = append(all, id)
			continue
		}
		done, err := d.effect(id).execute(ctx)
		switch {
		case again(err):
			all = append(all, id)
		case err != nil:
			if err := d.unrecorded(ctx, id, err); err != nil {
				return nil, false, err
			}
		}
		asks = asks || done.Outcome == OutcomeApproval
		all = append(all, done.Items...)
		if err := d.journal.read(ctx); err != nil {
			return nil, false, err
		}
	}
	return all, asks, nil
}

// abreast carries out effects at the same time. It returns those that are left for invocations of
// their own, because they must be repeated or could not begin in time, and reports whether one needs
// an approval.
func (d *driver) abreast(ctx context.Context, all []plan.EffectID) (left []plan.EffectID, asks bool, err error) {
	outcomes, errs := make([]Done, len(all)), make([]error, len(all))
	slots := make(chan struct{}, sideBySide)
	var group sync.WaitGroup
	for i, id := range all {
		slots <- struct{}{}
		if i > 0 && !d.share.goesOn(d.journal.now()) {
			all, left = all[:i], all[i:]
			break
		}
		d.share.left--
		e := d.beside(id)
		group.Go(func() {
			defer func() { <-slots }()
			outcomes[i], errs[i] = e.guarded(ctx)
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
	d.share.ended += len(all)
	return left, asks, nil
}

// beside returns an effect that is carried out at the same time as others. It has a copy of the journal, with its last write.
func (d *driver) beside(id plan.EffectID) *effect {
	e, j := d.effect(id), *d.journal
	e.journal, e.share = &j, nil
	return e
}

// guarded carries out an effect. A panic is an error: it must not end the process, in which other
// runs are under way.
func (e *effect) guarded(ctx context.Context) (done Done, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			e.log.ErrorContext(ctx, "step.panicked", "run_id", e.journal.runID, "step", e.id, "error", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("step %s panicked: %v", e.id, cause)
		}
	}()
	return e.execute(ctx)
}
