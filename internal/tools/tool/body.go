package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
)

// The media types of forms.
const (
	formMedia  = "application/x-www-form-urlencoded"
	partsMedia = "multipart/form-data"
)

// Writing is how a body is written from a JSON value.
type Writing int

// The ways to write a body: as JSON, as a form, as a form of parts, or as the text that the value is.
const (
	AsJSON Writing = iota
	AsForm
	AsParts
	AsText
)

// WritingOf returns how a body of a media type is written.
func WritingOf(media string) Writing {
	base, _, err := mime.ParseMediaType(media)
	switch {
	case err != nil:
		return AsText
	case base == formMedia:
		return AsForm
	case base == partsMedia:
		return AsParts
	case base == "application/json" || base == "text/json" || strings.HasSuffix(base, "+json"):
		return AsJSON
	}
	return AsText
}

// Media returns the type in which the body of a call is sent; "" for plain JSON, and where nothing is sent.
func (op Operation) Media(a Arguments) string {
	b := op.BodyOf(a)
	if b == nil || isAbsent(a.Body) || b.MediaType == "application/json" {
		return ""
	}
	return b.MediaType
}

// addBody writes the body of a request and its Content-Type.
func addBody(r *Request, op Operation, a Arguments) error {
	raw, body := a.Body, op.BodyOf(a)
	switch {
	case isAbsent(raw) && (op.Body == nil || !op.Body.Required):
		return nil
	case op.Body == nil:
		return bodyError("body.unexpected", "is not taken by this operation")
	case body == nil:
		return ErrArguments.At(fault.Field{Loc: []any{"headers", contentType}, Type: "missing", Msg: "names the type of the body: " + strings.Join(op.Types(), ", ")})
	}
	if _, err := readValue(raw); err != nil {
		return ErrArguments.Because(err).At(fault.Field{Loc: []any{"body"}, Type: "json", Msg: err.Error()})
	}
	r.Header[contentType] = body.MediaType
	switch way := WritingOf(body.MediaType); way {
	case AsForm, AsParts:
		list, ok := members(raw)
		if !ok {
			return bodyError("type", needsObject)
		}
		return addForm(r, body, way, list)
	case AsText:
		text, ok := scalarText(raw)
		if !ok {
			return bodyError("type", needsText(body.MediaType))
		}
		r.Body = []byte(text)
	default:
		r.Body = slices.Clone([]byte(raw))
	}
	return nil
}

func bodyError(typ, message string) error {
	return ErrArguments.At(fault.Field{Loc: []any{"body"}, Type: typ, Msg: message})
}

const noNull = "must not be null, because a form has none: leave it out, or give an empty text"

const needsObject = "must be an object: it is sent as a form"

func needsText(media string) string { return "must be a text: it is sent as " + media }

// body checks the body of a call.
func (c *checker) body(op Operation, a Arguments) {
	raw, body := a.Body, op.BodyOf(a)
	switch {
	case op.Body == nil:
		if !isAbsent(raw) {
			c.add("/body", "body.unexpected", "%s %s takes no body: leave it out", op.Method, op.Path)
		}
		return
	case len(raw) == 0:
		if op.Body.Required {
			c.add("/body", "missing", "is required")
		}
		return
	case isAbsent(raw) && !op.Body.Required, body == nil:
		return
	}
	v, err := readValue(raw)
	if err != nil {
		c.add("/body", "json", "%v", err)
		return
	}
	way := WritingOf(body.MediaType)
	if s, ok := v.(string); ok && way != AsText && !(c.refs && ref.Contains(s)) {
		if inner, err := readValue(json.RawMessage(s)); err == nil {
			if _, object := inner.(map[string]any); object && len(c.validate("/body", compile(c.schemas, body.Schema), v)) > 0 {
				c.add("/body", "type", "must be the object itself, not a string that holds one")
				return
			}
		}
	}
	problems := c.validate("/body", compile(c.schemas, body.Schema), v)
	if len(problems) == 0 && !body.takes(raw) && way == AsJSON {
		c.add("/body", "type", "must be of the type %s: it is sent as %s", strings.Join(body.Kinds, " or "), body.MediaType)
	}
	c.problems = append(c.problems, problems...)
	object, isObject := v.(map[string]any)
	switch {
	case way == AsJSON:
	case way == AsText:
		if _, ok := scalarText(raw); !ok {
			c.add("/body", "type", "%s", needsText(body.MediaType))
		}
	case !isObject:
		c.add("/body", "type", needsObject)
	default:
		c.form(body, way, object)
	}
}

// form checks what cannot be written: null, and an element of a joined list that holds what stands between two elements.
func (c *checker) form(b *Body, way Writing, object map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if e := b.Encoding[name]; object[name] == nil || e.Style != "json" && hasNull(object[name], e.Style != "") {
			c.add("/body/"+Token(name), "type", noNull)
		}
	}
	for name, e := range b.Encoding {
		c.joined("/body/"+Token(name), e.Style, e.Explode, way == AsParts, object[name])
	}
}

// hasNull reports whether a value is null or has one that would be written as a text; also within objects, or only in lists.
func hasNull(v any, within bool) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return hasNull(e, within) })
	case map[string]any:
		for _, e := range v {
			if within && hasNull(e, within) {
				return true
			}
		}
	}
	return false
}

// joined checks the elements of a list that is sent as one text. Between the elements of a URL a comma is another character than
// the comma of an element, and every other separator is not.
func (c *checker) joined(loc, style string, explode, plain bool, value any) {
	by, name := ",", "a comma"
	switch style {
	case "spaceDelimited":
		by, name = " ", "a space"
	case "pipeDelimited":
		by, name = "|", "a |"
	case "tabDelimited":
		by, name = "\t", "a tab"
	case "form", "":
		if !plain {
			return
		}
	default:
		return
	}
	list, ok := value.([]any)
	if !ok || explode {
		return
	}
	for i, e := range list {
		if s, ok := e.(string); ok && strings.Contains(s, by) && !(c.refs && ref.Contains(s)) {
			c.add(fmt.Sprintf("%s/%d", loc, i), "separator", "must not contain %s: it would be read as two elements", name)
		}
	}
}
