package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"piloto/internal/tools/tool"
)

// reporter turns a validation error into problems. refs holds the locations of references: a problem of such a
// value is dropped, because the value is not known yet, and so is a problem of a combination that depends on it.
type reporter struct {
	base string
	tree any
	refs map[string]bool
}

func (j reporter) problems(err error) []tool.Problem {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return []tool.Problem{{Loc: j.base, Message: "cannot be checked", Type: "complex"}}
	}
	var unique []tool.Problem
	for _, p := range j.of(v) {
		if !slices.Contains(unique, p) {
			unique = append(unique, p)
		}
	}
	slices.SortStableFunc(unique, func(a, b tool.Problem) int { return strings.Compare(a.Loc, b.Loc) })
	return unique
}

// of returns the problems of one error. None means that the error concerns only references.
func (j reporter) of(e *jsonschema.ValidationError) []tool.Problem {
	at := location(e)
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		return j.all(e.Causes)
	case *kind.AnyOf:
		return j.best(e)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			if j.hasReferenceBelow(at) {
				return nil
			}
			return []tool.Problem{{Loc: j.base + at, Message: "fits more than one of the forms of which exactly one is allowed", Type: "one_of"}}
		}
		return j.best(e)
	case *kind.Not, *kind.Contains, *kind.MinContains, *kind.MaxContains, *kind.UniqueItems:
		if j.hasReferenceBelow(at) {
			return nil
		}
	case *kind.FalseSchema:
		return []tool.Problem{{Loc: j.base + at, Message: "is not allowed here", Type: "unknown"}}
	}
	if j.refs[at] {
		return nil
	}
	return j.leaf(e, at)
}

func (j reporter) all(causes []*jsonschema.ValidationError) []tool.Problem {
	var list []tool.Problem
	for _, c := range causes {
		list = append(list, j.of(c)...)
	}
	return list
}

// best returns the problems of the alternative that fits best, and none when one alternative fits except for
// references.
func (j reporter) best(e *jsonschema.ValidationError) []tool.Problem {
	var best []tool.Problem
	at := j.base + location(e)
	for i, c := range e.Causes {
		list := j.of(c)
		if len(list) == 0 {
			return nil
		}
		if i == 0 || isBetter(list, best, at) {
			best = list
		}
	}
	if len(e.Causes) > 1 && tool.WrongType(best, at) {
		return []tool.Problem{{Loc: at, Message: "fits none of the allowed forms: " + joinMessages(e, j), Type: "any_of"}}
	}
	return best
}

func isBetter(a, b []tool.Problem, at string) bool {
	if x, y := tool.WrongType(a, at), tool.WrongType(b, at); x != y {
		return y
	}
	return len(a) < len(b)
}

func joinMessages(e *jsonschema.ValidationError, j reporter) string {
	var parts []string
	for _, c := range e.Causes[:min(6, len(e.Causes))] {
		if list := j.of(c); len(list) > 0 && !slices.Contains(parts, list[0].Message) {
			parts = append(parts, list[0].Message)
		}
	}
	return strings.Join(parts, ", or ")
}

// hasReferenceBelow reports whether a reference stands at or below a location.
func (j reporter) hasReferenceBelow(at string) bool {
	for r := range j.refs {
		if r == at || strings.HasPrefix(r, at+"/") {
			return true
		}
	}
	return false
}

func location(e *jsonschema.ValidationError) string {
	var b strings.Builder
	for _, part := range e.InstanceLocation {
		b.WriteString("/" + tool.Token(part))
	}
	return b.String()
}

