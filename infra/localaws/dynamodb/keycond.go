package dynamodb

// keyTest is one condition of a KeyConditionExpression: on one key attribute,
// with constants.
type keyTest struct {
	name   string
	op     op // =, <, <=, >, >=, BETWEEN, or opCall for begins_with
	values []value
}

const inKeys = "Invalid KeyConditionExpression: "

// keyTests splits a key condition and checks its form. Its attributes are checked against a schema
// later.
func keyTests(c *condition) ([]keyTest, error) {
	var tests []keyTest
	if err := collectKeyTests(c.root, &tests); err != nil {
		return nil, err
	}
	for i, t := range tests {
		for _, earlier := range tests[:i] {
			if earlier.name == t.name {
				return nil, invalid(inKeys + "KeyConditionExpressions must only contain one condition per key")
			}
		}
	}
	return tests, nil
}

func collectKeyTests(e *expr, tests *[]keyTest) error {
	switch e.op {
	case opAnd:
		if err := collectKeyTests(e.args[0], tests); err != nil {
			return err
		}
		return collectKeyTests(e.args[1], tests)
	case opOr, opNot, opIn, opDiffer:
		return invalid("Invalid operator used in KeyConditionExpression: %s", e.op)
	case opCall:
		if e.fn != fnBegins {
			return invalid("Invalid operator used in KeyConditionExpression: %s", e.fn)
		}
	}
	t := keyTest{op: e.op}
	for i, a := range e.args {
		switch {
		case a.op == opValue:
			t.values = append(t.values, a.value)
		case a.op != opPath:
			return invalid("KeyConditionExpressions cannot contain nested operations")
		case t.name != "":
			return invalid("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
		case len(a.path) > 1:
			return invalid("KeyConditionExpressions cannot have conditions on nested attributes")
		default:
			t.name = a.path[0].name
			if i > 0 {
				if e.op == opBetween || e.op == opCall {
					name := string(e.op)
					if e.op == opCall {
						name = e.fn
					}
					return invalid("Invalid condition in KeyConditionExpression: %s operator must have the key attribute as its first operand", name)
				}
				t.op = mirrored[e.op]
			}
		}
	}
	if t.name == "" {
		return invalid("Invalid condition in KeyConditionExpression: No key attribute specified")
	}
	*tests = append(*tests, t)
	return nil
}

// mirrored maps the operator of ":v < key" to that of "key > :v".
var mirrored = map[op]op{opEqual: opEqual, "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// keyRange is the range of stored keys that a key condition selects: from low, up to but not
// including high.
type keyRange struct {
	hash      value
	low, high []byte
	sort      *keyTest
}

const conditionMismatch = "Condition parameter type does not match schema type"

// keyRangeOf checks the tests against a schema.
func keyRangeOf(s schema, tests []keyTest) (keyRange, error) {
	if names := len(s.names()); len(tests) > names {
		if names == 1 && len(tests) == 2 {
			return keyRange{}, invalid("Query key condition not supported")
		}
		return keyRange{}, invalid("The number of query conditions (%d) exceeds the number of key attributes defined in the schema (%d)", len(tests), names)
	}
	var hash, sort *keyTest
	for i := range tests {
		switch tests[i].name {
		case s.Hash:
			hash = &tests[i]
		case s.Sort:
			sort = &tests[i]
		}
	}
	if hash == nil {
		return keyRange{}, invalid("Query condition missed key schema element: %s", s.Hash)
	}
	if len(tests) == 2 && sort == nil {
		return keyRange{}, invalid("Query condition missed key schema element: %s", s.Sort)
	}
	if err := hash.check(s, s.HashKind); err != nil {
		return keyRange{}, err
	}
	if hash.op != opEqual {
		return keyRange{}, invalid("Query key condition not supported")
	}
	r := keyRange{hash: hash.values[0], sort: sort}
	partition := appendPartition(nil, hash.values[0])
	if sort == nil {
		r.low, r.high = partition, prefixEnd(partition)
		return r, nil
	}
	if err := sort.check(s, s.SortKind); err != nil {
		return keyRange{}, err
	}
	r.narrow(partition, *sort)
	return r, nil
}

// check checks the values against the key of the schema.
func (t keyTest) check(s schema, want kind) error {
	for _, v := range t.values {
		if v.kind != want {
			return invalidValue(conditionMismatch)
		}
		if kindName, empty := v.isEmptyKey(); empty {
			return emptyKey(kindName, t.name)
		}
		if err := s.checkSizes(item{t.name: v}); err != nil {
			return err
		}
	}
	return nil
}

func (r *keyRange) narrow(partition []byte, t keyTest) {
	at := func(v value) []byte { return appendOrdered(append([]byte(nil), partition...), v) }
	r.low, r.high = partition, prefixEnd(partition)
	first := at(t.values[0])
	switch t.op {
	case opEqual:
		r.low, r.high = first, prefixEnd(first)
	case "<":
		r.high = first
	case "<=":
		r.high = prefixEnd(first)
	case ">":
		r.low = prefixEnd(first)
	case ">=":
		r.low = first
	case opBetween:
		r.low, r.high = first, prefixEnd(at(t.values[1]))
	default:
		p := appendEscaped(append([]byte(nil), partition...), t.values[0].s)
		r.low, r.high = p, prefixEnd(p)
	}
}

// covers reports whether a sort key satisfies the sort condition.
func (t keyTest) covers(v value) bool {
	e := &expr{op: t.op, fn: fnBegins, args: []*expr{{op: opValue, value: v}}}
	for _, c := range t.values {
		e.args = append(e.args, &expr{op: opValue, value: c})
	}
	return e.holds(nil)
}
