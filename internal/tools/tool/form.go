package tool

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"
)

// Encoding is how one member of a form is written. Style and Explode are those of a Parameter; Style "form" is the default
// there, and "" here means by the value: a list is one field for each element, an object is JSON, and everything else is its
// text. Media is the type of a part, "" for text/plain, and for JSON where the value is an object.
type Encoding struct {
	Style   string `json:"style,omitempty"`
	Explode bool   `json:"explode,omitempty"`
	Media   string `json:"media,omitempty"`
}

// formField is one field of a form.
type formField struct {
	pair  string // name=value, escaped
	media string // of a part; "" for text/plain
}

// addForm writes the members of a body as a form. The same body has the same bytes each time.
func addForm(r *Request, b *Body, way Writing, list []member) error {
	var fields []formField
	for _, m := range list {
		if isAbsent(m.value) {
			return wrongArguments("type", Because("problem.form_null"), "body", m.name)
		}
		fields = append(fields, formFields(m, b.Encoding[m.name])...)
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
func formFields(m member, e Encoding) []formField {
	var fields []formField
	if e.Style != "" {
		for _, pair := range serialise(Parameter{Name: m.name, Style: e.Style, Explode: e.Explode}, m.value) {
			fields = append(fields, formField{pair, e.Media})
		}
		return fields
	}
	items := []json.RawMessage{m.value}
	if m.value[0] == '[' {
		if json.Unmarshal(m.value, &items) != nil {
			return nil
		}
	}
	for _, item := range items {
		text, scalar := scalarText(item)
		media := e.Media
		if !scalar {
			text, media = string(item), cmp.Or(media, "application/json")
		}
		fields = append(fields, formField{url.QueryEscape(m.name) + "=" + url.QueryEscape(text), media})
	}
	return fields
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
		if f.media != "" {
			header.Set("Content-Type", f.media)
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
