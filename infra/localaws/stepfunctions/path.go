package stepfunctions

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A path is a compiled JSONPath: `$…` selects from the data it is applied to,
// `$$…` from the context object. Supported are names, indexes (negative ones
// count from the end), unions of either, slices, wildcards, descent and filters;
// functions and regular expressions are refused when the path is parsed.
type path struct {
	source   string
	context  bool
	segments []segment
	// definite paths select exactly one node or fail; the others select a list.
	definite bool
}

type segmentKind int

const (
	segmentNames segmentKind = iota
	segmentIndexes
	segmentSlice
	segmentWildcard
	segmentFilter
)

type segment struct {
	kind    segmentKind
	descend bool // preceded by "..": apply to every node below as well
	names   []string
	indexes []int
	from    *int // bounds of a slice; nil means open
	to      *int
	step    int
	filter  filter
}

// maxPathLength bounds a path so that parsing and recursion stay bounded.
const maxPathLength = 4096

// errPath is wrapped by every error of a path that selects nothing.
var errPath = errors.New("path selects nothing")

// pastEndError is an errPath about a path whose last index is past the end.
type pastEndError struct{ error }

func (e pastEndError) Unwrap() error { return e.error }

// errNullInput is an errPath about a path into null.
var errNullInput = fmt.Errorf("%w: null input", errPath)

// parsePath compiles a JSONPath.
func parsePath(source string) (*path, error) {
	if len(source) > maxPathLength {
		return nil, errors.New("path is too long")
	}
	p := &pathParser{src: source}
	out, err := p.parse()
	if err != nil {
		return nil, fmt.Errorf("%w at offset %d", err, p.pos)
	}
	return out, nil
}

// isReference reports whether p selects at most one node, by names and indexes.
func (p *path) isReference() bool { return p.definite && p.isFilteredReference() }

// isFilteredReference reports whether p is a reference path that may have filters: AWS lists
// $.jar[?(@.a >= 5)] among reference paths. Filters make it select a list.
func (p *path) isFilteredReference() bool {
	for _, s := range p.segments {
		switch {
		case s.kind == segmentFilter && !s.descend:
		case s.descend || s.kind > segmentIndexes || len(s.names)+len(s.indexes) > 1:
			return false
		case s.kind == segmentIndexes && s.indexes[0] < 0:
			return false
		}
	}
	return true
}

// isRoot reports whether p is "$".
func (p *path) isRoot() bool { return !p.context && len(p.segments) == 0 }

type pathParser struct {
	src   string
	pos   int
	depth int
}

func (p *pathParser) parse() (*path, error) {
	out, err := p.path('$')
	if err != nil {
		return nil, err
	}
	if p.pos != len(p.src) {
		return nil, errors.New("unexpected character in path")
	}
	out.source = p.src
	return out, nil
}

// path reads a path, from its root character to the last character that can belong to it.
func (p *pathParser) path(root byte) (*path, error) {
	start := p.pos
	if !p.eat(root) {
		return nil, errors.New("path must start with $")
	}
	out := &path{definite: true}
	if root == '$' && p.eat('$') {
		out.context = true
	}
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		if c != '.' && c != '[' {
			break
		}
		s, err := p.segment()
		if err != nil {
			return nil, err
		}
		if s.descend || s.kind > segmentIndexes || len(s.names)+len(s.indexes) > 1 {
			out.definite = false
		}
		out.segments = append(out.segments, s)
	}
	out.source = p.src[start:p.pos]
	return out, nil
}

func (p *pathParser) eat(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *pathParser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *pathParser) space() {
	for p.pos < len(p.src) && p.src[p.pos] == ' ' {
		p.pos++
	}
}

