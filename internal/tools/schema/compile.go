package schema

import (
	"math/big"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"piloto/internal/ground/decimal"
	"piloto/internal/tools/tool"
)

// node is a compiled schema: an object with keywords, or one of anything and nothing. It is immutable, and cycles
// of references are cycles of nodes.
type node struct {
	types    kinds // none: all
	constant *any
	enum     []any // nil: no enum
	texts    map[string]bool
	format   string

	minimum, maximum, above, below   *limit
	multiple                         *limit
	minLength, maxLength             *int
	minItems, maxItems               *int
	minProperties, maxProperties     *int
	minContains, maxContains         *int
	unique                           bool
	pattern                          *pattern
	required                         []string
	requiredWith                     map[string][]string
	properties                       map[string]*node
	patterned                        []patterned
	additional, names                *node
	schemasWith                      map[string]*node
	prefix                           []*node
	items, contains                  *node
	otherProperties, otherItems      *node // unevaluatedProperties, unevaluatedItems
	ref, dynamic                     *node
	allOf, anyOf, oneOf              []*node
	not, condition, then, conversely *node
}

// anything is the schema true, and nothing the schema false.
var anything, nothing = &node{}, &node{}

// limit is a number of a schema, as it is written and to compare.
type limit struct {
	text  string
	value decimal.Number
}

func (l *limit) rational() *big.Rat {
	r, _ := new(big.Rat).SetString(l.text)
	return r
}

// pattern is a usable regular expression. It is compiled when it first meets a text.
type pattern struct {
	text     string
	compiled func() *regexp.Regexp
}

type patterned struct {
	*pattern // nil: it matches every name, because it is not usable
	schema   *node
}

func (p *pattern) matches(s string) bool {
	return p == nil || p.compiled().MatchString(s)
}

// maxPrograms limits the patterns of one schema, in steps of their programs. Further patterns are not checked.
const maxPrograms = 50_000

// compiler compiles one tree. Each object becomes one node, however many references lead to it.
type compiler struct {
	root     any
	nodes    map[uintptr]*pending // by the identity of the object
	waiting  []*pending           // objects whose keywords are not read yet
	applies  bool                 // the object that is read can apply to a value
	refs     []reference
	anchors  map[string]map[string]any // the objects by their names
	patterns tool.Patterns
	bad      bool // something in the tree is no JSON Schema
}

// pending is an object and its node. One that only stands among the definitions is read too, but its references
// are not followed, because other readers do not miss the targets of an unused definition.
type pending struct {
	node    *node
	object  map[string]any
	applies bool
}

// reference is a reference from a node to the place that text names.
type reference struct {
	text string
	into **node
}

// compile returns nil when the tree is not a usable schema.
func compile(tree any) *node {
	c := compiler{root: tree, nodes: map[uintptr]*pending{}, applies: true, anchors: map[string]map[string]any{}, patterns: tool.Patterns{Left: maxPrograms}}
	root := c.schema(tree)
	for !c.bad && (len(c.waiting) > 0 || len(c.refs) > 0) {
		for len(c.waiting) > 0 && !c.bad {
			next := c.waiting[0]
			c.waiting = c.waiting[1:]
			c.applies = next.applies
			*next.node = node{}
			c.read(next.node, next.object)
		}
		refs := c.refs
		c.refs, c.applies = nil, true
		for _, r := range refs { // after all anchors are known
			*r.into = c.follow(r.text)
		}
	}
	if c.bad {
		return nil
	}
	return root
}

// schema returns the node of a schema. Any other value accepts everything.
func (c *compiler) schema(v any) *node {
	switch v := v.(type) {
	case bool:
		if !v {
			return nothing
		}
	case map[string]any:
		if len(v) == 0 {
			return anything
		}
		id := identity(v)
		p := c.nodes[id]
		if p == nil {
			p = &pending{node: &node{}, object: v}
			c.nodes[id] = p
		} else if p.applies || !c.applies {
			return p.node
		}
		p.applies = c.applies
		c.waiting = append(c.waiting, p)
		return p.node
	}
	return anything
}

// check records that the tree is no JSON Schema when ok is false.
func (c *compiler) check(ok bool) { c.bad = c.bad || !ok }

// follow returns the node that a reference leads to.
func (c *compiler) follow(ref string) *node {
	name, inside := strings.CutPrefix(ref, "#")
	name, err := url.PathUnescape(name)
	if !inside || err != nil {
		c.bad = true
		return nil
	}
	if name != "" && name[0] != '/' {
		c.check(c.anchors[name] != nil)
		return c.schema(c.anchors[name])
	}
	at := c.root
	for _, part := range strings.Split(name, "/")[1:] {
		at = member(at, unescapeToken.Replace(part))
	}
	switch at.(type) {
	case bool, map[string]any:
		return c.schema(at)
	}
	c.bad = true
	return nil
}

var unescapeToken = strings.NewReplacer("~1", "/", "~0", "~")

// member returns a member of an object or an element of a list, and nil when there is none.
func member(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// identity distinguishes objects of a tree, also equal ones.
func identity(object map[string]any) uintptr { return reflect.ValueOf(object).Pointer() }
