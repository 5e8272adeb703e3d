package stepfunctions

import (
	"encoding/json"
	"strings"
	"time"
)

// A choiceRule is a top-level entry of Choices: a condition and a next state.
type choiceRule struct {
	when condition
	next string
}

// A condition is a comparison or a combination of conditions. It fails only
// with a *failure, when a compared path selects nothing.
type condition interface {
	holds(data, context any) (bool, *failure)
}

type (
	conditionAnd []condition
	conditionOr  []condition
	conditionNot struct{ of condition }
	// comparison applies a test to the value of a path.
	comparison struct {
		variable *path
		operator string
		literal  any
		other    *path // of the …Path operators
	}
)

func (c conditionAnd) holds(data, context any) (bool, *failure) {
	for _, sub := range c {
		if ok, f := sub.holds(data, context); f != nil || !ok {
			return false, f
		}
	}
	return true, nil
}

func (c conditionOr) holds(data, context any) (bool, *failure) {
	for _, sub := range c {
		if ok, f := sub.holds(data, context); f != nil || ok {
			return ok, f
		}
	}
	return false, nil
}

func (c conditionNot) holds(data, context any) (bool, *failure) {
	ok, f := c.of.holds(data, context)
	return !ok, f
}

func (c *comparison) holds(data, context any) (bool, *failure) {
	v, present := resolve(c.variable, data, context)
	if c.operator == "IsPresent" {
		return present == (c.literal == true), nil
	}
	if !present {
		return false, choiceFailure(c.variable)
	}
	if c.other != nil {
		other, present := resolve(c.other, data, context)
		if !present {
			return false, choiceFailure(c.other)
		}
		return compareWith(strings.TrimSuffix(c.operator, "Path"), v, other), nil
	}
	switch c.operator {
	case "IsNull", "IsString", "IsNumeric", "IsBoolean", "IsTimestamp":
		return isType(c.operator, v) == (c.literal == true), nil
	case "StringMatches":
		s, ok := v.(string)
		return ok && matchWildcard(c.literal.(string), s), nil
	}
	return compareWith(c.operator, v, c.literal), nil
}

// resolve applies p; a path that selects a list is present when it is not empty.
func resolve(p *path, data, context any) (any, bool) {
	from := data
	if p.context {
		from = context
	}
	v, err := p.selectFrom(from)
	if err != nil {
		return nil, false
	}
	if list, ok := v.([]any); ok && !p.definite {
		return v, len(list) > 0
	}
	return v, true
}

func choiceFailure(p *path) *failure {
	return runtimeFailure("Invalid path '%s': The choice state's condition path references an invalid value.", p.source)
}

func isType(operator string, v any) bool {
	switch operator {
	case "IsNull":
		return v == nil
	case "IsNumeric":
		_, ok := v.(json.Number)
		return ok
	case "IsBoolean":
		_, ok := v.(bool)
		return ok
	}
	s, ok := v.(string)
	if !ok || operator == "IsString" {
		return ok
	}
	_, err := parseTimestamp(s)
	return err == nil
}

// compareWith compares two values of the operator's type; values of any other
// type do not match.
func compareWith(operator string, left, right any) bool {
	kind, order, _ := cutOperator(operator)
	var cmp int
	switch kind {
	case "Boolean":
		l, okL := left.(bool)
		r, okR := right.(bool)
		return okL && okR && l == r
	case "Numeric":
		l, okL := left.(json.Number)
		r, okR := right.(json.Number)
		if !okL || !okR {
			return false
		}
		cmp = compareNumbers(l, r)
	case "String":
		l, okL := left.(string)
		r, okR := right.(string)
		if !okL || !okR {
			return false
		}
		cmp = strings.Compare(l, r)
	case "Timestamp":
		l, okL := timestampOf(left)
		r, okR := timestampOf(right)
		if !okL || !okR {
			return false
		}
		cmp = l.Compare(r)
	}
	switch order {
	case "Equals":
		return cmp == 0
	case "LessThan":
		return cmp < 0
	case "GreaterThan":
		return cmp > 0
	case "LessThanEquals":
		return cmp <= 0
	}
	return cmp >= 0
}

func timestampOf(v any) (time.Time, bool) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, false
	}
	t, err := parseTimestamp(s)
	return t, err == nil
}

// cutOperator splits an ordering operator into its type and its order.
func cutOperator(operator string) (kind, order string, ok bool) {
	for _, kind := range []string{"Boolean", "Numeric", "String", "Timestamp"} {
		order, found := strings.CutPrefix(operator, kind)
		if !found {
			continue
		}
		switch order {
		case "Equals":
			return kind, order, true
		case "LessThan", "GreaterThan", "LessThanEquals", "GreaterThanEquals":
			return kind, order, kind != "Boolean"
		}
	}
	return "", "", false
}

// matchWildcard matches s against a pattern in which * stands for any text, \*
// for an asterisk and \\ for a backslash.
func matchWildcard(pattern, s string) bool {
	type token struct {
		c    byte
		star bool
	}
	var tokens []token
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		if c == '\\' && i+1 < len(pattern) && (pattern[i+1] == '*' || pattern[i+1] == '\\') {
			i++
			tokens = append(tokens, token{c: pattern[i]})
			continue
		}
		tokens = append(tokens, token{c: c, star: c == '*'})
	}
	t, i, backT, backI := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case t < len(tokens) && tokens[t].star:
			backT, backI = t, i
			t++
		case t < len(tokens) && tokens[t].c == s[i]:
			t++
			i++
		case backT >= 0:
			backI++
			t, i = backT+1, backI
		default:
			return false
		}
	}
	for t < len(tokens) && tokens[t].star {
		t++
	}
	return t == len(tokens)
}
