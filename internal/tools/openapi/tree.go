package openapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

// Limits of a document, checked before it is processed.
const (
	maxDocument = 32 << 20  // bytes
	maxDepth    = 200       // levels of nesting
	maxNodes    = 1_000_000 // values
)

// kind is the type of a node.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// node is one value of a document: compact, in the order written, and limited by the parser that built it. Scalars
// keep their spelling.
type node struct {
	kind kind
	text string
	kids *kids
}

type kids struct {
	names []string // of an object's values, without duplicates
	nodes []node
	index map[string]int32 // only for large objects
}

const indexFrom = 12

func documentError(reason string, args ...any) *fault.Error {
	return tool.ErrDocument.With("reason", fmt.Sprintf(reason, args...))
}

// size returns the number of values in the node.
func (n *node) size() int {
	if n == nil || n.kids == nil {
		return 0
	}
	return len(n.kids.nodes)
}

// get returns a member of an object, nil when there is none.
func (n *node) get(name string) *node {
	if n == nil || n.kind != object {
		return nil
	}
	if n.kids.index != nil {
		if i, ok := n.kids.index[name]; ok {
			return &n.kids.nodes[i]
		}
		return nil
	}
	for i, have := range n.kids.names {
		if have == name {
			return &n.kids.nodes[i]
		}
	}
	return nil
}

// each calls f for every member of an object.
func (n *node) each(f func(name string, value *node)) {
	if n == nil || n.kind != object {
		return
	}
	for i, name := range n.kids.names {
		f(name, &n.kids.nodes[i])
	}
}

// elements returns the values of a list, and none for any other node.
func (n *node) elements() []node {
	if n == nil || n.kind != list {
		return nil
	}
	return n.kids.nodes
}

// str returns the text of a text node, else "".
func (n *node) str() string {
	if n == nil || n.kind != text {
		return ""
	}
	return n.text
}

// scalar returns the spelling of a text, number or boolean, else "".
func (n *node) scalar() string {
	if n == nil || n.kind == null || n.kind == list || n.kind == object {
		return ""
	}
	return n.text
}

// isSaid reports whether a node is present and not null.
func isSaid(n *node) bool { return n != nil && n.kind != null }

// flag returns a boolean: false for an absent node. It reads the words of YAML 1.1 for a boolean, also as texts, and 1 and 0.
// read is false for anything else, because readers differ there.
func (n *node) flag() (value, read bool) {
	if !isSaid(n) {
		return false, true
	}
	switch strings.ToLower(n.scalar()) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0":
		return false, true
	}
	return false, false
}

// isTrue reports whether the node says true.
func (n *node) isTrue() bool {
	value, _ := n.flag()
	return value
}

// isFalse reports whether the node says false.
func (n *node) isFalse() bool {
	value, read := n.flag()
	return isSaid(n) && read && !value
}

// unreadFlag returns the name of a member that is neither true nor false, and its value; "" for one that is, or that is absent.
func (n *node) unreadFlag(name string) string {
	said := n.get(name)
	if _, read := said.flag(); read {
		return ""
	}
	return strings.TrimSpace(name + " " + clip(said.scalar(), 50))
}

func textNode(s string) node { return node{kind: text, text: s} }

func booleanNode(v bool) node { return node{kind: boolean, text: strconv.FormatBool(v)} }

func listOf(nodes ...node) node { return node{kind: list, kids: &kids{nodes: nodes}} }

// with returns an object with one more member, which it does not have yet.
func (n *node) with(name string, value node) *node {
	k := &kids{}
	n.each(func(name string, value *node) { k.add(name, *value) })
	k.add(name, value)
	return &node{kind: object, kids: k}
}

func (k *kids) add(name string, value node) {
	k.names, k.nodes = append(k.names, name), append(k.nodes, value)
}

// nothing is shared by all empty lists and objects.
var nothing kids

// builder builds nodes and counts them.
type builder struct {
	ctx        context.Context
	left       int
	duplicates int
}

func (b *builder) spend(depth int) error {
	if depth > maxDepth {
		return documentError("nested deeper than %d", maxDepth)
	}
	if b.left--; b.left < 0 {
		return documentError("more than %d values", maxNodes)
	}
	if b.left&0xfff == 0 {
		return b.ctx.Err()
	}
	return nil
}

// object builds an object. The last of several members with the same name is kept.
func (b *builder) object(names []string, nodes []node) node {
	if len(nodes) == 0 {
		return node{kind: object, kids: &nothing}
	}
	k := &kids{names: append([]string(nil), names...), nodes: append([]node(nil), nodes...)}
	if len(names) >= indexFrom {
		k.index = make(map[string]int32, len(names))
	}
	at := 0
	for i, name := range k.names {
		same := -1
		if k.index != nil {
			if j, ok := k.index[name]; ok {
				same = int(j)
			}
		} else {
			for j := range at {
				if k.names[j] == name {
					same = j
				}
			}
		}
		if same >= 0 {
			b.duplicates++
			k.nodes[same] = k.nodes[i]
			continue
		}
		k.names[at], k.nodes[at] = name, k.nodes[i]
		if k.index != nil {
			k.index[name] = int32(at)
		}
		at++
	}
	k.names, k.nodes = k.names[:at], k.nodes[:at]
	return node{kind: object, kids: k}
}

func (b *builder) list(nodes []node) node {
	if len(nodes) == 0 {
		return node{kind: list, kids: &nothing}
	}
	return node{kind: list, kids: &kids{nodes: append([]node(nil), nodes...)}}
}

// write writes a node as JSON. A number outside the range of a double is written as a text, so that no reader tries
// to expand 1e999999999.
func (n *node) write(b *strings.Builder) {
	switch n.kind {
	case text:
		b.WriteString(quote(n.text))
	case number:
		if isUsable(n.text) {
			b.WriteString(n.text)
		} else {
			b.WriteString(quote(n.text))
		}
	case list:
		b.WriteByte('[')
		for i := range n.kids.nodes {
			if i > 0 {
				b.WriteByte(',')
			}
			n.kids.nodes[i].write(b)
		}
		b.WriteByte(']')
	case object:
		b.WriteByte('{')
		for i := range n.kids.nodes {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(n.kids.names[i]) + ":")
			n.kids.nodes[i].write(b)
		}
		b.WriteByte('}')
	default:
		b.WriteString(n.text)
	}
}

func quote(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return `"` + s + `"`
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return `""` // strings always encode
	}
	return string(raw)
}

// isUsable reports whether a number is short and in the range of a double.
func isUsable(s string) bool {
	if len(s) > 64 {
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && f == f
}
