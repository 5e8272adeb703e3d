package stepfunctions

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxConditionDepth bounds the nesting of And, Or and Not.
const maxConditionDepth = 50

func (r *reader) choice(st *state, obj object, at string) {
	for i, rule := range r.list(obj, "Choices", at, true) {
		here := pointer(at+"/Choices", i)
		next := r.requiredText(rule, "Next", here)
		when := r.condition(rule, here, 0)
		st.choices = append(st.choices, choiceRule{when: when, next: next})
	}
	st.fallback, _ = r.text(obj, "Default", at)
}

func (r *reader) condition(obj object, at string, depth int) condition {
	if depth > maxConditionDepth {
		r.schema(at, "Conditions are nested too deeply")
		return nil
	}
	plain := []string{"Comment"}
	if depth == 0 {
		plain = append(plain, "Next")
	}
	var operators []string
	for _, m := range obj {
		if m.key != "Variable" && !slices.Contains(plain, m.key) {
			operators = append(operators, m.key)
		}
	}
	if len(operators) != 1 {
		r.schema(at, "A Choice Rule must have exactly one comparison operator")
		return nil
	}
	operator := operators[0]
	here := pointer(at, operator)
	switch operator {
	case "And", "Or":
		r.onlyFields(obj, at, append(plain, operator)...)
		var list []condition
		for i, sub := range r.list(obj, operator, at, true) {
			list = append(list, r.condition(sub, pointer(here, i), depth+1))
		}
		if operator == "And" {
			return conditionAnd(list)
		}
		return conditionOr(list)
	case "Not":
		r.onlyFields(obj, at, append(plain, operator)...)
		v, _ := obj.get(operator)
		sub, ok := v.(object)
		if !ok {
			r.schema(here, "Expected value of type Object")
			return nil
		}
		return conditionNot{r.condition(sub, here, depth+1)}
	}
	return r.comparison(obj, operator, at)
}

func (r *reader) comparison(obj object, operator, at string) condition {
	here := pointer(at, operator)
	c := &comparison{operator: operator}
	c.literal, _ = obj.get(operator)
	if _, ok := obj.get("Variable"); !ok {
		r.schema(at, "These fields are required: [Variable]")
	}
	c.variable = r.path(obj, "Variable", at, false)
	base, isPath := strings.CutSuffix(operator, "Path")
	kind, _, ordered := cutOperator(base)
	switch {
	case ordered && isPath:
		c.other = r.path(obj, operator, at, false)
	case ordered:
		r.literal(kind, c.literal, here)
	case operator == "StringMatches":
		r.literal("String", c.literal, here)
	case slices.Contains([]string{"IsNull", "IsPresent", "IsNumeric", "IsString", "IsBoolean", "IsTimestamp"}, operator):
		r.literal("Boolean", c.literal, here)
	default:
		r.schema(here, "Field '%s' is not supported", operator)
	}
	return c
}

// literal checks that v has the type an operator compares.
func (r *reader) literal(kind string, v any, at string) {
	ok := false
	switch kind {
	case "Boolean":
		_, ok = v.(bool)
	case "Numeric":
		_, ok = v.(json.Number)
	case "String":
		_, ok = v.(string)
	case "Timestamp":
		_, ok = timestampOf(v)
	}
	if !ok {
		r.schema(at, "Expected value of type %s", kind)
	}
}
