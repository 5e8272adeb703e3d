package schema

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"piloto/internal/ground/decimal"
	"piloto/internal/tools/tool"
)

// read reads the keywords of one object. Every keyword belongs to one of the groups, or has no effect.
func (c *compiler) read(n *node, object map[string]any) {
	for keyword, v := range object {
		c.readCore(n, keyword, v)
		c.readAnchor(object, keyword, v)
		c.readValues(n, keyword, v)
		c.readNumbers(n, keyword, v)
		c.readCounts(n, keyword, v)
		c.readMembers(n, keyword, v)
		c.readParts(n, keyword, v)
		c.readCombinations(n, keyword, v)
	}
}

func (c *compiler) readCore(n *node, keyword string, v any) {
	text, isText := v.(string)
	switch keyword {
	case "$ref":
		if strings.HasPrefix(text, "#") && c.applies { // a reference to the outside is not followed
			c.refs = append(c.refs, reference{text, &n.ref})
		}
	case "$dynamicRef": // in one self-contained schema it leads where $ref does
		if c.check(isText); c.applies {
			c.refs = append(c.refs, reference{text, &n.dynamic})
		}
	case "$defs", "definitions":
		applies := c.applies
		c.applies = false
		c.schemas(v) // so that a mistake in one is found
		c.applies = applies
	}
}

// readAnchor records the name of an object. No other object has the same one.
func (c *compiler) readAnchor(object map[string]any, keyword string, v any) {
	if keyword != "$anchor" && keyword != "$dynamicAnchor" {
		return
	}
	name, ok := v.(string)
	other := c.anchors[name]
	c.check(ok && isAnchor(name) && (other == nil || identity(other) == identity(object)))
	c.anchors[name] = object
}

