package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
)

// maxProblems limits how many problems of one call are reported to a model.
const maxProblems = 20

// Check returns every problem of a call that may hold references to earlier results. A string that is or contains a
// reference is not validated, because its value is not known yet. All other values are validated.
func (op Operation) Check(s Compiler, a Arguments) []Problem { return op.check(s, a, true) }

// CheckResolved does the same as Check for a call whose references were replaced: text in the form of a reference is
// plain text.
func (op Operation) CheckResolved(s Compiler, a Arguments) []Problem { return op.check(s, a, false) }

func (op Operation) check(s Compiler, a Arguments, refs bool) []Problem {
	left := budget
	c := checker{schemas: s, refs: refs, left: &left}
	if op.Name == "" {
		c.path(op, a.Path)
	}
	c.query(op, a.Query)
	c.headers(op, a.Headers)
	c.types(op, a)
	c.body(op, a)
	if len(c.problems) > maxProblems {
		more := len(c.problems) - maxProblems
		c.problems = append(c.problems[:maxProblems:maxProblems], Problem{"/", "more", Because("problem.more", "n", more)})
	}
	return c.problems
}

type checker struct {
	schemas  Compiler
	refs     bool
	left     *int
	problems []Problem
}

func (c *checker) report(loc, typ, code string, pairs ...any) {
	c.problems = append(c.problems, Problem{loc, typ, Because(code, pairs...)})
}

func (c *checker) path(op Operation, path string) {
	if len(path) > maxPath {
		c.report("/path", "path.form", "problem.path_long", "most", maxPath)
		return
	}
	params, _, ok := matchTemplate(op.Path, path)
	if !ok {
		c.report("/path", "path.form", "problem.path_other", "template", op.Path)
		return
	}
	if name := unfilledParameter(op.Path, path); name != "" && c.refs { // in a resolved path it is a value
		c.report("/path/"+Token(name), "path.unfilled", "problem.unfilled", "name", name)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name]
		if c.refs && ref.Contains(value) {
			c.references("/path/"+Token(name), value)
			continue
		}
		if reason := unsafeSegment(value); reason != "" {
			c.report("/path/"+Token(name), "path.refused", reason)
			continue
		}
		for _, p := range op.Parameters {
			if p.In == "path" && p.Name == name {
				c.text("/path/"+Token(name), p, value)
			}
		}
	}
}

func (c *checker) query(op Operation, raw json.RawMessage) {
	given := map[string]any{}
	if !isAbsent(raw) {
		v, err := readValue(raw)
		if err != nil {
			c.problems = append(c.problems, Problem{"/query", "json", fault.Of(err)})
			return
		}
		var ok bool
		if given, ok = v.(map[string]any); !ok {
			c.report("/query", "type", "problem.object_of_parameters")
			return
		}
	}
	var known []string
	for _, p := range op.Parameters {
		if p.In != "query" {
			continue
		}
		known = append(known, p.Name)
		loc := "/query/" + Token(p.Name)
		switch value, ok := given[p.Name]; {
		case !ok && p.Required:
			c.report(loc, "missing", "problem.required")
		case !ok:
		case value == nil:
			if p.Required {
				c.report(loc, "missing", "problem.required_not_null")
			}
		case p.Style != "json" && leavesOut(p, value):
			c.report(loc, "type", "problem.empty")
		default:
			c.parameter(loc, p, value)
			c.joined(loc, p.Style, p.Explode, false, value)
		}
		delete(given, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		c.report("/query/"+Token(name), "unknown", "problem.no_query_parameter", "known", Known(known))
	}
}

// parameter checks a query parameter. A query carries text, so the check accepts "3" for the number 3, 3 for the text "3", and
// one element for a list. A parameter that is sent as JSON keeps its types.
func (c *checker) parameter(loc string, p Parameter, value any) {
	s, isText := value.(string)
	switch {
	case isText && c.refs && ref.Contains(s):
		c.references(loc, s)
		return
	case p.Style == "json":
		c.problems = append(c.problems, c.validate(loc, compile(c.schemas, p.Schema), value)...)
		return
	case isText:
		c.text(loc, p, s)
		return
	}
	schema := compile(c.schemas, p.Schema)
	problems := c.validateText(loc, schema, value, textPlaces(value, p.Style))
	if len(problems) > 0 && WrongType(problems, loc) {
		if _, list := value.([]any); !list {
			if one := []any{value}; len(c.validateText(loc, schema, one, textPlaces(one, p.Style))) == 0 {
				problems = nil
			}
		}
	}
	c.problems = append(c.problems, problems...)
}

// text checks a value that is written as text. It accepts the text when one reading fits the schema: the text
// itself, a number or boolean, or a list that is joined as it is sent.
func (c *checker) text(loc string, p Parameter, text string) {
	s := compile(c.schemas, p.Schema)
	problems := c.validate(loc, s, text)
	readings := []any{}
	if v, ok := readingOf(text); ok {
		readings = append(readings, v)
	}
	items := []any{}
	by := ","
	if p.In == "header" {
		by = p.separator()
	}
	for _, part := range strings.Split(text, by) {
		var item any = part
		if n, ok := readingOf(part); ok {
			if _, is := n.(json.Number); is {
				item = n
			}
		}
		items = append(items, item)
	}
	readings = append(readings, items)
	for _, v := range readings {
		if len(problems) == 0 {
			return
		}
		other := c.validate(loc, s, v)
		if len(other) == 0 || WrongType(problems, loc) && !WrongType(other, loc) {
			problems = other
		}
	}
	c.problems = append(c.problems, problems...)
}

// WrongType reports whether one of the problems is the type of the value at loc itself.
func WrongType(problems []Problem, loc string) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Loc == loc && p.Type == "type" })
}

// validate returns the problems of one value, without those that a reference causes because its value is not known
// yet.
func (c *checker) validate(loc string, s Schema, v any) []Problem {
	refs := map[string]bool{}
	if c.refs {
		c.findReferences(loc, "", v, refs)
	}
	if s == nil {
		return nil
	}
	return s.Problems(v, loc, refs, c.left)
}

// findReferences records the places of references in into, and reports the malformed references.
func (c *checker) findReferences(base, at string, v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			c.findReferences(base, at+"/"+Token(k), v[k], into)
		}
	case []any:
		for i, e := range v {
			c.findReferences(base, at+"/"+strconv.Itoa(i), e, into)
		}
	case string:
		if ref.Contains(v) {
			into[at] = true
			c.references(base+at, v)
		}
	}
}

func (c *checker) references(loc, text string) {
	if _, err := ref.InText(text); err != nil && !slices.ContainsFunc(c.problems, func(p Problem) bool { return p.Loc == loc && p.Type == "reference" }) {
		c.problems = append(c.problems, Problem{loc, "reference", notFollowed(err)})
	}
}

func notFollowed(err error) *fault.Error { return Because("problem.reference").Because(err) }

// Token escapes a name for a JSON Pointer.
func Token(name string) string {
	return toToken.Replace(name)
}

var toToken = strings.NewReplacer("~", "~0", "/", "~1")
