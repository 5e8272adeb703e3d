package step

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// A trial makes the calls of a run that have not begun, with the known results, as the run would, and sends nothing. A draft is
// tried before it is shown, and a run whenever a result becomes known: a call that can never be sent is found before another
// call is sent that would have to be undone.

// trial has the open calls of a run and the known results.
type trial struct {
	run      plan.Run
	answers  *results
	before   map[string]ref.Result // results of reads that the run makes again after a change: their lists are counted, and nothing else
	schemas  tool.Compiler
	literals bool          // calls without references are tried, too
	begins   plan.EffectID // it is prepared next anyway; its undo and its check are tried
	bind     func(context.Context, plan.Step) (b bound, ok bool, err error)
	unknown  map[plan.EffectID]bool // steps that may be skipped: it is not known yet whether they run
	*learned
}

// learned caches the findings of trials that stay true, because a result does not change.
type learned struct {
	lengths map[plan.EffectID]int  // of lists
	fates   map[plan.EffectID]fate // of steps with conditions that are known
	fitted  map[plan.EffectID]int  // how many values of a call were known when it could be made
}

func newLearned() *learned {
	return &learned{lengths: map[plan.EffectID]int{}, fates: map[plan.EffectID]fate{}, fitted: map[plan.EffectID]int{}}
}

// misfit is a call that cannot be made, or the list or the condition of a step that cannot be used.
type misfit struct {
	step    int       // its index in the plan
	part    string    // of the step: for_each or when; empty: a call
	call    plan.Step // the step, its undo or its check
	element int       // of a list, from 1; 0: none
	err     error
}

// fate is whether a step runs, as far as it is known.
type fate int

const (
	undecided fate = iota
	skips
	runs
	breaks // its condition cannot be judged
)