func isAnchor(s string) bool {
	for i, r := range []byte(s) {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z' || r == '_'
		if !letter && (i == 0 || r != '-' && r != '.' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

func (c *compiler) readValues(n *node, keyword string, v any) {
	switch keyword {
	case "type":
		names, isList := v.([]any)
		if !isList {
			names = []any{v}
		}
		for _, name := range names {
			kind := kindNamed(name)
			c.check(kind != 0 && n.types&kind == 0)
			n.types |= kind
		}
		c.check(len(names) > 0)
	case "const":
		n.constant = &v
	case "enum":
		list, ok := v.([]any)
		c.check(ok)
		n.enum, n.texts = list, map[string]bool{}
		for _, e := range list {
			if s, ok := e.(string); ok {
				n.texts[s] = true
			}
		}
	case "format":
		if name, _ := v.(string); formats[name] != nil {
			n.format = name
		}
	case "pattern":
		text, ok := v.(string)
		c.check(ok)
		n.pattern = c.pattern(text)
	}
}

// pattern returns nil for a pattern that RE2 cannot compile (an assertion such as (?=…)), or that costs too much. It
// then matches every text, so that the rest of the schema stays usable.
func (c *compiler) pattern(text string) *pattern {
	if !c.patterns.Usable(text) {
		return nil
	}
	return &pattern{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (c *compiler) readNumbers(n *node, keyword string, v any) {
	into := n.limit(keyword)
	if into == nil {
		return
	}
	number, ok := v.(json.Number)
	c.check(ok)
	if !ok || !tool.UsableNumber(number.String()) {
		return
	}
	*into = &limit{number.String(), decimal.Parse(number.String())}
	c.check(keyword != "multipleOf" || n.multiple.value.Compare(decimal.Number{}) > 0)
}

func (n *node) limit(keyword string) **limit {
	switch keyword {
	case "minimum":
		return &n.minimum
	case "maximum":
		return &n.maximum
	case "exclusiveMinimum":
		return &n.above
	case "exclusiveMaximum":
		return &n.below
	case "multipleOf":
		return &n.multiple
	}
	return nil
}

func (n *node) count(keyword string) **int {
	switch keyword {
	case "minLength":
		return &n.minLength
	case "maxLength":
		return &n.maxLength
	case "minItems":
		return &n.minItems
	case "maxItems":
		return &n.maxItems
	case "minProperties":
		return &n.minProperties
	case "maxProperties":
		return &n.maxProperties
	case "minContains":
		return &n.minContains
	case "maxContains":
		return &n.maxContains
	}
	return nil
}

func (c *compiler) readCounts(n *node, keyword string, v any) {
	into := n.count(keyword)
	if into == nil {
		return
	}
	number, ok := v.(json.Number)
	c.check(ok)
	if !ok || !tool.UsableNumber(number.String()) {
		return
	}
	value := decimal.Parse(number.String())
	c.check(value.IsInteger() && value.Compare(decimal.Number{}) >= 0)
	count, err := strconv.Atoi(number.String())
	if err != nil { // it is written as 1.0 or 1e3, or larger than any count
		f, _ := strconv.ParseFloat(number.String(), 64)
		count = int(min(f, math.MaxInt32))
	}
	*into = &count
}

func (c *compiler) readMembers(n *node, keyword string, v any) {
	switch keyword {
	case "required":
		n.required = c.distinctNames(v)
	case "dependentRequired":
		lists, ok := v.(map[string]any)
		c.check(ok)
		for name, list := range lists {
			c.requireWith(n, name, list)
		}
	case "dependencies": // of earlier drafts
		both, _ := v.(map[string]any)
		for name, e := range both {
			if list, ok := e.([]any); ok {
				c.requireWith(n, name, list)
			} else {
				c.applyWith(n, name, e)
			}
		}
	case "dependentSchemas":
		both, _ := v.(map[string]any)
		for name, e := range both {
			c.applyWith(n, name, e)
		}
	case "uniqueItems":
		unique, ok := v.(bool)
		c.check(ok)
		n.unique = unique
	}
}

func (c *compiler) requireWith(n *node, name string, list any) {
	if n.requiredWith == nil {
		n.requiredWith = map[string][]string{}
	}
	n.requiredWith[name] = append(n.requiredWith[name], c.distinctNames(list)...)
}

func (c *compiler) applyWith(n *node, name string, v any) {
	if n.schemasWith == nil {
		n.schemasWith = map[string]*node{}
	}
	if n.schemasWith[name] == nil {
		n.schemasWith[name] = c.schema(v)
	}
}

func (c *compiler) distinctNames(v any) []string {
	list, ok := v.([]any)
	c.check(ok)
	var names []string
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		name, ok := e.(string)
		c.check(ok && !seen[name])
		seen[name] = true
		names = append(names, name)
	}
	return names
}

// readParts reads the keywords whose schemas apply to members and elements.
func (c *compiler) readParts(n *node, keyword string, v any) {
	switch keyword {
	case "properties":
		n.properties = c.schemas(v)
	case "patternProperties":
		for text, schema := range c.schemas(v) {
			n.patterned = append(n.patterned, patterned{c.pattern(text), schema})
		}
	case "additionalProperties":
		n.additional = c.schema(v)
	case "propertyNames":
		n.names = c.schema(v)
	case "unevaluatedProperties":
		n.otherProperties = c.schema(v)
	case "prefixItems":
		n.prefix = c.list(v)
	case "items":
		n.items = c.schema(v)
	case "contains":
		n.contains = c.schema(v)
	case "unevaluatedItems":
		n.otherItems = c.schema(v)
	}
}

// readCombinations reads the keywords whose schemas apply to the value itself.
func (c *compiler) readCombinations(n *node, keyword string, v any) {
	switch keyword {
	case "allOf":
		n.allOf = c.list(v)
	case "anyOf":
		n.anyOf = c.list(v)
	case "oneOf":
		n.oneOf = c.list(v)
	case "not":
		n.not = c.schema(v)
	case "if":
		n.condition = c.schema(v)
	case "then":
		n.then = c.schema(v)
	case "else":
		n.conversely = c.schema(v)
	}
}

func (c *compiler) schemas(v any) map[string]*node {
	object, _ := v.(map[string]any)
	nodes := make(map[string]*node, len(object))
	for name, e := range object {
		nodes[name] = c.schema(e)
	}
	return nodes
}

func (c *compiler) list(v any) []*node {
	list, _ := v.([]any)
	nodes := make([]*node, len(list))
	for i, e := range list {
		nodes[i] = c.schema(e)
	}
	return nodes
}
