package rule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/lazy"
	"piloto/internal/ground/ref"
)

// hop is one step down into an argument: a member, an element, or all elements.
type hop struct {
	name  string
	index int // used when name is empty; all means every element
	all   bool
}

// argPath is the position of an amount: in the query, the headers or the body, and the hops to it.
type argPath struct {
	in   string
	hops []hop
}

var (
	placeForm = lazy.Pattern(`^(body|query|headers)((\.[\p{L}\p{N}_-]+|\[[0-9]{0,6}\])*)$`)
	hopForm   = lazy.Pattern(`\.[\p{L}\p{N}_-]+|\[[0-9]*\]`)
	limitForm = lazy.Pattern(`^[0-9]{1,40}(\.[0-9]{1,40})?$`)
	decimal   = lazy.Pattern(`^([+-]?[0-9]{1,60})(?:\.([0-9]{1,60}))?(?:[eE]([+-]?[0-9]{1,2}))?$`)
)

// argPath parses At.
func (o Over) argPath() (argPath, error) {
	m := placeForm().FindStringSubmatch(o.At)
	if m == nil || len(o.At) > maxAt || m[1] != "body" && !strings.HasPrefix(m[2], ".") {
		return argPath{}, fmt.Errorf("%q is no place in a body, a query or headers", o.At)
	}
	p := argPath{in: m[1]}
	for _, text := range hopForm().FindAllString(m[2], -1) {
		switch inner := strings.Trim(text, ".[]"); {
		case text[0] == '.':
			p.hops = append(p.hops, hop{name: inner})
		case inner == "":
			p.hops = append(p.hops, hop{all: true})
		default:
			n, err := strconv.Atoi(inner)
			if err != nil {
				return argPath{}, err
			}
			p.hops = append(p.hops, hop{index: n})
		}
	}
	return p, nil
}

// limit parses Most.
func (o Over) limit() (*big.Int, error) {
	if !limitForm().MatchString(o.Most) {
		return nil, fmt.Errorf("%q is no decimal", o.Most)
	}
	return readDecimal(o.Most), nil
}

// comparison is the result of the comparison of an amount with its limit.
type comparison int

const (
	withinLimit comparison = iota
	overLimit
	undecided // a reference decides
)

// judge compares the amount in the arguments with the limit.
func (o Over) judge(in map[string]*arguments, resolved bool) comparison {
	p, err := o.argPath()
	if err != nil {
		return overLimit
	}
	limit, err := o.limit()
	if err != nil {
		return overLimit
	}
	root, empty, err := in[p.in].read()
	switch {
	case err != nil:
		return overLimit
	case empty:
		return withinLimit
	}
	s := sum{total: new(big.Int), resolved: resolved}
	s.add(root, p.hops)
	switch {
	case s.unreadable:
		return overLimit
	case s.open:
		return undecided
	case s.found && s.total.Cmp(limit) > 0:
		return overLimit
	}
	return withinLimit
}

// arguments is a query, the headers or a body that is parsed when the first rule needs it.
type arguments struct {
	raw   []byte
	known bool
	root  node
	err   error
}

func (a *arguments) read() (root node, empty bool, err error) {
	if len(bytes.TrimSpace(a.raw)) == 0 {
		return node{}, true, nil
	}
	if !a.known {
		a.root, a.err = readNode(a.raw)
		a.known = true
	}
	return a.root, false, a.err
}

// sum is the running total of amounts.
type sum struct {
	total      *big.Int // scaled
	resolved   bool
	found      bool
	open       bool // a reference is part of it
	unreadable bool // a value is not a number, or a member is duplicate
}

