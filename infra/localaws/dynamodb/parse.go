package dynamodb

import (
	"fmt"
	"strconv"
	"strings"
)

// rank orders the errors of an expression that parses: the service reports the first error of the
// lowest rank, at any place of the text.
type rank int

const (
	rankParens rank = iota
	rankFunction
	rankMisuse
	rankReserved
	rankSection
	rankReference
	rankCondition // for conditions: the error of the first faulty one
	rankOperand
	rankDistinct
	rankOverlap
	rankType
	ranks
)

// parser is a recursive-descent parser over one expression. Syntax errors stop it; semantic errors
// are stored, because a later syntax error has priority.
type parser struct {
	member    string // ConditionExpression, …
	src       string
	tokens    cursor
	scope     *scope
	notes     [ranks]string
	operators int
	nested    []path // paths of more than one step, in order
}

func newParser(member, src string, s *scope) (*parser, error) {
	p := &parser{member: member, src: src, scope: s}
	switch {
	case src == "":
		return nil, p.failf("The expression can not be empty;")
	case len(src) > maxExpression:
		return nil, p.failf("Expression size has exceeded the maximum allowed size; expression size: %d", len(src))
	}
	p.tokens.list = lex(src)
	return p, nil
}

func (p *parser) failf(format string, args ...any) error {
	return invalid("Invalid %s: %s", p.member, fmt.Sprintf(format, args...))
}

// finish checks that all tokens were read and returns the error of lowest rank.
func (p *parser) finish() error {
	if p.tokens.peek().kind != tokenEnd {
		return p.syntax()
	}
	if p.operators > maxOperators {
		return p.failf("The expression contains too many operators; operator count: %d", p.operators)
	}
	for _, n := range p.notes {
		if n != "" {
			return p.failf("%s", n)
		}
	}
	return nil
}

// note stores the first error of a rank.
func (p *parser) note(r rank, format string, args ...any) {
	if p.notes[r] == "" {
		p.notes[r] = fmt.Sprintf(format, args...)
	}
}

// cursor reads tokens one after the other.
type cursor struct {
	list []token
	at   int
}

func (c *cursor) peek() token { return c.list[c.at] }

func (c *cursor) next() token {
	t := c.list[c.at]
	if t.kind != tokenEnd {
		c.at++
	}
	return t
}

// syntax returns the error at the current token; near shows it between its neighbours.
func (p *parser) syntax() error {
	t := p.tokens.peek()
	from, to := t.from, t.to
	if p.tokens.at > 0 {
		from = p.tokens.list[p.tokens.at-1].from
	}
	if p.tokens.at+1 < len(p.tokens.list) {
		to = p.tokens.list[p.tokens.at+1].to
	}
	return p.failf(`Syntax error; token: "%s", near: "%s"`, t.text, strings.TrimSpace(p.src[from:to]))
}

func (c *cursor) isSign(s string) bool {
	t := c.peek()
	return t.kind == tokenSign && t.text == s
}

func (c *cursor) takeSign(s string) bool {
	if !c.isSign(s) {
		return false
	}
	c.at++
	return true
}

func (p *parser) expectSign(s string) error {
	if !p.tokens.takeSign(s) {
		return p.syntax()
	}
	return nil
}

// isKeyword compares the current word with an upper-case keyword.
func (c *cursor) isKeyword(word string) bool {
	t := c.peek()
	if t.kind != tokenWord || len(t.text) != len(word) {
		return false
	}
	for i := range len(word) {
		if t.text[i]&^0x20 != word[i] {
			return false
		}
	}
	return true
}

func (c *cursor) takeKeyword(word string) bool {
	if !c.isKeyword(word) {
		return false
	}
	c.at++
	return true
}

var grammarWords = []string{"AND", "OR", "NOT", "BETWEEN", "IN"}

// startsPath reports whether the current token can begin a document path.
func (c *cursor) startsPath() bool {
	switch c.peek().kind {
	case tokenName:
		return true
	case tokenWord:
		for _, w := range grammarWords {
			if c.isKeyword(w) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// path reads a document path.
func (p *parser) path() (path, error) {
	var out path
	for {
		if !p.tokens.startsPath() {
			return nil, p.syntax()
		}
		out = append(out, step{name: p.attribute(p.tokens.next()), index: -1})
		for p.tokens.takeSign("[") {
			t := p.tokens.peek()
			if t.kind != tokenNumber {
				return nil, p.syntax()
			}
			index, err := strconv.Atoi(t.text)
			if err != nil || index > 1<<30 {
				p.note(rankType, "List index is not within the allowable range; index: [%s]", t.text)
				index = 0
			}
			p.tokens.at++
			if err := p.expectSign("]"); err != nil {
				return nil, err
			}
			out = append(out, step{index: index})
		}
		if !p.tokens.takeSign(".") {
			break
		}
	}
	if len(out) > maxDepth {
		p.note(rankType, "The document path has too many nesting levels; nesting levels: %d", len(out))
	}
	if len(out) > 1 {
		p.nested = append(p.nested, out)
	}
	return out, nil
}

// attribute resolves a word or a #placeholder to an attribute's name.
func (p *parser) attribute(t token) string {
	if t.kind == tokenWord {
		if isReserved(t.text) {
			p.note(rankReserved, "Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		return t.text
	}
	name, ok := p.scope.names[t.text]
	if !ok {
		p.note(rankReference, "An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
	}
	delete(p.scope.unusedNames, t.text)
	return name
}

// constant resolves a :placeholder.
func (p *parser) constant(t token) value {
	v, ok := p.scope.values[t.text]
	if !ok {
		p.note(rankReference, "An expression attribute value used in expression is not defined; attribute value: %s", t.text)
	}
	delete(p.scope.unusedValues, t.text)
	return v
}

// isCall reports whether a function call begins here.
func (c *cursor) isCall() bool {
	if !c.startsPath() || c.peek().kind != tokenWord {
		return false
	}
	following := c.list[c.at+1]
	return following.kind == tokenSign && following.text == "("
}

// arguments reads "(a, b, …)"; one reads one argument.
func (p *parser) arguments(one func() (*expr, error)) ([]*expr, error) {
	if err := p.expectSign("("); err != nil {
		return nil, err
	}
	var args []*expr
	for {
		arg, err := one()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if p.tokens.takeSign(",") {
			continue
		}
		return args, p.expectSign(")")
	}
}
