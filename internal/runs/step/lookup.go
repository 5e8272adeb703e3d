package step

import (
	"context"
	"encoding/json"
	"fmt"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// results resolves the references of one effect: to the results of finished steps, to the element
// that it is done for, and, for an undo, to the result that it reverses. A result that is stored in
// pieces is read once, at its first use; err is the error of that read.
type results struct {
	ctx     context.Context // of the current invocation
	results plan.ResultReader
	run     plan.Run
	effect  plan.EffectID
	read    map[string]*ref.Result
	err     error
}

func (p preparer) results(ctx context.Context, r plan.Run, effect plan.EffectID) *results {
	return &results{ctx: ctx, results: p.stores.Runs, run: r, effect: effect, read: map[string]*ref.Result{}}
}

// lookup implements ref.Lookup.
func (s *results) lookup(name string) (ref.Result, bool) {
	found, known := s.read[name]
	if !known {
		found = s.find(name)
		s.read[name] = found
	}
	if found == nil {
		return ref.Result{}, false
	}
	return *found, true
}

func (s *results) find(name string) *ref.Result {
	if name == plan.ItemName {
		return s.element()
	}
	id := plan.EffectOf(name)
	if s.effect.Undo() && name == s.effect.Step() {
		id = s.effect.Base()
	}
	st := s.run.State(id)
	if st.Status != plan.StepDone || st.Result == nil {
		return nil
	}
	res := *st.Result
	if res.Apart > 0 {
		whole, err := s.results.Whole(s.ctx, s.run, id, res)
		if err != nil {
			s.err = err
			return nil
		}
		res = whole
	}
	if res.Truncated {
		res.Body = nil
	}
	return &ref.Result{Status: res.Status, Headers: res.Headers, Body: res.Body}
}

// knows reports whether the result that a reference names will not change any more. There may be none: of a step that a person
// said was done.
func (s *results) knows(name string) bool {
	return s.read[name] != nil || name != plan.ItemName && s.run.State(plan.EffectOf(name)).Status == plan.StepDone
}

// element returns the element that the effect is done for.
func (s *results) element() *ref.Result {
	step, ok := s.run.Plan.Step(plan.EffectOf(s.effect.Step()))
	n := s.effect.Item()
	if !ok || n < 0 {
		return nil
	}
	list, err := s.elements(step)
	if err != nil || n >= len(list) {
		return nil
	}
	return &ref.Result{Status: 200, Body: list[n]}
}

// elements returns the list that a step is done for.
func (s *results) elements(step plan.Step) ([]json.RawMessage, error) { return listOf(step, s.lookup) }

// listOf returns the list that a step is done for. The error says why there is none.
func listOf(s plan.Step, lookup ref.Lookup) ([]json.RawMessage, error) {
	none := func(why error) ([]json.RawMessage, error) {
		return nil, tool.Because(codeNotAList, "detail", whyNot(why))
	}
	quoted, err := json.Marshal(s.ForEach)
	if err != nil {
		return nil, err
	}
	raw, err := ref.ResolveJSON(quoted, lookup)
	if err != nil {
		return none(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return none(errNoList.With("reference", s.ForEach))
	}
	return list, nil
}

// errNoList is the error of a step whose list is another value.
var errNoList = fault.Reason("step.no_list")

// resolve replaces the references of a step by their values.
func resolve(step plan.Step, template string, lookup ref.Lookup) (tool.Arguments, error) {
	path, err := tool.ResolvePath(template, step.Path, lookup)
	if err != nil {
		return tool.Arguments{}, err
	}
	query, err := ref.ResolveJSON(step.Query, lookup)
	if err != nil {
		return tool.Arguments{}, err
	}
	headers, err := ref.ResolveJSON(step.Headers, lookup)
	if err != nil {
		return tool.Arguments{}, err
	}
	body, err := ref.ResolveJSON(step.Body, lookup)
	return tool.Arguments{Method: step.Method, Path: path, Query: query, Headers: headers, Body: body}, err
}

// changedByResult reports whether resolved references change a step's command so that a person must see it.
// For an undo it reports whether they change it so that it is not sent, because no person could
// approve it.
func changedByResult(step plan.Step, args tool.Arguments, lookup ref.Lookup) (bool, error) {
	refs, err := ref.InJSON(step.Body)
	if err != nil || len(refs) == 0 {
		return false, err
	}
	values := make([]json.RawMessage, len(refs))
	for i, r := range refs {
		quoted, err := json.Marshal("${" + r.String() + "}")
		if err != nil {
			return false, err
		}
		if values[i], err = ref.ResolveJSON(quoted, lookup); err != nil {
			return false, err
		}
	}
	judge := command.ChangedByResult
	if step.ID.Undo() {
		judge = command.UndoChangedByResult
	}
	return judge(args, step.Body, values), nil
}

// skipped returns the ending of a step that is skipped before its first attempt: its condition is false, or a step
// that it names was skipped. It returns nil for any other step.
func (s *results) skipped(step plan.Step) (*ending, error) {
	r := s.run
	if !step.ID.Whole() || r.State(step.ID).Attempts > 0 {
		return nil, nil
	}
	skip := func(why string, pairs ...any) *ending {
		return &ending{
			status: plan.StepSkipped, kind: plan.EventStepSkipped, data: map[string]any{"because": why},
			reason: failure(r, "step.skipped_"+why, pairs...).Message,
		}
	}
	names, err := step.ReferencedSteps()
	if err != nil {
		return failedEnding(unsendable(r, err)), nil
	}
	for _, name := range names {
		if id := plan.EffectOf(name); r.State(id).Status == plan.StepSkipped {
			return skip("step", "step", titleOf(r, id)), nil
		}
	}
	if step.When == nil {
		return nil, nil
	}
	holds, err := step.When.Holds(s.lookup)
	switch {
	case s.err != nil:
		return nil, s.err
	case err != nil:
		return failedEnding(unsendable(r, err)), nil
	case !holds:
		return skip("condition"), nil
	}
	return nil, nil
}

func titleOf(r plan.Run, id plan.EffectID) string {
	if s, ok := r.Plan.Step(id); ok {
		return s.Title
	}
	return id.String()
}

// changedTarget returns an error when a target of the step differs from the one that the plan
// showed. Steps that only read may have any target.
func changedTarget(step plan.Step, lookup ref.Lookup) error {
	if step.Risk == plan.Read {
		return nil
	}
	for _, target := range step.Targets {
		refs, err := ref.InText("${" + target.Ref + "}")
		if err != nil || len(refs) != 1 {
			return fmt.Errorf("the target %s is no reference", target.Ref)
		}
		value, label, err := ref.ValueAndLabel(refs[0], lookup)
		if err != nil {
			return errTargetGone.With("before", displayName(target.Label, target.Value))
		}
		if label != target.Label || !ref.Same(value, target.Value) {
			before, after := displayName(target.Label, target.Value), displayName(label, value)
			if before == after {
				before, after = before+" ("+displayName("", target.Value)+")", after+" ("+displayName("", value)+")"
			}
			return errTargetChanged.With("before", before).With("after", after)
		}
	}
	return nil
}

// The errors of a step whose target is not the one that its plan showed.
var (
	errTargetGone    = fault.Reason("step.target_gone")
	errTargetChanged = fault.Reason("step.target_changed")
)

// displayName returns the label of a value, or the value itself, shortened for a person.
func displayName(label string, value json.RawMessage) string {
	const most = 120
	text := clip.Line(string(value))
	if label != "" {
		text = label
	}
	return clip.Runes(text, most)
}
