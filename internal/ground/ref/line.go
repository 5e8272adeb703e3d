package ref

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes a text one line: what stands where a person reads what will be done
// must not pose as another line of it, nor turn the direction of what follows.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// Invisible reports a rune that shows nothing, or shows something else than
// itself: controls, formats, bidi, every space but the plain one, fillers,
// selectors, private and unassigned code points. Unicode calls some of them letters
// and signs, so what may be printed is not always seen.
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
