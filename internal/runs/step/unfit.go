package step

import (
	"context"
	"errors"
	"slices"

	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// A step that can never be done ends as soon as that is known, before any further effect of the run begins: it fails although
// its turn has not come. Nothing then has to be undone that need not have been done.

// refuseUnfit ends the first step that cannot be done with the results that are known now. It reports whether it did.
func (d *driver) refuseUnfit(ctx context.Context) (bool, error) {
	id, why, err := d.pattern.ahead.unfit(ctx, d.journal.run)
	if why == nil || err != nil {
		return false, err
	}
	_, err = d.effect(id).end(ctx, *failedEnding(why))
	var recorded *Error
	if errors.As(err, &recorded) && !again(err) {
		return true, nil
	}
	return false, err
}

// asksInVain returns an empty outcome instead of one that waits for an approval, when a step cannot be done.
func (d *driver) asksInVain(ctx context.Context, waits Done) (Done, error) {
	if err := d.journal.read(ctx); err != nil {
		return Done{}, err
	}
	refused, err := d.refuseUnfit(ctx)
	if err != nil || refused {
		return Done{}, err
	}
	return waits, nil
}

// outlook finds the steps of a run that can never be done.
type outlook struct {
	calls   preparer
	stores  Stores
	learned *learned
}

// unfit returns the first step that cannot be done, and the reason; a nil reason when there is none.
func (o outlook) unfit(ctx context.Context, r plan.Run) (plan.EffectID, *plan.Failure, error) {
	none := plan.EffectID{}
	if !r.Status.Active() || r.UndoAt != nil || r.CancelAt != nil {
		return none, nil, nil
	}
	next, failed := open(r)
	if failed != nil || len(next) == 0 {
		return none, nil, nil //nolint:nilerr // no further effect begins
	}
	t := trial{
		run: r, answers: o.calls.results(ctx, r, none), schemas: o.calls.schemas, unknown: map[plan.EffectID]bool{}, learned: o.learned, bind: o.calls.bindTrial(r),
	}
	if len(next) == 1 {
		t.begins = next[0]
	}
	found, err := t.misfits(ctx)
	if err == nil && len(found) == 0 {
		return o.unsaid(ctx, &t)
	}
	if err != nil {
		return none, nil, err
	}
	return r.Plan.Steps[found[0].step].ID, found[0].failure(r), nil
}

// bindTrial binds a call of a run for a trial. One whose binding does not hold any more is reported when its turn comes: it may
// hold again.
func (p preparer) bindTrial(r plan.Run) func(context.Context, plan.Step) (bound, bool, error) {
	return func(ctx context.Context, call plan.Step) (bound, bool, error) {
		b, refused, err := p.bind(ctx, r, call)
		return b, refused == nil, err
	}
}

// hasUnsent reports whether a step of a run failed before it was sent, or an approval of it asked for: then no effect begins
// any more.
func hasUnsent(r plan.Run) bool {
	return slices.ContainsFunc(r.Plan.Steps, func(s plan.Step) bool {
		st := r.State(s.ID)
		return st.Status == plan.StepFailed && st.Attempts == 0 && st.Approval == nil
	})
}

// The codes of lists for which a step cannot be done.
const (
	codeTooMany      = "step.too_many"
	codeTooManyInAll = "step.too_many_in_all"
	codeNotAList     = "step.not_a_list"
	codeElement      = "step.element"
)

func tooMany(n int) *fault.Error { return tool.Because(codeTooMany, "n", n, "most", plan.MaxEach) }

func tooManyInAll(n int) *fault.Error {
	return tool.Because(codeTooManyInAll, "n", n, "most", MostElements)
}
