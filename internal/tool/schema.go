package tool

import (
	"encoding/json"
	"errors"
	"net/mail"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// budget is how many times a check may apply a schema to a value. Nested anyOf
// can double the work at every level, so the work is counted, not the nesting.
const budget = 50_000

// errBudget ends a check that would take too long.
var errBudget = errors.New("too many combinations to check")

// schema is one compiled schema and its tree, from which messages name what is
// allowed.
type schema struct {
	tree     any
	compiled *jsonschema.Schema
}

// compile prepares a schema; one that cannot be used accepts everything, as the
// discovery that stored it has warned. left is the budget shared by all schemas
// of one check.
func compile(raw json.RawMessage, left *int) schema {
	tree, err := decodeNumbers(raw)
	if err != nil {
		return schema{}
	}
	tree = counted(tree, 0)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenientRegexp)
	c.AssertFormat()
	register(c, left)
	if err := c.AddResource(schemaURL, tree); err != nil {
		return schema{}
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return schema{}
	}
	return schema{tree, compiled}
}

const schemaURL = "schema:"

// Usable reports whether values can be checked against a schema: against one that
// cannot be read, or used, everything passes.
func Usable(raw json.RawMessage) bool {
	left := budget
	return compile(raw, &left).compiled != nil
}

// validate returns nil, a *jsonschema.ValidationError, or errBudget.
func (s schema) validate(v any) (err error) {
	if s.compiled == nil {
		return nil
	}
	defer func() {
		if recover() != nil { // the budget is spent, or the library gave up on a stranger's schema
			err = errBudget
		}
	}()
	return s.compiled.Validate(v)
}

// noLoader refuses to load anything: a schema is self-contained or not used.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("schemas are never loaded") }

// The formats that are checked; every schema carries one of them, or the bare
// mark, so that each application is counted.
const mark = "counted"

var formats = map[string]func(v any) error{
	"date":      onText(func(s string) error { _, err := time.Parse(time.DateOnly, s); return err }),
	"date-time": onText(func(s string) error { _, err := time.Parse(time.RFC3339, strings.ToUpper(s)); return err }),
	"uuid":      onText(matching(regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`))),
	"email":     onText(func(s string) error { _, err := mail.ParseAddress("<" + s + ">"); return err }),
	"ipv4":      onText(address(netip.Addr.Is4)),
	"ipv6":      onText(address(netip.Addr.Is6)),
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

func matching(re *regexp.Regexp) func(string) error {
	return func(s string) error {
		if !re.MatchString(s) {
			return errFormat
		}
		return nil
	}
}

func address(is func(netip.Addr) bool) func(string) error {
	return func(s string) error {
		if a, err := netip.ParseAddr(s); err != nil || !is(a) {
			return errFormat
		}
		return nil
	}
}

// onNumber checks that a plainly written integer fits; 1e3 and 1.0 are left to
// the type.
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

func register(c *jsonschema.Compiler, left *int) {
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
	c.RegisterFormat(&jsonschema.Format{Name: mark, Validate: count(nil)})
	for name, check := range formats {
		c.RegisterFormat(&jsonschema.Format{Name: mark + ":" + name, Validate: count(check)})
	}
}

// counted returns a schema in which every subschema is counted, nothing refers
// outside, and nothing is left that only describes.
func counted(v any, depth int) any {
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
				out[k] = countedMap(m, depth)
			}
		case schemaLists[k]:
			if l, ok := e.([]any); ok && len(l) > 0 {
				out[k] = countedList(l, depth)
			}
		case schemaOnes[k]:
			out[k] = counted(e, depth+1)
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

func countedMap(m map[string]any, depth int) map[string]any {
	out := make(map[string]any, len(m))
	for k, e := range m {
		out[k] = counted(e, depth+1)
	}
	return out
}

func countedList(l []any, depth int) []any {
	out := make([]any, len(l))
	for i, e := range l {
		out[i] = counted(e, depth+1)
	}
	return out
}

// lenientRegexp compiles RE2; a pattern it does not know (look-ahead, …) matches
// everything, rather than making a whole schema useless.
func lenientRegexp(s string) (jsonschema.Regexp, error) {
	if len(s) <= 2000 {
		if re, err := regexp.Compile(s); err == nil {
			return re, nil
		}
	}
	return anything(s), nil
}

type anything string

func (a anything) String() string        { return string(a) }
func (anything) MatchString(string) bool { return true }
