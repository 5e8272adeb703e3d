// Package schema validates values against JSON Schema, and reports every problem with the JSON Pointer of its
// place. It wraps santhosh-tekuri/jsonschema, which compiles all meta-schemas when a program starts. So only
// functions that validate arguments may link it; others get no Compiler.
package schema

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"piloto/internal/tools/tool"
)

// Compiler implements tool.Compiler with draft 2020-12. It loads no other schema.
type Compiler struct{}

// Compile implements tool.Compiler.
func (Compiler) Compile(tree any, formats map[string]func(any) error) (tool.Schema, bool) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenient(&tool.Patterns{Left: maxPrograms}))
	c.AssertFormat()
	for name, check := range formats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: check})
	}
	if err := c.AddResource(schemaURL, tree); err != nil {
		return nil, false
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, false
	}
	return schema{tree, compiled}, true
}

const schemaURL = "schema:"

// schema is one compiled schema and its tree. Messages take the allowed names from the tree.
type schema struct {
	tree     any
	compiled *jsonschema.Schema
}

// Problems implements tool.Schema.
func (s schema) Problems(v any, at string, refs map[string]bool) []tool.Problem {
	err := s.validate(v)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errComplex):
		return []tool.Problem{{Loc: at, Message: "is too complex to be checked: make it smaller", Type: "complex"}}
	}
	return reporter{base: at, tree: s.tree, refs: refs}.problems(err)
}

// errComplex ends a check that is too costly.
var errComplex = errors.New("too complex")

// validate returns nil, a *jsonschema.ValidationError, or errComplex.
func (s schema) validate(v any) (err error) {
	defer func() {
		if recover() != nil { // a format ended the check, or the library panicked on a foreign schema
			err = errComplex
		}
	}()
	return s.compiled.Validate(v)
}

// noLoader refuses to load any schema: a schema is self-contained or not used.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("schemas are never loaded") }

// maxPrograms limits the patterns of one schema, in steps of their programs.
const maxPrograms = 50_000

// lenient compiles patterns with RE2. A pattern that RE2 cannot compile (look-ahead, …), or that costs too much,
// matches every text, so that the rest of the schema stays usable.
func lenient(patterns *tool.Patterns) jsonschema.RegexpEngine {
	return func(s string) (jsonschema.Regexp, error) {
		if re := patterns.Compile(s); re != nil {
			return re, nil
		}
		return anything(s), nil
	}
}

type anything string

func (a anything) String() string        { return string(a) }
func (anything) MatchString(string) bool { return true }
