package render

import (
	"reflect"
	"text/template/parse"
)

// pipe evaluates a pipeline and declares, or sets, its variables.
func (e *execution) pipe(dot reflect.Value, n *parse.PipeNode) (reflect.Value, error) {
	var value reflect.Value
	for i, c := range n.Cmds {
		final := []reflect.Value{value} // the last argument, which is the value of the previous command
		if i == 0 {
			final = nil
		}
		var err error
		if value, err = e.command(dot, c, final); err != nil {
			return value, err
		}
		if value.IsValid() && value.Kind() == reflect.Interface && value.NumMethod() == 0 {
			value = value.Elem()
		}
	}
	for _, v := range n.Decl {
		name := v.Ident[0]
		if !n.IsAssign {
			e.vars = append(e.vars, variable{name, value})
			continue
		}
		for i := len(e.vars) - 1; i >= 0; i-- {
			if e.vars[i].name == name {
				e.vars[i].value = value
				break
			}
		}
	}
	return value, nil
}

// command evaluates one command of a pipeline.
func (e *execution) command(dot reflect.Value, n *parse.CommandNode, final []reflect.Value) (reflect.Value, error) {
	first := n.Args[0]
	if f, ok := first.(*parse.IdentifierNode); ok {
		return e.call(dot, f, n.Args[1:], final)
	}
	if len(n.Args) > 1 || final != nil {
		return reflect.Value{}, e.at(first, "%s is no function", first)
	}
	return e.value(dot, first)
}

// value evaluates a node that is no call.
func (e *execution) value(dot reflect.Value, n parse.Node) (reflect.Value, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return e.fields(n, dot, n.Ident)
	case *parse.VariableNode:
		return e.fields(n, e.variable(n.Ident[0]), n.Ident[1:])
	case *parse.ChainNode:
		from, err := e.value(dot, n.Node)
		if err != nil {
			return from, err
		}
		return e.fields(n, from, n.Field)
	case *parse.PipeNode:
		return e.pipe(dot, n)
	case *parse.IdentifierNode:
		return e.call(dot, n, nil, nil)
	case *parse.BoolNode:
		return reflect.ValueOf(n.True), nil
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *parse.NilNode:
		return reflect.Value{}, nil
	case *parse.NumberNode:
		switch {
		case n.IsInt:
			return reflect.ValueOf(int(n.Int64)), nil
		case n.IsFloat:
			return reflect.ValueOf(n.Float64), nil
		}
	}
	return reflect.Value{}, e.at(n, "%s has no value", n)
}

// variable returns the innermost variable of a name; the parser checked its declaration.
func (e *execution) variable(name string) reflect.Value {
	for i := len(e.vars) - 1; i >= 0; i-- {
		if e.vars[i].name == name {
			return e.vars[i].value
		}
	}
	return reflect.Value{}
}

// fields follows names into structs and maps. A missing key of a map gives an invalid value.
func (e *execution) fields(n parse.Node, v reflect.Value, names []string) (reflect.Value, error) {
	for _, name := range names {
		from := v
		if v = element(v); !v.IsValid() {
			if from.IsValid() {
				return v, e.at(n, "%s of a nil %s", name, from.Type())
			}
			return v, nil
		}
		switch {
		case v.Kind() == reflect.Struct:
			f, ok := v.Type().FieldByName(name)
			if !ok || !f.IsExported() {
				return v, e.at(n, "%s has no field %s", v.Type(), name)
			}
			var err error
			if v, err = v.FieldByIndexErr(f.Index); err != nil {
				return v, e.at(n, "%w", err)
			}
		case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
			v = v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key()))
		default:
			return v, e.at(n, "%s has no field %s", v.Type(), name)
		}
	}
	return v, nil
}
