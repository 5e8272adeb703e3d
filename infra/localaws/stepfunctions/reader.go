package stepfunctions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxDefinition is AWS's bound on a definition, in bytes.
const maxDefinition = 1 << 20

// maxFindings bounds the number of findings.
const maxFindings = 100

// reader compiles a definition and collects the findings.
type reader struct {
	findings []Diagnostic
	names    map[string]bool // of every state seen so far; they are unique
}

func (r *reader) parse(text []byte) (*Definition, error) {
	def := r.definition(text)
	if len(r.findings) > 0 {
		return nil, &DefinitionError{Diagnostics: r.findings}
	}
	return def, nil
}

// scopeFields returns the fields of an object that contains states, and more.
func scopeFields(more ...string) []string { return append(more, "Comment", "StartAt", "States") }

func (r *reader) report(code, at, format string, args ...any) {
	if len(r.findings) >= maxFindings {
		return
	}
	if at == "" {
		at = "/"
	}
	r.findings = append(r.findings, Diagnostic{
		Severity: "ERROR", Code: code, Message: fmt.Sprintf(format, args...), Location: at,
	})
}

func (r *reader) schema(at, format string, args ...any) { r.report(codeSchema, at, format, args...) }

func (r *reader) definition(text []byte) *Definition {
	if len(text) > maxDefinition {
		r.schema("", "The definition is larger than %d bytes", maxDefinition)
		return nil
	}
	v, err := parseStrict(text)
	if err != nil {
		if len(strings.TrimSpace(string(text))) == 0 {
			r.findings = append(r.findings, Diagnostic{Severity: "ERROR", Code: codeSchema, Message: "Definition must be a valid JSON object"})
			return nil
		}
		message := jsonComplaint(text, err)
		r.findings = append(r.findings, Diagnostic{Severity: "ERROR", Code: codeInvalidJSON, Message: message})
		return nil
	}
	root, ok := v.(object)
	if !ok {
		r.findings = append(r.findings, Diagnostic{Severity: "ERROR", Code: codeSchema, Message: "Definition must be a valid JSON object"})
		return nil
	}
	def := &Definition{}
	r.onlyFields(root, "", "Comment", "StartAt", "States", "Version", "TimeoutSeconds", "QueryLanguage")
	r.queryLanguage(root, "")
	if v, ok := root.get("Version"); ok && v != "1.0" {
		r.schema("/Version", "Version must be '1.0'")
	}
	if n, ok := r.count(root, "TimeoutSeconds", "", 1, maxSeconds); ok {
		def.timeout = time.Duration(n) * time.Second
	}
	def.root = r.scope(root, "", 0)
	if def.root != nil && len(r.findings) == 0 && !def.root.hasEnd() {
		r.findings = append(r.findings, Diagnostic{Severity: "ERROR", Code: codeMissingEnd, Message: "Workflow has no terminal state"})
	}
	return def
}

// maxSeconds is AWS's bound on TimeoutSeconds and other durations.
const maxSeconds = 99_999_999

// maxScopes bounds the nesting of Map and Parallel states.
const maxScopes = 20

// scope reads StartAt and States of obj, whose JSON pointer is at.
func (r *reader) scope(obj object, at string, depth int) *scope {
	var missing []string
	for _, field := range []string{"States", "StartAt"} {
		if _, ok := obj.get(field); !ok {
			missing = append(missing, field)
		}
	}
	if len(missing) > 0 {
		r.schema(at, "These fields are required: [%s]", strings.Join(missing, ", "))
		return nil
	}
	if depth > maxScopes {
		r.schema(at, "More than %d nested Map and Parallel states", maxScopes)
		return nil
	}
	s := &scope{states: map[string]*state{}}
	s.startAt, _ = r.text(obj, "StartAt", at)
	v, _ := obj.get("States")
	states, ok := v.(object)
	if !ok || len(states) == 0 {
		r.schema(at+"/States", "States must be an object with at least one state")
		return nil
	}
	for _, m := range states {
		here := pointer(at+"/States", m.key)
		r.stateName(m.key, here)
		body, ok := m.val.(object)
		if !ok {
			r.schema(here, "A state must be an object")
			continue
		}
		if st := r.state(m.key, body, here, depth); st != nil {
			s.states[m.key] = st
		}
	}
	r.transitions(s, states, at)
	return s
}

