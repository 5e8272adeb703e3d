package dynamodb

import (
	"slices"
	"strings"
)

// kind is the type of an attribute value.
type kind byte

const (
	kindS kind = 1 + iota
	kindN
	kindB
	kindBool
	kindNull
	kindL
	kindM
	kindSS
	kindNS
	kindBS
)

var kindNames = [...]string{
	kindS: "S", kindN: "N", kindB: "B", kindBool: "BOOL", kindNull: "NULL",
	kindL: "L", kindM: "M", kindSS: "SS", kindNS: "NS", kindBS: "BS",
}

func (k kind) String() string { return kindNames[k] }

func kindOf(name string) (kind, bool) {
	i := slices.Index(kindNames[1:], name)
	return kind(i + 1), i >= 0
}

func (k kind) isSet() bool { return k >= kindSS }

// isOrdered reports whether values of this type have an order (and may be keys).
func (k kind) isOrdered() bool { return k <= kindB }

// element returns the type of a set's elements.
func (k kind) element() kind { return k - kindSS + kindS }

// value is one attribute value. Values are immutable: a change makes a copy, so they may be shared
// freely.
type value struct {
	kind kind
	bool bool
	s    string           // S; N in canonical form; B, its bytes
	list []value          // L; elements of a set (as S, N or B)
	m    map[string]value // M
}

// item is a whole item, or its key.
type item = map[string]value

// Limits of the service, in bytes and levels.
const (
	maxItemSize    = 400 << 10
	maxHashKeySize = 2048
	maxSortKeySize = 1024
	maxDepth       = 32
)

// number parses an N, which is canonical and therefore valid.
func (v value) number() number {
	n, _, _ := scanNumber(v.s)
	return n
}

func numberValue(n number) value { return value{kind: kindN, s: n.String()} }

// equal compares values of any type; the order of sets does not matter.
func (v value) equal(o value) bool {
	if v.kind != o.kind {
		return false
	}
	switch v.kind {
	case kindNull:
		return true
	case kindBool:
		return v.bool == o.bool
	case kindL:
		return slices.EqualFunc(v.list, o.list, value.equal)
	case kindM:
		if len(v.m) != len(o.m) {
			return false
		}
		for name, a := range v.m {
			if b, ok := o.m[name]; !ok || !a.equal(b) {
				return false
			}
		}
		return true
	case kindSS, kindNS, kindBS:
		if len(v.list) != len(o.list) {
			return false
		}
		members := v.members()
		for _, e := range o.list {
			if !members[e.s] {
				return false
			}
		}
		return true
	default:
		return v.s == o.s
	}
}

// sortSet sorts a set's elements in the order of the service: texts and binaries by byte, numbers
// by value.
func (v value) sortSet() { slices.SortFunc(v.list, value.compare) }

func (v value) members() map[string]bool {
	set := make(map[string]bool, len(v.list))
	for _, e := range v.list {
		set[e.s] = true
	}
	return set
}

// compare orders two values of the same ordered type.
func (v value) compare(o value) int {
	if v.kind == kindN {
		return v.number().compare(o.number())
	}
	return strings.Compare(v.s, o.s)
}

// size returns the bytes of the value in an item's 400 KB.
func (v value) size() int {
	switch v.kind {
	case kindBool, kindNull:
		return 1
	case kindN:
		return v.number().size()
	case kindL:
		total := 3
		for _, e := range v.list {
			total += 1 + e.size()
		}
		return total
	case kindM:
		return 3 + len(v.m) + itemSize(v.m)
	case kindSS, kindNS, kindBS:
		total := 0
		for _, e := range v.list {
			total += e.size()
		}
		return total
	default:
		return len(v.s)
	}
}

func itemSize(it item) int {
	total := 0
	for name, v := range it {
		total += len(name) + v.size()
	}
	return total
}

// depth returns the number of levels; a scalar has one.
func (v value) depth() int {
	deepest := 0
	if v.kind == kindL {
		for _, e := range v.list {
			deepest = max(deepest, e.depth())
		}
	}
	for _, e := range v.m {
		deepest = max(deepest, e.depth())
	}
	return deepest + 1
}

const tooDeep = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"

// checkItem checks an item that is about to be stored against the service's limits.
func checkItem(it item, tooLarge string) error {
	for _, v := range it {
		if v.depth() > maxDepth {
			return invalid(tooDeep)
		}
	}
	if itemSize(it) > maxItemSize {
		return invalid("%s", tooLarge)
	}
	return nil
}