func (p *pathParser) segment() (segment, error) {
	if p.eat('[') {
		return p.bracket()
	}
	p.pos++ // the dot
	descend := p.eat('.')
	if p.eat('[') { // $..[0], and $.a.['b c'] as AWS's guide writes it
		s, err := p.bracket()
		s.descend = descend
		return s, err
	}
	if p.eat('*') {
		return segment{kind: segmentWildcard, descend: descend}, nil
	}
	name := p.name()
	if name == "" {
		return segment{}, errors.New("empty name in path")
	}
	if p.peek() == '(' {
		return segment{}, errors.New("functions in paths are not supported")
	}
	return segment{kind: segmentNames, names: []string{name}, descend: descend}, nil
}

// name reads an unquoted member name.
func (p *pathParser) name() string {
	start := p.pos
	for p.pos < len(p.src) && !strings.ContainsRune(".[]()'\"*?@,:;!<>=&|{}\\$ \t\r\n", rune(p.src[p.pos])) {
		p.pos++
	}
	return p.src[start:p.pos]
}

// bracket reads a bracketed selector, after its opening bracket.
func (p *pathParser) bracket() (segment, error) {
	p.space()
	var s segment
	var err error
	switch c := p.peek(); {
	case c == '*':
		p.pos++
		s.kind = segmentWildcard
	case c == '\'' || c == '"':
		s.names, err = p.quotedNames()
	case c == '?':
		p.pos++
		s.kind = segmentFilter
		s.filter, err = p.filter()
	default:
		s, err = p.numbers()
	}
	if err != nil {
		return s, err
	}
	p.space()
	if !p.eat(']') {
		return s, errors.New("expected ] in path")
	}
	return s, nil
}

func (p *pathParser) quotedNames() ([]string, error) {
	var names []string
	for {
		p.space()
		name, err := p.quotedText()
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		p.space()
		if !p.eat(',') {
			return names, nil
		}
	}
}

// quotedText reads a name or string in single or double quotes.
func (p *pathParser) quotedText() (string, error) {
	quote := p.peek()
	if quote != '\'' && quote != '"' {
		return "", errors.New("expected a quoted name in path")
	}
	p.pos++
	var b strings.Builder
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		p.pos++
		switch c {
		case quote:
			return b.String(), nil
		case '\\':
			if p.pos == len(p.src) {
				return "", errors.New("unterminated string in path")
			}
			b.WriteByte(p.src[p.pos])
			p.pos++
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("unterminated string in path")
}

// numbers reads an index, a list of indexes, or a slice.
func (p *pathParser) numbers() (segment, error) {
	first, err := p.optionalInt()
	if err != nil {
		return segment{}, err
	}
	p.space()
	if p.peek() == ':' {
		return p.slice(first)
	}
	if first == nil {
		return segment{}, errors.New("unsupported selector in path")
	}
	s := segment{kind: segmentIndexes, indexes: []int{*first}}
	for p.eat(',') {
		p.space()
		next, err := p.optionalInt()
		if err != nil {
			return s, err
		}
		if next == nil {
			return s, errors.New("expected an index in path")
		}
		s.indexes = append(s.indexes, *next)
		p.space()
	}
	return s, nil
}

func (p *pathParser) slice(from *int) (segment, error) {
	s := segment{kind: segmentSlice, from: from, step: 1}
	var err error
	p.pos++ // the colon
	p.space()
	if s.to, err = p.optionalInt(); err != nil {
		return s, err
	}
	p.space()
	if p.eat(':') {
		p.space()
		step, err := p.optionalInt()
		if err != nil {
			return s, err
		}
		if step != nil {
			if *step <= 0 {
				return s, errors.New("slice step must be positive")
			}
			s.step = *step
		}
	}
	return s, nil
}

func (p *pathParser) optionalInt() (*int, error) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
		p.pos++
	}
	if start == p.pos {
		return nil, nil
	}
	n, err := strconv.ParseInt(p.src[start:p.pos], 10, 32)
	if err != nil {
		return nil, errors.New("bad number in path")
	}
	i := int(n)
	return &i, nil
}
