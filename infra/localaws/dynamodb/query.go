package dynamodb

import (
	"errors"
	"math"
	"slices"
	"strings"
)

// reading holds the common part of Query and Scan: the range of a table or an index to read, and
// the filter and projection of the items.
type reading struct {
	table      string
	indexName  string
	consistent bool
	selects    string
	limit      int64
	start      item // ExclusiveStartKey
	filter     *condition
	filterName string // its name in messages
	paths      []path
	capacity   capacity

	low, high []byte // of stored keys; high nil: to the end
	reverse   bool
}

const (
	selectAll       = "ALL_ATTRIBUTES"
	selectProjected = "ALL_PROJECTED_ATTRIBUTES"
	selectSpecific  = "SPECIFIC_ATTRIBUTES"
	selectCount     = "COUNT"
)

// readReading reads the members of both operations that are not expressions.
func readReading(r request) (reading, error) {
	q := reading{filterName: "Filter Expression", table: r.table(), indexName: r.str("IndexName"), capacity: readCapacity(r)}
	if r.has("IndexName") {
		checkName(r, "IndexName", q.indexName)
	}
	q.consistent, _ = r.boolean("ConsistentRead")
	q.selects = r.oneOf("Select", selectSpecific, selectCount, selectAll, selectProjected)
	q.limit, _ = r.integer("Limit", 1, math.MaxInt32)
	if err := r.err(); err != nil {
		return q, err
	}
	if !r.has("ExclusiveStartKey") {
		return q, nil
	}
	start, err := r.item("ExclusiveStartKey")
	var f *failure
	if errors.As(err, &f) && strings.HasPrefix(f.kind, validateNamespace) {
		return q, invalid("The provided starting key is invalid: %s", f.message)
	}
	q.start = start
	return q, err
}

func checkName(r request, member, name string) {
	if !validName(name) {
		r.breach(member, name, "Member must satisfy regular expression pattern: "+namePattern)
	}
	switch {
	case len(name) < 3:
		r.breach(member, name, "Member must have length greater than or equal to 3")
	case len(name) > 255:
		r.breach(member, name, "Member must have length less than or equal to 255")
	}
}

// readExpressions reads filter and projection; filter names the legacy filter.
func (q *reading) readExpressions(r request, s *scope, filter string) (err error) {
	if r.has(filter) || r.has("ConditionalOperator") {
		q.filterName = filter
		if q.filter, err = r.legacyFilter(filter); err != nil {
			return err
		}
	}
	if q.paths, err = r.attributesToGet(); err != nil {
		return err
	}
	if r.has("FilterExpression") {
		if q.filter, err = readCondition(r, "FilterExpression", s); err != nil {
			return err
		}
	}
	if r.has("ProjectionExpression") {
		text, err := r.expression("ProjectionExpression")
		if err != nil {
			return err
		}
		if q.paths, err = parseProjection(text, s); err != nil {
			return err
		}
	}
	return s.requireUsed()
}

// bind checks the reading against the table, and returns its index, if it names one.
func (q *reading) bind(t *table) (*index, error) {
	var x *index
	if q.indexName != "" {
		if x = t.index(q.indexName); x == nil {
			return nil, invalid("The table does not have the specified index: %s", q.indexName)
		}
		if q.consistent {
			return nil, invalid("Consistent reads are not supported on global secondary indexes")
		}
	}
	switch {
	case q.paths != nil && q.selects != "" && q.selects != selectSpecific:
		choice := q.selects
		if choice == selectCount {
			choice = "only the Count"
		}
		return nil, invalid("Cannot specify the ProjectionExpression when choosing to get %s", choice)
	case q.paths == nil && q.selects == selectSpecific:
		return nil, invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case q.selects == selectProjected && x == nil:
		return nil, invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	case q.selects == selectAll && x != nil && x.Projection != projectAll:
		return nil, invalidValue("Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", x.Name)
	}
	for _, p := range q.paths {
		if !t.projects(x, p[0].name) {
			return nil, invalidValue("Global secondary index %s does not project %s", x.Name, p[:1])
		}
	}
	if err := t.checkScalarKeys(q.paths); err != nil {
		return nil, err
	}
	if q.filter != nil {
		if err := t.checkScalarKeys(q.filter.nested); err != nil {
			return nil, err
		}
	}
	return x, q.checkStart(t, x)
}

const badStart = "The provided starting key is invalid"

// checkStart checks that ExclusiveStartKey has the keys of the table and of the index.
func (q *reading) checkStart(t *table, x *index) error {
	if q.start == nil {
		return nil
	}
	want := t.Key.names()
	if x != nil {
		for _, name := range x.Key.names() {
			if !slices.Contains(want, name) {
				want = append(want, name)
			}
		}
	}
	if len(q.start) != len(want) {
		return invalid(badStart)
	}
	for _, name := range want {
		if v, ok := q.start[name]; !ok || v.kind != t.kindOf(name) {
			return invalid(badStart + ": " + schemaMismatch)
		}
	}
	var f *failure
	if err := t.Key.checkKey(t.Key.keyOf(q.start)); errors.As(err, &f) {
		return invalid(badStart+": %s", f.message)
	}
	if x != nil {
		if err := t.checkIndexKeys(q.start); errors.As(err, &f) {
			return invalid(badStart+": %s", f.message)
		}
	}
	return nil
}