// misfits returns the calls, lists and conditions that cannot be used, in the order of the plan. The error is that of a read of
// a result or of the catalogue.
func (t *trial) misfits(ctx context.Context) ([]misfit, error) {
	found := t.lists()
	for i, s := range t.run.Plan.Steps {
		if !t.open(s) || slices.ContainsFunc(found, func(m misfit) bool { return m.step == i }) {
			continue
		}
		calls := []plan.Step{s}
		if undo, ok := t.run.Plan.Step(plan.UndoOf(s.ID)); ok {
			calls = append(calls, undo)
		}
		if check, ok := t.run.Plan.CheckOf(s.ID); ok {
			calls = append(calls, check)
		}
		for _, call := range calls {
			element, why, err := t.try(ctx, s, call)
			if err != nil {
				return nil, err
			}
			if why != nil {
				found = append(found, misfit{step: i, call: call, element: element, err: why})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b misfit) int { return cmp.Compare(a.step, b.step) })
	return found, t.answers.err
}

// open reports whether a step has not begun, and will run.
func (t *trial) open(s plan.Step) bool {
	st := t.run.State(s.ID)
	if st.Status != plan.StepPending || st.Attempts > 0 || st.Expanded {
		return false
	}
	now := t.fateOf(s)
	return now == runs || now == breaks
}

// fateOf returns the fate of a step. It is skipped when its condition does not hold, and with a step that it names.
func (t *trial) fateOf(s plan.Step) fate {
	st := t.run.State(s.ID)
	switch {
	case st.Status == plan.StepSkipped:
		return skips
	case st.Status != plan.StepPending || st.Attempts > 0:
		return runs
	}
	if known, ok := t.fates[s.ID]; ok {
		return known
	}
	if t.unknown[s.ID] { // many steps may refer to it
		return undecided
	}
	now := t.judge(s)
	if now == undecided {
		t.unknown[s.ID] = true
	} else {
		t.fates[s.ID] = now
	}
	return now
}

func (t *trial) judge(s plan.Step) fate {
	names, err := s.ReferencedSteps()
	if err != nil {
		return undecided // it fails of it when its turn comes
	}
	now := runs
	for _, name := range names {
		other, ok := t.run.Plan.Step(plan.EffectOf(name))
		if !ok {
			continue
		}
		switch t.fateOf(other) {
		case skips:
			return skips
		case undecided:
			now = undecided
		case runs, breaks:
		}
	}
	if s.When == nil {
		return now
	}
	holds, known, err := t.holds(*s.When)
	switch {
	case !known:
		return undecided
	case err == nil && !holds:
		return skips
	case err != nil && now == runs:
		return breaks
	}
	return now
}

// holds reports whether a condition holds, if its values are known.
func (t *trial) holds(c ref.Condition) (holds, known bool, err error) {
	refs, err := c.References()
	if err != nil || slices.ContainsFunc(refs, func(r ref.Reference) bool { return !t.answers.knows(r.Step) }) {
		return false, false, nil //nolint:nilerr // the step fails of it when its turn comes
	}
	holds, err = c.Holds(t.answers.lookup)
	return holds, true, err
}

// lists returns the steps whose condition or list cannot be used. A list is counted as soon as it is known, also the results
// of a step that is itself done for each element of one.
func (t *trial) lists() (found []misfit) {
	counts := map[string]int{}
	all, last := 0, -1
	for i, s := range t.run.Plan.Steps {
		if t.open(s) && t.fateOf(s) == breaks {
			_, _, err := t.holds(*s.When)
			found = append(found, misfit{step: i, part: "when", call: s, err: err})
			continue
		}
		if s.ForEach == "" {
			continue
		}
		n, known, err := t.lengthOf(s, counts)
		if known && err == nil && t.open(s) && n > plan.MaxEach {
			err = tooMany(n)
		}
		if err != nil {
			found = append(found, misfit{step: i, part: "for_each", call: s, err: err})
		}
		if err != nil || !known {
			continue
		}
		counts[s.ID.Step()] = n
		if all += n; t.open(s) && all > MostElements && last < 0 {
			last = i
		}
	}
	if last >= 0 {
		found = append(found, misfit{step: last, part: "for_each", call: t.run.Plan.Steps[last], err: tooManyInAll(all)})
	}
	return found
}

// lengthOf returns for how many elements a step is done, and whether that is known. counts has the lengths of the steps
// before it. The list of a step that may be skipped is not counted.
func (t *trial) lengthOf(s plan.Step, counts map[string]int) (n int, known bool, err error) {
	if st := t.run.State(s.ID); st.Expanded || st.Status.Terminal() {
		return st.Items, true, nil
	}
	if n, known := t.lengths[s.ID]; known {
		return n, true, nil
	}
	refs, err := ref.InText(s.ForEach)
	if err != nil || len(refs) != 1 {
		return 0, false, nil //nolint:nilerr // the step fails of it when its turn comes
	}
	of := refs[0]
	switch t.fateOf(s) {
	case undecided:
		return 0, false, nil
	case skips:
		return 0, true, nil
	case runs, breaks:
	}
	if n, counted := counts[of.Step]; counted && of.Part == "body" && len(of.Path) == 0 {
		return n, true, nil // one result for each element of the other step
	}
	if !t.answers.knows(of.Step) {
		list, err := listOf(s, func(name string) (ref.Result, bool) { res, ok := t.before[name]; return res, ok })
		return len(list), err == nil, nil //nolint:nilerr // another list may come
	}
	list, err := t.answers.elements(s)
	if err != nil || t.answers.err != nil {
		return 0, false, err
	}
	t.lengths[s.ID] = len(list)
	return len(list), true, nil
}

// try makes a call of a step, for each element of its list if that is known, as far as its values are known. why says why it
// cannot be made, for an element if it has one.
func (t *trial) try(ctx context.Context, s, call plan.Step) (element int, why, err error) {
	refs := referencesOf(call)
	if len(refs) == 0 && !t.literals || call.ID == t.begins {
		return 0, nil, nil
	}
	listed := t.isListed(s)
	known := 0
	for _, r := range refs {
		if t.answers.knows(r.Step) || r.Step == plan.ItemName && listed {
			known++
		}
	}
	if known == 0 && len(refs) > 0 || known > 0 && t.fitted[call.ID] == known {
		return 0, nil, nil
	}
	b, ok, err := t.bind(ctx, call)
	if err != nil || !ok {
		return 0, nil, err
	}
	var list []json.RawMessage
	if listed {
		list, _ = t.answers.elements(s) // it was read with the lists
	} else {
		why = t.make(b, call, known == len(refs))
	}
	for i := 0; i < len(list) && why == nil; i++ {
		t.answers.read[plan.ItemName] = &ref.Result{Status: 200, Body: list[i]}
		element, why = i+1, t.make(b, call, known == len(refs))
	}
	delete(t.answers.read, plan.ItemName)
	if why == nil && t.answers.err == nil {
		t.fitted[call.ID] = known
	}
	return element, why, t.answers.err
}

// isListed reports whether a step is done for each element of a list that is known.
func (t *trial) isListed(s plan.Step) bool {
	refs, err := ref.InText(s.ForEach)
	return err == nil && len(refs) == 1 && t.answers.knows(refs[0].Step)
}

// make makes a call, whole if all its values are known.
func (t *trial) make(b bound, call plan.Step, whole bool) error {
	for _, r := range referencesOf(call) {
		if _, has := t.answers.lookup(r.Step); !has && t.answers.knows(r.Step) { // its step is done without a result
			_, err := ref.ResolveText("${"+r.String()+"}", t.answers.lookup, nil, nil)
			return err
		}
	}
	if err := t.changedTarget(call); err != nil {
		return err
	}
	if whole {
		return b.tryAll(t.schemas, call, t.answers.lookup)
	}
	return b.tryKnown(t.schemas, call, t.answers.lookup)
}

// changedTarget returns an error when a target of a call differs from the one that the plan showed, if all of them are known.
func (t *trial) changedTarget(call plan.Step) error {
	for _, target := range call.Targets {
		refs, err := ref.InText("${" + target.Ref + "}")
		if err != nil || slices.ContainsFunc(refs, func(r ref.Reference) bool { return !t.answers.knows(r.Step) }) {
			return nil //nolint:nilerr // the step fails of it when its turn comes
		}
	}
	return changedTarget(call, t.answers.lookup)
}

// failure returns the failure of a step that cannot be done.
func (m misfit) failure(r plan.Run) *plan.Failure {
	f := unsendable(r, m.err)
	switch {
	case m.call.ID.Undo():
		f = failure(r, "step.no_undo", "reason", f.Message)
	case m.call.ID.Check():
		f = failure(r, "step.no_check", "reason", f.Message)
	}
	if m.element > 0 {
		f = failure(r, codeElement, "at", fmt.Sprint(m.element), "reason", f.Message)
	}
	return f
}
