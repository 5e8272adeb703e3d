package dynamodb

// action is one change of an update expression.
type action struct {
	section string // SET, REMOVE, ADD or DELETE
	path    path
	expr    *expr // SET: the new value
	value   value // ADD, DELETE: the operand
}

// update is a parsed UpdateExpression.
type update struct {
	actions []action
	nested  []path
	legacy  bool // from AttributeUpdates
}

const (
	sectionSet    = "SET"
	sectionRemove = "REMOVE"
	sectionAdd    = "ADD"
	sectionDelete = "DELETE"

	fnIfNotExists = "if_not_exists"
	fnListAppend  = "list_append"
)

var updateFunctions = map[string]int{fnIfNotExists: 2, fnListAppend: 2}

// parseUpdate reads an UpdateExpression.
func parseUpdate(src string, s *scope) (*update, error) {
	p, err := newParser("UpdateExpression", src, s)
	if err != nil {
		return nil, err
	}
	u := &update{}
	seen := map[string]bool{}
	for {
		section, ok := p.section()
		if !ok {
			return nil, p.syntax()
		}
		if seen[section] {
			p.note(rankSection, `The "%s" section can only be used once in an update expression;`, section)
		}
		seen[section] = true
		for {
			a, err := p.action(section)
			if err != nil {
				return nil, err
			}
			u.add(p, a)
			if !p.tokens.takeSign(",") {
				break
			}
		}
		if p.tokens.peek().kind == tokenEnd {
			u.nested = p.nested
			return u, p.finish()
		}
	}
}

func (p *parser) section() (string, bool) {
	for _, s := range []string{sectionSet, sectionRemove, sectionAdd, sectionDelete} {
		if p.tokens.takeKeyword(s) {
			return s, true
		}
	}
	return "", false
}

// add notes paths that overlap.
func (u *update) add(p *parser, a action) {
	for _, earlier := range u.actions {
		if why := earlier.path.overlap(a.path); why != "" {
			p.note(rankOverlap, "%s", why)
		}
	}
	u.actions = append(u.actions, a)
}

func (p *parser) action(section string) (action, error) {
	at, err := p.path()
	a := action{section: section, path: at}
	if err != nil {
		return a, err
	}
	switch section {
	case sectionSet:
		if err := p.expectSign("="); err != nil {
			return a, err
		}
		a.expr, err = p.sum()
		return a, err
	case sectionAdd, sectionDelete:
		if p.tokens.peek().kind != tokenValue {
			return a, p.syntax()
		}
		a.value = p.constant(p.tokens.next())
		p.checkChange(section, a.value)
	}
	return a, nil
}

var longNames = map[kind]string{
	kindS: "STRING", kindN: "NUMBER", kindB: "BINARY", kindBool: "BOOL", kindNull: "NULL", kindL: "LIST", kindM: "MAP",
}

// checkChange requires numbers or sets as the operand of ADD, and sets as that of DELETE.
func (p *parser) checkChange(section string, v value) {
	if !v.kind.isKnown() || v.kind.isSet() || section == sectionAdd && v.kind == kindN {
		return
	}
	p.note(rankOperand, "Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: ALLOWED_FOR_ADD_OPERAND", section, longNames[v.kind])
}

// sum reads "operand", "operand + operand" or "operand - operand".
func (p *parser) sum() (*expr, error) {
	left, err := p.term()
	if err != nil {
		return nil, err
	}
	if !p.tokens.isSign("+") && !p.tokens.isSign("-") {
		return left, nil
	}
	e := &expr{op: op(p.tokens.next().text)}
	right, err := p.term()
	if err != nil {
		return nil, err
	}
	e.args = []*expr{left, right}
	p.operators++
	for _, a := range e.args {
		if a.op == opValue && a.value.kind.isKnown() && a.value.kind != kindN {
			p.note(rankType, "Incorrect operand type for operator or function; operator or function: %s, operand type: %s", e.op, a.value.kind)
		}
	}
	return e, nil
}

// term reads a path, a value, a call, or a sum in parentheses.
func (p *parser) term() (*expr, error) {
	switch t := p.tokens.peek(); {
	case t.kind == tokenValue:
		p.tokens.at++
		return &expr{op: opValue, value: p.constant(t)}, nil
	case p.tokens.takeSign("("):
		inner, err := p.sum()
		if err != nil {
			return nil, err
		}
		if inner.parens {
			p.note(rankParens, "The expression has redundant parentheses;")
		}
		inner.parens = true
		return inner, p.expectSign(")")
	case p.tokens.isCall():
		e := &expr{op: opCall, fn: p.tokens.next().text}
		args, err := p.arguments(p.term)
		if err != nil {
			return nil, err
		}
		e.args = args
		p.operators++
		p.checkUpdateCall(e)
		return e, nil
	}
	at, err := p.path()
	if err != nil {
		return nil, err
	}
	return &expr{op: opPath, path: at}, nil
}

func (p *parser) checkUpdateCall(e *expr) {
	want, known := updateFunctions[e.fn]
	if !known {
		if _, elsewhere := conditionFunctions[e.fn]; elsewhere {
			p.note(rankFunction, "The function is not allowed in an update expression; function: %s", e.fn)
			return
		}
		p.note(rankFunction, "Invalid function name; function: %s", e.fn)
		return
	}
	if len(e.args) != want {
		p.note(rankType, "Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", e.fn, len(e.args))
		return
	}
	if e.fn == fnIfNotExists {
		if e.args[0].op != opPath {
			p.note(rankType, "Operator or function requires a document path; operator or function: %s", e.fn)
		}
		return
	}
	for _, a := range e.args {
		if a.op == opValue && a.value.kind.isKnown() && a.value.kind != kindL {
			p.note(rankType, "Incorrect operand type for operator or function; operator or function: %s, operand type: %s", e.fn, a.value.kind)
		}
	}
}

// paths returns the attributes of the update, for UPDATED_OLD and UPDATED_NEW.
func (u *update) paths() []path {
	out := make([]path, len(u.actions))
	for i, a := range u.actions {
		out[i] = a.path
	}
	return out
}

// onlyRemoves reports that the update can add nothing, so that it does not create an item.
func (u *update) onlyRemoves() bool {
	for _, a := range u.actions {
		if a.section != sectionRemove && a.section != sectionDelete {
			return false
		}
	}
	return len(u.actions) > 0
}

// constants returns the attributes that the update sets to constants.
func (u *update) constants() item {
	out := item{}
	for _, a := range u.actions {
		switch {
		case len(a.path) > 1:
		case a.section == sectionAdd:
			out[a.path[0].name] = a.value
		case a.section == sectionSet && a.expr.op == opValue:
			out[a.path[0].name] = a.expr.value
		}
	}
	return out
}
