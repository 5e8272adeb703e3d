// Package render executes templates: the prompts for a model and the pages for a person. It executes the trees of
// text/template/parse with the meaning of text/template, with one difference: a template calls no method. It reads
// fields, keys and elements, and calls the given functions.
//
// A method call by a name known only at run time makes the linker keep every exported method of every type of a
// program. In a function that talks to AWS these are megabytes, which are read at each cold start.
//
// The package does not parse HTML either. html/template decides before the build which values of a page need which
// escaping, and internal/edge/webui stores this beside the templates. The escaping functions are in escape.go.
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

// HTML is text that needs no escaping, because every value in it was escaped before.
type HTML string

// Funcs maps the names that templates use to functions. A function returns one result, or one and an error.
type Funcs map[string]any

// Set holds templates that may call one another. Each is parsed once, when it is first executed. It is safe for
// concurrent use.
type Set struct {
	sources map[string]string

	mu    sync.Mutex
	trees map[string]*parse.Tree
}

// New returns a Set of templates from sources by name.
func New(sources map[string]string) *Set {
	return &Set{sources: sources, trees: map[string]*parse.Tree{}}
}

const define = `{{define "`

// Sections returns the sources in a text of {{define "name"}}…{{end}}. Each define begins a line, as Join writes
// it.
func Sections(text string) map[string]string {
	sources := map[string]string{}
	for _, section := range strings.Split(text, "\n"+define)[1:] {
		name, body, _ := strings.Cut(section, `"}}`)
		end := strings.LastIndex(body, "{{end}}")
		sources[name] = body[:max(end, 0)]
	}
	return sources
}

// Join writes sources in the form that Sections reads.
func Join(sources map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		b.WriteString("\n" + define + name + `"}}` + sources[name] + "{{end}}\n")
	}
	return b.String()
}

// tree returns a parsed template.
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
	t.Mode = parse.SkipFuncCheck // the functions are given at execution
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

// Execute writes the template called name for data. Output that was written before an error stays.
func (s *Set) Execute(w io.Writer, name string, data any, funcs Funcs) error {
	e := execution{set: s, w: w, funcs: funcs}
	return e.template(name, reflect.ValueOf(data))
}

// deepest limits how deeply templates may call one another.
const deepest = 1000

// execution is the state of one Execute.
type execution struct {
	set   *Set
	w     io.Writer
	funcs Funcs
	vars  []variable // a stack
	depth int
	tmpl  *parse.Tree // the template in execution
}

// variable is one $name.
type variable struct {
	name  string
	value reflect.Value
}

// template executes a template with its own variables.
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

// at adds the position in the template to an error.
func (e *execution) at(n parse.Node, format string, args ...any) error {
	location, context := e.tmpl.ErrorContext(n)
	return fmt.Errorf("render: %s: %s: %w", location, context, fmt.Errorf(format, args...))
}
