package template

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// placeholder matches a substitution of a definition.
var placeholder = regexp.MustCompile(`\$\{[A-Za-z0-9_]+\}`)

func replaceAll(text []byte, old, with string) []byte {
	return bytes.ReplaceAll(text, []byte(old), []byte(with))
}

// problem is one fault with its place.
type problem struct {
	file string
	line int
	path string
	text string
}

func (p problem) Error() string {
	return fmt.Sprintf("%s:%d: %s: %s", p.file, p.line, p.path, p.text)
}

// reader collects a template and its problems.
type reader struct {
	file     string
	out      *Template
	problems []problem
	globals  map[string]*yaml.Node // section of Globals → properties

	integrations map[string]string // of the WebSocket API → the function it calls
}

func (r *reader) fail(n *yaml.Node, path, format string, args ...any) {
	r.problems = append(r.problems, problem{r.file, n.Line, path, fmt.Sprintf(format, args...)})
}

// handler reads one property.
type handler func(n *yaml.Node, path string)

// handlers maps the supported properties to their handlers.
type handlers map[string]handler

// acceptUnused accepts a property that has no use in one process; the text is the reason.
func acceptUnused(string) handler { return func(*yaml.Node, string) {} }

// object passes each member of n to its handler; a member without one is a problem.
func (r *reader) object(n *yaml.Node, path string, known handlers) {
	for key, value := range r.members(n, path) {
		at := join(path, key.Value)
		if handle, ok := known[key.Value]; ok {
			handle(value, at)
			continue
		}
		r.fail(key, at, "is not something that the one-process deployment can honour")
	}
}

// members yields the members of a mapping, in order; duplicate keys are problems.
func (r *reader) members(n *yaml.Node, path string) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode || intrinsic(n) {
			r.fail(n, path, "must be a mapping")
			return
		}
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if seen[key.Value] {
				r.fail(key, join(path, key.Value), "is said twice")
				continue
			}
			seen[key.Value] = true
			if !yield(key, n.Content[i+1]) {
				return
			}
		}
	}
}

// items returns the items of a sequence.
func (r *reader) items(n *yaml.Node, path string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode || intrinsic(n) {
		r.fail(n, path, "must be a list")
		return nil
	}
	return n.Content
}

// text returns the text of a literal scalar.
func (r *reader) text(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || intrinsic(n) {
		r.fail(n, path, "must be a plain value, known before the deployment")
		return ""
	}
	return n.Value
}

// into returns a handler that stores a literal scalar.
func (r *reader) into(to *string) handler {
	return func(n *yaml.Node, path string) { *to = r.text(n, path) }
}

// oneOf accepts only the values that one process supports.
func (r *reader) oneOf(values ...string) handler {
	return func(n *yaml.Node, path string) {
		if got := r.text(n, path); !slices.Contains(values, got) {
			r.fail(n, path, "%q is not supported here: only %s", got, strings.Join(values, ", "))
		}
	}
}

// values stores the members of a mapping as values to resolve later.
func (r *reader) values(to map[string]Value) handler {
	return func(n *yaml.Node, path string) {
		for key, value := range r.members(n, path) {
			to[key.Value] = Value{node: value, path: join(path, key.Value)}
		}
	}
}

// require reports the missing members of n.
func (r *reader) require(n *yaml.Node, path string, names ...string) {
	for _, name := range names {
		if member(n, name) == nil {
			r.fail(n, path, "%s is missing", name)
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