func keySchema(t *table, x *index) schema {
	if x != nil {
		return x.Key
	}
	return t.Key
}

func (e *Engine) query(r request) (page, error) {
	q, err := readReading(r)
	if err != nil {
		return page{}, err
	}
	forward, given := r.boolean("ScanIndexForward")
	q.reverse = given && !forward
	if err := r.err(); err != nil {
		return page{}, err
	}
	tests, err := q.readQuery(r)
	if err != nil {
		return page{}, err
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	t, err := e.tables.get(q.table)
	if err != nil {
		return page{}, err
	}
	x, err := q.bind(t)
	if err != nil {
		return page{}, err
	}
	if err := q.narrow(keySchema(t, x), tests); err != nil {
		return page{}, err
	}
	return e.read(t, x, q)
}

func (q *reading) readQuery(r request) ([]keyTest, error) {
	legacy := []string{"AttributesToGet", "QueryFilter", "ConditionalOperator"}
	if r.has("KeyConditionExpression") { // without this, KeyConditions is accepted with other expressions
		legacy = append(legacy, "KeyConditions")
	}
	if err := r.refuseMixed([]string{"KeyConditionExpression", "FilterExpression", "ProjectionExpression"}, legacy...); err != nil {
		return nil, err
	}
	s, err := scopeOf(r)
	if err != nil {
		return nil, err
	}
	if err := s.requireExpressions(r, "FilterExpression", "KeyConditionExpression"); err != nil {
		return nil, err
	}
	var tests []keyTest
	switch {
	case r.has("KeyConditions"):
		tests, err = r.legacyKeyTests()
	case !r.has("KeyConditionExpression"):
		err = invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	default:
		c, err := readCondition(r, "KeyConditionExpression", s)
		if err != nil {
			return nil, err
		}
		if err := q.readExpressions(r, s, "QueryFilter"); err != nil {
			return nil, err
		}
		return keyTests(c)
	}
	if err != nil {
		return nil, err
	}
	return tests, q.readExpressions(r, s, "QueryFilter")
}

// narrow sets the range of the key conditions, and refuses a filter on keys and a start outside.
func (q *reading) narrow(s schema, tests []keyTest) error {
	kr, err := keyRangeOf(s, tests)
	if err != nil {
		return err
	}
	q.low, q.high = kr.low, kr.high
	if q.filter != nil {
		for _, name := range s.names() {
			if q.filter.heads[name] {
				return invalid("%s can only contain non-primary key attributes: Primary key attribute: %s", q.filterName, name)
			}
		}
	}
	if q.start == nil {
		return nil
	}
	if !q.start[s.Hash].equal(kr.hash) {
		return invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	if kr.sort != nil && !kr.sort.covers(q.start[s.Sort]) {
		return invalid("The provided starting key does not match the range key predicate")
	}
	return nil
}

const maxSegments = 1000000

func (e *Engine) scan(r request) (page, error) {
	q, err := readReading(r)
	if err != nil {
		return page{}, err
	}
	segment, hasSegment := r.integer("Segment", 0, maxSegments-1)
	total, hasTotal := r.integer("TotalSegments", 1, maxSegments)
	if err := r.err(); err != nil {
		return page{}, err
	}
	if err := r.refuseMixed([]string{"ProjectionExpression", "FilterExpression"},
		"AttributesToGet", "ScanFilter", "ConditionalOperator"); err != nil {
		return page{}, err
	}
	switch {
	case hasSegment && !hasTotal:
		return page{}, invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case hasTotal && !hasSegment:
		return page{}, invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case hasTotal && segment >= total:
		return page{}, invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: "+
			"Segment: %d is not less than TotalSegments: %d", segment, total)
	}
	s, err := scopeOf(r)
	if err != nil {
		return page{}, err
	}
	if err := s.requireExpressions(r, "FilterExpression"); err != nil {
		return page{}, err
	}
	if err := q.readExpressions(r, s, "ScanFilter"); err != nil {
		return page{}, err
	}
	if hasTotal {
		q.low, q.high = segmentRange(segment, total)
	}
	e.ddl.RLock()
	defer e.ddl.RUnlock()
	t, err := e.tables.get(q.table)
	if err != nil {
		return page{}, err
	}
	x, err := q.bind(t)
	if err != nil {
		return page{}, err
	}
	if hasTotal && q.start != nil && !q.startsInside(keySchema(t, x)) {
		return page{}, invalid("The provided Exclusive start key is not within the requested segment")
	}
	return e.read(t, x, q)
}
