package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"

	"piloto/internal/ground/fault"
)

// Encoding is how one member of a form is written. Style and Explode are those of a Parameter; Style "form" is the default
// there, and "" here means by the value: a list is one field for each element, an object is JSON, and everything else is its
// text. Media is the type of a part, "" for JSON where the value is an object, and else for text/plain. A member that has a type
// and no style is a text, or a list of texts. Headers are those of each part, by their names.
type Encoding struct {
	Style   string            `json:"style,omitempty"`
	Explode bool              `json:"explode,omitempty"`
	Media   string            `json:"media,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// IsUsual reports whether a member is written as one of which the document says nothing.
func (e Encoding) IsUsual() bool {
	return e.Style == "" && !e.Explode && e.Media == "" && len(e.Headers) == 0
}

// isText reports whether only a text can be written.
func (e Encoding) isText() bool { return e.Style == "" && e.Media != "" }

// leavesOut reports whether a list or an object without elements is in a value of which the form would have nothing.
func (e Encoding) leavesOut(value any) bool {
	if e.Style == "" {
		list, is := value.([]any)
		return is && len(list) == 0
	}
	return e.Style != "json" && leavesOut(Parameter{Style: e.Style, Explode: e.Explode}, value)
}

// MayHeadPart reports whether a part of a form can have a header. It has none that names, measures or encodes its content,
// because the writer decides these.
func MayHeadPart(name, value string) bool {
	switch strings.ToLower(name) {
	case "content-disposition", "content-type", "content-length":
		return false
	case "content-transfer-encoding":
		return value == "8bit" || value == "binary"
	}
	return headerName(name) && headerProblem(value) == nil
}

// formField is one field of a form.
type formField struct {
	pair    string // name=value, escaped
	media   string // of a part; "" for text/plain
	headers map[string]string
}

// addForm writes the members of a body as a form. The same body has the same bytes each time.
func addForm(r *Request, b *Body, way Writing, list []member) error {
	var fields []formField
	for _, m := range list {
		if isAbsent(m.value) {
			return wrongArguments("type", Because("problem.form_null"), "body", m.name)
		}
		made, err := formFields(m, b.Encoding[m.name])
		if err != nil {
			return err
		}
		fields = append(fields, made...)
	}
	if way == AsForm {
		pairs := make([]string, len(fields))
		for i, f := range fields {
			pairs[i] = f.pair
		}
		r.Body = []byte(strings.Join(pairs, "&"))
		return nil
	}
	return addParts(r, fields)
}

// formFields writes one member.
func formFields(m member, e Encoding) (fields []formField, err error) {
	if e.Style != "" {
		for _, pair := range serialise(Parameter{Name: m.name, Style: e.Style, Explode: e.Explode}, m.value) {
			fields = append(fields, formField{pair, e.Media, e.Headers})
		}
		return fields, nil
	}
	items := []json.RawMessage{m.value}
	if m.value[0] == '[' {
		if err := json.Unmarshal(m.value, &items); err != nil {
			return nil, wrongArguments("json", fault.Of(err), "body", m.name)
		}
	}
	for _, item := range items {
		text, scalar := scalarText(item)
		media := e.Media
		switch {
		case !scalar && e.isText():
			return nil, wrongArguments("type", Because("problem.text_body", "media", media), "body", m.name)
		case !scalar:
			text, media = string(item), "application/json"
		}
		fields = append(fields, formField{url.QueryEscape(m.name) + "=" + url.QueryEscape(text), media, e.Headers})
	}
	return fields, nil
}

// addParts writes fields as multipart/form-data (RFC 7578). The boundary is a hash of them, so that nobody can write a value
// that holds it.
func addParts(r *Request, fields []formField) error {
	sum := sha256.New()
	for _, f := range fields {
		sum.Write([]byte(f.pair + "\n"))
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary(hex.EncodeToString(sum.Sum(nil))[:40]); err != nil {
		return err
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f.pair, "=")
		header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + quoteName(unescapeForm(name)) + `"`}}
		if f.media != "" && f.media != "text/plain" { // the default type of a part
			header.Set("Content-Type", f.media)
		}
		for name, value := range f.headers {
			header[name] = []string{value}
		}
		part, err := w.CreatePart(header)
		if err != nil {
			return err
		}
		if _, err := part.Write([]byte(unescapeForm(value))); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	r.Header["Content-Type"] = w.FormDataContentType()
	r.Body = b.Bytes()
	return nil
}

// unescapeForm returns a text that was escaped for a form.
func unescapeForm(s string) string {
	text, err := url.QueryUnescape(s)
	if err != nil {
		return s // it was escaped here: this does not happen
	}
	return text
}

// quoteName escapes a name as browsers do.
var quoteName = strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace
