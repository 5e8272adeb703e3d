package schema

import (
	"encoding/json"
	"slices"

	"piloto/internal/tools/tool"
)

// run is one check of a value.
type run struct {
	base  string          // the pointer of the value
	refs  map[string]bool // see tool.Schema
	left  *int            // schemas that may still be applied
	spent bool            // none is left: the result is not complete
	quiet int             // over 0: it only matters whether the value fits
	path  []step          // from the value to the part that is checked
	trail []*node         // the schemas that are being applied
	since int             // where those in trail begin that apply to the same part
}

// step is a member's name, or the index of an element.
type step struct {
	name    string
	index   int
	element bool
}

// verdict says whether a value fits a schema, and lists its problems. A value that does not fit has no problem when only
// references are concerned.
type verdict struct {
	unfit    bool
	problems []tool.Problem
}

func (v *verdict) add(other verdict) {
	v.unfit = v.unfit || other.unfit
	v.problems = append(v.problems, other.problems...)
}

// evaluated lists the members and elements that were checked by the schemas for one value.
type evaluated struct {
	names map[string]bool
	items map[int]bool
}

func (e *evaluated) name(name string) {
	if e == nil {
		return
	}
	if e.names == nil {
		e.names = map[string]bool{}
	}
	e.names[name] = true
}

func (e *evaluated) item(i int) {
	if e == nil {
		return
	}
	if e.items == nil {
		e.items = map[int]bool{}
	}
	e.items[i] = true
}

func (e *evaluated) add(other *evaluated) {
	if e == nil || other == nil {
		return
	}
	for name := range other.names {
		e.name(name)
	}
	for i := range other.items {
		e.item(i)
	}
}

// maxNested limits how many schemas apply to one part of a value, each inside of the one before.
const maxNested = 1000

// judge applies one schema to one part of the value.
type judge struct {
	*run
	n    *node
	own  *evaluated // nil: no schema asks for it
	said verdict
}

// apply checks a part of the value. It adds to seen, unless that is nil, the parts that a fitting schema evaluated.
func (r *run) apply(n *node, v any, seen *evaluated) verdict {
	switch n {
	case anything:
		return verdict{}
	case nothing:
		if r.quiet > 0 {
			return verdict{unfit: true}
		}
		return verdict{true, []tool.Problem{r.problem("unknown", tool.Because("problem.not_allowed"))}}
	}
	if *r.left--; *r.left < 0 || len(r.trail)-r.since > maxNested {
		r.spent = true
	}
	if r.spent {
		return verdict{unfit: true}
	}
	j := judge{run: r, n: n}
	if slices.Contains(r.trail[r.since:], n) { // it refers to itself, without end
		j.report("schema", "problem.unfitting")
		return j.said
	}
	if seen != nil || n.otherProperties != nil || n.otherItems != nil {
		j.own = &evaluated{}
	}
	r.trail = append(r.trail, n)
	j.judge(v)
	r.trail = r.trail[:len(r.trail)-1]
	if !j.said.unfit {
		seen.add(j.own)
	}
	return j.said
}

func (j *judge) judge(v any) {
	if !j.form(v) {
		return
	}
	if j.n.ref != nil {
		j.same(j.n.ref, v)
	}
	switch v := v.(type) {
	case map[string]any:
		j.object(v)
	case []any:
		j.list(v)
	case string:
		j.text(v)
	case json.Number:
		j.number(v)
	}
	if j.ended() {
		return
	}
	if j.n.dynamic != nil {
		j.same(j.n.dynamic, v)
	}
	j.combine(v)
	j.rest(v)
}

// ended reports whether the result is known: nobody asks for more than the first problem.
func (j *judge) ended() bool { return j.said.unfit && j.quiet > 0 || j.spent }

// form checks the value as a whole. A value of another form has no other problem.
func (j *judge) form(v any) bool {
	n := j.n
	switch {
	case n.types != 0 && !isOf(v, n.types):
		j.report("type", "problem.type", "want", n.types, "got", kindOf(v))
	case n.constant != nil && !equal(v, *n.constant):
		j.report("const", "problem.const", "value", choices{*n.constant})
	case n.enum != nil && !n.lists(v):
		j.reportChoices(n.enum)
	case n.format != "" && !formats[n.format](v):
		j.report("format", "problem.format", "format", formatReason(n.format))
	}
	return !j.said.unfit
}

// lists reports whether the enum has a value.
func (n *node) lists(v any) bool {
	if s, ok := v.(string); ok {
		return n.texts[s]
	}
	return slices.ContainsFunc(n.enum, func(e any) bool { return equal(v, e) })
}

// report records a problem of the part. A reference has none: its value is not known yet.
func (j *judge) report(typ, code string, pairs ...any) {
	j.said.unfit = true
	if j.quiet > 0 || len(j.refs) > 0 && j.refs[j.pointer()] {
		return
	}
	j.said.problems = append(j.said.problems, j.problem(typ, reason(code, pairs)))
}

// reportChoices does so for the values of an enum.
func (j *judge) reportChoices(values []any) {
	if len(values) == 1 {
		j.report("enum", "problem.const", "value", choices(values))
		return
	}
	j.report("enum", "problem.enum", "values", choices(values))
}

// reportOfAll does so for a problem that depends on everything in the part.
func (j *judge) reportOfAll(typ, code string, pairs ...any) {
	if j.quiet == 0 && j.hasReference() {
		j.said.unfit = true
		return
	}
	j.report(typ, code, pairs...)
}

// same applies a schema to the value itself.
func (j *judge) same(n *node, v any) {
	j.said.add(j.apply(n, v, j.own))
}

// fits reports whether a schema accepts the value itself.
func (j *judge) fits(n *node, v any) bool {
	j.quiet++
	defer func() { j.quiet-- }()
	return !j.apply(n, v, j.own).unfit
}

// below applies a schema to a member or an element.
func (j *judge) below(n *node, v any, at step) verdict {
	if n == anything {
		return verdict{}
	}
	since := j.since
	j.since = len(j.trail)
	j.path = append(j.path, at)
	said := j.apply(n, v, nil)
	j.path = j.path[:len(j.path)-1]
	j.since = since
	return said
}
