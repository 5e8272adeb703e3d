package schema

import (
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/order"
	"piloto/internal/tools/tool"
)

// combine applies the schemas that apply to the value itself.
func (j *judge) combine(v any) {
	n := j.n
	if n.not != nil && j.fits(n.not, v) {
		j.reportOfAll("not", "problem.excluded")
	}
	for _, schema := range n.allOf {
		if j.ended() {
			return
		}
		j.same(schema, v)
	}
	if len(n.anyOf) > 0 {
		j.anyOf(v)
	}
	if len(n.oneOf) > 0 {
		j.oneOf(v)
	}
	switch {
	case n.condition == nil:
	case j.fits(n.condition, v):
		if n.then != nil {
			j.same(n.then, v)
		}
	case n.conversely != nil:
		j.same(n.conversely, v)
	}
}

func (j *judge) anyOf(v any) {
	var unfit []verdict
	for _, schema := range j.n.anyOf {
		said := j.apply(schema, v, j.own)
		if said.unfit {
			unfit = append(unfit, said)
			continue
		}
		if j.own == nil { // the others may evaluate more
			return
		}
	}
	if len(unfit) == len(j.n.anyOf) {
		j.said.add(j.best(unfit))
	}
}

func (j *judge) oneOf(v any) {
	var unfit []verdict
	fitting := 0
	for _, schema := range j.n.oneOf {
		if fitting > 0 {
			if j.fits(schema, v) {
				j.reportOfAll("one_of", "problem.several_forms")
				return
			}
			continue
		}
		said := j.apply(schema, v, j.own)
		if !said.unfit {
			fitting++
		}
		unfit = append(unfit, said)
	}
	if fitting == 0 {
		j.said.add(j.best(unfit))
	}
}

// best returns the problems of the alternative that fits best, and none when one alternative fits except for
// references.
func (j *judge) best(unfit []verdict) verdict {
	if j.quiet > 0 {
		return verdict{unfit: true}
	}
	at := j.base + j.pointer()
	var best []tool.Problem
	for i, said := range unfit {
		if len(said.problems) == 0 {
			return verdict{unfit: true}
		}
		order.By(said.problems, func(a, b tool.Problem) int { return strings.Compare(a.Loc, b.Loc) })
		if i == 0 || isBetter(said.problems, best, at) {
			best = said.problems
		}
	}
	if len(unfit) > 1 && tool.WrongType(best, at) {
		best = []tool.Problem{{Loc: at, Type: "any_of", Why: tool.Because("problem.no_form", "why", joinReasons(unfit))}}
	}
	return verdict{true, best}
}

func isBetter(a, b []tool.Problem, at string) bool {
	if x, y := tool.WrongType(a, at), tool.WrongType(b, at); x != y {
		return y
	}
	return len(a) < len(b)
}

// joinReasons joins the first reasons of alternatives, each once, as a chain: the reason and the rest.
func joinReasons(unfit []verdict) *fault.Error {
	var list []*fault.Error
	seen := map[string]bool{}
	for _, said := range unfit[:min(6, len(unfit))] {
		if why := said.problems[0].Why; !seen[why.Error()] {
			seen[why.Error()] = true
			list = append(list, why)
		}
	}
	return chain("problem.or_reason", list)
}
