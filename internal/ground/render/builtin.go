package render

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// builtins maps the names of the functions that every template has.
var builtins map[string]func([]reflect.Value) (reflect.Value, error)

func init() {
	builtins = map[string]func([]reflect.Value) (reflect.Value, error){
		"not":   one(func(v reflect.Value) (any, error) { return !isTrue(v), nil }),
		"len":   one(length),
		"index": index,
		"print": func(args []reflect.Value) (reflect.Value, error) {
			return reflect.ValueOf(fmt.Sprint(interfaces(args)...)), nil
		},
		"eq": comparison(func(order int) bool { return order == 0 }, true),
		"ne": comparison(func(order int) bool { return order != 0 }, true),
		"lt": comparison(func(order int) bool { return order < 0 }, false),
		"le": comparison(func(order int) bool { return order <= 0 }, false),
		"gt": comparison(func(order int) bool { return order > 0 }, false),
		"ge": comparison(func(order int) bool { return order >= 0 }, false),

		"html": escaper(escapeHTML), "attr": escaper(escapeAttr), "rcdata": escaper(escapeRCDATA),
		"urlfilter": escaper(filterURL), "urlnormal": escaper(normalURL), "urlpart": escaper(escapeURL),
		"script": one(escapeScript),
	}
}

// one wraps a function of one argument.
func one(f func(reflect.Value) (any, error)) func([]reflect.Value) (reflect.Value, error) {
	return func(args []reflect.Value) (reflect.Value, error) {
		if len(args) != 1 {
			return reflect.Value{}, fmt.Errorf("%d arguments for 1", len(args))
		}
		v, err := f(args[0])
		return reflect.ValueOf(v), err
	}
}

func length(v reflect.Value) (any, error) {
	switch v = element(v); v.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return v.Len(), nil
	}
	return nil, errors.New("it has no length")
}

// index returns an element of a list or a map, and indexes it again for each further argument. A missing key of a
// map gives the zero value.
func index(args []reflect.Value) (reflect.Value, error) {
	if len(args) == 0 {
		return reflect.Value{}, errors.New("of nothing")
	}
	v := args[0]
	for _, i := range args[1:] {
		v, i = element(v), element(i)
		switch {
		case v.IsValid() && v.Kind() == reflect.Map:
			key, err := fit(i, v.Type().Key())
			if err != nil {
				return v, err
			}
			found := v.MapIndex(key)
			if !found.IsValid() {
				found = reflect.Zero(v.Type().Elem())
			}
			v = found
		case v.IsValid() && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array || v.Kind() == reflect.String) && i.IsValid() && i.CanInt():
			if at := i.Int(); at < 0 || at >= int64(v.Len()) {
				return v, fmt.Errorf("%d of %d", at, v.Len())
			}
			v = v.Index(int(i.Int()))
		default:
			return v, errors.New("it has no elements")
		}
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
	}
	return v, nil
}

// comparison returns a function that compares the first argument with the others, until one comparison holds.
func comparison(holds func(order int) bool, equality bool) func([]reflect.Value) (reflect.Value, error) {
	return func(args []reflect.Value) (reflect.Value, error) {
		if len(args) < 2 {
			return reflect.Value{}, errors.New("it compares two")
		}
		for _, other := range args[1:] {
			order, err := compare(args[0], other, equality)
			if err != nil || holds(order) {
				return reflect.ValueOf(err == nil), err
			}
		}
		return reflect.ValueOf(false), nil
	}
}

// compare orders two values of one kind. For values that can only be equal or not it returns 0 or 1.
func compare(a, b reflect.Value, equality bool) (int, error) {
	a, b = unwrap(a), unwrap(b)
	switch {
	case !a.IsValid() || !b.IsValid():
		if !equality {
			return 0, errors.New("nothing has no order")
		}
		if a.IsValid() == b.IsValid() {
			return 0, nil
		}
		return 1, nil
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return strings.Compare(a.String(), b.String()), nil
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int()), nil
	case a.CanFloat() && b.CanFloat():
		return cmp.Compare(a.Float(), b.Float()), nil
	case equality && a.Kind() == reflect.Bool && b.Kind() == reflect.Bool:
		if a.Bool() == b.Bool() {
			return 0, nil
		}
		return 1, nil
	}
	return 0, fmt.Errorf("a %s with a %s", a.Type(), b.Type())
}

func unwrap(v reflect.Value) reflect.Value {
	if v.IsValid() && v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// interfaces returns values in the form that fmt takes; an invalid one is nil.
func interfaces(args []reflect.Value) []any {
	list := make([]any, len(args))
	for i, v := range args {
		if v.IsValid() {
			list[i] = v.Interface()
		}
	}
	return list
}
