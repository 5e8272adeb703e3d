package kv

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Path names an attribute of a row, or a part of one (Of, At). Reserved words of DynamoDB are names as any other.
type Path string

// They begin the parts of a path after its first name.
const (
	member  = "\x00"
	element = "\x01"
)

// Of returns a path inside of a map.
func (p Path) Of(names ...string) Path {
	for _, name := range names {
		p += member + Path(name)
	}
	return p
}

// At returns the path of an element of a list.
func (p Path) At(n int) Path { return p + element + Path(strconv.Itoa(n)) }

// IfMissing is a value for Set: that of the path before the write, or v when it has none.
func (p Path) IfMissing(v any) Operand { return Operand{"$ = if_not_exists($, ?)", p, v} }

// Plus is a value for Set: the number of the path before the write, and n more.
func (p Path) Plus(n int64) Operand { return Operand{"$ = $ + ?", p, n} }

// clause is a part of an expression: each $ in its form stands for the next path, each ? for the next value. A value is a
// Value, a time, which is stored in milliseconds, or anything that attributevalue encodes.
type clause struct {
	form   string
	paths  [2]Path
	values [2]any
}

// clauses returns paths as parts of an expression.
func clauses(list []Path) (all []clause) {
	for _, p := range list {
		all = append(all, clause{form: "$", paths: [2]Path{p}})
	}
	return all
}

// Operand is a value for Set that DynamoDB computes.
type Operand struct {
	form  string
	path  Path
	value any
}

// Condition is a condition on the stored row. The zero Condition is met by any row, and by none.
type Condition struct {
	test  clause
	by    string // joins parts
	parts []Condition
}

func test(form string, p Path, v any) Condition {
	return Condition{test: clause{form, [2]Path{p}, [2]any{v}}}
}

// Exists needs a path. Each row has a "PK".
func Exists(p Path) Condition { return test("attribute_exists($)", p, nil) }

// Missing needs that there is no such path. Without a "PK" there is no row.
func Missing(p Path) Condition { return test("attribute_not_exists($)", p, nil) }

// Is needs a value.
func Is(p Path, v any) Condition { return test("$ = ?", p, v) }

// IsNot needs another value.
func IsNot(p Path, v any) Condition { return test("$ <> ?", p, v) }

// Unchanged needs the value that was read. A zero value is not stored.
func Unchanged[T comparable](p Path, seen T) Condition {
	var none T
	if seen == none {
		return Missing(p)
	}
	return Is(p, seen)
}

// Less needs a value below v.
func Less(p Path, v any) Condition { return test("$ < ?", p, v) }

// AtMost needs a value of v or below.
func AtMost(p Path, v any) Condition { return test("$ <= ?", p, v) }

// Greater needs a value above v.
func Greater(p Path, v any) Condition { return test("$ > ?", p, v) }

// AtLeast needs a value of v or above.
func AtLeast(p Path, v any) Condition { return test("$ >= ?", p, v) }

// Between needs a value from one to another, both included.
func Between(p Path, from, to any) Condition {
	return Condition{test: clause{"$ BETWEEN ? AND ?", [2]Path{p}, [2]any{from, to}}}
}

// Contains needs an element of a set.
func Contains(p Path, v any) Condition { return test("contains($, ?)", p, v) }

// Shorter needs a map or a set of less than n elements.
func Shorter(p Path, n int64) Condition { return test("size($) < ?", p, n) }

// All needs each of some conditions.
func All(list ...Condition) Condition { return join(list, " AND ") }

// Any needs one of some conditions.
func Any(list ...Condition) Condition { return join(list, " OR ") }

// Not needs that a condition is not met.
func Not(c Condition) Condition { return Condition{by: "NOT ", parts: []Condition{c}} }

func join(list []Condition, by string) Condition {
	parts := slices.DeleteFunc(slices.Clone(list), func(c Condition) bool { return c.test.form == "" && c.parts == nil })
	if len(parts) == 1 {
		return parts[0]
	}
	return Condition{by: by, parts: parts}
}

