package dynamodb

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// maxExpression is the greatest length of an expression, in bytes, as sent.
const maxExpression = 4096

// maxOperators is the greatest number of operators and functions in one expression.
const maxOperators = 300

// scope holds the names and values that a request's expressions may use, and records their use.
type scope struct {
	names  map[string]string
	values item

	unusedNames, unusedValues map[string]bool
}

// scopeOf reads ExpressionAttributeNames and ExpressionAttributeValues, and refuses values that
// nest too deeply.
func scopeOf(r request) (*scope, error) {
	s, err := readScope(r)
	if err != nil {
		return nil, err
	}
	for _, v := range s.values {
		if v.depth() > maxDepth {
			return nil, invalid(tooDeep)
		}
	}
	return s, nil
}

// readScope is scopeOf for the actions of a transaction, where only the depth of the stored item is
// checked.
func readScope(r request) (*scope, error) {
	s := &scope{unusedNames: map[string]bool{}, unusedValues: map[string]bool{}}
	if n := r.node.get("ExpressionAttributeNames"); n != nil {
		if n.kind != jsonObject {
			return nil, unreadable("Unexpected field type")
		}
		if len(n.fields) == 0 {
			return nil, invalid("ExpressionAttributeNames must not be empty")
		}
		s.names = make(map[string]string, len(n.fields))
		for i := range n.fields {
			name, err := stringOf(&n.fields[i].value)
			if err != nil {
				return nil, unreadable("%s", err)
			}
			key := n.fields[i].name
			if !placeholder(key, '#') {
				return nil, invalid(`ExpressionAttributeNames contains invalid key: Syntax error; key: "%s"`, key)
			}
			if name == "" || len(name) > 65535 {
				return nil, invalid("ExpressionAttributeNames contains invalid value: One or more parameter values were invalid: Attribute name must be between 1 and 65535 bytes for key %s", key)
			}
			s.names[key] = name
			s.unusedNames[key] = true
		}
	}
	return s, s.readValues(r.node.get("ExpressionAttributeValues"))
}

func (s *scope) readValues(n *node) error {
	if n == nil {
		return nil
	}
	if n.kind != jsonObject {
		return unreadable("Unexpected field type")
	}
	if len(n.fields) == 0 {
		return invalid("ExpressionAttributeValues must not be empty")
	}
	s.values = make(item, len(n.fields))
	for i := range n.fields {
		key := n.fields[i].name
		if !placeholder(key, ':') {
			return invalid(`ExpressionAttributeValues contains invalid key: Syntax error; key: "%s"`, key)
		}
		v, err := valueOf(&n.fields[i].value)
		var f *failure
		if errors.As(err, &f) && strings.HasPrefix(f.kind, validateNamespace) {
			return invalid("ExpressionAttributeValues contains invalid value: %s for key %s", f.message, key)
		}
		if err != nil {
			return err
		}
		s.values[key] = v
		s.unusedValues[key] = true
	}
	return nil
}

func placeholder(key string, mark byte) bool {
	if len(key) < 2 || key[0] != mark {
		return false
	}
	for i := 1; i < len(key); i++ {
		if !isWordPart(key[i]) {
			return false
		}
	}
	return true
}

// requireExpressions refuses names and values without an expression that could use them. valued
// lists the expressions that take values.
func (s *scope) requireExpressions(r request, valued ...string) error {
	if s.names != nil && !r.has("ProjectionExpression") && !slices.ContainsFunc(valued, r.has) {
		return invalid("ExpressionAttributeNames can only be specified when using expressions")
	}
	if s.values != nil && !slices.ContainsFunc(valued, r.has) {
		verb := "is"
		if len(valued) > 1 {
			verb = "are"
		}
		if len(valued) == 0 {
			return invalid("ExpressionAttributeValues can only be specified when using expressions")
		}
		return invalid("ExpressionAttributeValues can only be specified when using expressions: %s %s null",
			strings.Join(valued, " and "), verb)
	}
	return nil
}

// requireUsed refuses names and values that no expression used.
func (s *scope) requireUsed() error {
	if len(s.unusedNames) > 0 {
		return invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", sortedList(s.unusedNames))
	}
	if len(s.unusedValues) > 0 {
		return invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", sortedList(s.unusedValues))
	}
	return nil
}

func sortedList(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}
