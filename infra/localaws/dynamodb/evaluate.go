package dynamodb

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// holds evaluates the condition on an item; a missing item has no attributes.
func (c *condition) holds(it item) bool { return c.root.holds(it) }

func (e *expr) holds(it item) bool {
	switch e.op {
	case opAnd:
		return e.args[0].holds(it) && e.args[1].holds(it)
	case opOr:
		return e.args[0].holds(it) || e.args[1].holds(it)
	case opNot:
		return !e.args[0].holds(it)
	case opCall:
		return e.callHolds(it)
	}
	left, ok := e.args[0].resolve(it)
	switch e.op {
	case opDiffer:
		right, present := e.args[1].resolve(it)
		return !ok || !present || !left.equal(right)
	case opIn:
		for _, a := range e.args[1:] {
			if right, present := a.resolve(it); ok && present && left.equal(right) {
				return true
			}
		}
		return false
	case opBetween:
		low, hasLow := e.args[1].resolve(it)
		high, hasHigh := e.args[2].resolve(it)
		return ok && hasLow && hasHigh && sameOrder(left, low) && sameOrder(left, high) &&
			left.compare(low) >= 0 && left.compare(high) <= 0
	}
	right, present := e.args[1].resolve(it)
	if !ok || !present {
		return false
	}
	if e.op == opEqual {
		return left.equal(right)
	}
	if !sameOrder(left, right) {
		return false
	}
	switch order := left.compare(right); e.op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

// sameOrder reports whether two values can be ordered.
func sameOrder(a, b value) bool { return a.kind == b.kind && a.kind.isOrdered() }

// resolve returns an operand's value, if it has one.
func (e *expr) resolve(it item) (value, bool) {
	switch e.op {
	case opValue:
		return e.value, true
	case opPath:
		return e.path.find(it)
	case opCall:
		if e.fn == fnSize {
			return e.sizeOf(it)
		}
	}
	return value{kind: kindBool, bool: e.holds(it)}, true
}

// sizeOf is the function size: UTF-16 units of text, bytes of binaries, elements of others.
func (e *expr) sizeOf(it item) (value, bool) {
	v, ok := e.args[0].resolve(it)
	if !ok {
		return value{}, false
	}
	n := 0
	switch v.kind {
	case kindS:
		for _, r := range v.s {
			n += utf16.RuneLen(r)
		}
	case kindB:
		n = len(v.s)
	case kindM:
		n = len(v.m)
	case kindL, kindSS, kindNS, kindBS:
		n = len(v.list)
	default:
		return value{}, false
	}
	return value{kind: kindN, s: strconv.Itoa(n)}, true
}

func (e *expr) callHolds(it item) bool {
	v, ok := e.args[0].resolve(it)
	switch e.fn {
	case fnExists:
		return ok
	case fnNotExists:
		return !ok
	case fnType:
		return ok && v.kind.String() == e.args[1].value.s
	}
	sought, present := e.args[1].resolve(it)
	if !ok || !present {
		return false
	}
	if e.fn == fnBegins {
		return v.kind == sought.kind && (v.kind == kindS || v.kind == kindB) && strings.HasPrefix(v.s, sought.s)
	}
	return v.contains(sought)
}

// contains is the function contains: part of a text or binary, element of a set or list.
func (v value) contains(sought value) bool {
	switch {
	case v.kind == kindS || v.kind == kindB:
		return sought.kind == v.kind && strings.Contains(v.s, sought.s)
	case v.kind == kindL || v.kind.isSet():
		for _, e := range v.list {
			if e.equal(sought) {
				return true
			}
		}
	}
	return false
}
