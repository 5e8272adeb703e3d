package visible

import (
	"strings"
	"unicode"
)

// Blank reports whether a text shows nothing: it is empty, or all of it is white space and invisible characters.
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && (!Invisible(r) || r == '\ufffc' || r == '\ufffd') })
}

// Invisible reports whether a rune shows nothing, or something other than itself: controls, formats, bidi controls,
// every space but the plain one, fillers, selectors, private and unassigned code points. Unicode counts some of
// them as letters and signs, so a printable rune is not always visible.
func Invisible(r rune) bool {
	switch {
	case r == ' ':
		return false
	case r == '\u034f', r == '\u115f', r == '\u1160', r == '\u17b4', r == '\u17b5', r == '\u2800', r == '\u3164', r == '\uffa0',
		r == '\ufffc', r == '\ufffd', r == 0x16fe4, r == 0x1d159, r >= '\u180b' && r <= '\u180f', r >= '\ufe00' && r <= '\ufe0f', r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r)
}
