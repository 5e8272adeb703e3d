package dynamodb

import (
	"errors"
	"slices"
	"strings"
)

// The parameters from before expressions (Expected, AttributeUpdates, KeyConditions, QueryFilter,
// ScanFilter, AttributesToGet, ConditionalOperator) are converted to parsed expressions, so that
// there is one evaluator.

// refuseMixed refuses legacy parameters together with expressions.
func (r request) refuseMixed(expressions []string, legacy ...string) error {
	var used, instead []string
	for _, name := range legacy {
		if r.has(name) {
			used = append(used, name)
		}
	}
	for _, name := range expressions {
		if r.has(name) {
			instead = append(instead, name)
		}
	}
	if used == nil || instead == nil {
		return nil
	}
	return invalid("Can not use both expression and non-expression parameters in the same request: "+
		"Non-expression parameters: {%s} Expression parameters: {%s}", strings.Join(used, ", "), strings.Join(instead, ", "))
}

// attributesToGet reads the paths of an AttributesToGet, nil without one.
func (r request) attributesToGet() ([]path, error) {
	if !r.has("AttributesToGet") {
		return nil, nil
	}
	var paths []path
	for _, name := range r.strs("AttributesToGet") {
		if err := checkAttributeName(name); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(paths, func(p path) bool { return p[0].name == name }) {
			return nil, invalidValue("Duplicate value in attribute name: %s", name)
		}
		paths = append(paths, path{{name: name, index: -1}})
	}
	if len(paths) == 0 {
		r.breach("AttributesToGet", "[]", "Member must have length greater than or equal to 1")
	}
	return paths, r.err()
}

// comparison is one legacy condition on an attribute.
type comparison struct {
	attribute string
	operator  string
	values    []value
}

// operands maps an operator to its number of values; -1 is one or more.
var operands = map[string]int{
	"EQ": 1, "NE": 1, "LE": 1, "LT": 1, "GE": 1, "GT": 1, "CONTAINS": 1, "NOT_CONTAINS": 1, "BEGINS_WITH": 1,
	"NULL": 0, "NOT_NULL": 0, "IN": -1, "BETWEEN": 2,
}

// comparisonOperators has the order of AWS's message.
var comparisonOperators = []string{"IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"}

// fields visits the members of a map of structures.
func (r request) fields(name string, visit func(attribute string, member request) error) error {
	n := r.node.get(name)
	if n == nil {
		return nil
	}
	if n.kind != jsonObject {
		return unreadable("Unexpected field type")
	}
	for i := range n.fields {
		f := &n.fields[i]
		if f.value.kind != jsonObject {
			return unreadable("Unexpected value type in payload")
		}
		inner := request{node: &f.value, parent: r.join(strings.ToLower(name[:1]) + name[1:] + "." + f.name + ".member"), faults: r.faults}
		if err := checkAttributeName(f.name); err != nil {
			return err
		}
		if err := visit(f.name, inner); err != nil {
			return err
		}
	}
	return nil
}

// comparisons reads a map of conditions: QueryFilter, ScanFilter, KeyConditions.
func (r request) comparisons(name string) ([]comparison, error) {
	var out []comparison
	err := r.fields(name, func(attribute string, m request) error {
		if !m.has("ComparisonOperator") {
			m.reportMissing("ComparisonOperator")
			return nil
		}
		c := comparison{attribute: attribute, operator: m.oneOf("ComparisonOperator", comparisonOperators...)}
		if err := r.err(); err != nil {
			return err
		}
		values, err := m.values()
		if err != nil {
			return err
		}
		c.values = values
		out = append(out, c)
		return c.check()
	})
	if err != nil {
		return nil, err
	}
	return out, r.err()
}

