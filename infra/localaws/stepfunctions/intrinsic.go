package stepfunctions

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// An expression is the value of a template field whose name ends in ".$": a
// path, a call of an intrinsic function, or (as an argument) a literal.
type expression struct {
	source string
	path   *path
	call   *intrinsic
	args   []expression
	// literal holds a literal argument; raw keeps a string's escapes, which
	// States.Format reads itself.
	literal any
	raw     string
}

// maxNesting is AWS's bound on intrinsic calls within each other.
const maxNesting = 10

// parseExpression compiles the value of a field whose name ends in ".$".
func parseExpression(source string) (expression, error) {
	if strings.HasPrefix(source, "$") {
		p, err := parsePath(source)
		return expression{source: source, path: p}, err
	}
	p := &intrinsicParser{src: source}
	e, err := p.call(0)
	if err == nil {
		p.space()
		if p.pos != len(p.src) {
			err = errors.New("unexpected text after the function call")
		}
	}
	if err != nil {
		return expression{}, fmt.Errorf("%w at offset %d", err, p.pos)
	}
	return e, nil
}

type intrinsicParser struct {
	src string
	pos int
}

func (p *intrinsicParser) space() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *intrinsicParser) eat(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *intrinsicParser) call(depth int) (expression, error) {
	if depth >= maxNesting {
		return expression{}, fmt.Errorf("more than %d nested function calls", maxNesting)
	}
	p.space()
	start := p.pos
	for p.pos < len(p.src) && isWord(p.src[p.pos]) {
		p.pos++
	}
	name := p.src[start:p.pos]
	fn, ok := intrinsics[name]
	if !ok {
		return expression{}, fmt.Errorf("%q is not an intrinsic function", name)
	}
	if !p.eat('(') {
		return expression{}, errors.New("expected ( after the function name")
	}
	args, err := p.arguments(depth)
	if err != nil {
		return expression{}, err
	}
	if len(args) < fn.least || len(args) > fn.most {
		return expression{}, fmt.Errorf("wrong number of arguments for %s: %d", name, len(args))
	}
	return expression{source: p.src[start:p.pos], call: fn, args: args}, nil
}

func isWord(c byte) bool {
	return c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

func (p *intrinsicParser) arguments(depth int) ([]expression, error) {
	var args []expression
	p.space()
	if p.eat(')') {
		return args, nil
	}
	for {
		arg, err := p.argument(depth)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		p.space()
		if p.eat(')') {
			return args, nil
		}
		if !p.eat(',') {
			return nil, errors.New("expected , or ) after an argument")
		}
	}
}

func (p *intrinsicParser) argument(depth int) (expression, error) {
	p.space()
	if p.pos == len(p.src) {
		return expression{}, errors.New("unterminated function call")
	}
	switch {
	case p.src[p.pos] == '\'':
		return p.text()
	case p.src[p.pos] == '$':
		sub := &pathParser{src: p.src, pos: p.pos}
		path, err := sub.path('$')
		p.pos = sub.pos
		if err != nil {
			return expression{}, err
		}
		return expression{source: path.source, path: path}, nil
	case strings.HasPrefix(p.src[p.pos:], "States."):
		return p.call(depth + 1)
	}
	start := p.pos
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n,)", p.src[p.pos]) < 0 {
		p.pos++
	}
	word := p.src[start:p.pos]
	e := expression{source: word}
	switch {
	case word == "true" || word == "false":
		e.literal = word == "true"
	case word == "null":
	case isNumber(word):
		e.literal = json.Number(word)
	default:
		return e, fmt.Errorf("%q is not an argument", word)
	}
	return e, nil
}

// text reads a string in single quotes; ' { } and \ are escaped with \.
func (p *intrinsicParser) text() (expression, error) {
	start := p.pos
	p.pos++
	var plain strings.Builder
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		p.pos++
		switch c {
		case '\'':
			return expression{
				source:  p.src[start:p.pos],
				literal: plain.String(),
				raw:     p.src[start+1 : p.pos-1],
			}, nil
		case '\\':
			if p.pos == len(p.src) || strings.IndexByte(`'{}\`, p.src[p.pos]) < 0 {
				return expression{}, errors.New("bad escape in string")
			}
			plain.WriteByte(p.src[p.pos])
			p.pos++
		default:
			plain.WriteByte(c)
		}
	}
	return expression{}, errors.New("unterminated string")
}

// evaluate computes e over the input data and the context object.
func (e *expression) evaluate(data, context any) (any, error) {
	switch {
	case e.path != nil:
		if e.path.context {
			return e.path.selectFrom(context)
		}
		return e.path.selectFrom(data)
	case e.call == nil:
		return e.literal, nil
	}
	args := make([]any, len(e.args))
	for i := range e.args {
		v, err := e.args[i].evaluate(data, context)
		if err != nil {
			return nil, e.argumentFailure(&e.args[i], err, data)
		}
		args[i] = v
	}
	var v any
	var err error
	if e.call.format != nil {
		v, err = e.call.format(e.args, args)
	} else {
		v, err = e.call.run(args)
	}
	if err != nil {
		return nil, &intrinsicError{source: e.source, err: err}
	}
	return v, nil
}

// argumentFailure returns the failure of an argument. AWS names the whole expression, not the inner
// call that failed.
func (e *expression) argumentFailure(arg *expression, err error, data any) error {
	var inner *intrinsicError
	switch {
	case errors.As(err, &inner):
		err = inner.err
	case arg.path != nil && errors.Is(err, errPath):
		source := arg.source
		if arg.path.context {
			source = strings.TrimPrefix(source, "$") // as AWS rewrites it
		}
		err = &argumentError{source, encodeValue(data)}
	}
	return &intrinsicError{source: e.source, err: err}
}

// intrinsicError is the failure of a call; it becomes States.IntrinsicFailure, or
// States.Runtime when a path among the arguments selects nothing.
type intrinsicError struct {
	source string
	err    error
}

func (e *intrinsicError) Error() string {
	return fmt.Sprintf("The function '%s' had the following error: %s", e.source, e.err)
}

func (e *intrinsicError) Unwrap() error { return e.err }

// argumentError is a path among the arguments that selects nothing.
type argumentError struct {
	source string
	input  []byte
}

func (e *argumentError) Error() string {
	return fmt.Sprintf("The JsonPath argument for the field '%s' could not be found in the input '%s'", e.source, e.input)
}
