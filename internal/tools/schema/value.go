package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"piloto/internal/ground/decimal"
)

// kinds is a set of the types of JSON Schema.
type kinds uint8

const (
	null kinds = 1 << iota
	boolean
	number
	integer
	text
	list
	object
)

var kindNames = [...]string{"null", "boolean", "number", "integer", "string", "array", "object"}

func kindNamed(name any) kinds {
	s, _ := name.(string)
	if i := slices.Index(kindNames[:], s); i >= 0 {
		return 1 << i
	}
	return 0
}

func (k kinds) list() []string {
	var list []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// kindOf returns the type of a value. A number is only an integer where one is asked for.
func kindOf(v any) kinds {
	switch v.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case json.Number:
		return number
	case string:
		return text
	case []any:
		return list
	}
	return object
}

// isOf reports whether a value has one of the types.
func isOf(v any, types kinds) bool {
	if kind := kindOf(v); types&kind != 0 {
		return true
	}
	n, ok := v.(json.Number)
	return ok && types&integer != 0 && decimal.Parse(n.String()).IsInteger()
}

// equal reports whether two values are the same in JSON Schema: 1.0 is 1.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || decimal.Parse(a.String()) == decimal.Parse(b.String()))
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// duplicates returns the positions of the first element that is equal to one before it.
func duplicates(elements []any) (i, j int, found bool) {
	seen := make(map[string]int, len(elements))
	var key []byte
	for j, e := range elements {
		key = appendKey(key[:0], e)
		if i, twice := seen[string(key)]; twice {
			return i, j, true
		}
		seen[string(key)] = j
	}
	return 0, 0, false
}

// appendKey appends a text that is the same for equal values only.
func appendKey(key []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		key = append(key, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key = append(strconv.AppendQuote(key, name), ':')
			key = append(appendKey(key, v[name]), ',')
		}
		return append(key, '}')
	case []any:
		key = append(key, '[')
		for _, e := range v {
			key = append(appendKey(key, e), ',')
		}
		return append(key, ']')
	case json.Number:
		return append(key, decimal.Parse(v.String()).String()...)
	case string:
		return strconv.AppendQuote(key, v)
	case bool:
		return strconv.AppendBool(key, v)
	}
	return append(key, "null"...)
}
