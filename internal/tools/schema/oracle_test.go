package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"piloto/internal/tools/tool"
)

// TestAgreesWithTheLibrary compares random schemas and values with santhosh-tekuri/jsonschema: which schemas are
// usable, which values fit, and, when no alternatives are involved, where the problems are.
func TestAgreesWithTheLibrary(t *testing.T) {
	rounds := 10_000
	if testing.Short() {
		rounds = 2_000
	}
	usable, fitting := 0, 0
	for seed := range rounds {
		g := &generator{Rand: rand.New(rand.NewPCG(uint64(seed), 0))}
		text, err := json.Marshal(g.schema(3, true))
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := parse(text), library(t, text)
		// The library does not read then and else of a condition that is missing, or is always the same. It follows
		// the references of each definition with a dynamic anchor.
		if (ours != nil) != (theirs != nil) && !(ours == nil && g.branched) && !(theirs == nil && g.anchored) {
			t.Fatalf("%s: usable %v, want %v", text, ours != nil, theirs != nil)
		}
		if ours == nil || theirs == nil {
			continue
		}
		usable++
		for range 4 {
			raw, _ := json.Marshal(g.value(3))
			v := decode(t, string(raw))
			err := theirs.Validate(v)
			got := fits(t, ours, v)
			if got != (err == nil) {
				t.Fatalf("%s with %s: fits %v, want %v: %v", text, raw, got, err == nil, err)
			}
			if got {
				fitting++
			}
			left := budget
			if got, want := places(ours.Problems(v, "", nil, &left)), leaves(err); !g.chose && !slices.Equal(got, want) {
				t.Fatalf("%s with %s: problems at %q, want %q: %v", text, raw, got, want, err)
			}
		}
	}
	if usable < rounds/4 || fitting < usable/2 || fitting > usable*7/2 {
		t.Errorf("of %d schemas %d are usable, and %d of their values fit", rounds, usable, fitting)
	}
}

const budget = 1_000_000

func library(t *testing.T, text []byte) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource("schema:", decode(t, string(text))); err != nil {
		return nil
	}
	s, err := c.Compile("schema:")
	if err != nil {
		return nil
	}
	return s
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("schemas are never loaded") }

func places(problems []tool.Problem) []string {
	set := map[string]bool{}
	for _, p := range problems {
		set[p.Loc] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// leaves returns the places of the library's problems. A missing or unknown member is a place of its own.
func leaves(err error) []string {
	set := map[string]bool{}
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		at := ""
		for _, part := range e.InstanceLocation {
			at += "/" + tool.Token(part)
		}
		switch names := membersOf(e.ErrorKind); {
		case names != nil:
			for _, name := range names {
				set[at+"/"+tool.Token(name)] = true
			}
		case len(e.Causes) == 0 || opaque(e.ErrorKind):
			set[at] = true
		default:
			for _, cause := range e.Causes {
				visit(cause)
			}
		}
	}
	var v *jsonschema.ValidationError
	if errors.As(err, &v) {
		visit(v)
	}
	return slices.Sorted(maps.Keys(set))
}

// membersOf returns the members that a problem of an object names.
func membersOf(k jsonschema.ErrorKind) []string {
	switch k := k.(type) {
	case *kind.Required:
		return k.Missing
	case *kind.DependentRequired:
		return k.Missing
	case *kind.AdditionalProperties:
		return k.Properties
	}
	return nil
}

// opaque reports whether the causes of a problem are not told.
func opaque(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.PropertyNames, *kind.Contains, *kind.MinContains:
		return true
	}
	return false
}

// generator draws schemas and values of few names and small values, so that they meet.
type generator struct {
	*rand.Rand
	chose    bool // the schema has alternatives: places are not compared
	branched bool // it has then or else
	anchored bool // it has a dynamic anchor
}

func among[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

func (g *generator) name() string { return among(g, "a", "a", "b", "c/d", "", "0") }

func (g *generator) value(depth int) any {
	switch kind := g.IntN(10); {
	case kind <= 2 && depth > 0:
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(depth-1))
		}
		return list
	case kind <= 6 && depth > 0:
		object := map[string]any{}
		for range g.IntN(4) {
			object[g.name()] = g.value(depth - 1)
		}
		return object
	case kind == 7:
		return among(g, "", "a", "ab", "é", "abc")
	case kind == 8:
		return among[any](g, nil, true, false)
	}
	return json.Number(among(g, "0", "1", "1.0", "-1", "2", "0.5", "1e1", "10", "3", "12345678901234567890"))
}

