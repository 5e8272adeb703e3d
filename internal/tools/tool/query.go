package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
)

// buildQuery serialises the query in the order of the operation's parameters, each in its own style.
func buildQuery(keys []KeyPlace, op Operation, raw json.RawMessage) (string, error) {
	if isAbsent(raw) {
		return "", nil
	}
	if _, err := readValue(raw); err != nil {
		return "", wrongArguments("json", fault.Of(err), "query")
	}
	list, ok := members(raw)
	if !ok {
		return "", wrongArguments("type", Because("problem.object_of_parameters"), "query")
	}
	given := make(map[string]json.RawMessage, len(list))
	for _, m := range list {
		given[m.name] = m.value
	}
	var pairs []string
	for _, p := range op.Parameters {
		value, ok := given[p.Name]
		if p.In != "query" || !ok {
			continue
		}
		if containsPlace(keys, KeyPlace{In: "query", Name: p.Name}) {
			return "", wrongArguments("query.key", Because("problem.query_key"), "query", p.Name)
		}
		delete(given, p.Name)
		pairs = append(pairs, serialise(p, value)...)
	}
	for _, m := range list {
		if _, left := given[m.name]; left {
			return "", wrongArguments("unknown", Because("problem.no_query_parameter", "known", Known(nil)), "query", m.name)
		}
	}
	return strings.ReplaceAll(strings.Join(pairs, "&"), "+", "%20"), nil // a + is one thing to forms, and another to URLs
}

// writtenQuery serialises a query whose references stay. A reference is the value of a parameter, or a part of one: the
// parameters and their names do not depend on the result of an earlier step.
func writtenQuery(keys []KeyPlace, op Operation, raw json.RawMessage) (string, error) {
	if isAbsent(raw) {
		return "", nil
	}
	mark, marked := unusedNumber(raw), []string{}
	plain, err := ref.Replace(raw, func(r ref.Reference) json.RawMessage {
		number := fmt.Sprintf("%s%06d", mark, len(marked)/2)
		marked = append(marked, number, "${"+r.String()+"}")
		return json.RawMessage(number)
	})
	if err != nil {
		return "", wrongArguments("reference", notFollowed(err), "query")
	}
	if name := spreadReference(op, raw); name != "" {
		return "", wrongArguments("reference", Because("problem.spread_reference"), "query", name)
	}
	query, err := buildQuery(keys, op, plain)
	return strings.NewReplacer(marked...).Replace(query), err
}

// spreadReference returns the name of a parameter whose value is a reference to an object, and whose members are parameters.
func spreadReference(op Operation, raw json.RawMessage) string {
	list, _ := members(raw)
	for _, m := range list {
		text, _ := scalarText(m.value)
		for _, p := range op.Parameters {
			spreads := p.Style == "deepObject" || p.Explode && p.Style != "json" && typeName(p.Schema, nil) == "object"
			if p.In == "query" && p.Name == m.name && spreads && ref.Whole(text) {
				return m.name
			}
		}
	}
	return ""
}

// unusedNumber returns digits that a JSON text does not have.
func unusedNumber(raw json.RawMessage) string {
	for n := 9_071_645_823; ; n += 7 {
		if digits := strconv.Itoa(n); !bytes.Contains(raw, []byte(digits)) {
			return digits
		}
	}
}

// serialise writes one parameter as name=value pairs, already escaped.
func serialise(p Parameter, value json.RawMessage) []string {
	name := url.QueryEscape(p.Name)
	if isAbsent(value) {
		return nil
	}
	if p.Style == "json" {
		return []string{name + "=" + url.QueryEscape(string(value))}
	}
	if text, ok := scalarText(value); ok {
		return []string{name + "=" + url.QueryEscape(text)}
	}
	if list, ok := members(value); ok {
		return serialiseObject(p, name, value, list)
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		return nil
	}
	if p.Style == "deepObject" {
		return bracketPairs(p.Name, value)
	}
	texts := make([]string, 0, len(items))
	for _, item := range items {
		texts = append(texts, url.QueryEscape(textOf(item)))
	}
	if p.Explode {
		for i := range texts {
			texts[i] = name + "=" + texts[i]
		}
		return texts
	}
	return []string{name + "=" + strings.Join(texts, delimiter(p.Style))}
}

// leavesOut reports whether a list or an object without elements is in a value of which serialise would write nothing.
func leavesOut(p Parameter, value any) bool {
	switch value := value.(type) {
	case []any:
		inside := p.Style == "deepObject" && slices.ContainsFunc(value, func(v any) bool { return leavesOut(p, v) })
		return inside || len(value) == 0 && (p.Explode || p.Style == "deepObject")
	case map[string]any:
		for _, v := range value {
			if p.Style == "deepObject" && leavesOut(p, v) {
				return true
			}
		}
		return len(value) == 0 && (p.Explode || p.Style == "deepObject")
	}
	return false
}

func serialiseObject(p Parameter, name string, value json.RawMessage, list []member) []string {
	if p.Style == "deepObject" {
		return bracketPairs(p.Name, value)
	}
	var parts []string
	for _, m := range list {
		if isAbsent(m.value) {
			continue
		}
		key, text := url.QueryEscape(m.name), url.QueryEscape(textOf(m.value))
		if p.Explode {
			parts = append(parts, key+"="+text)
		} else {
			parts = append(parts, key, text)
		}
	}
	if p.Explode {
		return parts
	}
	return []string{name + "=" + strings.Join(parts, delimiter(p.Style))}
}

func delimiter(style string) string {
	switch style {
	case "spaceDelimited":
		return "%20"
	case "pipeDelimited":
		return "%7C"
	case "tabDelimited":
		return "%09"
	}
	return ","
}

// textOf writes any value as text: a scalar as itself, every other value as JSON.
func textOf(raw json.RawMessage) string {
	if s, ok := scalarText(raw); ok {
		return s
	}
	return string(raw)
}

// bracketPairs writes a value as form pairs below a name: a[b]=1, a[]=x for a list of scalars, a[0][b]=1 for a list
// of objects. null is written as empty, because a form unsets a member so.
func bracketPairs(name string, raw json.RawMessage) []string {
	if list, ok := members(raw); ok {
		var pairs []string
		for _, m := range list {
			pairs = append(pairs, bracketPairs(name+"["+m.name+"]", m.value)...)
		}
		return pairs
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) == nil && !isAbsent(raw) {
		var pairs []string
		for i, item := range items {
			below := name + "[]"
			if _, scalar := scalarText(item); !scalar {
				below = fmt.Sprintf("%s[%s]", name, strconv.Itoa(i))
			}
			pairs = append(pairs, bracketPairs(below, item)...)
		}
		return pairs
	}
	text, _ := scalarText(raw)
	return []string{url.QueryEscape(name) + "=" + url.QueryEscape(text)}
}