func (r *reader) stateName(name, at string) {
	if name == "" || len([]rune(name)) > 80 {
		r.schema(at, "State names must have between 1 and 80 characters")
	}
	if r.names[name] {
		r.report(codeDuplicate, at, "Duplicate State name: %s", name)
	}
	r.names[name] = true
}

// transitions checks that every target exists and every state is reachable.
func (r *reader) transitions(s *scope, states object, at string) {
	if _, ok := states.get(s.startAt); !ok {
		r.report(codeMissingTarget, at+"/StartAt", "Missing 'Next' target: %s", s.startAt)
	}
	reached := map[string]bool{}
	open := []string{s.startAt}
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		st := s.states[name]
		if reached[name] || st == nil {
			continue
		}
		reached[name] = true
		for _, t := range st.targets(pointer(at+"/States", name)) {
			if _, ok := states.get(t.name); !ok {
				r.report(codeMissingTarget, t.at, "Missing 'Next' target: %s", t.name) // for any field
				continue
			}
			open = append(open, t.name)
		}
	}
	for _, m := range states {
		if s.states[m.key] != nil && !reached[m.key] {
			r.report(codeMissingTarget, pointer(at+"/States", m.key), "State \"%s\" is not reachable.", m.key)
		}
	}
}

type target struct{ name, at string }

func (st *state) targets(at string) []target {
	var out []target
	if st.next != "" {
		out = append(out, target{st.next, at + "/Next"})
	}
	for i, c := range st.choices {
		out = append(out, target{c.next, pointer(at+"/Choices", i) + "/Next"})
	}
	if st.fallback != "" {
		out = append(out, target{st.fallback, at + "/Default"})
	}
	for i, c := range st.catch {
		out = append(out, target{c.next, pointer(at+"/Catch", i) + "/Next"})
	}
	return out
}

// jsonataFields are the fields of states that belong to the other query language.
var jsonataFields = []string{"Arguments", "Output", "Items"}

func (r *reader) onlyFields(obj object, at string, allowed ...string) {
	for _, m := range obj {
		switch {
		case slices.Contains(allowed, m.key):
		case slices.Contains(allowed, "Type") && slices.Contains(jsonataFields, m.key):
			r.schema(pointer(at, m.key),
				"The QueryLanguage is set to 'JSONPath', but field '%s' is only supported for the 'JSONata' QueryLanguage", m.key)
		default:
			r.schema(pointer(at, m.key), "Field '%s' is not supported", m.key)
		}
	}
}

// onlyOne reports that fields exclude each other.
func (r *reader) onlyOne(at string, fields ...string) {
	r.schema(at, "There should only be one of the following fields: [%s]", strings.Join(fields, ", "))
}

// needOne reports that one of the fields is missing.
func (r *reader) needOne(at string, fields ...string) {
	r.schema(at, "This object should have only one of the following fields: [%s]", strings.Join(fields, ", "))
}

func (r *reader) queryLanguage(obj object, at string) {
	v, ok := obj.get("QueryLanguage")
	switch {
	case !ok || v == "JSONPath":
	case v == "JSONata":
		r.schema(at+"/QueryLanguage", "Only the query language 'JSONPath' is supported")
	default:
		r.schema(at+"/QueryLanguage", "Value should be one of the following: [JSONPath, JSONata]")
	}
}

// text reads a string field; ok reports whether it exists and is a string.
func (r *reader) text(obj object, field, at string) (string, bool) {
	v, ok := obj.get(field)
	if !ok {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		r.schema(pointer(at, field), "Expected value of type String")
	}
	return s, ok
}

// requiredText reads a string field that must exist and must not be empty.
func (r *reader) requiredText(obj object, field, at string) string {
	s, ok := r.text(obj, field, at)
	if _, there := obj.get(field); !there {
		r.schema(at, "These fields are required: [%s]", field)
	} else if ok && s == "" {
		r.schema(pointer(at, field), "The value must not be empty")
	}
	return s
}