func (j reporter) leaf(e *jsonschema.ValidationError, at string) []tool.Problem {
	loc := j.base + at
	one := func(typ, format string, args ...any) []tool.Problem {
		return []tool.Problem{{Loc: loc, Message: fmt.Sprintf(format, args...), Type: typ}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(loc, k.Missing, "missing", "is required")
	case *kind.DependentRequired:
		return each(loc, k.Missing, "missing", "is required when "+k.Prop+" is given")
	case *kind.AdditionalProperties:
		return each(loc, k.Properties, "unknown", "is not a property here; "+tool.Known(j.properties(e.SchemaURL)))
	case *kind.Type:
		return one("type", "must be %s, not %s", strings.Join(withArticle(k.Want), " or "), k.Got)
	case *kind.Enum:
		return one("enum", "must be %s", choices(k.Want))
	case *kind.Const:
		return one("const", "must be %s", choices([]any{k.Want}))
	case *kind.Format:
		return one("format", "must be %s", formatName(k.Want))
	case *kind.Pattern:
		return one("pattern", "must match the pattern %s", short(k.Want))
	case *kind.PropertyNames:
		return one("name", "has a property name that is not allowed: %s", strconv.Quote(short(k.Property)))
	case *kind.UniqueItems:
		return one("unique", "must not repeat an element: %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	}
	return j.measure(e, one)
}

// measure reports the limits of size and number.
func (j reporter) measure(e *jsonschema.ValidationError, one func(string, string, ...any) []tool.Problem) []tool.Problem {
	switch k := e.ErrorKind.(type) {
	case *kind.Minimum:
		return one("minimum", "must be ≥ %s", decimal(k.Want))
	case *kind.Maximum:
		return one("maximum", "must be ≤ %s", decimal(k.Want))
	case *kind.ExclusiveMinimum:
		return one("minimum", "must be > %s", decimal(k.Want))
	case *kind.ExclusiveMaximum:
		return one("maximum", "must be < %s", decimal(k.Want))
	case *kind.MultipleOf:
		return one("multiple", "must be a multiple of %s", decimal(k.Want))
	case *kind.MinLength:
		return one("length", "must have at least %d characters, has %d", k.Want, k.Got)
	case *kind.MaxLength:
		return one("length", "must have at most %d characters, has %d", k.Want, k.Got)
	case *kind.MinItems:
		return one("items", "must have at least %d elements, has %d", k.Want, k.Got)
	case *kind.MaxItems:
		return one("items", "must have at most %d elements, has %d", k.Want, k.Got)
	case *kind.MinProperties:
		return one("properties", "must have at least %d properties, has %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return one("properties", "must have at most %d properties, has %d", k.Want, k.Got)
	case *kind.Not:
		return one("not", "has a form that is excluded")
	}
	return one("schema", "does not fit its schema")
}

func each(loc string, names []string, typ, message string) []tool.Problem {
	var list []tool.Problem
	for _, name := range names {
		list = append(list, tool.Problem{Loc: loc + "/" + tool.Token(name), Message: message, Type: typ})
	}
	return list
}

// properties returns the property names of the schema at a location of the tree.
func (j reporter) properties(url string) []string {
	_, pointer, _ := strings.Cut(url, "#")
	at := j.tree
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(tool.Unescape(part))
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		}
	}
	object, _ := at.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	var names []string
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func withArticle(types []string) []string {
	out := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "integer", "object", "array":
			out[i] = "an " + t
		case "null":
			out[i] = t
		default:
			out[i] = "a " + t
		}
	}
	return out
}

func choices(values []any) string {
	var texts []string
	for _, v := range values[:min(20, len(values))] {
		raw, err := json.Marshal(v)
		if err != nil {
			continue
		}
		texts = append(texts, short(string(raw)))
	}
	if len(values) > 20 {
		texts = append(texts, "…")
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

func formatName(name string) string {
	bare := name[strings.LastIndexByte(name, ':')+1:]
	switch bare {
	case "date":
		return "a date as 2026-01-31"
	case "date-time":
		return "a time as 2026-01-31T15:04:05Z"
	case "uuid":
		return "a UUID"
	case "email":
		return "an e-mail address"
	case "ipv4", "ipv6":
		return "an IP address"
	case "int32", "int64":
		return "an integer of " + bare[len("int"):] + " bits"
	}
	return "of another format"
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(12), "0")
}

func short(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}
