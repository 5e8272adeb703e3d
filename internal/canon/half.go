package canon

import "strconv"

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
