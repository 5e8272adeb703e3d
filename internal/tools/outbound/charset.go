package outbound

import (
	"mime"
	"strings"
	"unicode/utf8"
)

// utf8Of converts a body to UTF-8, when its content type names one of the Western single-byte charsets that older
// systems still use, and the body is not UTF-8 already. These charsets contain ASCII unchanged, so a redacted
// secret stays redacted. When the text grows over the limit, its end is cut.
func utf8Of(contentType string, body []byte, limit int64) (text []byte, cut bool) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || utf8.Valid(body) {
		return body, false
	}
	var decode func(byte) rune
	switch strings.ToLower(parameters["charset"]) {
	case "iso-8859-1", "latin1", "latin-1", "windows-1252", "cp1252": // a server that names the first means the other (WHATWG Encoding, 4.2)
		decode = windows1252
	case "iso-8859-15", "latin-9":
		decode = latin9
	default:
		return body, false
	}
	for _, b := range body {
		r := decode(b)
		if int64(len(text)+utf8.RuneLen(r)) > limit {
			return text, true
		}
		text = utf8.AppendRune(text, r)
	}
	return text, false
}

// The characters that differ from Unicode's of the same number. golang.org/x/text has these tables, and those of thirty
// other charsets, which a program links with them: 0.1 MB.
var (
	windows = [0xa0 - 0x80]rune{
		'€', utf8.RuneError, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', utf8.RuneError, 'Ž', utf8.RuneError,
		utf8.RuneError, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', utf8.RuneError, 'ž', 'Ÿ',
	}
	latin = map[byte]rune{0xa4: '€', 0xa6: 'Š', 0xa8: 'š', 0xb4: 'Ž', 0xb8: 'ž', 0xbc: 'Œ', 0xbd: 'œ', 0xbe: 'Ÿ'}
)

func windows1252(b byte) rune {
	if b >= 0x80 && b < 0xa0 {
		return windows[b-0x80]
	}
	return rune(b)
}

func latin9(b byte) rune {
	switch r, differs := latin[b]; {
	case differs:
		return r
	case b >= 0x80 && b < 0xa0:
		return utf8.RuneError
	}
	return rune(b)
}
