package step

import (
	"context"
	"time"

	"piloto/internal/ground/meaning"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

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

// unknownResult returns the response of an ending from which the outcome of the request is unknown; nil when there is none.
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
func (e *effect) end(ctx context.Context, first ending) (Done, error) {
	over := first
	err := e.journal.decide(ctx, e.id, func(r plan.Run) ([]run.Move, error) {
		step, _ := r.Plan.Step(e.id)
		st := r.State(step.ID)
		over = first
		if e.share != nil {
			e.share.begun = nil
		}
		if st.Status.Terminal() { // another invocation ended it first, and its result stays
			return nil, nil
		}
		if st.Lost = st.Lost || over.lost; st.Lost && over.isUnanswered() && step.Risk != plan.Read {
			over = attemptOf(r, step, e.now()).unknown(first.unknownResult())
			over.result = first.result
		}
		at := e.now()
		st.Status, st.Result, st.Error, st.NotBefore, st.UpdatedAt = over.status, over.result, over.failure, over.notBefore, at
		st.Last.Open, st.Checks = over.open, max(st.Checks, over.checks)
		moves := append(e.journal.begins(r), run.Move{Record: e.notes.record(r, step, st, over, at), State: &st})
		if e.share.goesOn(at) && over.endsWell() {
			e.journal.add(ctx, r, func(ctx context.Context) (err error) {
				e.share.begun, err = e.prepareNext(ctx, r.With(st))
				return err
			})
			if next := e.share.begun; next != nil {
				moves = append(moves, next.intent)
			}
		}
		return moves, nil
	})
	switch {
	case err != nil:
		return Done{}, err
	case over.outcome != "":
		return continueWith(over.outcome), nil
	case over.endsWell():
		return continueWith(OutcomeDone), nil
	case over.name == "":
		over.name = errorName(over.status)
	}
	return Done{}, &Error{Name: over.name, Message: over.failure.Message}
}

func (e ending) endsWell() bool { return e.status == plan.StepDone || e.status == plan.StepSkipped }
