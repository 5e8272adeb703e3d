package dynamodb

// op is the operation of an expression node.
type op string

const (
	opPath    op = "path"
	opValue   op = "value"
	opCall    op = "call"
	opAnd     op = "AND"
	opOr      op = "OR"
	opNot     op = "NOT"
	opBetween op = "BETWEEN"
	opIn      op = "IN"
	opEqual   op = "="
	opDiffer  op = "<>"
)

// expr is a node of a condition, or of a value in an update.
type expr struct {
	op     op // also <, <=, >, >=, + and -
	fn     string
	args   []*expr
	path   path
	value  value
	parens bool // written in parentheses
}

// condition is a parsed condition, filter or key condition.
type condition struct {
	root   *expr
	nested []path          // paths into documents
	heads  map[string]bool // attributes that it reads
}

const (
	fnExists    = "attribute_exists"
	fnNotExists = "attribute_not_exists"
	fnType      = "attribute_type"
	fnBegins    = "begins_with"
	fnContains  = "contains"
	fnSize      = "size"
)

var conditionFunctions = map[string]int{fnExists: 1, fnNotExists: 1, fnType: 2, fnBegins: 2, fnContains: 2, fnSize: 1}

const maxIn = 100

// readCondition parses the condition in a member of the request.
func readCondition(r request, member string, s *scope) (*condition, error) {
	text, err := r.expression(member)
	if err != nil {
		return nil, err
	}
	return parseCondition(member, text, s)
}

// parseCondition reads a ConditionExpression, FilterExpression or
// KeyConditionExpression.
func parseCondition(member, src string, s *scope) (*condition, error) {
	p, err := newParser(member, src, s)
	if err != nil {
		return nil, err
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	p.truth(root)
	if err := p.finish(); err != nil {
		return nil, err
	}
	c := &condition{root: root, nested: p.nested, heads: map[string]bool{}}
	root.visit(func(e *expr) {
		if e.op == opPath {
			c.heads[e.path[0].name] = true
		}
	})
	return c, nil
}

func (e *expr) visit(f func(*expr)) {
	f(e)
	for _, a := range e.args {
		a.visit(f)
	}
}

func (p *parser) or() (*expr, error)  { return p.chain(opOr, p.and) }
func (p *parser) and() (*expr, error) { return p.chain(opAnd, p.not) }

func (p *parser) chain(o op, operand func() (*expr, error)) (*expr, error) {
	left, err := operand()
	if err != nil {
		return nil, err
	}
	for p.tokens.isKeyword(string(o)) {
		if !left.isCondition() {
			return nil, p.syntax()
		}
		p.tokens.at++
		right, err := operand()
		if err != nil {
			return nil, err
		}
		if !right.isCondition() {
			return nil, p.syntax()
		}
		p.truth(left)
		p.truth(right)
		p.operators++
		left = &expr{op: o, args: []*expr{left, right}}
	}
	return left, nil
}

func (p *parser) not() (*expr, error) {
	if p.tokens.takeKeyword("NOT") {
		inner, err := p.not()
		if err != nil {
			return nil, err
		}
		if !inner.isCondition() {
			return nil, p.syntax()
		}
		p.truth(inner)
		p.operators++
		return &expr{op: opNot, args: []*expr{inner}}, nil
	}
	return p.comparison()
}

// truth refuses a call that returns a number where a condition is required.
func (p *parser) truth(e *expr) {
	if e.op == opCall && e.fn == fnSize {
		p.note(rankMisuse, "The function is not allowed to be used this way in an expression; function: %s", e.fn)
	}
}

// isCondition reports whether the node has a truth value, so that it can stand alone.
func (e *expr) isCondition() bool { return e.op != opPath && e.op != opValue }

// comparison reads an operand and its comparison. A lone operand is left to the caller, which may
// read the parentheses around it.
func (p *parser) comparison() (*expr, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	scalar := !left.isCondition() || left.op == opCall
	switch t := p.tokens.peek(); {
	case !scalar:
	case t.kind == tokenSign && (t.text == "=" || t.text[0] == '<' || t.text[0] == '>'):
		p.tokens.at++
		right, err := p.plain()
		if err != nil {
			return nil, err
		}
		return p.checkComparison(&expr{op: op(t.text), args: []*expr{left, right}}), nil
	case p.tokens.isKeyword("BETWEEN"):
		return p.between(left)
	case p.tokens.isKeyword("IN"):
		return p.in(left)
	}
	if left.op == opCall && !left.parens {
		p.endCondition()
	}
	if !left.isCondition() && !p.tokens.isSign(")") {
		return nil, p.syntax()
	}
	return left, nil
}

// plain reads an operand that must not be a condition.
func (p *parser) plain() (*expr, error) {
	e, err := p.operand()
	if err == nil && e.isCondition() && e.op != opCall {
		return nil, p.syntax()
	}
	return e, err
}

func (p *parser) between(left *expr) (*expr, error) {
	p.tokens.at++
	low, err := p.plain()
	if err != nil {
		return nil, err
	}
	if !p.tokens.takeKeyword("AND") {
		return nil, p.syntax()
	}
	high, err := p.plain()
	if err != nil {
		return nil, err
	}
	return p.checkComparison(&expr{op: opBetween, args: []*expr{left, low, high}}), nil
}

func (p *parser) in(left *expr) (*expr, error) {
	p.tokens.at++
	args, err := p.arguments(p.plain)
	if err != nil {
		return nil, err
	}
	return p.checkComparison(&expr{op: opIn, args: append([]*expr{left}, args...)}), nil
}

// operand reads a path, a value, a call, or anything in parentheses.
func (p *parser) operand() (*expr, error) {
	switch t := p.tokens.peek(); {
	case t.kind == tokenValue:
		p.tokens.at++
		return &expr{op: opValue, value: p.constant(t)}, nil
	case p.tokens.takeSign("("):
		inner, err := p.or()
		if err != nil {
			return nil, err
		}
		if err := p.expectSign(")"); err != nil {
			return nil, err
		}
		if inner.parens {
			p.note(rankParens, "The expression has redundant parentheses;")
		}
		inner.parens = true
		return inner, nil
	case p.tokens.isCall():
		return p.call()
	}
	at, err := p.path()
	if err != nil {
		return nil, err
	}
	return &expr{op: opPath, path: at}, nil
}

func (p *parser) call() (*expr, error) {
	e := &expr{op: opCall, fn: p.tokens.next().text}
	args, err := p.arguments(p.plain)
	if err != nil {
		return nil, err
	}
	e.args = args
	p.operators++
	p.checkCall(e)
	return e, nil
}

// endCondition chooses the error of the condition that was just read.
func (p *parser) endCondition() {
	for _, r := range []rank{rankReference, rankOperand, rankDistinct, rankType} {
		if p.notes[r] != "" {
			p.note(rankCondition, "%s", p.notes[r])
			p.notes[r] = ""
		}
	}
}
