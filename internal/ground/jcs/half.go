package jcs

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// HalfPair reports whether a JSON text has a lone surrogate (\ud800 to \udfff). It is no character, and JSON
// parsers silently replace it.
func HalfPair(text []byte) bool { return half(text, 0) >= 0 }

// Legible returns a JSON text in which U+FFFD replaces each lone surrogate, so that every JSON parser accepts it.
func Legible(text []byte) []byte {
	at := half(text, 0)
	if at < 0 {
		return text
	}
	text = append([]byte(nil), text...)
	for ; at >= 0; at = half(text, at+6) {
		copy(text[at:], `\ufffd`)
	}
	return text
}

// half returns the position of the first lone surrogate from a position on, or -1.
func half(text []byte, from int) int {
	for i := from; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit := escapedUnit(text[i:])
		switch {
		case unit < 0xd800 || unit > 0xdfff:
			i++ // the escaped character
		case unit > 0xdbff:
			return i
		default:
			if next := escapedUnit(text[i+6:]); next < 0xdc00 || next > 0xdfff {
				return i
			}
			i += 11
		}
	}
	return -1
}

// escapedUnit returns the UTF-16 code unit of a \uXXXX escape at the start of a text, or -1.
func escapedUnit(text []byte) int {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(unit)
}

// Plain returns a JSON text with characters in place of their escapes, so that a person reads «té» and not
// «t\u00e9». The JSON value is the same: necessary escapes and lone surrogates stay.
func Plain(text []byte) []byte {
	var out []byte
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		r, size := escapedRune(text[i:])
		if r < ' ' || r == '"' || r == '\\' {
			out = append(out, text[i:i+size]...)
		} else {
			out = utf8.AppendRune(out, r)
		}
		i += size - 1
	}
	return out
}

// escapedRune returns the character of the escape at the start of a text, and the length of the escape. The
// character is -1 for a lone surrogate or a short escape.
func escapedRune(text []byte) (rune, int) {
	unit := escapedUnit(text)
	switch {
	case unit < 0:
		return -1, 2 // \n and similar escapes
	case unit < 0xd800 || unit > 0xdfff:
		return rune(unit), 6
	}
	if r := utf16.DecodeRune(rune(unit), rune(escapedUnit(text[6:]))); r != utf8.RuneError {
		return r, 12
	}
	return -1, 6
}
