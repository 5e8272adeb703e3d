package render

import (
	"fmt"
	"reflect"
	"text/template/parse"
)

// call calls a function with its arguments, and with the value of the previous command as the last one.
func (e *execution) call(dot reflect.Value, f *parse.IdentifierNode, nodes []parse.Node, final []reflect.Value) (reflect.Value, error) {
	if f.Ident == "and" || f.Ident == "or" {
		return e.logic(dot, f, nodes, final)
	}
	args := make([]reflect.Value, 0, len(nodes)+len(final))
	for _, n := range nodes {
		v, err := e.value(dot, n)
		if err != nil {
			return v, err
		}
		args = append(args, v)
	}
	args = append(args, final...)
	if builtin, ok := builtins[f.Ident]; ok {
		v, err := builtin(args)
		if err != nil {
			err = e.at(f, "%s: %w", f.Ident, err)
		}
		return v, err
	}
	function := reflect.ValueOf(e.funcs[f.Ident])
	if !function.IsValid() {
		return function, e.at(f, "no function %s", f.Ident)
	}
	v, err := apply(function, args)
	if err != nil {
		err = e.at(f, "%s: %w", f.Ident, err)
	}
	return v, err
}

// logic evaluates the arguments of and, and of or, until the result is known.
func (e *execution) logic(dot reflect.Value, f *parse.IdentifierNode, nodes []parse.Node, final []reflect.Value) (reflect.Value, error) {
	var v reflect.Value
	for _, n := range nodes {
		var err error
		if v, err = e.value(dot, n); err != nil {
			return v, err
		}
		if isTrue(v) == (f.Ident == "or") {
			return v, nil
		}
	}
	if final != nil {
		return final[0], nil
	}
	if len(nodes) == 0 {
		return v, e.at(f, "%s needs an argument", f.Ident)
	}
	return v, nil
}

// apply calls a Go function.
func apply(function reflect.Value, args []reflect.Value) (reflect.Value, error) {
	t := function.Type()
	if n := t.NumIn(); len(args) != n && !(t.IsVariadic() && len(args) >= n-1) {
		return reflect.Value{}, fmt.Errorf("%d arguments for %d", len(args), n)
	}
	in := make([]reflect.Value, len(args))
	for i, v := range args {
		want := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= t.NumIn()-1 {
			want = want.Elem()
		}
		var err error
		if in[i], err = fit(v, want); err != nil {
			return reflect.Value{}, err
		}
	}
	out := function.Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		err, _ := out[1].Interface().(error)
		return reflect.Value{}, err
	}
	return out[0], nil
}

// fit converts a value to the type of a parameter: the value itself, the value in an interface, or the value behind
// a pointer.
func fit(v reflect.Value, want reflect.Type) (reflect.Value, error) {
	if !v.IsValid() {
		switch want.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Func:
			return reflect.Zero(want), nil
		}
		return v, fmt.Errorf("no value for a %s", want)
	}
	for v.IsValid() {
		if v.Type().AssignableTo(want) {
			return v, nil
		}
		if v.CanInt() && want.Kind() == reflect.Float64 || v.CanInt() && want.Kind() == reflect.Int64 && v.Type() == reflect.TypeFor[int]() {
			return v.Convert(want), nil // a number literal of a template
		}
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
			return v, fmt.Errorf("a %s for a %s", v.Type(), want)
		}
		v = v.Elem()
	}
	return v, fmt.Errorf("nil for a %s", want)
}