// count reads an integer field within bounds; ok reports whether it is valid.
func (r *reader) count(obj object, field, at string, least, most int) (int, bool) {
	v, ok := obj.get(field)
	if !ok {
		return 0, false
	}
	n, ok := integer(v)
	switch {
	case !ok:
		r.schema(pointer(at, field), "Expected value of type Integer")
	case n < least:
		r.schema(pointer(at, field), "Minimum value is %d", least)
		ok = false
	case n > most:
		r.schema(pointer(at, field), "Maximum value is %d", most)
		ok = false
	}
	return n, ok
}

// path reads a JSONPath field; nil when it is absent or wrong.
func (r *reader) path(obj object, field, at string, reference bool) *path {
	source, ok := r.text(obj, field, at)
	if !ok {
		return nil
	}
	p, err := parsePath(source)
	switch {
	case err != nil:
		r.schema(pointer(at, field), "Value is not a valid JSONPath: %s", err)
		return nil
	case reference && !p.isReference():
		r.schema(pointer(at, field), "Value is not a Reference Path")
		return nil
	}
	return p
}

// itemsPath reads ItemsPath, a reference path that may filter.
func (r *reader) itemsPath(obj object, at string) *path {
	p := r.path(obj, "ItemsPath", at, false)
	if p != nil && !p.isFilteredReference() {
		r.schema(at+"/ItemsPath", "Value is not a Reference Path")
	}
	return p
}

// list reads an array field of objects; at least one is needed when required.
func (r *reader) list(obj object, field, at string, required bool) []object {
	v, ok := obj.get(field)
	if !ok {
		if required {
			r.schema(at, "These fields are required: [%s]", field)
		}
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		r.schema(pointer(at, field), "Expected value of type Array")
		return nil
	}
	if required && len(items) == 0 {
		r.schema(pointer(at, field), "Value cannot be empty")
		return nil
	}
	out := make([]object, len(items))
	for i, item := range items {
		o, ok := item.(object)
		if !ok {
			r.schema(pointer(pointer(at, field), i), "Expected value of type Object")
		}
		out[i] = o
	}
	return out
}

func (r *reader) template(obj object, field, at string) *template {
	v, ok := obj.get(field)
	if !ok {
		return nil
	}
	t := compileTemplate(v, pointer(at, field), func(at, message string) { r.schema(at, "%s", message) })
	return &t
}

// secondsField reads FIELD or FIELDPath, of which at most one may be given.
func (r *reader) secondsField(obj object, field, at string, least int) seconds {
	n, given := r.count(obj, field, at, least, maxSeconds)
	p := r.path(obj, field+"Path", at, true)
	if given && p != nil {
		r.onlyOne(at, field, field+"Path")
	}
	return seconds{value: n, path: p}
}

// number reads a number field.
func (r *reader) number(obj object, field, at string, least, preset float64) float64 {
	v, ok := obj.get(field)
	if !ok {
		return preset
	}
	n, ok := v.(json.Number)
	f, err := strconv.ParseFloat(string(n), 64)
	if !ok || err != nil {
		r.schema(pointer(at, field), "Expected value of type Number")
		return preset
	}
	if f < least {
		r.schema(pointer(at, field), "Minimum value is %g", least)
		return preset
	}
	return f
}

// jsonComplaint returns the service's text for a syntax error.
func jsonComplaint(text []byte, err error) string {
	trimmed := strings.TrimLeft(string(text), " \t\r\n")
	if word := leadingWord(trimmed); word != "" && word != "true" && word != "false" && word != "null" {
		return fmt.Sprintf("Unrecognized token '%s': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')", word)
	}
	return err.Error()
}

// leadingWord returns the letters and digits that s starts with, if it starts
// with a letter.
func leadingWord(s string) string {
	n := 0
	for n < len(s) && isWord(s[n]) && s[n] != '.' {
		n++
	}
	if n == 0 || s[0] >= '0' && s[0] <= '9' {
		return ""
	}
	return s[:n]
}