// values reads an AttributeValueList.
func (r request) values() ([]value, error) {
	var out []value
	for _, n := range r.list("AttributeValueList") {
		v, err := valueOf(&n)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// check checks the number and the types of a comparison's values.
func (c comparison) check() error {
	if want := operands[c.operator]; len(c.values) != want && (want >= 0 || len(c.values) == 0) {
		return invalidValue("Invalid number of argument(s) for the %s ComparisonOperator", c.operator)
	}
	for _, v := range c.values {
		switch {
		case v.kind != c.values[0].kind:
			return invalidValue("AttributeValues inside AttributeValueList must be of same type")
		case c.operator == "EQ" || c.operator == "NE":
		case !v.kind.isOrdered() || c.operator == "BEGINS_WITH" && v.kind == kindN:
			return invalidValue("ComparisonOperator %s is not valid for %s AttributeValue type", c.operator, v.kind)
		}
	}
	if c.operator == "BETWEEN" && c.values[0].compare(c.values[1]) > 0 {
		return invalid("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
	}
	return nil
}

var legacyOps = map[string]op{"EQ": opEqual, "NE": opDiffer, "LE": "<=", "LT": "<", "GE": ">=", "GT": ">", "IN": opIn, "BETWEEN": opBetween}

var legacyCalls = map[string]string{
	"NULL": fnNotExists, "NOT_NULL": fnExists, "CONTAINS": fnContains, "NOT_CONTAINS": fnContains, "BEGINS_WITH": fnBegins,
}

// expr converts the comparison to an expression.
func (c comparison) expr() *expr {
	e := &expr{op: legacyOps[c.operator], args: []*expr{{op: opPath, path: path{{name: c.attribute, index: -1}}}}}
	if fn := legacyCalls[c.operator]; fn != "" {
		e.op, e.fn = opCall, fn
	}
	for _, v := range c.values {
		e.args = append(e.args, &expr{op: opValue, value: v})
	}
	if c.operator == "NOT_CONTAINS" {
		return &expr{op: opNot, args: []*expr{e}}
	}
	return e
}

// joinComparisons makes one condition of comparisons, by ConditionalOperator; nil without
// comparisons.
func (r request) joinComparisons(list []comparison) (*condition, error) {
	connective := op(r.oneOf("ConditionalOperator", "OR", "AND"))
	if err := r.err(); err != nil {
		return nil, err
	}
	if connective != "" && len(list) == 0 {
		return nil, invalid("ConditionalOperator cannot be used without Filter or Expected")
	}
	if connective != "" && len(list) == 1 {
		return nil, invalid("ConditionalOperator can only be used when Filter or Expected has two or more elements")
	}
	if connective == "" {
		connective = opAnd
	}
	if len(list) == 0 {
		return nil, nil
	}
	out := &condition{heads: map[string]bool{}}
	for _, c := range list {
		out.heads[c.attribute] = true
		if out.root == nil {
			out.root = c.expr()
			continue
		}
		out.root = &expr{op: connective, args: []*expr{out.root, c.expr()}}
	}
	return out, nil
}

// legacyFilter reads a QueryFilter or ScanFilter.
func (r request) legacyFilter(name string) (*condition, error) {
	list, err := r.comparisons(name)
	if err != nil {
		return nil, err
	}
	return r.joinComparisons(list)
}

// readExpected reads an Expected.
func (r request) readExpected() (*condition, error) {
	var list []comparison
	err := r.fields("Expected", func(attribute string, m request) error {
		c, err := m.expectation(attribute)
		list = append(list, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.joinComparisons(list)
}

// expectation reads one member of an Expected, in its old form (Value, Exists) or
// its newer one (ComparisonOperator, AttributeValueList).
func (r request) expectation(attribute string) (comparison, error) {
	c := comparison{attribute: attribute, operator: r.oneOf("ComparisonOperator", comparisonOperators...)}
	exists, existsGiven := r.boolean("Exists")
	if err := r.err(); err != nil {
		return c, err
	}
	var err error
	if c.values, err = r.values(); err != nil {
		return c, err
	}
	if r.has("Value") {
		if r.has("AttributeValueList") {
			return c, invalidValue("Value and AttributeValueList cannot be used together for Attribute: %s", attribute)
		}
		v, err := valueOf(r.node.get("Value"))
		if err != nil {
			return c, err
		}
		c.values = []value{v}
	}
	switch {
	case c.operator != "" && existsGiven:
		return c, invalidValue("Exists and ComparisonOperator cannot be used together for Attribute: %s", attribute)
	case c.operator != "" && operands[c.operator] != 0 && c.values == nil && !r.has("AttributeValueList"):
		return c, invalidValue("Value or AttributeValueList must be used with ComparisonOperator: %s for Attribute: %s", c.operator, attribute)
	case c.operator != "":
		return c, c.check()
	case r.has("AttributeValueList"):
		return c, invalidValue("AttributeValueList can only be used with a ComparisonOperator for Attribute: %s", attribute)
	case existsGiven && !exists && c.values != nil:
		return c, invalidValue("Value cannot be used when Exists is false for Attribute: %s", attribute)
	case existsGiven && !exists:
		c.operator = "NULL"
	case c.values == nil:
		shown := "null"
		if existsGiven {
			shown = "true"
		}
		return c, invalidValue("Value must be provided when Exists is %s for Attribute: %s", shown, attribute)
	default:
		c.operator = "EQ"
	}
	return c, nil
}

var keyOps = map[string]op{"EQ": opEqual, "LE": "<=", "LT": "<", "GE": ">=", "GT": ">", "BETWEEN": opBetween, "BEGINS_WITH": opCall}

// legacyKeyTests reads KeyConditions.
func (r request) legacyKeyTests() ([]keyTest, error) {
	list, err := r.comparisons("KeyConditions")
	if err != nil {
		return nil, err
	}
	if len(list) < 1 || len(list) > 2 {
		return nil, invalid("Conditions can be of length 1 or 2 only")
	}
	var tests []keyTest
	for _, c := range list {
		o, ok := keyOps[c.operator]
		if !ok {
			return nil, invalid("Attempted conditional constraint is not an indexable operation")
		}
		tests = append(tests, keyTest{name: c.attribute, op: o, values: c.values})
	}
	return tests, nil
}

// attributeUpdates reads AttributeUpdates, nil without any.
func (r request) attributeUpdates() (*update, error) {
	u := &update{legacy: true}
	err := r.fields("AttributeUpdates", func(attribute string, m request) error {
		does := m.oneOf("Action", "ADD", "DELETE", "PUT")
		if err := r.err(); err != nil {
			return err
		}
		a := action{section: sectionSet, path: path{{name: attribute, index: -1}}}
		if !m.has("Value") {
			if does != "DELETE" {
				return invalidValue("Only DELETE action is allowed when no attribute value is specified")
			}
			a.section = sectionRemove
			u.actions = append(u.actions, a)
			return nil
		}
		v, err := valueOf(m.node.get("Value"))
		if err != nil {
			return err
		}
		err = a.setLegacy(does, v)
		u.actions = append(u.actions, a)
		return err
	})
	if err != nil || len(u.actions) == 0 {
		return nil, err
	}
	return u, nil
}

// setLegacy makes the action one of PUT, ADD or DELETE with a value. ADD appends to lists, unlike
// the ADD of expressions.
func (a *action) setLegacy(does string, v value) error {
	switch {
	case does == "DELETE" && !v.kind.isSet():
		return invalidValue("DELETE action with value is not supported for the type %s", v.kind)
	case does == "DELETE":
		a.section, a.value = sectionDelete, v
	case does == "ADD" && v.kind == kindL:
		own, empty := &expr{op: opPath, path: a.path}, &expr{op: opValue, value: value{kind: kindL}}
		a.expr = &expr{op: opCall, fn: fnListAppend, args: []*expr{
			{op: opCall, fn: fnIfNotExists, args: []*expr{own, empty}}, {op: opValue, value: v},
		}}
	case does == "ADD" && !v.kind.isSet() && v.kind != kindN:
		return invalidValue("ADD action is not supported for the type %s", v.kind)
	case does == "ADD":
		a.section, a.value = sectionAdd, v
	default:
		a.expr = &expr{op: opValue, value: v}
	}
	return nil
}

// legacyError replaces the text of an update's failure by the text for AttributeUpdates.
func legacyError(err error) error {
	var f *failure
	if errors.As(err, &f) && f.message == badOperand {
		return invalid("Type mismatch for attribute to update")
	}
	return err
}
