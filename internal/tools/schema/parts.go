package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"piloto/internal/ground/decimal"
	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

func (j *judge) object(members map[string]any) {
	n := j.n
	if n.minProperties != nil && len(members) < *n.minProperties {
		j.report("properties", "problem.few_properties", "n", *n.minProperties, "has", len(members))
	}
	if n.maxProperties != nil && len(members) > *n.maxProperties {
		j.report("properties", "problem.many_properties", "n", *n.maxProperties, "has", len(members))
	}
	j.require(members, n.required, tool.Because("problem.required"))
	for name, v := range members {
		if j.ended() {
			return
		}
		j.member(name, v)
	}
	for name, schema := range n.schemasWith {
		if _, ok := members[name]; ok {
			j.same(schema, members)
		}
	}
	for name, others := range n.requiredWith {
		if _, ok := members[name]; ok {
			j.require(members, others, tool.Because("problem.required_with", "name", name))
		}
	}
}

func (j *judge) require(members map[string]any, names []string, why *fault.Error) {
	for _, name := range names {
		if _, ok := members[name]; ok {
			continue
		}
		if j.said.unfit = true; j.quiet > 0 {
			return
		}
		at := j.pointer()
		if j.refs[at] {
			return
		}
		j.said.problems = append(j.said.problems, tool.Problem{Loc: j.base + at + "/" + tool.Token(name), Type: "missing", Why: why})
	}
}

// member checks one member by the schemas of its name, and by the one for all others when there is none.
func (j *judge) member(name string, v any) {
	n, at := j.n, step{name: name}
	known := false
	if schema := n.properties[name]; schema != nil {
		known = true
		j.said.add(j.below(schema, v, at))
	}
	for _, p := range n.patterned {
		if p.matches(name) {
			known = true
			j.said.add(j.below(p.schema, v, at))
		}
	}
	switch {
	case known || n.additional == nil:
	case n.additional == nothing:
		j.unknown(name)
	default:
		j.said.add(j.below(n.additional, v, at))
	}
	if known || n.additional != nil {
		j.own.name(name)
	}
	if n.names != nil && j.refuses(n.names, name) {
		j.report("name", "problem.name", "name", strconv.Quote(short(name)))
	}
}

// refuses reports whether a schema does not accept a member's name.
func (j *judge) refuses(n *node, name string) bool {
	since := j.since
	j.since = len(j.trail)
	j.quiet++
	unfit := j.apply(n, name, nil).unfit
	j.quiet--
	j.since = since
	return unfit
}

func (j *judge) unknown(name string) {
	if j.said.unfit = true; j.quiet > 0 {
		return
	}
	at := j.base + j.pointer() + "/" + tool.Token(name)
	j.said.problems = append(j.said.problems, tool.Problem{Loc: at, Type: "unknown", Why: tool.Because("problem.unknown", "known", tool.Known(j.n.known()))})
}

func (j *judge) list(elements []any) {
	n := j.n
	if n.minItems != nil && len(elements) < *n.minItems {
		j.report("items", "problem.few_elements", "n", *n.minItems, "has", len(elements))
	}
	if n.maxItems != nil && len(elements) > *n.maxItems {
		j.report("items", "problem.many_elements", "n", *n.maxItems, "has", len(elements))
	}
	if n.unique {
		if a, b, twice := duplicates(elements); twice {
			j.reportOfAll("unique", "problem.repeated", "a", a, "b", b)
		}
	}
	for i, v := range elements {
		if j.ended() {
			return
		}
		schema := n.items
		if i < len(n.prefix) {
			schema = n.prefix[i]
		}
		if schema != nil {
			j.said.add(j.below(schema, v, step{index: i, element: true}))
			j.own.item(i)
		}
	}
	if n.contains != nil {
		j.contains(elements)
	}
}

func (j *judge) contains(elements []any) {
	found := 0
	j.quiet++
	for i, v := range elements {
		if !j.below(j.n.contains, v, step{index: i, element: true}).unfit {
			found++
			j.own.item(i)
		}
	}
	j.quiet--
	least := 1
	if j.n.minContains != nil {
		least = *j.n.minContains
	}
	if found < least || j.n.maxContains != nil && found > *j.n.maxContains {
		j.reportOfAll("schema", "problem.unfitting")
	}
}

func (j *judge) text(s string) {
	n := j.n
	if n.minLength != nil || n.maxLength != nil {
		length := utf8.RuneCountInString(s)
		if n.minLength != nil && length < *n.minLength {
			j.report("length", "problem.short", "n", *n.minLength, "has", length)
		}
		if n.maxLength != nil && length > *n.maxLength {
			j.report("length", "problem.long", "n", *n.maxLength, "has", length)
		}
	}
	if !n.pattern.matches(s) {
		j.report("pattern", "problem.pattern", "pattern", short(n.pattern.text))
	}
}

func (j *judge) number(v json.Number) {
	n := j.n
	if n.minimum == nil && n.maximum == nil && n.above == nil && n.below == nil && n.multiple == nil {
		return
	}
	value := decimal.Parse(v.String())
	if l := n.minimum; l != nil && value.Compare(l.value) < 0 {
		j.report("minimum", "problem.least", "limit", l)
	}
	if l := n.maximum; l != nil && value.Compare(l.value) > 0 {
		j.report("maximum", "problem.most", "limit", l)
	}
	if l := n.above; l != nil && value.Compare(l.value) <= 0 {
		j.report("minimum", "problem.above", "limit", l)
	}
	if l := n.below; l != nil && value.Compare(l.value) >= 0 {
		j.report("maximum", "problem.below", "limit", l)
	}
	if l := n.multiple; l != nil {
		r, ok := new(big.Rat).SetString(v.String())
		if ok && !r.Quo(r, l.rational()).IsInt() {
			j.report("multiple", "problem.multiple", "limit", l)
		}
	}
}

// rest applies the schemas for the members and elements that no other schema evaluated.
func (j *judge) rest(v any) {
	switch v := v.(type) {
	case map[string]any:
		if j.n.otherProperties == nil {
			return
		}
		for name, e := range v {
			if !j.own.names[name] {
				j.said.add(j.below(j.n.otherProperties, e, step{name: name}))
				j.own.name(name)
			}
		}
	case []any:
		if j.n.otherItems == nil {
			return
		}
		for i, e := range v {
			if !j.own.items[i] {
				j.said.add(j.below(j.n.otherItems, e, step{index: i, element: true}))
				j.own.item(i)
			}
		}
	}
}

// known returns the names of the properties of an object that a schema lists.
func (n *node) known() []string {
	names := make([]string, 0, len(n.properties))
	for name := range n.properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
