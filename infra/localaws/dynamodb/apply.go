package dynamodb

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

const (
	badOperand = "An operand in the update expression has an incorrect data type"
	badPath    = "The document path provided in the update expression is invalid for update"
	noValue    = "The provided expression refers to an attribute that does not exist in the item"
)

// apply returns the item after the update. Every value and every list index refers to the item
// before it. Values are computed first, then set in ascending order of index (those past a list's
// end are appended), and removals come last, highest index first.
func (u *update) apply(old item) (item, error) {
	actions := slices.Clone(u.actions)
	for i := range actions {
		if actions[i].section == sectionSet {
			v, err := actions[i].expr.compute(old)
			if err != nil {
				return nil, err
			}
			actions[i].value = v
		}
	}
	slices.SortStableFunc(actions, func(a, b action) int {
		aRemoves, bRemoves := a.section == sectionRemove || a.section == sectionDelete, b.section == sectionRemove || b.section == sectionDelete
		switch {
		case aRemoves != bRemoves && aRemoves:
			return 1
		case aRemoves != bRemoves:
			return -1
		case aRemoves:
			return b.path.compare(a.path)
		default:
			return a.path.compare(b.path)
		}
	})
	out := maps.Clone(old)
	if out == nil {
		out = item{}
	}
	for _, a := range actions {
		made, keep, _, err := changeChild(value{kind: kindM, m: out}, a.path, a.change)
		switch {
		case err != nil:
			return nil, err
		case keep:
			out[a.path[0].name] = made
		default:
			delete(out, a.path[0].name)
		}
	}
	return out, nil
}

func (p path) compare(o path) int {
	return slices.CompareFunc(p, o, func(a, b step) int {
		if c := cmp.Compare(a.index, b.index); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
}

// change replaces the value at the path by the result of f, copying the containers on the way. f
// may remove the value.
func change(v value, at path, f func(old value, present bool) (value, bool, error)) (value, error) {
	s := at[0]
	made, keep, present, err := changeChild(v, at, f)
	if err != nil || !keep && !present {
		return v, err
	}
	if s.index < 0 {
		v.m = maps.Clone(v.m)
		if keep {
			v.m[s.name] = made
		} else {
			delete(v.m, s.name)
		}
		return v, nil
	}
	v.list = slices.Clone(v.list)
	switch {
	case !keep:
		v.list = slices.Delete(v.list, s.index, s.index+1)
	case present:
		v.list[s.index] = made
	default:
		v.list = append(v.list, made)
	}
	return v, nil
}

// changeChild returns what becomes of the child of a container on a path, whether it stays, and whether it was present.
func changeChild(v value, at path, f func(old value, present bool) (value, bool, error)) (made value, keep, present bool, err error) {
	s, rest := at[0], at[1:]
	if s.index < 0 && v.kind != kindM || s.index >= 0 && v.kind != kindL {
		return value{}, false, false, invalid(badPath)
	}
	old, present := v.child(s)
	switch {
	case len(rest) == 0:
		made, keep, err = f(old, present)
	case !present:
		err = invalid(badPath)
	default:
		made, err = change(old, rest, f)
		keep = true
	}
	return made, keep, present, err
}

// change applies one action to the value at its path.
func (a action) change(old value, present bool) (made value, keep bool, err error) {
	switch a.section {
	case sectionSet:
		return a.value, true, nil
	case sectionRemove:
		return value{}, false, nil
	case sectionAdd:
		made, err = a.sumWith(old, present)
		return made, true, err
	}
	if !present {
		return value{}, false, nil
	}
	if old.kind != a.value.kind {
		return value{}, false, invalid(badOperand)
	}
	gone := a.value.members()
	left := value{kind: old.kind}
	for _, e := range old.list {
		if !gone[e.s] {
			left.list = append(left.list, e)
		}
	}
	return left, len(left.list) > 0, nil
}

func (a action) sumWith(old value, present bool) (value, error) {
	switch {
	case !present:
		return a.value, nil
	case old.kind != a.value.kind:
		return value{}, invalid(badOperand)
	case old.kind == kindN:
		n, err := old.number().add(a.value.number())
		return numberValue(n), err
	}
	has := old.members()
	out := value{kind: old.kind, list: slices.Clone(old.list)}
	for _, e := range a.value.list {
		if !has[e.s] {
			out.list = append(out.list, e)
		}
	}
	out.sortSet()
	return out, nil
}

// compute returns the value that SET assigns.
func (e *expr) compute(old item) (value, error) {
	switch e.op {
	case opValue:
		return e.value, nil
	case opPath:
		v, ok := e.path.find(old)
		if !ok {
			return value{}, invalid(noValue)
		}
		return v, nil
	case opCall:
		return e.computeCall(old)
	}
	left, err := e.args[0].compute(old)
	if err != nil {
		return value{}, err
	}
	right, err := e.args[1].compute(old)
	if err != nil {
		return value{}, err
	}
	if left.kind != kindN || right.kind != kindN {
		return value{}, invalid(badOperand)
	}
	n := right.number()
	if e.op == "-" {
		n = n.negate()
	}
	sum, err := left.number().add(n)
	return numberValue(sum), err
}

func (e *expr) computeCall(old item) (value, error) {
	if e.fn == fnIfNotExists {
		if v, ok := e.args[0].path.find(old); ok {
			return v, nil
		}
		return e.args[1].compute(old)
	}
	out := value{kind: kindL}
	for _, a := range e.args {
		v, err := a.compute(old)
		if err != nil {
			return value{}, err
		}
		if v.kind != kindL {
			return value{}, invalid(badOperand)
		}
		out.list = append(out.list, v.list...)
	}
	return out, nil
}
