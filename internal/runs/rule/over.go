package rule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/ref"
)

// hop is one step down into an argument: a member, an element, or all elements.
type hop struct {
	name  string
	index int // when name is empty; all: every element
	all   bool
}

// place is where Over looks: the query or the body, and the way down.
type place struct {
	query bool
	hops  []hop
}

var (
	placeForm = lazily(`^(body|query)((\.[\p{L}\p{N}_-]+|\[[0-9]{0,6}\])*)$`)
	hopForm   = lazily(`\.[\p{L}\p{N}_-]+|\[[0-9]*\]`)
	mostForm  = lazily(`^[0-9]{1,40}(\.[0-9]{1,40})?$`)
	decimal   = lazily(`^([+-]?[0-9]{1,60})(?:\.([0-9]{1,60}))?(?:[eE]([+-]?[0-9]{1,2}))?$`)
)

// place reads At.
func (o Over) place() (place, error) {
	m := placeForm().FindStringSubmatch(o.At)
	if m == nil || len(o.At) > maxAt || m[1] == "query" && !strings.HasPrefix(m[2], ".") {
		return place{}, fmt.Errorf("%q is no place in a body or a query", o.At)
	}
	p := place{query: m[1] == "query"}
	for _, text := range hopForm().FindAllString(m[2], -1) {
		switch inner := strings.Trim(text, ".[]"); {
		case text[0] == '.':
			p.hops = append(p.hops, hop{name: inner})
		case inner == "":
			p.hops = append(p.hops, hop{all: true})
		default:
			n, err := strconv.Atoi(inner)
			if err != nil {
				return place{}, err
			}
			p.hops = append(p.hops, hop{index: n})
		}
	}
	return p, nil
}

// most reads Most.
func (o Over) most() (*big.Int, error) {
	if !mostForm().MatchString(o.Most) {
		return nil, fmt.Errorf("%q is no decimal", o.Most)
	}
	return readDecimal(o.Most), nil
}

// finding is what is known of a number in arguments that are not resolved yet.
type finding int

const (
	isNot finding = iota
	isOver
	isOpen // a reference decides
)

// judge says whether the arguments are over.
func (o Over) judge(query, body *arguments, resolved bool) finding {
	p, err := o.place()
	if err != nil {
		return isOver
	}
	most, err := o.most()
	if err != nil {
		return isOver
	}
	args := body
	if p.query {
		args = query
	}
	root, empty, err := args.read()
	switch {
	case err != nil:
		return isOver
	case empty:
		return isNot
	}
	s := sum{total: new(big.Int), resolved: resolved}
	s.add(root, p.hops)
	switch {
	case s.strange:
		return isOver
	case s.open:
		return isOpen
	case s.found && s.total.Cmp(most) > 0:
		return isOver
	}
	return isNot
}

// arguments are a query or a body, read when the first rule asks for them.
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

// sum is what was added up so far.
type sum struct {
	total    *big.Int // scaled
	resolved bool
	found    bool
	open     bool // a reference is part of it
	strange  bool // something there is no number, or stands twice
}

func (s *sum) add(n node, way []hop) {
	if !s.resolved && n.text != nil && ref.Contains(*n.text) {
		s.open = true
		return
	}
	if len(way) == 0 {
		s.number(n)
		return
	}
	switch h := way[0]; {
	case h.name != "" && n.object:
		var found []node
		wanted := fold.Name(h.name)
		for _, m := range n.members {
			switch {
			case m.name == wanted:
				found = append(found, m.node)
			case strings.HasPrefix(m.written, wanted+"["), strings.HasPrefix(m.written, wanted+"."): // a form has it below
				s.strange = true
			}
		}
		s.strange = s.strange || len(found) > 1
		for _, inner := range found {
			s.add(inner, way[1:])
		}
	case h.all && n.list:
		for _, inner := range n.items {
			s.add(inner, way[1:])
		}
	case h.name == "" && n.list:
		if h.index < len(n.items) {
			s.add(n.items[h.index], way[1:])
		}
	case n.null:
	default: // something else stands where the way leads through
		s.strange = true
	}
}

func (s *sum) number(n node) {
	if n.value == nil {
		s.strange = true
		return
	}
	s.found = true
	s.total.Add(s.total, n.value) // it is absolute: what is paid back does not make up for what is paid
}

// scale is how many decimal places are kept: all that a decimal may have.
const scale = 60 + 99

var ten = big.NewInt(10)

// readDecimal reads a decimal of a bounded size, times ten to the power of scale;
// nil for what is none.
func readDecimal(text string) *big.Int {
	m := decimal().FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	exponent, _ := strconv.Atoi(m[3]) // none is 0
	value, ok := new(big.Int).SetString(m[1]+m[2], 10)
	if !ok {
		return nil
	}
	shift := big.NewInt(int64(exponent - len(m[2]) + scale))
	return value.Mul(value, shift.Exp(ten, shift, nil))
}

// readAmount reads a text as the largest amount that a receiver may read it as; nil for
// what is no decimal. "1.000" is a thousand where a dot stands between thousands, and
// "900e-3" is nine hundred to one that reads digits as far as there are any.
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

// node is a JSON value with every member that stands in it, also those that stand
// twice.
type node struct {
	object, list, null bool
	members            []member
	items              []node
	text               *string
	value              *big.Int // absolute and scaled; nil for what is no decimal
}

// member is one member, by what its name folds to: written still has its dots.
type member struct {
	name, written string
	node          node
}

// maxNesting is how deep arguments may be.
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

// lazily compiles an expression when the first rule needs it.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