// scope gives the names and values of one request their placeholders.
type scope struct {
	text   strings.Builder
	names  map[string]string
	values Item
	known  []string // names, in the order of their placeholders
	err    error    // of a value that cannot be encoded
}

// expression returns the text of clauses after a verb. It is nil for none, because DynamoDB refuses an empty expression.
func (s *scope) expression(verb string, list ...clause) *string {
	s.text.Reset()
	s.text.Grow(32 * len(list))
	for i, c := range list {
		if i > 0 {
			verb = ", "
		}
		s.text.WriteString(verb)
		s.write(c)
	}
	return s.written()
}

func (s *scope) written() *string {
	if s.text.Len() == 0 {
		return nil
	}
	return aws.String(s.text.String())
}

func (s *scope) write(c clause) {
	path, value := 0, 0
	for i := range len(c.form) {
		switch c.form[i] {
		case '$':
			s.path(string(c.paths[path]))
			path++
		case '?':
			s.text.WriteString(s.value(c.values[value]))
			value++
		default:
			s.text.WriteByte(c.form[i])
		}
	}
}

// condition returns the text of a condition.
func (s *scope) condition(c Condition) *string {
	s.text.Reset()
	s.writeCondition(c)
	return s.written()
}

func (s *scope) writeCondition(c Condition) {
	s.write(c.test)
	for i, part := range c.parts {
		if i > 0 || len(c.parts) == 1 {
			s.text.WriteString(c.by)
		}
		s.text.WriteByte('(')
		s.writeCondition(part)
		s.text.WriteByte(')')
	}
}

// path writes a path: #1.#2[3].
func (s *scope) path(p string) {
	for p != "" {
		end := strings.IndexAny(p[1:], member+element) + 1
		if end == 0 {
			end = len(p)
		}
		switch part := p[:end]; part[:1] {
		case element:
			s.text.WriteString("[" + part[1:] + "]")
		case member:
			s.text.WriteString("." + s.name(part[1:]))
		default:
			s.text.WriteString(s.name(part))
		}
		p = p[end:]
	}
}

// name returns the placeholder of an attribute: one for all its uses. The keys need none.
func (s *scope) name(attribute string) string {
	switch attribute {
	case "PK", "SK", "GSI1PK", "GSI1SK", "DuePK", "DueSK":
		return attribute
	}
	n := slices.Index(s.known, attribute)
	if n < 0 {
		if n = len(s.known); n == 0 {
			s.names = map[string]string{}
		}
		s.known = append(s.known, attribute)
		s.names[nameMarks.of(n)] = attribute
	}
	return nameMarks.of(n)
}

// marks are the first placeholders of a kind, which are made once.
type marks [64]string

var nameMarks, valueMarks = newMarks("#"), newMarks(":")

func newMarks(sign string) (list marks) {
	for n := range list {
		list[n] = sign + strconv.Itoa(n)
	}
	return list
}

func (m *marks) of(n int) string {
	if n < len(m) {
		return m[n]
	}
	return m[0] + "_" + strconv.Itoa(n)
}

// value returns the placeholder of a value.
func (s *scope) value(v any) string {
	if s.values == nil {
		s.values = Item{}
	}
	placeholder := valueMarks.of(len(s.values))
	encoded, err := valueOf(v)
	s.values[placeholder], s.err = encoded, cmp.Or(s.err, err)
	return placeholder
}

func valueOf(v any) (Value, error) {
	switch v := v.(type) {
	case Value:
		return v, nil
	case string:
		return S(v), nil
	case int:
		return N(int64(v)), nil
	case int64:
		return N(v), nil
	case []byte:
		return &types.AttributeValueMemberB{Value: v}, nil
	case time.Time:
		return N(Millis(v)), nil
	}
	return attributevalue.Marshal(v)
}
