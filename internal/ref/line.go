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
