package webui

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"text/template/parse"
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
)

// roots are the templates that the code renders, with the types of their data.
var roots = map[string]reflect.Type{
	"page": reflect.TypeFor[shell](), "signin": reflect.TypeFor[signInView](), "error-page": reflect.TypeFor[failure](), "error-fragment": reflect.TypeFor[failure](),
	"chats": reflect.TypeFor[sidebar](), "chat": reflect.TypeFor[*chatView](), "new": reflect.TypeFor[*newView](), "card": reflect.TypeFor[*card](),
	"edit": reflect.TypeFor[*editView](), "receipt-page": reflect.TypeFor[*receiptView](), "runs": reflect.TypeFor[*runsView](), "waiting": reflect.TypeFor[*waitingView](),
	"servers": reflect.TypeFor[*serversView](), "server": reflect.TypeFor[*serverView](), "projects": reflect.TypeFor[*projectsView](), "project": reflect.TypeFor[*projectView](),
	"assistants": reflect.TypeFor[*assistantsView](), "assistant": reflect.TypeFor[*assistantView](), "credits": reflect.TypeFor[*creditsView](),
	"rules": reflect.TypeFor[*rulesView](), "webhooks": reflect.TypeFor[*webhooksView](), "hook-log": reflect.TypeFor[*logView](), "settings": reflect.TypeFor[settingsView](), "text": reflect.TypeFor[render.HTML](),
	"rows-page": reflect.TypeFor[[]any](), "edit-step": reflect.TypeFor[editStep](), "found": reflect.TypeFor[foundView](),
}

// builtinTypes are the types of what the functions of package render return; nil: it depends on the arguments.
var builtinTypes = map[string]reflect.Type{
	"and": nil, "or": nil, "index": nil, "not": boolType, "len": reflect.TypeFor[int](), "print": stringType, "eq": boolType, "ne": boolType, "lt": boolType, "le": boolType,
	"gt": boolType, "ge": boolType, "html": stringType, "attr": stringType, "rcdata": stringType, "urlfilter": stringType, "urlnormal": stringType, "urlpart": stringType, "script": stringType,
}

var (
	boolType   = reflect.TypeFor[bool]()
	stringType = reflect.TypeFor[string]()
)

// TestTemplatesMatchTheTypesOfTheirViews: every field, call and nested template of every template exists and has the
// type that its place wants, also in branches that no other test renders. What is in an interface is not known.
func TestTemplatesMatchTheTypesOfTheirViews(t *testing.T) {
	for _, problem := range checkTemplates(t, render.Sections(escapedTemplates), roots) {
		t.Error(problem)
	}
}

// TestTheCheckFindsMistakes of each kind that it is there for.
func TestTheCheckFindsMistakes(t *testing.T) {
	type inner struct{ Name string }
	type view struct {
		List []inner
		One  *inner
		N    int
	}
	root := map[string]reflect.Type{"a": reflect.TypeFor[view]()}
	for _, good := range []string{
		`{{range .List}}{{.Name}}{{else}}{{.N}}{{end}}`, `{{with .One}}{{.Name}}{{end}}`, `{{$v := .}}{{range $i, $e := .List}}{{$v.N}}{{$i}}{{$e.Name}}{{end}}`,
		`{{(index .List 0).Name}}`, `{{if and .One .N}}{{t "page.brand"}}{{end}}`, `{{template "a" .}}`, `{{$.N}}`, `{{len .List}}`, `{{plain .One.Name}}`,
	} {
		if found := checkTemplates(t, map[string]string{"a": good}, root); len(found) != 0 {
			t.Errorf("%s: %v", good, found)
		}
	}
	for _, bad := range []string{
		`{{.Nope}}`, `{{range .List}}{{.N}}{{end}}`, `{{with .One}}{{.N}}{{end}}`, `{{template "b"}}`, `{{template "a" .One}}`, `{{nope .N}}`, `{{plain .N}}`, `{{plain}}`,
		`{{range .N}}{{end}}`, `{{(index .List 0).N}}`, `{{$v := .One}}{{$v.List}}`, `{{.One.Name.X}}`, `{{plain "a" "b"}}`, `{{if .N}}{{else}}{{.Nope}}{{end}}`, `{{set .N}}`, `{{.N}}{{template "a"}}`,
	} {
		if found := checkTemplates(t, map[string]string{"a": bad}, root); len(found) == 0 {
			t.Errorf("%s is found to be right", bad)
		}
	}
}

