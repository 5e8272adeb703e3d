package outbound

import (
	"bytes"
	"encoding/binary"
	"mime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// fromUTF16 converts a body that is UTF-16, by its byte order mark or by its content type, and returns false for any other. A secret
// is written otherwise in it, and has to be redacted again.
func fromUTF16(contentType string, body []byte) (text []byte, is bool) {
	base, parameters, _ := mime.ParseMediaType(contentType) // without a readable type there is no charset
	if base != "" && !strings.HasPrefix(base, "text/") && !strings.Contains(base, "json") && !strings.Contains(base, "xml") {
		return nil, false
	}
	var order binary.ByteOrder
	switch charset := strings.ToLower(parameters["charset"]); {
	case bytes.HasPrefix(body, []byte{0xff, 0xfe, 0, 0}): // UTF-32
		return nil, false
	case bytes.HasPrefix(body, []byte{0xff, 0xfe}):
		order, body = binary.LittleEndian, body[2:]
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}):
		order, body = binary.BigEndian, body[2:]
	case charset == "utf-16le":
		order = binary.LittleEndian
	case charset == "utf-16be", charset == "utf-16": // RFC 2781
		order = binary.BigEndian
	default:
		return nil, false
	}
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return []byte(string(utf16.Decode(units))), true
}

// utf8Of converts a body to UTF-8 without a byte order mark, when its content type names one of the Western single-byte charsets that older
// systems still use, and the body is not UTF-8 already. These charsets contain ASCII unchanged, so a redacted
// secret stays redacted. When the text grows over the limit, its end is cut.
func utf8Of(contentType string, body []byte, limit int64) (text []byte, cut bool) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
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
