package tool

import (
	"bytes"
	"encoding/json"
	"mime"
	"slices"
	"strings"

	"piloto/internal/ground/ref"
)

// contentType is the header in which a call names the type of its body, where the operation takes several. It is an argument only
// there.
const contentType = "Content-Type"

// Types returns the types in which the body of a call may be sent, the preferred one first.
func (op Operation) Types() (types []string) {
	for _, b := range op.bodies() {
		types = append(types, b.MediaType)
	}
	return types
}

// bodies lists the bodies that the operation takes, the preferred one first.
func (op Operation) bodies() []Body {
	if op.Body == nil {
		return nil
	}
	list := []Body{*op.Body}
	for _, b := range op.Others {
		if b.Required = op.Body.Required; b.Schema == nil {
			b.Schema = op.Body.Schema
		}
		list = append(list, b)
	}
	return list
}

// BodyOf returns the body of the operation in the type that a call names. It returns nil when the operation takes no body, and
// when it takes several types and the call names none of them.
func (op Operation) BodyOf(a Arguments) *Body {
	if len(op.Others) == 0 {
		return op.Body
	}
	named, _ := namedType(a.Headers)
	for _, b := range op.bodies() {
		if b.MediaType == named {
			return &b
		}
	}
	return nil
}

// namedType returns the type that the headers of a call name, as it is written there.
func namedType(headers json.RawMessage) (named string, isNamed bool) {
	list, _ := members(headers)
	for _, m := range list {
		if strings.EqualFold(m.name, contentType) {
			named, _ = scalarText(m.value)
			return named, true
		}
	}
	return "", false
}

// spelled returns a type in the spelling of the document. A type without its parameters is the only one that is called so.
func (op Operation) spelled(named string) string {
	var alike []string
	for _, media := range op.Types() {
		base, _, _ := mime.ParseMediaType(media)
		switch {
		case strings.EqualFold(media, named):
			return media
		case strings.EqualFold(base, strings.TrimSpace(named)):
			alike = append(alike, media)
		}
	}
	if len(alike) == 1 {
		return alike[0]
	}
	return named
}

// typeFor returns the type of a body whose call names none: the preferred one of those that take such a value. It returns "" when
// the value may mean one thing in one of them and another thing in another, because then the call has to name one.
func (op Operation) typeFor(raw json.RawMessage) string {
	first, sense := "", ""
	for _, b := range op.bodies() {
		if !b.takes(raw) {
			continue
		}
		if first == "" {
			first = b.MediaType
		}
		if b.Sense != "" && sense != "" && b.Sense != sense {
			return ""
		}
		if b.Sense != "" {
			sense = b.Sense
		}
	}
	if first == "" {
		return op.Body.MediaType // the problems of the value are reported
	}
	return first
}

// takes reports whether the body may be a value of such a kind. The value of a reference is not known.
func (b Body) takes(raw json.RawMessage) bool {
	kind := kindOf(raw)
	if kind == "" {
		return true
	}
	switch WritingOf(b.MediaType) {
	case AsForm, AsParts:
		return kind == "object"
	case AsText:
		return kind != "object" && kind != "array"
	}
	return len(b.Kinds) == 0 || slices.Contains(b.Kinds, kind)
}

// kindOf returns the type of a JSON value in the words of JSON Schema; "" for a reference and for nothing.
func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	switch {
	case isAbsent(raw):
		return ""
	case raw[0] == '{':
		return "object"
	case raw[0] == '[':
		return "array"
	case raw[0] == '"':
		if text, _ := scalarText(raw); ref.Whole(text) {
			return ""
		}
		return "string"
	case raw[0] == 't' || raw[0] == 'f':
		return "boolean"
	}
	return "number"
}

// types checks the type that a call names for its body.
func (c *checker) types(op Operation, a Arguments) {
	const loc = "/headers/" + contentType
	_, isNamed := namedType(a.Headers)
	switch {
	case len(op.Others) == 0:
	case isAbsent(a.Body) && isNamed:
		c.report(loc, "body.unexpected", "problem.type_without_body")
	case isAbsent(a.Body):
	case op.BodyOf(a) == nil && isNamed:
		c.report(loc, "enum", "problem.type_unknown", "types", strings.Join(op.Types(), ", "))
	case op.BodyOf(a) == nil:
		c.report(loc, "missing", "problem.body_type", "types", strings.Join(op.Types(), ", "))
	}
}