// checker follows the types through the templates. A nil type is unknown, and nothing is checked of it.
type checker struct {
	trees map[string]*parse.Tree
	funcs map[string]reflect.Type
	seen  map[string]bool // templates with the type of their data
	used  map[string]bool
	found []string

	name string // of the template that is checked
	vars []typed
}

type typed struct {
	name string
	kind reflect.Type
}

// noData is the type of the data of a template that is called without any.
type noData struct{}

func checkTemplates(t *testing.T, sources map[string]string, roots map[string]reflect.Type) []string {
	t.Helper()
	c := &checker{trees: map[string]*parse.Tree{}, funcs: map[string]reflect.Type{}, seen: map[string]bool{}, used: map[string]bool{}}
	for name, source := range sources {
		tree := parse.New(name)
		tree.Mode = parse.SkipFuncCheck
		if _, err := tree.Parse(source, "", "", map[string]*parse.Tree{}); err != nil {
			t.Fatal(err)
		}
		c.trees[name] = tree
	}
	for name, f := range templateFuncs(loadAssets(), words{tag: locale.Spanish, now: time.Now}) {
		c.funcs[name] = reflect.TypeOf(f)
	}
	for _, name := range slices.Sorted(maps.Keys(roots)) {
		c.template(name, roots[name])
	}
	for name := range c.trees {
		if !c.used[name] {
			c.say("nothing renders %s", name)
		}
	}
	return c.found
}

func (c *checker) say(format string, args ...any) {
	c.found = append(c.found, c.name+": "+fmt.Sprintf(format, args...))
}

func (c *checker) template(name string, data reflect.Type) {
	key := fmt.Sprint(name, " ", data)
	tree := c.trees[name]
	switch c.used[name] = true; {
	case tree == nil:
		c.say("there is no template %s", name)
		return
	case c.seen[key]:
		return
	}
	c.seen[key] = true
	outer, vars := c.name, c.vars
	c.name, c.vars = name, []typed{{"$", data}}
	c.list(data, tree.Root)
	c.name, c.vars = outer, vars
}

func (c *checker) list(dot reflect.Type, list *parse.ListNode) {
	if list == nil {
		return
	}
	mark := len(c.vars)
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			c.pipe(dot, n.Pipe)
		case *parse.TemplateNode:
			data := reflect.TypeFor[noData]()
			if n.Pipe != nil {
				data = c.pipe(dot, n.Pipe)
			}
			c.template(n.Name, data)
		case *parse.IfNode:
			c.branch(dot, &n.BranchNode, func(reflect.Type) reflect.Type { return dot })
		case *parse.WithNode:
			c.branch(dot, &n.BranchNode, func(value reflect.Type) reflect.Type { return value })
		case *parse.RangeNode:
			c.branch(dot, &n.BranchNode, func(value reflect.Type) reflect.Type { return c.each(n, value) })
		}
	}
	c.vars = c.vars[:mark]
}

// branch checks both lists of a node; inner returns the type of the dot in the first.
func (c *checker) branch(dot reflect.Type, n *parse.BranchNode, inner func(reflect.Type) reflect.Type) {
	mark := len(c.vars)
	c.list(inner(c.pipe(dot, n.Pipe)), n.List)
	c.list(dot, n.ElseList)
	c.vars = c.vars[:mark]
}

// each returns the type of the elements of what a range goes over, and gives its variables their types.
func (c *checker) each(n *parse.RangeNode, over reflect.Type) reflect.Type {
	key, element := reflect.TypeFor[int](), reflect.Type(nil)
	switch over = behind(over); {
	case over == nil:
	case over.Kind() == reflect.Slice || over.Kind() == reflect.Array:
		element = over.Elem()
	case over.Kind() == reflect.Map:
		key, element = over.Key(), over.Elem()
	default:
		c.say("range over a %s: %s", over, n.Pipe)
	}
	switch kinds := []reflect.Type{key, element}; len(n.Pipe.Decl) {
	case 1:
		c.vars[len(c.vars)-1].kind = element
	case 2:
		for i := range 2 {
			c.vars[len(c.vars)-2+i].kind = kinds[i]
		}
	}
	return element
}

func (c *checker) pipe(dot reflect.Type, p *parse.PipeNode) reflect.Type {
	var value reflect.Type
	for i, command := range p.Cmds {
		value = c.command(dot, command, i > 0, value)
	}
	for _, v := range p.Decl {
		if !p.IsAssign {
			c.vars = append(c.vars, typed{v.Ident[0], value})
		}
	}
	return value
}

