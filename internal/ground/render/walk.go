package render

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"text/template/parse"

	"piloto/internal/ground/order"
)

// list executes the nodes of a list; variables declared in it end with it.
func (e *execution) list(dot reflect.Value, list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	mark := len(e.vars)
	defer func() { e.vars = e.vars[:mark] }()
	for _, n := range list.Nodes {
		if err := e.node(dot, n); err != nil {
			return err
		}
	}
	return nil
}

func (e *execution) node(dot reflect.Value, n parse.Node) error {
	switch n := n.(type) {
	case *parse.TextNode:
		_, err := e.w.Write(n.Text)
		return err
	case *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		value, err := e.pipe(dot, n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}
		return e.print(n, value)
	case *parse.IfNode:
		return e.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return e.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return e.each(dot, n)
	case *parse.TemplateNode:
		inner := reflect.Value{}
		if n.Pipe != nil {
			var err error
			if inner, err = e.pipe(dot, n.Pipe); err != nil {
				return err
			}
		}
		return e.template(n.Name, inner)
	}
	return e.at(n, "%T is not executed here", n)
}

// branch executes an if, or a with, which sets the dot to the value.
func (e *execution) branch(dot reflect.Value, n *parse.BranchNode, with bool) error {
	mark := len(e.vars)
	defer func() { e.vars = e.vars[:mark] }()
	value, err := e.pipe(dot, n.Pipe)
	if err != nil {
		return err
	}
	switch {
	case !isTrue(value):
		return e.list(dot, n.ElseList)
	case with:
		return e.list(value, n.List)
	}
	return e.list(dot, n.List)
}

// each executes a range over a list, or over a map by its sorted keys.
func (e *execution) each(dot reflect.Value, n *parse.RangeNode) error {
	mark := len(e.vars)
	defer func() { e.vars = e.vars[:mark] }()
	value, err := e.pipe(dot, n.Pipe)
	if err != nil {
		return err
	}
	if n.Pipe.IsAssign {
		return e.at(n, "a range declares its variables")
	}
	value = element(value)
	var keys, elements []reflect.Value
	switch {
	case !value.IsValid():
	case value.Kind() == reflect.Slice || value.Kind() == reflect.Array:
		for i := range value.Len() {
			keys, elements = append(keys, reflect.ValueOf(i)), append(elements, value.Index(i))
		}
	case value.Kind() == reflect.Map && value.Type().Key().Kind() == reflect.String:
		keys = value.MapKeys()
		order.By(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, k := range keys {
			elements = append(elements, value.MapIndex(k))
		}
	default:
		return e.at(n, "range over %s", value.Type())
	}
	if len(elements) == 0 {
		return e.list(dot, n.ElseList)
	}
	inner := len(e.vars)
	for i, v := range elements {
		switch decl := n.Pipe.Decl; len(decl) {
		case 1:
			e.vars = append(e.vars, variable{decl[0].Ident[0], v})
		case 2:
			e.vars = append(e.vars, variable{decl[0].Ident[0], keys[i]}, variable{decl[1].Ident[0], v})
		}
		if err := e.list(v, n.List); err != nil {
			return err
		}
		e.vars = e.vars[:inner]
	}
	return nil
}

// print writes a value as fmt does.
func (e *execution) print(n parse.Node, v reflect.Value) error {
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() {
		_, err := io.WriteString(e.w, "<no value>")
		return err
	}
	if v.Kind() == reflect.Func || v.Kind() == reflect.Chan {
		return e.at(n, "%s cannot be written", v.Type())
	}
	_, err := fmt.Fprint(e.w, v.Interface())
	return err
}

// element follows pointers and interfaces. It returns an invalid value for nil.
func element(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

// isTrue reports whether a value is not the empty one of its type. A struct is always true.
func isTrue(v reflect.Value) bool {
	if v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return false
	case v.Kind() == reflect.Struct:
		return true
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Map:
		return v.Len() > 0
	}
	return !v.IsZero()
}
