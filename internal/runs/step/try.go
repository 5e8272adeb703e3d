package step

import (
	"context"
	"errors"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// tryAddresses builds the addresses of a draft whose values were all read: those of its steps, for each element of a list, and
// of their undos and checks. It returns those that could not be sent. What it says goes to a model, and so it tells no value.
func (p Preview) tryAddresses(ctx context.Context, r plan.Run, look ref.Lookup) (wrong []fault.Field) {
	for i, s := range r.Plan.Steps {
		if !mayRun(s, look) {
			continue
		}
		lists := elementLookups(s, look)
		try := func(call plan.Step, loc ...any) {
			if f, refused := p.tryAddress(ctx, r, call, lists); refused {
				f.Loc = append(loc, f.Loc...)
				wrong = append(wrong, f)
			}
		}
		try(s, "steps", i)
		if undo, ok := r.Plan.Step(plan.UndoOf(s.ID)); ok {
			try(undo, "steps", i, "undo")
		}
		if check, ok := r.Plan.CheckOf(s.ID); ok {
			try(check, "steps", i, "verify")
		}
	}
	return wrong
}

// mayRun reports whether a step will run, as far as it is known.
func mayRun(s plan.Step, look ref.Lookup) bool {
	if s.When == nil {
		return true
	}
	holds, err := s.When.Holds(look)
	return err == nil && holds
}

// elementLookups returns one lookup for each element of a step that is done for a list, and look alone for another step.
func elementLookups(s plan.Step, look ref.Lookup) []ref.Lookup {
	if s.ForEach == "" {
		return []ref.Lookup{look}
	}
	list, err := listOf(s, look)
	if err != nil {
		return nil
	}
	lookups := make([]ref.Lookup, 0, min(len(list), plan.MaxEach))
	for _, element := range list[:min(len(list), plan.MaxEach)] {
		lookups = append(lookups, func(name string) (ref.Result, bool) {
			if name == plan.ItemName {
				return ref.Result{Status: 200, Body: element}, true
			}
			return look(name)
		})
	}
	return lookups
}

// tryAddress returns why a call could not be sent with one of the lookups. A value that is not known refuses nothing.
func (p Preview) tryAddress(ctx context.Context, r plan.Run, call plan.Step, lookups []ref.Lookup) (fault.Field, bool) {
	inPath, err := ref.InText(call.Path)
	inQuery, errQuery := ref.InJSON(call.Query)
	if err != nil || errQuery != nil || len(inPath)+len(inQuery) == 0 || len(lookups) == 0 || call.Tool != "" {
		return fault.Field{}, false
	}
	var known []tool.Arguments
	for _, look := range lookups {
		args, err := resolve(plan.Step{Method: call.Method, Path: call.Path, Query: call.Query}, templateOf(r, call), look)
		switch {
		case errors.Is(err, tool.ErrValue):
			return fault.Of(err).Fields[0], true
		case err == nil:
			known = append(known, args)
		}
	}
	if len(known) == 0 {
		return fault.Field{}, false
	}
	b, err := p.target(ctx, r, call)
	if err == nil {
		b.siblings, err = siblingsOf(ctx, p.Store, r.Account, b.server, b.op)
	}
	if err != nil {
		return fault.Field{}, false
	}
	for _, args := range known {
		switch err := b.checkAddress(call, args); {
		case errors.Is(err, errNotAsShown):
			return fault.Field{Loc: []any{"query"}, Type: "query.value", Msg: "a reference names nothing that can be sent there: null, an empty list, or an object"}, true
		case err != nil:
			return fault.Field{Loc: []any{"path"}, Type: "path.value", Msg: "with the values of its references it could be taken for the path of another operation"}, true
		}
	}
	return fault.Field{}, false
}

func templateOf(r plan.Run, call plan.Step) string {
	b, _ := r.Plan.Binding(call.ID)
	return b.Template
}
