package template

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// placeholder matches a substitution of a definition.
var placeholder = regexp.MustCompile(`\$\{[A-Za-z0-9_]+\}`)

// problem is one fault with its line.
type problem struct {
	line int
	err  error
}

// problems are the problems of a file.
type problems struct {
	file string
	list []problem
}

// node is a node of a file. Its handlers add to the file's problems.
type node struct {
	Value
	problems *problems
}

func (n node) fail(format string, args ...any) {
	err := fmt.Errorf("%s:%d: %s: %s", n.problems.file, n.node.Line, n.path, fmt.Sprintf(format, args...))
	n.problems.list = append(n.problems.list, problem{n.node.Line, err})
}

// at returns another node of the same file.
func (n node) at(other *yaml.Node, path string) node { return node{Value{other, path}, n.problems} }

// below returns the node with the path of one of its members, which may be missing.
func (n node) below(name string) node { return n.at(n.node, join(n.path, name)) }

// name returns the text of a key, or of a reference.
func (n node) name() string { return n.node.Value }

// handler reads one property.
type handler func(node)

// handlers maps the supported properties to their handlers.
type handlers map[string]handler

// acceptUnused accepts a property that has no use in one process; the text is the reason.
func acceptUnused(string) handler { return func(node) {} }

// object returns the handler of an object with these members.
func object(known handlers) handler { return func(n node) { n.object(known) } }

// object passes each member of n to its handler; a member without one is a problem.
func (n node) object(known handlers) {
	for key, value := range n.members() {
		if handle, ok := known[key.name()]; ok {
			handle(value)
			continue
		}
		key.fail("is not something that the one-process deployment can honour")
	}
}

// members yields the keys and values of a mapping, in order; duplicate keys are problems.
func (n node) members() iter.Seq2[node, node] {
	return func(yield func(key, value node) bool) {
		if n.node.Kind != yaml.MappingNode || intrinsic(n.node) {
			n.fail("must be a mapping")
			return
		}
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.node.Content); i += 2 {
			path := join(n.path, n.node.Content[i].Value)
			key, value := n.at(n.node.Content[i], path), n.at(n.node.Content[i+1], path)
			if seen[key.name()] {
				key.fail("is said twice")
				continue
			}
			seen[key.name()] = true
			if !yield(key, value) {
				return
			}
		}
	}
}

// items returns the items of a sequence.
func (n node) items() (list []node) {
	if n.node.Kind != yaml.SequenceNode || intrinsic(n.node) {
		n.fail("must be a list")
		return nil
	}
	for _, item := range n.node.Content {
		list = append(list, n.at(item, n.path))
	}
	return list
}

// text returns the text of a literal scalar.
func (n node) text() string {
	if n.node.Kind != yaml.ScalarNode || intrinsic(n.node) {
		n.fail("must be a plain value, known before the deployment")
		return ""
	}
	return n.node.Value
}

// number returns a literal whole number in a range.
func (n node) number(least, most int, unit string) int {
	got, err := strconv.Atoi(n.text())
	if err != nil || got < least || got > most {
		n.fail("must be %d to %d %s", least, most, unit)
		return 0
	}
	return got
}

// into returns a handler that stores a literal scalar.
func into(to *string) handler { return func(n node) { *to = n.text() } }

// list returns a handler that stores the literal scalars of a sequence.
func list(to *[]string) handler {
	return func(n node) {
		for _, item := range n.items() {
			*to = append(*to, item.text())
		}
	}
}

// value returns a handler that stores a value to resolve later.
func value(to *Value) handler { return func(n node) { *to = n.Value } }

// oneOf accepts only the values that one process supports.
func oneOf(values ...string) handler {
	return func(n node) {
		if got := n.text(); !slices.Contains(values, got) {
			n.fail("%q is not supported here: only %s", got, strings.Join(values, ", "))
		}
	}
}

// values stores the members of a mapping as values to resolve later.
func values(to map[string]Value) handler {
	return func(n node) {
		for key, value := range n.members() {
			to[key.name()] = value.Value
		}
	}
}

// require reports the missing members of n.
func (n node) require(names ...string) {
	for _, name := range names {
		if member(n.node, name) == nil {
			n.fail("%s is missing", name)
		}
	}
}

// member returns the value of a key of a mapping, or nil.
func member(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