func (s *sum) add(n node, hops []hop) {
	if !s.resolved && n.text != nil && ref.Contains(*n.text) {
		s.open = true
		return
	}
	if len(hops) == 0 {
		s.number(n)
		return
	}
	switch h := hops[0]; {
	case h.name != "" && n.object:
		var found []node
		wanted := fold.Name(h.name)
		for _, m := range n.members {
			switch {
			case m.name == wanted:
				found = append(found, m.node)
			case strings.HasPrefix(m.written, wanted+"["), strings.HasPrefix(m.written, wanted+"."): // a form writes members below it
				s.unreadable = true
			}
		}
		s.unreadable = s.unreadable || len(found) > 1
		for _, inner := range found {
			s.add(inner, hops[1:])
		}
	case h.all && n.list:
		for _, inner := range n.items {
			s.add(inner, hops[1:])
		}
	case h.name == "" && n.list:
		if h.index < len(n.items) {
			s.add(n.items[h.index], hops[1:])
		}
	case n.null:
	default: // a value of another type stands on the path
		s.unreadable = true
	}
}

func (s *sum) number(n node) {
	if n.value == nil {
		s.unreadable = true
		return
	}
	s.found = true
	s.total.Add(s.total, n.value) // absolute, so that a refund does not compensate a payment
}

// scale is the number of decimal places: as many as a decimal may have.
const scale = 60 + 99

var ten = big.NewInt(10)

// readDecimal parses a decimal of bounded size and multiplies it by 10^scale; nil for any other
// text.
func readDecimal(text string) *big.Int {
	m := decimal().FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	exponent, _ := strconv.Atoi(m[3]) // 0 without an exponent
	value, ok := new(big.Int).SetString(m[1]+m[2], 10)
	if !ok {
		return nil
	}
	shift := big.NewInt(int64(exponent - len(m[2]) + scale))
	return value.Mul(value, shift.Exp(ten, shift, nil))
}

// readAmount parses a text as the largest amount that a receiver may read in it; nil when it is not
// a decimal. "1.000" is one thousand for receivers with a dot between thousands, and "900e-3" is
// nine hundred for receivers that stop at the first character that is not a digit.
func readAmount(text string) *big.Int {
	m := decimal().FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	value := absolute(readDecimal(text))
	also := value
	switch {
	case m[3] != "":
		also = readAmount(text[:strings.IndexAny(text, "eE")])
	case len(m[2]) == 3:
		also = absolute(readDecimal(m[1] + m[2]))
	}
	if also.Cmp(value) > 0 {
		return also
	}
	return value
}

func absolute(n *big.Int) *big.Int {
	if n == nil {
		return nil
	}
	return n.Abs(n)
}

// node is a JSON value with all its members, duplicates included.
type node struct {
	object, list, null bool
	members            []member
	items              []node
	text               *string
	value              *big.Int // absolute and scaled; nil when it is not a decimal
}

// member is one member. name is folded; written is folded too but keeps its dots.
type member struct {
	name, written string
	node          node
}

// maxNesting is the greatest depth of arguments.
const maxNesting = 100

func readNode(raw json.RawMessage) (node, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	n, err := nodeOf(dec, 0)
	if err == nil && dec.More() {
		err = fmt.Errorf("more than one JSON value")
	}
	return n, err
}

func nodeOf(dec *json.Decoder, depth int) (node, error) {
	token, err := dec.Token()
	if err != nil || depth > maxNesting {
		return node{}, fmt.Errorf("not JSON, or deeper than %d: %w", maxNesting, err)
	}
	switch t := token.(type) {
	case string:
		return node{text: &t, value: readAmount(strings.Trim(t, " "))}, nil
	case json.Number:
		return node{value: absolute(readDecimal(t.String()))}, nil
	case nil:
		return node{null: true}, nil
	case json.Delim:
		n := node{object: t == '{', list: t == '['}
		for dec.More() {
			var m member
			if n.object {
				key, err := dec.Token()
				if err != nil {
					return n, err
				}
				name, _ := key.(string)
				m.name, m.written = fold.Name(name), strings.TrimSpace(fold.Text(name))
			}
			inner, err := nodeOf(dec, depth+1)
			if err != nil {
				return n, err
			}
			if n.object {
				m.node = inner
				n.members = append(n.members, m)
			} else {
				n.items = append(n.items, inner)
			}
		}
		_, err := dec.Token()
		return n, err
	}
	return node{}, nil // true and false
}
