// Package iam checks requests against the policies of a role, as AWS does: a request is refused
// when a statement denies it, and when none allows it.
//
// One rule holds: nothing in a policy is skipped. An unknown element, operator or condition key is
// an error when the policy is read, because a condition that is ignored would allow too much.
package iam

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Request is one action on a resource.
type Request struct {
	Action   string   // "dynamodb:PutItem"
	Resource string   // an ARN
	Keys     []string // the partition keys that it names, for dynamodb:LeadingKeys
}

// Policy holds the statements of all policies of a role.
type Policy []statement

type statement struct {
	deny       bool
	actions    []string // globs, in lower case
	resources  []string // globs
	conditions []condition
}

// condition compares the partition keys of a request with patterns.
type condition struct {
	any      bool // one value must match, and there must be one; else each must
	patterns []string
}

// leadingKeys is the supported condition key.
const leadingKeys = "dynamodb:LeadingKeys"

// Read reads policy documents as YAML or JSON decodes them: maps, lists and texts.
func Read(documents ...any) (Policy, error) {
	var all Policy
	for _, d := range documents {
		fields, err := members(d, "Version", "Statement")
		if err != nil {
			return nil, err
		}
		list, ok := fields["Statement"].([]any)
		if !ok {
			return nil, fmt.Errorf("iam: Statement is no list: %v", fields["Statement"])
		}
		for _, one := range list {
			s, err := read(one)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

func read(one any) (statement, error) {
	fields, err := members(one, "Sid", "Effect", "Action", "Resource", "Condition")
	if err != nil {
		return statement{}, err
	}
	var s statement
	switch fields["Effect"] {
	case "Allow":
	case "Deny":
		s.deny = true
	default:
		return s, fmt.Errorf("iam: the Effect %v is neither Allow nor Deny", fields["Effect"])
	}
	if s.actions, err = texts(fields["Action"]); err != nil {
		return s, err
	}
	for i, a := range s.actions {
		s.actions[i] = strings.ToLower(a)
	}
	if s.resources, err = texts(fields["Resource"]); err != nil {
		return s, err
	}
	if there := fields["Condition"]; there != nil {
		s.conditions, err = readConditions(there)
	}
	return s, err
}

func readConditions(there any) ([]condition, error) {
	operators, err := members(there, "ForAllValues:StringLike", "ForAnyValue:StringLike")
	if err != nil {
		return nil, err
	}
	var list []condition
	for _, operator := range slices.Sorted(maps.Keys(operators)) {
		keys, err := members(operators[operator], leadingKeys)
		if err == nil && len(keys) == 0 {
			err = fmt.Errorf("iam: %s compares nothing", operator)
		}
		if err != nil {
			return nil, err
		}
		patterns, err := texts(keys[leadingKeys])
		if err != nil {
			return nil, err
		}
		list = append(list, condition{any: operator == "ForAnyValue:StringLike", patterns: patterns})
	}
	return list, nil
}

// members returns the members of a map; a member that is not known is an error.
func members(of any, known ...string) (map[string]any, error) {
	fields, ok := of.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("iam: %v is no object", of)
	}
	for name := range fields {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("iam: %s is not understood", name)
		}
	}
	return fields, nil
}

// texts returns one text, or the texts of a list.
func texts(of any) ([]string, error) {
	if one, ok := of.(string); ok {
		return []string{one}, nil
	}
	list, ok := of.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("iam: %v is neither a text nor a list of them", of)
	}
	out := make([]string, len(list))
	for i, item := range list {
		if out[i], ok = item.(string); !ok {
			return nil, fmt.Errorf("iam: %v is no text", item)
		}
	}
	return out, nil
}

// Check returns the reason why a request is refused; nil: it is allowed.
func (p Policy) Check(r Request) error {
	allowed := false
	action := strings.ToLower(r.Action)
	for _, s := range p {
		switch {
		case !s.about(action, r):
		case s.deny:
			return fmt.Errorf("not authorized to perform %s on %s %q: a policy denies it", r.Action, r.Resource, r.Keys)
		default:
			allowed = true
		}
	}
	if !allowed {
		return fmt.Errorf("not authorized to perform %s on %s %q: no policy allows it", r.Action, r.Resource, r.Keys)
	}
	return nil
}

// about reports whether a statement speaks of a request. The action is the request's in lower case.
func (s statement) about(action string, r Request) bool {
	return matchesAny(s.actions, action) && matchesAny(s.resources, r.Resource) &&
		!slices.ContainsFunc(s.conditions, func(c condition) bool { return !c.holds(r.Keys) })
}

// holds evaluates a set operator: ForAllValues holds without values, and ForAnyValue does not.
func (c condition) holds(keys []string) bool {
	if c.any {
		return slices.ContainsFunc(keys, func(k string) bool { return matchesAny(c.patterns, k) })
	}
	return !slices.ContainsFunc(keys, func(k string) bool { return !matchesAny(c.patterns, k) })
}

func matchesAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, text) })
}

// matches compares a text with a pattern, in which * is any text and ? any one byte.
func matches(pattern, text string) bool {
	star, again := -1, 0 // the last star, and the end of the text that it matches so far
	i, j := 0, 0
	for j < len(text) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, again = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == text[j]):
			i++
			j++
		case star >= 0:
			again++
			i, j = star+1, again
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
