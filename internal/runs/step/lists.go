package step

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// A list that is too long ends its step as soon as the list is known, before any further effect of the run begins: the step
// fails although its turn has not come. Nothing then has to be undone that need not have been done.

// refuseLists ends the step whose list is too long, if the lists that are known now have one. It reports whether it did.
func (x *Executor) refuseLists(ctx context.Context, t Task) (bool, error) {
	id, why, err := x.overlong(ctx, t.progress)
	if why == nil || err != nil {
		return false, err
	}
	t.StepID = id
	_, err = x.end(ctx, t, *failedEnding(why))
	var recorded *Error
	if errors.As(err, &recorded) && !again(err) {
		return true, nil
	}
	return false, err
}

// overlong returns the first step whose list makes a step or the plan too long, and the reason; a nil reason when none does.
// It counts the lists that are known: those that were expanded, those that a result has, and the results of a step that is
// itself done for each element of such a list.
func (x *Executor) overlong(ctx context.Context, p *progress) (plan.EffectID, *plan.Failure, error) {
	r := p.run
	if !r.Status.Active() || r.UndoAt != nil || r.CancelAt != nil {
		return plan.EffectID{}, nil, nil
	}
	counts := map[string]int{}
	all := 0
	var last plan.EffectID
	for _, s := range r.Plan.Steps {
		if s.ForEach == "" {
			continue
		}
		n, known, err := x.lengthOf(ctx, p, s, counts)
		if err != nil {
			return plan.EffectID{}, nil, err
		}
		if !known {
			continue
		}
		counts[s.ID.Step()] = n
		open := !r.State(s.ID).Expanded && !r.State(s.ID).Status.Terminal()
		if open && n > plan.MaxEach {
			return s.ID, tooMany(r, n), nil
		}
		if all += n; open && all > MostElements && last.IsZero() {
			last = s.ID
		}
	}
	if last.IsZero() {
		return last, nil, nil
	}
	return last, tooManyInAll(r, all), nil
}

// lengthOf returns for how many elements a step is done, and whether that is known. counts has the lengths of the steps
// before it. The list of a step with a condition is not counted before the condition can be judged.
func (x *Executor) lengthOf(ctx context.Context, p *progress, s plan.Step, counts map[string]int) (int, bool, error) {
	if st := p.run.State(s.ID); st.Expanded || st.Status.Terminal() {
		return st.Items, true, nil
	}
	if n, known := p.lengths[s.ID]; known {
		return n, true, nil
	}
	refs, err := ref.InText(s.ForEach)
	if err == nil && s.When != nil {
		var more []ref.Reference
		more, err = s.When.References()
		refs = append(refs, more...)
	}
	if err != nil {
		return 0, false, nil //nolint:nilerr // the step fails of it when its turn comes
	}
	if n, counted := counts[refs[0].Step]; counted && len(refs) == 1 && refs[0].Part == "body" && len(refs[0].Path) == 0 {
		return n, true, nil // one result for each element of the other step
	}
	for _, one := range refs {
		if p.run.State(plan.EffectOf(one.Step)).Status != plan.StepDone {
			return 0, false, nil
		}
	}
	n, known, err := x.listed(ctx, p.run, s)
	if known {
		if p.lengths == nil {
			p.lengths = map[plan.EffectID]int{}
		}
		p.lengths[s.ID] = n
	}
	return n, known, err
}

// listed returns the length of a list whose steps are done; 0 when the condition of the step does not hold.
func (x *Executor) listed(ctx context.Context, r plan.Run, s plan.Step) (int, bool, error) {
	look := x.results(ctx, r, s.ID)
	if s.When != nil {
		if holds, err := s.When.Holds(look.lookup); err != nil || !holds {
			return 0, err == nil, look.err
		}
	}
	list, err := look.elements(s)
	return len(list), err == nil, look.err
}

// The codes of lists that are too long.
const (
	codeTooMany      = "step.too_many"
	codeTooManyInAll = "step.too_many_in_all"
)

// hasLongList reports whether a step of a run failed because a list is too long: then no effect begins any more.
func hasLongList(r plan.Run) bool {
	return slices.ContainsFunc(r.Steps, func(st plan.StepState) bool {
		return st.Status == plan.StepFailed && st.Error != nil && (st.Error.Code == codeTooMany || st.Error.Code == codeTooManyInAll)
	})
}

func tooMany(r plan.Run, n int) *plan.Failure {
	return failure(r, codeTooMany, "n", fmt.Sprint(n), "most", fmt.Sprint(plan.MaxEach))
}

func tooManyInAll(r plan.Run, n int) *plan.Failure {
	return failure(r, codeTooManyInAll, "n", fmt.Sprint(n), "most", fmt.Sprint(MostElements))
}
