package stepfunctions

import (
	"encoding/json"
	"errors"
	"strings"
)

// A filter is the condition of a [?(…)] selector: comparisons and existence
// tests of paths from the node (@) or the root ($), joined by &&, || and !.
type filter interface {
	test(node, root any) bool
}

type (
	filterAnd     []filter
	filterOr      []filter
	filterNot     struct{ of filter }
	filterExists  struct{ of operand }
	filterCompare struct {
		op          string
		left, right operand
	}
)

// operand is a path or a literal.
type operand struct {
	path     *path
	fromRoot bool
	literal  any
}

func (f filterAnd) test(node, root any) bool {
	for _, g := range f {
		if !g.test(node, root) {
			return false
		}
	}
	return true
}

func (f filterOr) test(node, root any) bool {
	for _, g := range f {
		if g.test(node, root) {
			return true
		}
	}
	return false
}

func (f filterNot) test(node, root any) bool { return !f.of.test(node, root) }

func (f filterExists) test(node, root any) bool {
	v, ok := f.of.resolve(node, root)
	if list, many := v.([]any); many && !f.of.path.definite {
		return len(list) > 0
	}
	return ok
}

func (f filterCompare) test(node, root any) bool {
	left, leftOK := f.left.resolve(node, root)
	right, rightOK := f.right.resolve(node, root)
	if !leftOK || !rightOK {
		return f.op == "!=" && leftOK != rightOK
	}
	switch f.op {
	case "==":
		return equalValues(left, right)
	case "!=":
		return !equalValues(left, right)
	}
	order, ok := compareOrdered(left, right)
	if !ok {
		return false
	}
	switch f.op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// compareOrdered compares two numbers or two strings.
func compareOrdered(a, b any) (int, bool) {
	if x, ok := a.(json.Number); ok {
		y, ok := b.(json.Number)
		if !ok {
			return 0, false
		}
		return compareNumbers(x, y), true
	}
	x, okX := a.(string)
	y, okY := b.(string)
	return strings.Compare(x, y), okX && okY
}

func (o operand) resolve(node, root any) (any, bool) {
	if o.path == nil {
		return o.literal, true
	}
	from := node
	if o.fromRoot {
		from = root
	}
	v, err := o.path.selectFrom(from)
	return v, err == nil
}

// maxFilterDepth bounds the nesting of a filter.
const maxFilterDepth = 32

// filter reads "(condition)".
func (p *pathParser) filter() (filter, error) {
	p.space()
	if !p.eat('(') {
		return nil, errors.New("expected ( after ? in path")
	}
	f, err := p.or()
	if err != nil {
		return nil, err
	}
	p.space()
	if !p.eat(')') {
		return nil, errors.New("expected ) in filter")
	}
	return f, nil
}

func (p *pathParser) or() (filter, error) {
	return p.chain("||", p.and, func(fs []filter) filter { return filterOr(fs) })
}

func (p *pathParser) and() (filter, error) {
	return p.chain("&&", p.term, func(fs []filter) filter { return filterAnd(fs) })
}

func (p *pathParser) chain(op string, next func() (filter, error), join func([]filter) filter) (filter, error) {
	var list []filter
	for {
		f, err := next()
		if err != nil {
			return nil, err
		}
		list = append(list, f)
		p.space()
		if !strings.HasPrefix(p.src[p.pos:], op) {
			if len(list) == 1 {
				return list[0], nil
			}
			return join(list), nil
		}
		p.pos += len(op)
	}
}

func (p *pathParser) term() (filter, error) {
	if p.depth++; p.depth > maxFilterDepth {
		return nil, errors.New("filter is nested too deeply")
	}
	defer func() { p.depth-- }()
	p.space()
	if p.eat('!') {
		f, err := p.term()
		return filterNot{f}, err
	}
	if p.peek() == '(' {
		return p.filter()
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	p.space()
	op := p.operator()
	if op == "" {
		if left.path == nil {
			return nil, errors.New("a filter must test a path")
		}
		return filterExists{left}, nil
	}
	p.space()
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	return filterCompare{op, left, right}, nil
}

func (p *pathParser) operator() string {
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if strings.HasPrefix(p.src[p.pos:], op) {
			p.pos += len(op)
			return op
		}
	}
	return ""
}

func (p *pathParser) operand() (operand, error) {
	switch c := p.peek(); {
	case c == '@' || c == '$':
		sub, err := p.path(c)
		if err == nil && sub.context {
			err = errors.New("a filter cannot use the context object")
		}
		return operand{path: sub, fromRoot: c == '$'}, err
	case c == '\'' || c == '"':
		s, err := p.quotedText()
		return operand{literal: s}, err
	}
	start := p.pos
	for p.pos < len(p.src) && !strings.ContainsRune(" )=!<>&|]", rune(p.src[p.pos])) {
		p.pos++
	}
	switch word := p.src[start:p.pos]; word {
	case "true", "false":
		return operand{literal: word == "true"}, nil
	case "null":
		return operand{}, nil
	default:
		if !isNumber(word) {
			return operand{}, errors.New("unsupported operand in filter")
		}
		return operand{literal: json.Number(word)}, nil
	}
}

// isNumber reports whether s is exactly one JSON number.
func isNumber(s string) bool {
	if s == "" || (s[0] != '-' && (s[0] < '0' || s[0] > '9')) {
		return false
	}
	return json.Valid([]byte(s))
}
