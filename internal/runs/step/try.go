package step

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// trial returns the trial of a draft. The calls of undos as a plan are tried though they have no references, because their
// values were answers.
func (p Preview) trial(r plan.Run, answers *results, reads map[string]ref.Result) *trial {
	return &trial{
		run: r, answers: answers, before: readAgain(r.Plan, answers, reads), schemas: p.Reader.Schemas, literals: r.Plan.Undoes != "", unknown: map[plan.EffectID]bool{}, learned: newLearned(),
		bind: func(ctx context.Context, call plan.Step) (bound, bool, error) { return p.bind(ctx, r, call) },
	}
}

// try makes the calls of a draft with the known values, as the run would: those of its steps, for each element of a list, and of
// their undos and checks. It returns the calls that could not be sent, without values, because its reasons go to a model.
func (p Preview) try(ctx context.Context, t *trial) (wrong []fault.Field) {
	found, err := t.misfits(ctx)
	if err != nil {
		p.Reader.Log.WarnContext(ctx, "step.not_tried", "run_id", t.run.ID, "error", err)
	}
	for _, m := range found {
		loc := []any{"steps", m.step}
		switch {
		case m.part != "":
			wrong = append(wrong, tool.WrongField("value", whyNot(m.err), append(loc, m.part)...))
			continue
		case m.call.ID.Undo():
			loc = append(loc, "undo")
		case m.call.ID.Check():
			loc = append(loc, "verify")
		}
		for _, f := range fieldsOf(m.call, m.err) {
			f.Loc = append(slices.Clone(loc), f.Loc...)
			wrong = append(wrong, f)
		}
	}
	return wrong
}

// readAgain adds the results of a turn's reads that a plan makes again to the known results. After a change the answer may be
// another: only its lists count, and not after a destructive step. A read of a result that is known already is older.
func readAgain(p plan.Plan, known *results, reads map[string]ref.Result) (before map[string]ref.Result) {
	before = map[string]ref.Result{}
	for name, res := range reads {
		s, ok := p.Step(plan.EffectOf(name))
		if !ok || known.knows(name) {
			continue
		}
		switch p.RiskBefore(s) {
		case plan.Read:
			known.read[name] = &res
		case plan.Write:
			before[name] = res
		case plan.Destructive:
		}
	}
	return before
}

// bind binds a call of a draft. One that cannot be bound now is reported when the draft is confirmed.
func (p Preview) bind(ctx context.Context, r plan.Run, call plan.Step) (b bound, ok bool, err error) {
	if b, err = p.Reader.target(ctx, r.Bound(call)); err == nil {
		b.rules, err = p.Reader.Stores.Catalogue.Rules.Rules(ctx, r.Account)
	}
	if err == nil {
		b.siblings, err = siblingsOf(ctx, p.Reader.Stores.Catalogue.Operations, r.Account, b.server, b.op)
	}
	return b, err == nil, nil
}

// errDeniedValue is the error of a call that a rule denies with the values that are known.
var errDeniedValue = fault.Reason("step.denied")

// tryAll makes a call as a run does.
func (b bound) tryAll(schemas tool.Compiler, call plan.Step, lookup ref.Lookup) error {
	args, _, err := b.resolve(schemas, call, lookup)
	if err != nil {
		return err
	}
	if _, err = b.build(schemas, call, args); err != nil {
		return err
	}
	if _, denied := b.rules.AskFor(call, judged(call, b, args), ""); denied != nil {
		return errDeniedValue.With("called", call.Called()).With("reason", denied.Reason).With("rule", denied.ID)
	}
	return nil
}

// tryKnown makes the parts of a call whose values are known. The others keep their references.
func (b bound) tryKnown(schemas tool.Compiler, call plan.Step, lookup ref.Lookup) error {
	args := tool.Arguments{Method: call.Method}
	var err error
	if args.Path, err = tool.ResolveKnownPath(b.op.Path, call.Path, lookup); err != nil {
		return err
	}
	for _, part := range []struct {
		from json.RawMessage
		to   *json.RawMessage
	}{{call.Query, &args.Query}, {call.Headers, &args.Headers}, {call.Body, &args.Body}} {
		if *part.to, err = ref.ResolveKnownJSON(part.from, lookup); err != nil {
			return err
		}
	}
	args.Body = b.op.WithoutAbsent(schemas, args.Body, true)
	if err := tool.Misfit(b.op.Check(schemas, args)); err != nil || b.op.Name != "" {
		return err
	}
	if err := tool.Selects(b.op.Entry, b.siblings, call.Path, args.Path); err != nil {
		return err
	}
	path, query, err := tool.Written(b.server, b.op, args)
	if err != nil {
		return err
	}
	to := b.binding.BaseURL + anyValues(path)
	if query != "" {
		to += "?" + anyValues(query)
	}
	if !b.binding.LeadsTo(call, to) {
		return errNotAsShown
	}
	return nil
}