// command returns the type of a command; piped is whether it gets the value of the one before it.
func (c *checker) command(dot reflect.Type, n *parse.CommandNode, piped bool, final reflect.Type) reflect.Type {
	f, call := n.Args[0].(*parse.IdentifierNode)
	if !call {
		if len(n.Args) > 1 || piped {
			c.say("%s is no function", n)
		}
		return c.value(dot, n.Args[0])
	}
	var args []reflect.Type
	var literal []bool
	for _, a := range n.Args[1:] {
		args = append(args, c.value(dot, a))
		_, number := a.(*parse.NumberNode)
		literal = append(literal, number)
	}
	if piped {
		args, literal = append(args, final), append(literal, false)
	}
	if kind, ok := builtinTypes[f.Ident]; ok {
		return c.builtin(f.Ident, n, args, kind)
	}
	kind := c.funcs[f.Ident]
	if kind == nil {
		c.say("there is no function %s", f.Ident)
		return nil
	}
	fixed := kind.NumIn()
	if kind.IsVariadic() {
		fixed--
	}
	if len(args) < fixed || len(args) > fixed && !kind.IsVariadic() {
		c.say("%s: %d arguments for %d", n, len(args), fixed)
		return kind.Out(0)
	}
	for i, arg := range args {
		want := kind.In(min(i, kind.NumIn()-1))
		if i >= fixed {
			want = want.Elem()
		}
		if arg != nil && !fits(arg, want) && !literal[i] {
			c.say("%s: a %s for a %s", n, arg, want)
		}
	}
	return kind.Out(0)
}

// fits reports whether render passes a value of a type to a parameter: as it is, or what a pointer leads to.
func fits(arg, want reflect.Type) bool {
	for ; ; arg = arg.Elem() {
		if arg.AssignableTo(want) || arg.Kind() == reflect.Interface {
			return true
		}
		if arg.Kind() != reflect.Pointer {
			return arg == reflect.TypeFor[int]() && want.Kind() == reflect.Int64
		}
	}
}

func (c *checker) builtin(name string, n parse.Node, args []reflect.Type, kind reflect.Type) reflect.Type {
	switch {
	case len(args) == 0:
		c.say("%s has no argument", n)
	case name == "index":
		of := behind(args[0])
		for range args[1:] {
			if of == nil || of.Kind() != reflect.Slice && of.Kind() != reflect.Array && of.Kind() != reflect.Map {
				return nil
			}
			of = of.Elem()
		}
		return of
	case name == "and" || name == "or":
		for _, arg := range args {
			if arg != args[0] {
				return nil
			}
		}
		return args[0]
	}
	return kind
}

func (c *checker) value(dot reflect.Type, n parse.Node) reflect.Type {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return c.fields(n, dot, n.Ident)
	case *parse.ChainNode:
		return c.fields(n, c.value(dot, n.Node), n.Field)
	case *parse.VariableNode:
		for _, v := range slices.Backward(c.vars) {
			if v.name == n.Ident[0] {
				return c.fields(n, v.kind, n.Ident[1:])
			}
		}
	case *parse.PipeNode:
		return c.pipe(dot, n)
	case *parse.IdentifierNode: // a call without arguments
		return c.command(dot, &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{n}}, false, nil)
	case *parse.StringNode:
		return stringType
	case *parse.BoolNode:
		return boolType
	case *parse.NumberNode:
		return reflect.TypeFor[int]()
	}
	return nil
}

func (c *checker) fields(n parse.Node, from reflect.Type, names []string) reflect.Type {
	for _, name := range names {
		switch from = behind(from); {
		case from == nil:
			return nil
		case from.Kind() == reflect.Struct:
			f, ok := from.FieldByName(name)
			if !ok || !f.IsExported() {
				c.say("%s: a %s has no field %s", n, from, name)
				return nil
			}
			from = f.Type
		case from.Kind() == reflect.Map && from.Key().Kind() == reflect.String:
			from = from.Elem()
		default:
			c.say("%s: a %s has no field %s", n, from, name)
			return nil
		}
	}
	return from
}

// behind returns the type behind pointers; nil for an interface.
func behind(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && t.Kind() == reflect.Interface {
		return nil
	}
	return t
}