func (g *generator) schemas(depth int) map[string]any {
	m := map[string]any{}
	for range 1 + g.IntN(3) {
		m[g.name()] = g.schema(depth, false)
	}
	return m
}

func (g *generator) list(depth int) []any {
	var list []any
	for range 1 + g.IntN(3) {
		list = append(list, g.schema(depth, false))
	}
	return list
}

func (g *generator) names() any {
	names := []any{}
	for range g.IntN(3) {
		names = append(names, g.name())
	}
	return names
}

func (g *generator) schema(depth int, root bool) any {
	if !root && (depth <= 0 || g.IntN(8) == 0) {
		return among[any](g, true, false, map[string]any{}, map[string]any{"type": "string"}, map[string]any{"type": "number"})
	}
	s := map[string]any{}
	if root {
		s["$defs"] = map[string]any{"x": g.schema(depth-1, false), "y": g.schema(depth-1, false)}
	}
	for range 1 + g.IntN(3) {
		g.keyword(s, among(g, keywords...), depth-1)
	}
	return s
}

// wrong returns now and then a value that the keyword must not have, and else nil.
func (g *generator) wrong() any {
	if g.IntN(40) > 0 {
		return nil
	}
	return among[any](g, -1, "text", []any{}, map[string]any{"a": 1}, json.Number("1.5"), []any{1, 1})
}

func (g *generator) keyword(s map[string]any, keyword string, depth int) {
	if wrong := g.wrong(); wrong != nil && isAssertion[keyword] {
		s[keyword] = wrong
		return
	}
	switch keyword {
	case "type":
		s[keyword] = among[any](g, "string", "number", "integer", "object", "object", "array", "array", "null", []any{"string", "integer"}, []any{"object", "array"})
	case "const":
		s[keyword] = g.value(1)
	case "enum":
		s[keyword] = []any{g.value(1), g.value(1), g.value(0)}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		s[keyword] = among[any](g, 1, 0.5, 2, 3, json.Number("1e1"), -1)
	case "multipleOf":
		s[keyword] = among[any](g, 1, 0.5, 2, json.Number("1e1"))
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		s[keyword] = among[any](g, 0, 1, 2, json.Number("2.0"))
	case "pattern":
		s[keyword] = among(g, "a", "^a$", "b")
	case "uniqueItems":
		s[keyword] = g.IntN(4) > 0
	case "required":
		s[keyword] = g.names()
	case "dependentRequired":
		s[keyword] = map[string]any{g.name(): g.names()}
	case "properties", "dependentSchemas":
		s[keyword] = g.schemas(depth)
	case "patternProperties":
		s[keyword] = map[string]any{among(g, "a", "^b", "."): g.schema(depth, false)}
	case "prefixItems", "allOf":
		s[keyword] = g.list(depth)
	case "anyOf", "oneOf":
		g.chose = true
		s[keyword] = g.list(depth)
	case "$ref", "$dynamicRef":
		s[keyword] = among(g, "#/$defs/x", "#/$defs/y", "#/$defs/x", "#/$defs/y", "#/%24defs/x", "#", "#name", "#/$defs/none")
	case "$anchor", "$dynamicAnchor":
		g.anchored = g.anchored || keyword == "$dynamicAnchor"
		s[keyword] = among(g, "name", "name", "name", "9")
	case "propertyNames": // the library sometimes tells another place
		g.chose = true
		s[keyword] = g.schema(depth, false)
	default:
		g.branched = g.branched || keyword == "then" || keyword == "else"
		s[keyword] = g.schema(depth, false)
	}
}

// isAssertion lists the keywords whose value may be wrong. What should be a schema and is none accepts everything
// here; for the library it spoils the whole.
var isAssertion = map[string]bool{
	"type": true, "enum": true, "minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true, "multipleOf": true, "minLength": true,
	"maxLength": true, "minItems": true, "maxItems": true, "minProperties": true, "maxProperties": true, "minContains": true, "maxContains": true,
	"pattern": true, "uniqueItems": true, "required": true, "dependentRequired": true,
}

var keywords = []string{
	"type", "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
	"minProperties", "maxProperties", "minContains", "maxContains", "pattern", "uniqueItems", "required", "dependentRequired", "properties", "properties",
	"dependentSchemas", "patternProperties", "prefixItems", "allOf", "anyOf", "oneOf", "$ref", "$ref", "$dynamicRef", "$anchor", "$dynamicAnchor", "additionalProperties",
	"propertyNames", "unevaluatedProperties", "unevaluatedItems", "items", "contains", "not", "if", "then", "else",
}
