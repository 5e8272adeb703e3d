package stepfunctions

import (
	"errors"
	"strings"
)

// A template is a payload template (Parameters, ResultSelector, ItemSelector):
// JSON in which a field whose name ends in ".$" has its value computed.
type template struct {
	literal any // set when no field below is computed
	object  []templateField
	array   []template
	kind    templateKind
}

type templateKind int

const (
	templateLiteral templateKind = iota
	templateObject
	templateArray
)

type templateField struct {
	name string // without ".$"
	expr *expression
	sub  template
}

// compileTemplate compiles v, whose JSON pointer is at.
func compileTemplate(v any, at string, report func(pointer, message string)) template {
	switch v := v.(type) {
	case object:
		return compileObject(v, at, report)
	case []any:
		t := template{kind: templateArray, literal: v}
		computed := false
		for i, item := range v {
			sub := compileTemplate(item, pointer(at, i), report)
			computed = computed || sub.kind != templateLiteral
			t.array = append(t.array, sub)
		}
		if !computed {
			return template{literal: v}
		}
		return t
	}
	return template{literal: v}
}

func compileObject(v object, at string, report func(pointer, message string)) template {
	t := template{kind: templateObject}
	computed := false
	seen := map[string]bool{}
	for _, m := range v {
		here := pointer(at, m.key)
		name, dynamic := strings.CutSuffix(m.key, ".$")
		if seen[name] {
			report(here, "The field '"+name+"' is given twice")
		}
		seen[name] = true
		if !dynamic {
			sub := compileTemplate(m.val, here, report)
			computed = computed || sub.kind != templateLiteral
			t.object = append(t.object, templateField{name: name, sub: sub})
			continue
		}
		computed = true
		source, ok := m.val.(string)
		if !ok {
			report(here, "The value for the field '"+m.key+"' must be a STRING that contains a JSONPath or an intrinsic function call")
			continue
		}
		expr, err := parseExpression(source)
		if err != nil {
			report(here, "The value for the field '"+m.key+"' must be a valid JSONPath or a valid intrinsic function call: "+err.Error())
			continue
		}
		t.object = append(t.object, templateField{name: name, expr: &expr})
	}
	if !computed {
		return template{literal: v}
	}
	return t
}

// fill computes the template over data and the context object. Failures are
// *fieldError (a path that selects nothing) or *intrinsicError.
func (t *template) fill(data, context any) (any, error) {
	switch t.kind {
	case templateArray:
		out := make([]any, len(t.array))
		for i := range t.array {
			v, err := t.array[i].fill(data, context)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case templateObject:
		out := make(object, 0, len(t.object))
		for i := range t.object {
			v, err := t.object[i].value(data, context)
			if err != nil {
				return nil, err
			}
			out = append(out, member{t.object[i].name, v})
		}
		return out, nil
	}
	return t.literal, nil
}

func (f *templateField) value(data, context any) (any, error) {
	if f.expr == nil {
		return f.sub.fill(data, context)
	}
	v, err := f.expr.evaluate(data, context)
	if past := (pastEndError{}); errors.As(err, &past) { // null, as recorded; in a call it fails
		return nil, nil
	}
	if errors.Is(err, errPath) {
		return nil, &fieldError{field: f.name + ".$", source: f.expr.source, err: err}
	}
	return v, err
}

// fieldError reports a path of a field that selects nothing.
type fieldError struct {
	field, source string
	err           error
}

func (e *fieldError) Error() string {
	return "The JSONPath '" + e.source + "' specified for the field '" + e.field + "' could not be found in the input"
}

func (e *fieldError) Unwrap() error { return e.err }
