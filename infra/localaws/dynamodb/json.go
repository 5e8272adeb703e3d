package dynamodb

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonKind is the kind of a JSON value.
type jsonKind byte

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

// node is one member of a request. A body is parsed once, into nodes; members outside of an
// operation's shape are ignored.
type node struct {
	kind   jsonKind
	bool   bool
	str    string // string; number as received
	list   []node
	fields []field
	given  *given // of a client of this process: no JSON was read
}

// given is an item or a value that a client of this process passed, or the error that it has.
type given struct {
	item  item
	value value
	err   error
}

type field struct {
	name  string
	value node
}

// maxJSONDepth bounds the parser's recursion. A value of the deepest 32 levels
// needs about 70.
const maxJSONDepth = 512

// get returns the last field of that name; null counts as absent.
func (n *node) get(name string) *node {
	for i := len(n.fields) - 1; i >= 0; i-- {
		if n.fields[i].name == name {
			if n.fields[i].value.kind == jsonNull {
				return nil
			}
			return &n.fields[i].value
		}
	}
	return nil
}

// parseJSON reads exactly one JSON object.
func parseJSON(body string) (*node, error) {
	if !utf8.ValidString(body) {
		return nil, unreadable("Body is not valid UTF-8")
	}
	p := jsonParser{s: body}
	var n node
	if err := p.value(&n, 0); err != nil {
		return nil, err
	}
	p.space()
	if p.i != len(p.s) || n.kind != jsonObject {
		return nil, unreadable("Body is not one JSON object")
	}
	return &n, nil
}

type jsonParser struct {
	s string
	i int
}

func (p *jsonParser) fail() error {
	return unreadable("Unexpected character or end of JSON at byte %d", p.i)
}

func (p *jsonParser) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// next skips space and returns the byte there, or 0 at the end.
func (p *jsonParser) next() byte {
	p.space()
	if p.i == len(p.s) {
		return 0
	}
	return p.s[p.i]
}

func (p *jsonParser) value(n *node, depth int) error {
	if depth > maxJSONDepth {
		return unreadable("JSON is nested too deeply")
	}
	switch c := p.next(); {
	case c == '{':
		return p.object(n, depth)
	case c == '[':
		return p.array(n, depth)
	case c == '"':
		n.kind = jsonString
		return p.string(&n.str)
	case c == '-' || isDigit(c):
		n.kind = jsonNumber
		return p.number(&n.str)
	case p.word("true"):
		n.kind, n.bool = jsonBool, true
	case p.word("false"):
		n.kind = jsonBool
	case p.word("null"):
	default:
		return p.fail()
	}
	return nil
}

func (p *jsonParser) word(w string) bool {
	if !strings.HasPrefix(p.s[p.i:], w) {
		return false
	}
	p.i += len(w)
	return true
}

func (p *jsonParser) object(n *node, depth int) error {
	n.kind = jsonObject
	p.i++
	if p.next() == '}' {
		p.i++
		return nil
	}
	for {
		if p.next() != '"' {
			return p.fail()
		}
		n.fields = append(n.fields, field{})
		f := &n.fields[len(n.fields)-1]
		if err := p.string(&f.name); err != nil {
			return err
		}
		if p.next() != ':' {
			return p.fail()
		}
		p.i++
		if err := p.value(&f.value, depth+1); err != nil {
			return err
		}
		switch p.next() {
		case ',':
			p.i++
		case '}':
			p.i++
			return nil
		default:
			return p.fail()
		}
	}
}

func (p *jsonParser) array(n *node, depth int) error {
	n.kind = jsonArray
	p.i++
	if p.next() == ']' {
		p.i++
		return nil
	}
	for {
		n.list = append(n.list, node{})
		if err := p.value(&n.list[len(n.list)-1], depth+1); err != nil {
			return err
		}
		switch p.next() {
		case ',':
			p.i++
		case ']':
			p.i++
			return nil
		default:
			return p.fail()
		}
	}
}

func (p *jsonParser) number(dst *string) error {
	start := p.i
	if p.s[p.i] == '-' {
		p.i++
	}
	for p.i < len(p.s) && strings.IndexByte("0123456789+-.eE", p.s[p.i]) >= 0 {
		p.i++
	}
	*dst = p.s[start:p.i]
	if _, err := strconv.ParseFloat(*dst, 64); err != nil && !strings.Contains(err.Error(), "range") {
		return p.fail()
	}
	return nil
}

// string reads a string; one without escapes shares the body's memory.
func (p *jsonParser) string(dst *string) error {
	p.i++
	start := p.i
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '"':
			*dst = p.s[start:p.i]
			p.i++
			return nil
		case c == '\\':
			return p.escapedString(dst, start)
		case c < 0x20:
			return p.fail()
		default:
			p.i++
		}
	}
	return p.fail()
}

func (p *jsonParser) escapedString(dst *string, start int) error {
	var b strings.Builder
	b.WriteString(p.s[start:p.i])
	for p.i < len(p.s) {
		c := p.s[p.i]
		p.i++
		switch {
		case c == '"':
			*dst = b.String()
			return nil
		case c == '\\':
			if err := p.escape(&b); err != nil {
				return err
			}
		case c < 0x20:
			return p.fail()
		default:
			b.WriteByte(c)
		}
	}
	return p.fail()
}

func (p *jsonParser) escape(b *strings.Builder) error {
	if p.i == len(p.s) {
		return p.fail()
	}
	c := p.s[p.i]
	p.i++
	if c == 'u' {
		r, err := p.hex()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) && strings.HasPrefix(p.s[p.i:], `\u`) {
			back := p.i
			p.i += 2
			low, err := p.hex()
			if err != nil {
				return err
			}
			pair := utf16.DecodeRune(r, low)
			if pair == utf8.RuneError {
				p.i = back
			}
			r = pair
		}
		b.WriteRune(r) // a lone surrogate becomes U+FFFD
		return nil
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	i := strings.IndexByte(from, c)
	if i < 0 {
		return p.fail()
	}
	b.WriteByte(to[i])
	return nil
}

func (p *jsonParser) hex() (rune, error) {
	if p.i+4 > len(p.s) {
		return 0, p.fail()
	}
	v, err := strconv.ParseUint(p.s[p.i:p.i+4], 16, 16)
	if err != nil {
		return 0, p.fail()
	}
	p.i += 4
	return rune(v), nil
}
