// Package toolcall reads the arguments of a call that a model makes of a tool, and writes the result of one that was not made.
package toolcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/order"
)

// MaxArguments bounds the size of a tool call's arguments, in bytes.
const MaxArguments = 256 << 10

// Arguments returns the JSON object in a tool call's arguments. Models wrap it in a code
// fence, in a string, or in a sentence, and leave trailing commas; each of these is removed, and
// nothing else is guessed. Several objects are refused, because each is a call. Arguments that are not text (bytes that are not UTF-8, half a
// surrogate pair) are refused, because a plan would show and send another text than the model
// wrote; and a member that stands twice, because one of the two would be dropped without a word.
func Arguments(raw string) (json.RawMessage, error) {
	object, err := findArguments(raw)
	if err != nil {
		return nil, err
	}
	if err := jcs.Check(object); err != nil {
		return nil, fmt.Errorf("the arguments are not clear: %w", err)
	}
	return object, nil
}

// Member is the name of a member of an object.
type Member string

// LastObject returns the last whole JSON object in a text that has a member; else the last one. A model that thinks aloud
// drafts others before it, and some explain themselves behind it. The error is that of Arguments.
func LastObject(text string, member Member) (json.RawMessage, error) {
	if object, err := Arguments(text); err == nil {
		return object, nil
	}
	last, has, rest := text, false, text
	for range mostObjects {
		from := strings.IndexByte(rest, '{')
		if from < 0 {
			break
		}
		object, after, whole := firstObject(rest[from:])
		if !whole {
			rest = rest[from+1:]
			continue
		}
		clean, err := Arguments(object)
		if err != nil {
			rest = rest[from+1:]
			continue
		}
		var members map[string]json.RawMessage
		_ = json.Unmarshal(clean, &members) // it is an object
		if _, is := members[string(member)]; is || !has {
			last, has = object, is
		}
		rest = after
	}
	return Arguments(last)
}

// mostObjects is how many beginnings of objects LastObject tries.
const mostObjects = 200

func findArguments(raw string) (json.RawMessage, error) {
	if len(raw) > MaxArguments {
		return nil, fmt.Errorf("the arguments are larger than %d bytes", MaxArguments)
	}
	if !utf8.ValidString(raw) {
		return nil, errNotText
	}
	text := strings.TrimSpace(raw)
	if text == "" {
		text = "{}"
	}
	for range 3 {
		var inner string
		if json.Unmarshal([]byte(text), &inner) != nil {
			break
		}
		if jcs.HalfPair([]byte(text)) {
			return nil, errNotText
		}
		text = strings.TrimSpace(inner)
	}
	if jcs.HalfPair([]byte(text)) {
		return nil, errNotText
	}
	text = withoutEmptyObject(text)
	if isObject(text) {
		return json.RawMessage(text), nil
	}
	if body, rest, ok := firstObject(text); ok {
		if strings.Contains(rest, "{") {
			return nil, errSeveral
		}
		if isObject(body) {
			return json.RawMessage(body), nil
		}
		if repaired := dropTrailingCommas(body); isObject(repaired) {
			return json.RawMessage(repaired), nil
		}
		text = body
	}
	var v any
	err := json.Unmarshal([]byte(text), &v)
	if err == nil {
		err = errors.New("they are not an object")
	}
	return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
}

var errSeveral = errors.New("the arguments are more than one object: make one call for each, of one tool each")

var errNotText = errors.New("the arguments hold bytes that are not UTF-8, or half a surrogate pair")

func isObject(text string) bool {
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// withoutEmptyObject drops an empty object before or after another one. Some servers send it before the arguments that
// are still to come.
func withoutEmptyObject(text string) string {
	if rest := strings.TrimSpace(strings.TrimPrefix(text, "{}")); strings.HasPrefix(rest, "{") {
		text = rest
	}
	if rest := strings.TrimSpace(strings.TrimSuffix(text, "{}")); strings.HasSuffix(rest, "}") {
		text = rest
	}
	return text
}

// firstObject returns the text from the first { to the } that closes it, outside of strings, and the rest.
func firstObject(text string) (object, rest string, ok bool) {
	from := strings.IndexByte(text, '{')
	if from < 0 {
		return "", "", false
	}
	depth, quoted := 0, false
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return text[from : i+1], text[i+1:], true
			}
		}
	}
	return "", "", false
}

// dropTrailingCommas removes a comma before a closing bracket, outside of strings.
func dropTrailingCommas(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\' && i+1 < len(text):
			b.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		case !quoted && c == ',':
			rest := strings.TrimLeft(text[i+1:], " \t\r\n")
			if rest != "" && (rest[0] == '}' || rest[0] == ']') {
				continue
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Decode decodes an object into v, refuses unknown members, and demands those that are required. It returns every
// error at once, because the model corrects the errors that it receives.
func Decode(raw json.RawMessage, v any, known []string, required ...string) []fault.Field {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return []fault.Field{{Msg: "must be an object", Type: "type_error"}}
	}
	wrong := Unknown(raw, known)
	for _, name := range known {
		value, has := members[name]
		if has = has && string(value) != "null"; !has && slices.Contains(required, name) {
			wrong = append(wrong, Missing(name))
		}
		if !has {
			continue
		}
		err := decodeMember(name, value, v)                                                                                // each, because it reports one error only
		if inner := Unquote(value); err != nil && inner != nil && value[0] == '"' && decodeMember(name, inner, v) == nil { // a list in a string
			err = nil
		}
		if err != nil {
			wrong = append(wrong, mistyped(name, err))
		}
	}
	return wrong
}

func decodeMember(name string, value json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(slices.Concat([]byte(`{"`+name+`":`), value, []byte(`}`))))
	dec.UseNumber()
	return dec.Decode(v)
}

// Missing is the error of a member that is required.
func Missing(name string) fault.Field {
	return fault.Field{Loc: []any{name}, Msg: "is required", Type: "missing"}
}

// mistyped is the error of a member that cannot be decoded.
func mistyped(name string, err error) fault.Field {
	f := fault.Field{Loc: []any{name}, Msg: err.Error(), Type: "type_error"}
	var of *json.UnmarshalTypeError
	if errors.As(err, &of) {
		f.Loc[0], f.Msg = of.Field, "must be a "+of.Type.String()+", not a "+of.Value
	}
	return f
}

// Unquote returns a JSON value in its shortest form: nil for null, and the object or list itself
// when it stands in a string.
func Unquote(raw json.RawMessage) json.RawMessage {
	var inner string
	if json.Unmarshal(raw, &inner) == nil {
		text := strings.TrimSpace(inner)
		if (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text)) {
			raw = json.RawMessage(text)
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || b.String() == "null" {
		return nil
	}
	return b.Bytes()
}

// Empty reports whether a value is null, an empty object or no JSON.
func Empty(raw json.RawMessage) bool {
	var b bytes.Buffer
	return json.Compact(&b, raw) != nil || b.String() == "null" || b.String() == "{}"
}

// Unknown lists the members of an object that are not known. A value that is no object is
// reported where it is decoded.
func Unknown(raw json.RawMessage, known []string, where ...any) []fault.Field {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	var wrong []fault.Field
	for name := range members {
		if !slices.Contains(known, name) {
			wrong = append(wrong, fault.Field{
				Loc: append(slices.Clone(where), name), Type: "extra_forbidden",
				Msg: "is not a parameter; the parameters are " + strings.Join(known, ", "),
			})
		}
	}
	order.By(wrong, func(a, b fault.Field) int { return strings.Compare(fmt.Sprint(a.Loc), fmt.Sprint(b.Loc)) })
	return wrong
}
