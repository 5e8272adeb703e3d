package step

import (
	"context"
	"encoding/json"
	"fmt"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// results are what the references of one effect name: the results of steps that are
// done, the element it is done for, and of an undo what it takes back. One that is
// stored apart is read when it is named, once; err is why that failed.
type results struct {
	ctx    context.Context // of the one invocation that looks
	store  Store
	run    plan.Run
	effect plan.EffectID
	read   map[string]*ref.Result
	err    error
}

func (x *Executor) results(ctx context.Context, r plan.Run, effect string) *results {
	return &results{ctx: ctx, store: x.Store, run: r, effect: plan.ParseEffect(effect), read: map[string]*ref.Result{}}
}

// look implements ref.Lookup.
func (s *results) look(name string) (ref.Result, bool) {
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
	own := s.effect
	own.Undo = false
	if s.effect.Undo && name == s.effect.Step {
		name = own.String()
	}
	st := s.run.State(name)
	if st.Status != plan.StepDone || st.Result == nil {
		return nil
	}
	res := *st.Result
	if res.Apart > 0 {
		whole, err := s.store.Whole(s.ctx, s.run, name, res)
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

// element is what the effect is done for.
func (s *results) element() *ref.Result {
	step, ok := s.run.Plan.Step(s.effect.Step)
	if !ok || s.effect.Item < 0 {
		return nil
	}
	list, err := s.elements(step)
	if err != nil || s.effect.Item >= len(list) {
		return nil
	}
	return &ref.Result{Status: 200, Body: list[s.effect.Item]}
}

// elements are what a step is done for.
func (s *results) elements(step plan.Step) ([]json.RawMessage, error) {
	quoted, err := json.Marshal(step.ForEach)
	if err != nil {
		return nil, err
	}
	raw, err := ref.ResolveJSON(quoted, s.look)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, fmt.Errorf("%s is not a list", step.ForEach)
	}
	return list, nil
}

// resolve replaces the references of a step by what they name.
func resolve(step plan.Step, template string, look ref.Lookup) (tool.Arguments, error) {
	path, err := tool.ResolvePath(template, step.Path, look)
	if err != nil {
		return tool.Arguments{}, err
	}
	query, err := ref.ResolveJSON(step.Query, look)
	if err != nil {
		return tool.Arguments{}, err
	}
	body, err := ref.ResolveJSON(step.Body, look)
	return tool.Arguments{Method: step.Method, Path: path, Query: query, Body: body}, err
}

// wovenBy reports whether a person must see a step's command as what its references name
// makes it, or, of an undo, whether it is not sent because nobody can be asked.
func wovenBy(step plan.Step, args tool.Arguments, look ref.Lookup) (bool, error) {
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
		if values[i], err = ref.ResolveJSON(quoted, look); err != nil {
			return false, err
		}
	}
	judge := command.Woven
	if plan.ParseEffect(step.ID).Undo {
		judge = command.Strays
	}
	return judge(args.Method, args.Path, step.Body, args.Body, values), nil
}

// skipped is the ending of a step that is not to be done: its condition does not
// hold, or something it names was skipped itself. It is nil for one that is.
func (x *Executor) skipped(r plan.Run, step plan.Step, look *results) (*ending, error) {
	skip := func(why string, pairs ...string) *ending {
		return &ending{
			status: plan.StepSkipped, kind: plan.EventStepSkipped, data: map[string]any{"because": why},
			because: x.failure(r, "step.skipped_"+why, pairs...).Message,
		}
	}
	names, err := step.Named()
	if err != nil {
		return refusedWith(x.failure(r, "step.reference", "detail", err.Error())), nil
	}
	for _, name := range names {
		if r.State(name).Status == plan.StepSkipped {
			return skip("step", "step", titleOf(r, name)), nil
		}
	}
	if step.When == nil {
		return nil, nil
	}
	holds, err := step.When.Holds(look.look)
	switch {
	case look.err != nil:
		return nil, look.err
	case err != nil:
		return refusedWith(x.failure(r, "step.reference", "detail", err.Error())), nil
	case !holds:
		return skip("condition"), nil
	}
	return nil, nil
}

func titleOf(r plan.Run, id string) string {
	if s, ok := r.Plan.Step(id); ok {
		return s.Title
	}
	return id
}

// moved says that what the plan showed the step is about is another thing by now, or
// nothing. What only reads may look at whatever there is.
func (x *Executor) moved(r plan.Run, step plan.Step, look ref.Lookup) *plan.Failure {
	if step.Risk == plan.Read {
		return nil
	}
	for _, target := range step.Targets {
		refs, err := ref.InText("${" + target.Ref + "}")
		if err != nil || len(refs) != 1 {
			return x.failure(r, "step.reference", "detail", target.Ref)
		}
		value, label, err := ref.Around(refs[0], look)
		if err != nil {
			return x.failure(r, "step.target_gone", "before", shownAs(target.Label, target.Value))
		}
		if label != target.Label || !ref.Same(value, target.Value) {
			before, after := shownAs(target.Label, target.Value), shownAs(label, value)
			if before == after {
				before, after = before+" ("+shownAs("", target.Value)+")", after+" ("+shownAs("", value)+")"
			}
			return x.failure(r, "step.target_changed", "before", before, "after", after)
		}
	}
	return nil
}

// shownAs is how a person would call a value: by its label, when it has one.
func shownAs(label string, value json.RawMessage) string {
	const most = 120
	text := ref.Line(string(value))
	if label != "" {
		text = label
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
