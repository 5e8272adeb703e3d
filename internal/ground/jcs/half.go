package jcs

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// HalfPair reports whether a JSON text writes \ud800 to \udfff without the other half.
// That is no character, and readers of JSON quietly put another in its place.
func HalfPair(text []byte) bool { return half(text, 0) >= 0 }

// Legible returns a JSON text with the sign for a lost character in the place of each half
// of a pair, so that every reader of JSON takes it.
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

// half is where the first half of a pair stands alone, from a place on; -1: nowhere.
func half(text []byte, from int) int {
	for i := from; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit := escapedUnit(text[i:])
		switch {
		case unit < 0xd800 || unit > 0xdfff:
			i++ // what is escaped
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

// escapedUnit is the code that a text begins with, as \uXXXX; -1 of any other.
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

// Plain returns a JSON text with characters in the place of their escapes, so that a
// person reads «té» and not «t\u00e9». It is the same JSON: what has to be escaped stays
// so, and so does half a pair.
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

// escapedRune is the character that an escape at the beginning of text stands for, and
// the length of the escape; -1 for one that is no character of its own.
func escapedRune(text []byte) (rune, int) {
	unit := escapedUnit(text)
	switch {
	case unit < 0:
		return -1, 2 // \n and its like
	case unit < 0xd800 || unit > 0xdfff:
		return rune(unit), 6
	}
	if r := utf16.DecodeRune(rune(unit), rune(escapedUnit(text[6:]))); r != utf8.RuneError {
		return r, 12
	}
	return -1, 6
}
