package dynamodb

import "encoding/base64"

// staticKind returns the type of an operand that is known without an item.
func (e *expr) staticKind() (kind, bool) {
	switch {
	case e.op == opValue:
		return e.value.kind, e.value.kind != 0
	case e.op == opCall && e.fn == fnSize:
		return kindN, true
	case e.isCondition():
		return kindBool, true
	default:
		return 0, false
	}
}

// checkCall checks the number and the types of a function's operands.
func (p *parser) checkCall(e *expr) {
	want, known := conditionFunctions[e.fn]
	switch {
	case !known:
		p.note(rankFunction, "Invalid function name; function: %s", e.fn)
		return
	case len(e.args) != want:
		p.note(rankOperand, "Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", e.fn, len(e.args))
		return
	}
	p.checkMisuse(e.args)
	p.checkDistinct(e.fn, e.args)
	switch e.fn {
	case fnExists, fnNotExists:
		if e.args[0].op != opPath {
			p.note(rankType, "Operator or function requires a document path; operator or function: %s", e.fn)
		}
	case fnBegins:
		for _, a := range e.args {
			p.checkOperand(e.fn, a, kindS, kindB)
		}
	case fnType:
		p.checkTypeName(e.args[1])
	case fnSize:
		if k, ok := e.args[0].staticKind(); ok && (k == kindN || k == kindBool || k == kindNull) {
			p.note(rankType, "Incorrect operand type for operator or function; operator or function: size, operand type: %s", k)
		}
	}
}

func (p *parser) checkTypeName(e *expr) {
	k, known := e.staticKind()
	if !known || k != kindS {
		shown := "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
		if known {
			shown = k.String()
		}
		p.note(rankType, "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: %s", shown)
		return
	}
	if _, ok := kindOf(e.value.s); !ok {
		p.note(rankType, "Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", e.value.s)
	}
}

// checkOperand refuses an operand whose known type is not allowed.
func (p *parser) checkOperand(operator string, e *expr, allowed ...kind) {
	k, known := e.staticKind()
	if !known {
		return
	}
	for _, a := range allowed {
		if k == a {
			return
		}
	}
	p.note(rankType, "Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, k)
}

func (p *parser) checkMisuse(args []*expr) {
	for _, a := range args {
		if a.op == opCall && a.fn != fnSize {
			if _, known := conditionFunctions[a.fn]; known {
				p.note(rankMisuse, "The function is not allowed to be used this way in an expression; function: %s", a.fn)
			}
		}
	}
}

func (p *parser) checkDistinct(operator string, args []*expr) {
	if args[0].op != opPath {
		return
	}
	for _, a := range args[1:] {
		if a.op == opPath && a.path.equal(args[0].path) {
			p.note(rankDistinct, "The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s",
				operator, args[0].path)
		}
	}
}

// checkComparison checks a comparison, BETWEEN or IN that was just read.
func (p *parser) checkComparison(e *expr) *expr {
	p.operators++
	p.checkMisuse(e.args)
	if e.op == opIn && len(e.args)-1 > maxIn {
		p.note(rankOperand, "The IN operator is provided with too many operands; number of operands: %d", len(e.args)-1)
	}
	p.checkDistinct(string(e.op), e.args)
	switch e.op {
	case opEqual, opDiffer, opIn:
	default:
		for _, a := range e.args {
			p.checkOperand(string(e.op), a, kindS, kindN, kindB)
		}
	}
	if e.op == opBetween {
		p.checkBounds(e.args[1], e.args[2])
	}
	p.endCondition()
	return e
}

func (p *parser) checkBounds(low, high *expr) {
	if low.op != opValue || high.op != opValue || !low.value.kind.isKnown() || !high.value.kind.isKnown() {
		return
	}
	a, b := low.value, high.value
	if a.kind != b.kind {
		p.note(rankType, "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s",
			scalarText(a), scalarText(b))
		return
	}
	if a.kind.isOrdered() && a.compare(b) > 0 {
		p.note(rankType, "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s",
			scalarText(a), scalarText(b))
	}
}

func (k kind) isKnown() bool { return k != 0 }

// scalarText returns a scalar in the format of messages: {S:text}.
func scalarText(v value) string {
	s := v.s
	if v.kind == kindB {
		s = base64.StdEncoding.EncodeToString([]byte(s))
	}
	return "{" + v.kind.String() + ":" + s + "}"
}
