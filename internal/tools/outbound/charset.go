package outbound

import (
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// utf8Of converts a body to UTF-8, when its content type names one of the Western single-byte charsets that older
// systems still use, and the body is not UTF-8 already. These charsets contain ASCII unchanged, so a redacted
// secret stays redacted. When the text grows over the limit, its end is cut.
func utf8Of(contentType string, body []byte, limit int64) (text []byte, cut bool) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || utf8.Valid(body) {
		return body, false
	}
	var of *charmap.Charmap
	switch strings.ToLower(parameters["charset"]) {
	case "iso-8859-1", "latin1", "latin-1", "windows-1252", "cp1252": // a server that names the first means the other (WHATWG Encoding, 4.2)
		of = charmap.Windows1252
	case "iso-8859-15", "latin-9":
		of = charmap.ISO8859_15
	default:
		return body, false
	}
	for _, b := range body {
		r := of.DecodeByte(b)
		if int64(len(text)+utf8.RuneLen(r)) > limit {
			return text, true
		}
		text = utf8.AppendRune(text, r)
	}
	return text, false
}
