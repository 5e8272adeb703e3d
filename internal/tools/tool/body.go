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
		return wrongArguments("body.unexpected", Because("problem.body_not_taken"), "body")
	case body == nil:
		return wrongArguments("missing", Because("problem.body_type", "types", strings.Join(op.Types(), ", ")), "headers", contentType)
	}
	if _, err := readValue(raw); err != nil {
		return wrongArguments("json", fault.Of(err), "body")
	}
	r.Header[contentType] = body.MediaType
	switch way := WritingOf(body.MediaType); way {
	case AsForm, AsParts:
		list, ok := members(raw)
		if !ok {
			return wrongArguments("type", Because("problem.form_object"), "body")
		}
		return addForm(r, body, way, list)
	case AsText:
		text, ok := scalarText(raw)
		if !ok {
			return wrongArguments("type", Because("problem.text_body", "media", body.MediaType), "body")
		}
		r.Body = []byte(text)
	default:
		r.Body = slices.Clone([]byte(raw))
	}
	return nil
}

// body checks the body of a call.
func (c *checker) body(op Operation, a Arguments) {
	raw, body := a.Body, op.BodyOf(a)
	switch {
	case op.Body == nil:
		if !isAbsent(raw) {
			c.report("/body", "body.unexpected", "problem.no_body", "operation", op.Method+" "+op.Path)
		}
		return
	case len(raw) == 0:
		if op.Body.Required {
			c.report("/body", "missing", "problem.required")
		}
		return
	case isAbsent(raw) && !op.Body.Required, body == nil:
		return
	}
	v, err := readValue(raw)
	if err != nil {
		c.problems = append(c.problems, Problem{"/body", "json", fault.Of(err)})
		return
	}
	way := WritingOf(body.MediaType)
	if s, ok := v.(string); ok && way != AsText && !(c.refs && ref.Contains(s)) {
		if inner, err := readValue(json.RawMessage(s)); err == nil {
			if _, object := inner.(map[string]any); object && len(c.validate("/body", compile(c.schemas, body.Schema), v)) > 0 {
				c.report("/body", "type", "problem.object_itself")
				return
			}
		}
	}
	object, isObject := v.(map[string]any)
	problems := c.validateText("/body", compile(c.schemas, body.Schema), v, body.textPlaces(way, v))
	if len(problems) == 0 && !body.takes(raw) && way == AsJSON {
		c.report("/body", "type", "problem.body_kinds", "kinds", strings.Join(body.Kinds, ", "), "media", body.MediaType)
	}
	c.problems = append(c.problems, problems...)
	switch {
	case way == AsJSON:
	case way == AsText:
		if _, ok := scalarText(raw); !ok {
			c.report("/body", "type", "problem.text_body", "media", body.MediaType)
		}
	case !isObject:
		c.report("/body", "type", "problem.form_object")
	default:
		c.form(body, way, object)
	}
}

// textPlaces returns the places of a body that are sent as text.
func (b *Body) textPlaces(way Writing, v any) map[string]bool {
	places := map[string]bool{}
	switch object, isObject := v.(map[string]any); {
	case way == AsText && !isObject:
		addTextPlaces(places, "", v, "", 0)
	case isObject && (way == AsForm || way == AsParts):
		for name, value := range object {
			addTextPlaces(places, "/"+Token(name), value, b.Encoding[name].Style, 1)
		}
	}
	return places
}

// form reports values that cannot be written: null, another type where the document wants a text, and a piece of a joined
// value that holds the separator.
func (c *checker) form(b *Body, way Writing, object map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch e := b.Encoding[name]; {
		case object[name] == nil, e.Style != "json" && hasNull(object[name], e.Style != ""):
			c.report("/body/"+Token(name), "type", "problem.form_null")
		case e.leavesOut(object[name]):
			c.report("/body/"+Token(name), "type", "problem.empty")
		case e.isText():
			c.texts("/body/"+Token(name), e.Media, object[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Encoding)) {
		if e := b.Encoding[name]; e.Style != "" {
			c.joined("/body/"+Token(name), e.Style, e.Explode, way == AsParts, object[name])
		}
	}
}

// texts checks a member that is a text, or a list of texts.
func (c *checker) texts(loc, media string, value any) {
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	for i, item := range items {
		at := loc
		if isList {
			at = fmt.Sprintf("%s/%d", loc, i)
		}
		if !isScalar(item) {
			c.report(at, "type", "problem.text_body", "media", media)
		}
	}
}

// isScalar reports whether a value is a text, a number or a boolean.
func isScalar(v any) bool {
	switch v.(type) {
	case nil, []any, map[string]any:
		return false
	}
	return true
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

// joined checks the elements of a list, or the members of an object, that is sent as one text. Between the elements of a URL a
// comma is another character than the comma of an element, and every other separator is not.
func (c *checker) joined(loc, style string, explode, plain bool, value any) {
	by, name := ",", "problem.separator.comma"
	switch style {
	case "spaceDelimited":
		by, name = " ", "problem.separator.space"
	case "pipeDelimited":
		by, name = "|", "problem.separator.pipe"
	case "tabDelimited":
		by, name = "\t", "problem.separator.tab"
	case "form", "":
		if !plain {
			by = ""
		}
	default:
		return
	}
	if explode {
		return
	}
	switch value := value.(type) {
	case []any:
		for i, e := range value {
			c.inJoined(fmt.Sprintf("%s/%d", loc, i), by, name, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			c.inJoined(loc+"/"+Token(key), by, name, key)
			c.inJoined(loc+"/"+Token(key), by, name, value[key])
		}
	}
}

// inJoined checks one piece of a text that is joined.
func (c *checker) inJoined(loc, by, name string, piece any) {
	if s, ok := piece.(string); ok && by != "" && strings.Contains(s, by) && !(c.refs && ref.Contains(s)) {
		c.report(loc, "separator", name)
	} else if piece != nil && !isScalar(piece) {
		c.report(loc, "type", "problem.separator.piece")
	}
}
