package tool

import "encoding/json"

// Compiler prepares JSON Schemas to validate values (package schema). It is injected, because most functions
// validate nothing.
type Compiler interface {
	// Compile prepares the text of a self-contained schema. It returns false when the schema cannot be used.
	Compile(raw json.RawMessage) (Schema, bool)
}

// Schema validates values.
type Schema interface {
	// Problems returns every problem of a value, which stands at the JSON Pointer at. refs holds the pointers of
	// references, relative to the value: their values are not known yet. left is how many schemas may still be
	// applied; when none is left, the only problem is that the value is too complex.
	Problems(v any, at string, refs map[string]bool, left *int) []Problem
}

// budget limits how many schemas one check may apply. Nested anyOf can double the work at every level, so the work
// is counted, not the nesting.
const budget = 100_000

// compile prepares a schema. It returns nil, which accepts every value, for an unusable schema: the discovery that
// stored it already warned about it.
func compile(c Compiler, raw json.RawMessage) Schema {
	s, ok := c.Compile(raw)
	if !ok {
		return nil
	}
	return s
}

// Usable reports whether values can be checked against a schema. An unusable schema accepts every value.
func Usable(c Compiler, raw json.RawMessage) bool { return compile(c, raw) != nil }
