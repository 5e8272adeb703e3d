// Package render owns how a template becomes text: the prompts for a model and the
// pages for a person. It executes what text/template/parse reads, with the meaning
// that text/template gives it, but for one thing: a template calls no method. It
// reads fields, keys and elements, and calls the functions it is given.
//
// A method that is called by a name known only at run time makes the linker keep
// every exported method of every type of a program. In a function that talks to AWS
// these are megabytes, which are read at each cold start.
//
// It knows no HTML either. Where a page's values stand, and what has to be escaped
// there, html/template says before the program is built (internal/edge/webui keeps what it
// said beside the templates); the functions that it asks for are in escape.go.
package render

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"text/template/parse"
)

// HTML is text that needs no escaping: every value in it was escaped before.
type HTML string

// Funcs are functions of one result, or of one and an error, by the name that
// templates call them.
type Funcs map[string]any

// Set is templates that may call one another. Each is parsed when it is first
// executed, and once. It may be used by many at a time.
type Set struct {
	sources map[string]string

	mu    sync.Mutex
	trees map[string]*parse.Tree
}

// New returns the templates whose sources are given by their names.
func New(sources map[string]string) *Set {
	return &Set{sources: sources, trees: map[string]*parse.Tree{}}
}

const define = `{{define "`

// Sections returns the sources in a text of {{define "name"}}…{{end}}, each of which
// begins a line, as Join writes it.
func Sections(text string) map[string]string {
	sources := map[string]string{}
	for _, section := range strings.Split(text, "\n"+define)[1:] {
		name, body, _ := strings.Cut(section, `"}}`)
		end := strings.LastIndex(body, "{{end}}")
		sources[name] = body[:max(end, 0)]
	}
	return sources
}

// Join writes sources so that Sections reads them.
func Join(sources map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		b.WriteString("\n" + define + name + `"}}` + sources[name] + "{{end}}\n")
	}
	return b.String()
}

// Names returns the names of the templates, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.sources)) }

// tree returns a template, parsed.
func (s *Set) tree(name string) (*parse.Tree, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.trees[name]; t != nil {
		return t, nil
	}
	source, ok := s.sources[name]
	if !ok {
		return nil, fmt.Errorf("render: no template %q", name)
	}
	t := parse.New(name)
	t.Mode = parse.SkipFuncCheck // they are given when it is executed
	nested := map[string]*parse.Tree{}
	if _, err := t.Parse(source, "", "", nested); err != nil {
		return nil, err
	}
	if len(nested) > 1 {
		return nil, fmt.Errorf("render: %s: a template within it", name)
	}
	s.trees[name] = t
	return t, nil
}

// Execute writes the template called name for data. What was written before an error
// stays written.
func (s *Set) Execute(w io.Writer, name string, data any, funcs Funcs) error {
	e := execution{set: s, w: w, funcs: funcs}
	return e.template(name, reflect.ValueOf(data))
}

// deepest is how far templates may call one another.
const deepest = 1000

// execution is one Execute.
type execution struct {
	set   *Set
	w     io.Writer
	funcs Funcs
	vars  []variable // a stack
	depth int
	tmpl  *parse.Tree // being executed
}

// variable is one $name.
type variable struct {
	name  string
	value reflect.Value
}

// template executes a template with variables of its own.
func (e *execution) template(name string, dot reflect.Value) error {
	tree, err := e.set.tree(name)
	if err != nil {
		return err
	}
	if e.depth == deepest {
		return fmt.Errorf("render: %s calls itself without end", name)
	}
	inner := execution{
		set: e.set, w: e.w, funcs: e.funcs, depth: e.depth + 1, tmpl: tree,
		vars: []variable{{"$", dot}},
	}
	if tree.Root == nil {
		return nil
	}
	return inner.list(dot, tree.Root)
}

// at says where in which template an error happened.
func (e *execution) at(n parse.Node, format string, args ...any) error {
	place, context := e.tmpl.ErrorContext(n)
	return fmt.Errorf("render: %s: %s: %w", place, context, fmt.Errorf(format, args...))
}
