package tool

import (
	"encoding/json"
	"errors"
	"net/mail"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Compiler prepares JSON Schemas to validate values (package schema). It is injected, because its library is costly
// to start and most functions validate nothing.
type Compiler interface {
	// Compile prepares a self-contained schema, with checks of the formats that it names. It returns false when the
	// schema cannot be used. A check that panics ends the validation of its value.
	Compile(tree any, formats map[string]func(v any) error) (Schema, bool)
}

// Schema validates values.
type Schema interface {
	// Problems returns every problem of a value, which stands at the JSON Pointer at. refs holds the pointers of
	// references, relative to the value: their values are not known yet.
	Problems(v any, at string, refs map[string]bool) []Problem
}

// budget limits how many times one check may apply a schema to a value. Nested anyOf can double the work at every
// level, so the work is counted, not the nesting.
const budget = 50_000

// errBudget ends a check that would take too long.
var errBudget = errors.New("too many combinations to check")

// compile prepares a schema. It returns nil, which accepts every value, for an unusable schema: the discovery that
// stored it already warned about it. left is the budget shared by all schemas of one check.
func compile(c Compiler, raw json.RawMessage, left *int) Schema {
	tree, err := decodeNumbers(raw)
	if err != nil {
		return nil
	}
	s, ok := c.Compile(countingSchema(tree, 0), countingFormats(left))
	if !ok {
		return nil
	}
	return s
}

// Usable reports whether values can be checked against a schema. An unusable schema accepts every value.
func Usable(c Compiler, raw json.RawMessage) bool {
	left := budget
	return compile(c, raw, &left) != nil
}

// mark is the format that every subschema carries, alone or with the name of a checked format, so that each
// application of it is counted.
const mark = "counted"

var formats = map[string]func(v any) error{
	"date":      onText(func(s string) error { _, err := time.Parse(time.DateOnly, s); return err }),
	"date-time": onText(func(s string) error { _, err := time.Parse(time.RFC3339, strings.ToUpper(s)); return err }),
	"uuid":      onText(checkPattern(uuid)),
	"email":     onText(func(s string) error { _, err := mail.ParseAddress("<" + s + ">"); return err }),
	"ipv4":      onText(checkAddress(netip.Addr.Is4)),
	"ipv6":      onText(checkAddress(netip.Addr.Is6)),
	"int32":     onNumber(32),
	"int64":     onNumber(64),
}

var errFormat = errors.New("not of that format")

func onText(check func(string) error) func(any) error {
	return func(v any) error {
		if s, ok := v.(string); ok {
			return check(s)
		}
		return nil
	}
}

var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
})

func checkPattern(re func() *regexp.Regexp) func(string) error {
	return func(s string) error {
		if !re().MatchString(s) {
			return errFormat
		}
		return nil
	}
}

func checkAddress(is func(netip.Addr) bool) func(string) error {
	return func(s string) error {
		if a, err := netip.ParseAddr(s); err != nil || !is(a) {
			return errFormat
		}
		return nil
	}
}

// onNumber checks that a plainly written integer fits into bits. 1e3 and 1.0 are left to the type.
func onNumber(bits int) func(any) error {
	return func(v any) error {
		n, ok := v.(json.Number)
		if !ok || strings.ContainsAny(n.String(), ".eE") {
			return nil
		}
		_, err := strconv.ParseInt(n.String(), 10, bits)
		return err
	}
}

// countingFormats returns the checks of the formats that countingSchema writes.
func countingFormats(left *int) map[string]func(any) error {
	count := func(check func(any) error) func(any) error {
		return func(v any) error {
			if *left--; *left < 0 {
				panic(any(errBudget))
			}
			if check == nil {
				return nil
			}
			return check(v)
		}
	}
	all := map[string]func(any) error{mark: count(nil)}
	for name, check := range formats {
		all[mark+":"+name] = count(check)
	}
	return all
}

// countingSchema returns a copy of a schema in which every subschema is counted. References to the outside and
// annotations are removed.
func countingSchema(v any, depth int) any {
	object, ok := v.(map[string]any)
	if !ok {
		if b, ok := v.(bool); ok {
			return b
		}
		return map[string]any{}
	}
	out := make(map[string]any, len(object)+1)
	if depth > maxDepth {
		return out
	}
	format := mark
	for k, e := range object {
		switch {
		case annotations[k] || k == "$schema" || k == "$id" || k == "$vocabulary" || k == "default":
		case k == "$ref":
			if s, ok := e.(string); ok && strings.HasPrefix(s, "#") {
				out[k] = s
			}
		case k == "format":
			if s, ok := e.(string); ok && formats[s] != nil {
				format = mark + ":" + s
			}
		case schemaMaps[k]:
			if m, ok := e.(map[string]any); ok {
				out[k] = countingMap(m, depth)
			}
		case schemaLists[k]:
			if l, ok := e.([]any); ok && len(l) > 0 {
				out[k] = countingList(l, depth)
			}
		case schemaOnes[k]:
			out[k] = countingSchema(e, depth+1)
		default:
			if n, ok := e.(json.Number); ok && checkNumber(n.String()) != nil {
				continue
			}
			out[k] = e
		}
	}
	out["format"] = format
	return out
}

func countingMap(m map[string]any, depth int) map[string]any {
	out := make(map[string]any, len(m))
	for k, e := range m {
		out[k] = countingSchema(e, depth+1)
	}
	return out
}

func countingList(l []any, depth int) []any {
	out := make([]any, len(l))
	for i, e := range l {
		out[i] = countingSchema(e, depth+1)
	}
	return out
}
