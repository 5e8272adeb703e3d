package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A query, a form and a plain text have no types: a number arrives as its digits, and a receiver reads them as the schema
// says. So a number is taken where a schema wants a text, and a text of digits where it wants a number.

// readingOf returns the number or the boolean that a text is, without blanks around it.
func readingOf(text string) (any, bool) {
	if strings.TrimSpace(text) != text {
		return nil, false
	}
	v, err := readValue(json.RawMessage(text))
	if err != nil {
		return nil, false
	}
	switch v.(type) {
	case json.Number, bool:
		return v, true
	}
	return nil, false
}

// otherReading returns the other value that is sent with the same text: that of a number or a boolean is its text.
func otherReading(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return readingOf(v)
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return nil, false
}

// textPlaces returns the places of a value, as JSON Pointers, that are sent as text in a style: the value itself, the elements
// of a list, and the members of an object that is not sent as JSON. With deepObject that is so at every depth.
func textPlaces(value any, style string) map[string]bool {
	places := map[string]bool{}
	addTextPlaces(places, "", value, style, 1)
	return places
}

func addTextPlaces(places map[string]bool, at string, value any, style string, levels int) {
	if style == "json" || levels < 0 {
		return
	}
	below := levels - 1
	if style == "deepObject" {
		below = levels
	}
	switch v := value.(type) {
	case []any:
		for i, e := range v {
			addTextPlaces(places, at+"/"+strconv.Itoa(i), e, style, below)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if style != "" {
				addTextPlaces(places, at+"/"+Token(name), v[name], style, below)
			}
		}
	case nil:
	default:
		places[at] = true
	}
}

// validateText returns the problems of a value with places that are sent as text: there, another reading may fit.
func (c *checker) validateText(loc string, s Schema, value any, places map[string]bool) []Problem {
	problems := c.validate(loc, s, value)
	tried := map[string]bool{}
	for len(problems) > 0 && len(tried) < len(places) {
		other, changed := value, []string{}
		for _, p := range problems {
			at, ok := strings.CutPrefix(p.Loc, loc)
			if !ok || !places[at] || tried[at] {
				continue
			}
			tried[at] = true
			if next, has := replacedAt(other, at); has {
				other, changed = next, append(changed, loc+at)
			}
		}
		if len(changed) == 0 {
			return problems
		}
		after := c.validate(loc, s, other)
		if !slices.ContainsFunc(changed, func(at string) bool { return wrongAt(after, at) }) {
			value, problems = other, after
			continue
		}
		for _, at := range changed { // one by one: some readings fit, and others do not
			if next, has := replacedAt(value, strings.TrimPrefix(at, loc)); has {
				if one := c.validate(loc, s, next); !wrongAt(one, at) {
					value, problems = next, one
				}
			}
		}
	}
	return problems
}

// wrongAt reports whether the value at a place is none of those that its schema allows there.
func wrongAt(problems []Problem, loc string) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool {
		return p.Loc == loc && slices.Contains([]string{"type", "any_of", "one_of", "enum", "const"}, p.Type)
	})
}

// replacedAt returns a copy of a value with the other reading at a place.
func replacedAt(value any, at string) (any, bool) {
	if at == "" {
		return otherReading(value)
	}
	head, rest, deeper := strings.Cut(at[1:], "/")
	if deeper {
		rest = "/" + rest
	}
	switch v := value.(type) {
	case []any:
		i, err := strconv.Atoi(head)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		next, ok := replacedAt(v[i], rest)
		v = slices.Clone(v)
		v[i] = next
		return v, ok
	case map[string]any:
		name := fromToken.Replace(head)
		next, ok := replacedAt(v[name], rest)
		v = maps.Clone(v)
		v[name] = next
		return v, ok
	}
	return nil, false
}
