package dynamodb

import (
	"strconv"
	"strings"
)

// step is one element of a document path: an attribute's name, or an index.
type step struct {
	name  string
	index int // -1 when it is a name
}

// path is a document path; its first step is always a name.
type path []step

// String returns a path in the format of the service's messages: [a, b, [0]].
func (p path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.name
		if s.index >= 0 {
			parts[i] = "[" + strconv.Itoa(s.index) + "]"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (p path) equal(o path) bool {
	if len(p) != len(o) {
		return false
	}
	for i := range p {
		if p[i] != o[i] {
			return false
		}
	}
	return true
}

// find follows the path into an item.
func (p path) find(it item) (value, bool) {
	v, ok := it[p[0].name]
	for _, s := range p[1:] {
		if !ok {
			break
		}
		v, ok = v.child(s)
	}
	return v, ok
}

func (v value) child(s step) (value, bool) {
	if s.index < 0 {
		if v.kind != kindM {
			return value{}, false
		}
		c, ok := v.m[s.name]
		return c, ok
	}
	if v.kind != kindL || s.index >= len(v.list) {
		return value{}, false
	}
	return v.list[s.index], true
}

// overlap returns the reason why two paths cannot both be in an update or a projection, or "".
func (p path) overlap(o path) string {
	for i := range min(len(p), len(o)) {
		if p[i] == o[i] {
			continue
		}
		if (p[i].index < 0) != (o[i].index < 0) {
			return "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: " +
				p.String() + ", path two: " + o.String()
		}
		return ""
	}
	return "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: " +
		p.String() + ", path two: " + o.String()
}

// checkScalarKeys refuses a path into an attribute that is a key of the table or of an index,
// because those are scalars.
func (t *table) checkScalarKeys(paths []path) error {
	const message = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: %s: %s"
	for _, p := range paths {
		if len(p) == 1 {
			continue
		}
		if t.Key.has(p[0].name) {
			return invalid(message, "Key", p[0].name)
		}
		for _, x := range t.Indexes {
			if x.Key.has(p[0].name) {
				return invalid(message, "IndexKey", p[0].name)
			}
		}
	}
	return nil
}