// anyValues returns a text with some value for each reference.
func anyValues(text string) string {
	pieces, err := ref.Literals(text)
	if err != nil {
		return text
	}
	return strings.Join(pieces, "0")
}

// fieldsOf returns the faults of a call that could not be made, at the references whose values are at fault, and without the
// values.
func fieldsOf(call plan.Step, err error) []fault.Field {
	if err == nil {
		return nil
	}
	f := fault.Of(err)
	one := func(typ string, why *fault.Error, loc ...any) []fault.Field {
		return []fault.Field{tool.WrongField(typ, why, loc...)}
	}
	switch {
	case errors.Is(err, tool.ErrValue):
		return f.Fields
	case errors.Is(err, errNotAsShown):
		return one("query.value", tool.Because("problem.query_value"), "query")
	case errors.Is(err, tool.ErrArguments):
		var fields []fault.Field
		for _, wrong := range f.Fields {
			if wrong.Type != "more" {
				fields = append(fields, atReference(call, wrong))
			}
		}
		return fields
	case errors.Is(err, tool.ErrRequest):
		return one("path.value", tool.Because("problem.path_value"), "path")
	case errors.Is(err, errDeniedValue):
		return one("denied", f)
	case errors.Is(err, errRises), errors.Is(err, errWoven):
		return one("value", f, "body")
	case f.Kind == fault.Internal: // it was reported when the plan was read
		return nil
	}
	return one("value", f, partWith(call, f.Args["reference"])...)
}

// partsOf returns the parts of a call that are JSON, by their names.
func partsOf(call plan.Step) map[string]json.RawMessage {
	return map[string]json.RawMessage{"query": call.Query, "headers": call.Headers, "body": call.Body}
}

// partWith returns the part of a call in which a reference stands.
func partWith(call plan.Step, reference string) []any {
	for _, name := range []string{"query", "headers", "body"} {
		refs, err := ref.InJSON(partsOf(call)[name])
		if err == nil && slices.ContainsFunc(refs, func(r ref.Reference) bool { return "${"+r.String()+"}" == reference }) {
			return []any{name}
		}
	}
	return []any{"path"}
}

// atReference returns a fault of a made call as one of the call that was written: at the reference whose value is at fault.
func atReference(call plan.Step, f fault.Field) fault.Field {
	loc, refs := []any{}, []ref.Reference{}
	if len(f.Loc) > 0 {
		name, _ := f.Loc[0].(string)
		if raw, is := partsOf(call)[name]; is {
			loc, refs = writtenAt(raw, f.Loc[1:])
			loc = append([]any{name}, loc...)
		} else {
			loc = f.Loc
			refs, _ = ref.InText(call.Path)
		}
	}
	why := withoutValue(f.Why)
	var names []string
	for _, r := range refs {
		if name := "${" + r.String() + "}"; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		why = tool.Because("problem.with", "reference", strings.Join(names, ", "), "why", why)
	}
	return tool.WrongField(f.Type, why, loc...)
}

// writtenAt follows a path in written JSON as far as it goes: to a text, in which references may stand. It returns the path, and
// the references there.
func writtenAt(raw json.RawMessage, loc []any) (at []any, refs []ref.Reference) {
	for _, l := range loc {
		name, _ := l.(string)
		var object map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(raw, &object) == nil && object[name] != nil {
			raw = object[name]
		} else if i, err := strconv.Atoi(name); err == nil && json.Unmarshal(raw, &list) == nil && i >= 0 && i < len(list) {
			raw = list[i]
		} else {
			break
		}
		at = append(at, name)
	}
	refs, _ = ref.InJSON(raw)
	return at, refs
}

// revealing lists the reasons that may have a part of a value.
var revealing = []string{"problem.unknown", "problem.name", "problem.json", "problem.taken_for"}

// withoutValue returns a reason without parts of a value.
func withoutValue(why *fault.Error) *fault.Error {
	if why == nil || slices.Contains(revealing, why.Code) {
		return tool.Because("problem.unfit")
	}
	safe := *why
	for name, inner := range why.Inner {
		safe = *safe.WithFault(name, withoutValue(inner))
	}
	return &safe
}
