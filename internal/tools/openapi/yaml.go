package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The YAML library needs some 300 bytes for each value before the values can be counted, so possible values are
// counted beforehand. The values that aliases repeat are limited by the size of the document: a genuine document
// uses aliases to repeat a value a few times, not a million times.
const (
	maxYAML        = 16 << 20
	maxYAMLMarks   = 400_000 // line ends, commas and opening brackets; a comment counts as four
	maxAliased     = 20_000  // values by alias, plus one per bytesPerValue bytes of the document
	maxAliasedText = 1 << 20 // bytes of text by alias, plus the size of the document
	bytesPerValue  = 16      // of a document, for each value by alias
)

func readYAML(b *builder, raw []byte) (*node, error) {
	if len(raw) > maxYAML {
		return nil, documentError("more than %d bytes of YAML", maxYAML)
	}
	if !utf8.Valid(raw) {
		return nil, documentError("not UTF-8")
	}
	if countMarks(raw) > maxYAMLMarks {
		return nil, documentError("more than %d values in YAML", maxYAMLMarks)
	}
	if isTooDeep(raw) {
		return nil, documentError("nested deeper than %d", maxDepth)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, documentError("not YAML").Because(err)
	}
	if len(doc.Content) != 1 {
		return nil, documentError("empty")
	}
	y := yamlReader{
		builder: b, open: map[*yaml.Node]bool{},
		aliased: maxAliased + len(raw)/bytesPerValue, aliasedText: maxAliasedText + len(raw),
	}
	root, err := y.value(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	return &root, nil
}

func countMarks(raw []byte) int {
	n := 0
	for i, c := range raw {
		switch {
		case c == '\n' || c == ',' || c == '[' || c == '{':
			n++
		case c == '#' && (i == 0 || raw[i-1] == ' ' || raw[i-1] == '\n' || raw[i-1] == '\t'):
			n += 4
		}
	}
	return n
}

// isTooDeep reports whether the document could be nested too deep for the recursive parser: more open brackets than
// allowed, or a run of "- - - -".
func isTooDeep(raw []byte) bool {
	open := 0
	for _, c := range raw {
		switch c {
		case '[', '{':
			if open++; open > 50*maxDepth {
				return true
			}
		case ']', '}':
			open = max(0, open-1)
		}
	}
	return bytes.Contains(raw, bytes.Repeat([]byte("- "), maxDepth)) || bytes.Contains(raw, bytes.Repeat([]byte("? "), maxDepth))
}

type yamlReader struct {
	*builder
	open        map[*yaml.Node]bool // anchors being expanded
	aliased     int                 // values that aliases may still repeat
	aliasedText int                 // bytes of text that aliases may still repeat
}

// repeat counts values, or members, and their text, that an alias repeats.
func (y *yamlReader) repeat(values, text int) error {
	y.aliased -= values
	y.aliasedText -= text
	if y.aliased < 0 || y.aliasedText < 0 {
		return documentError("its YAML aliases stand for too much")
	}
	return nil
}

var errCycle = errors.New("an alias holds itself")

func (y *yamlReader) value(n *yaml.Node, depth int) (node, error) {
	if err := y.spend(depth); err != nil {
		return node{}, err
	}
	if len(y.open) > 0 {
		if err := y.repeat(1, len(n.Value)); err != nil {
			return node{}, err
		}
	}
	switch n.Kind {
	case yaml.AliasNode:
		if y.open[n.Alias] {
			return node{}, documentError("a YAML alias holds itself").Because(errCycle)
		}
		y.open[n.Alias] = true
		defer delete(y.open, n.Alias)
		return y.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		nodes := make([]node, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := y.value(c, depth+1)
			if err != nil {
				return node{}, err
			}
			nodes = append(nodes, v)
		}
		return y.list(nodes), nil
	case yaml.MappingNode:
		return y.mapping(n, depth)
	}
	return yamlScalar(n), nil
}

func (y *yamlReader) mapping(n *yaml.Node, depth int) (node, error) {
	var names []string
	var nodes, merged []node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode || len(y.open) > 0 {
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			if err := y.repeat(1, len(key.Value)); err != nil {
				return node{}, err
			}
		}
		v, err := y.value(n.Content[i+1], depth+1)
		if err != nil {
			return node{}, err
		}
		switch {
		case key.Tag != "!!merge":
			names, nodes = append(names, key.Value), append(nodes, v)
		case v.kind == list:
			merged = append(merged, v.elements()...)
		default:
			merged = append(merged, v)
		}
	}
	return y.merge(merged, names, nodes)
}

// merge builds an object of its own members and those of others: its own win, and then those of the earlier
// (https://yaml.org/type/merge.html). They come first.
func (y *yamlReader) merge(others []node, names []string, nodes []node) (node, error) {
	if len(others) == 0 {
		return y.object(names, nodes), nil
	}
	var merged []string
	var mergedNodes []node
	has := make(map[string]bool, len(names))
	for _, name := range names {
		has[name] = true
	}
	for i := range others {
		from := &others[i]
		if from.kind != object {
			return node{}, documentError("a YAML merge of what is no mapping")
		}
		if err := y.repeat(from.size(), 0); err != nil {
			return node{}, err
		}
		if y.left -= from.size(); y.left < 0 {
			return node{}, documentError("more than %d values", maxNodes)
		}
		from.each(func(name string, value *node) {
			if !has[name] {
				has[name] = true
				merged, mergedNodes = append(merged, name), append(mergedNodes, *value)
			}
		})
	}
	return y.object(append(merged, names...), append(mergedNodes, nodes...)), nil
}

func yamlScalar(n *yaml.Node) node {
	switch n.ShortTag() {
	case "!!null":
		return node{kind: null, text: "null"}
	case "!!bool":
		said := textNode(n.Value) // by its tag it may be in any words
		if value, read := said.flag(); read {
			return booleanNode(value)
		}
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return node{kind: number, text: n.Value}
		}
		var i int64
		if n.ShortTag() == "!!int" && n.Decode(&i) == nil {
			return node{kind: number, text: strconv.FormatInt(i, 10)}
		}
		var f float64
		if n.Decode(&f) == nil {
			if s := strconv.FormatFloat(f, 'g', -1, 64); json.Valid([]byte(s)) {
				return node{kind: number, text: s}
			}
		}
	}
	return node{kind: text, text: n.Value}
}
