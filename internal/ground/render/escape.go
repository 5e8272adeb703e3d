package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// escaper wraps an escaping function for a pipeline. An invalid value is the empty text.
func escaper(f func(text string, markup bool) string) func([]reflect.Value) (reflect.Value, error) {
	return one(func(v reflect.Value) (any, error) {
		text, markup := textOf(v)
		return f(text, markup), nil
	})
}

var markupType = reflect.TypeFor[HTML]()

// textOf returns a value as text, and whether it is HTML.
func textOf(v reflect.Value) (text string, markup bool) {
	if v.IsValid() && v.Type().Implements(reflect.TypeFor[fmt.Stringer]()) {
		return fmt.Sprint(v.Interface()), false
	}
	v = element(v)
	switch {
	case !v.IsValid():
		return "", false
	case v.Type() == markupType:
		return v.String(), true
	}
	return fmt.Sprint(v.Interface()), false
}

var (
	special = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")
	// entities keeps the entities that the HTML already has.
	entities = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")
)

// escapeHTML escapes text between tags.
func escapeHTML(text string, markup bool) string {
	if markup {
		return text
	}
	return special.Replace(text)
}

// escapeAttr escapes the value of an attribute; HTML loses its tags there.
func escapeAttr(text string, markup bool) string {
	if !markup {
		return special.Replace(text)
	}
	return entities.Replace(withoutTags(text))
}

func withoutTags(text string) string {
	var b strings.Builder
	for text != "" {
		before, after, _ := strings.Cut(text, "<")
		b.WriteString(before)
		_, text, _ = strings.Cut(after, ">")
	}
	return b.String()
}

// written are the entities that this program writes, and their characters.
var written = strings.NewReplacer("&#34;", `"`, "&amp;", "&", "&#39;", "'", "&#43;", "+", "&lt;", "<", "&gt;", ">")

// Text returns the text of HTML, for an output without HTML: a file, a title.
func (h HTML) Text() string { return written.Replace(withoutTags(string(h))) }

// escapeRCDATA escapes the content of titles and text areas, which contain no tags.
func escapeRCDATA(text string, markup bool) string {
	if markup {
		return entities.Replace(text)
	}
	return special.Replace(text)
}

// unsafeURL replaces an address that a page must not contain. html/template uses the same text.
const unsafeURL = "#ZgotmplZ"

// filterURL accepts addresses of the web, of mail and of this site, and the bytes of an image. html/template accepts no
// bytes; those of an image execute nothing.
func filterURL(text string, _ bool) string {
	if scheme, _, ok := strings.Cut(text, ":"); ok && !strings.Contains(scheme, "/") {
		switch strings.ToLower(scheme) {
		case "http", "https", "mailto":
		case "data":
			if !isImage(text) {
				return unsafeURL
			}
		default:
			return unsafeURL
		}
	}
	return text
}

// isImage reports whether an address is the bytes of an image in base64.
func isImage(text string) bool {
	kind, data, ok := strings.Cut(text, ";base64,")
	if !ok || kind != "data:image/png" && kind != "data:image/jpeg" && kind != "data:image/gif" {
		return false
	}
	return strings.Trim(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == ""
}

// normalURL escapes the characters that an address must not contain.
func normalURL(text string, _ bool) string { return percent(text, "!#$&*+,/:;=?@[]", true) }

// escapeURL escapes a part of an address.
func escapeURL(text string, _ bool) string { return percent(text, "", false) }

const hex = "0123456789abcdef"

// percent escapes all but letters, digits, -._~ and the spared characters.
func percent(text, spared string, escaped bool) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~"+spared, c) >= 0,
			escaped && c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// escapeScript writes JSON for the data of a script: an object or a list. encoding/json escapes every character
// that has a meaning in HTML.
func escapeScript(v reflect.Value) (any, error) {
	if kind := element(v).Kind(); kind != reflect.Struct && kind != reflect.Map && kind != reflect.Slice {
		return nil, errors.New("a script is given an object or a list")
	}
	raw, err := json.Marshal(v.Interface())
	return HTML(raw), err
}
