package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Screen returns a text as it may go to a terminal: line breaks (CR LF as LF), tabs and the joiners of emoji stay, and every
// other character that shows nothing, or could change the text around it, is named. It marks no letter that imitates another
// one, so a text of Line or Lines stays as it is.
func Screen(s string) string { return screen(s, true) }

// ScreenLine does the same with a value that stands in a line: its own line breaks and tabs are named, too.
func ScreenLine(s string) string { return screen(s, false) }

func screen(s string, lines bool) string {
	if isPlain(s) && (lines || !strings.Contains(s, "\n")) {
		return s
	}
	var t Text
	var last rune
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		joins := (r == '\u200d' || r == '\ufe0f') && unicode.Is(unicode.So, last)
		switch {
		case lines && strings.HasPrefix(s, "\r\n"): // the LF alone is written
		case r == utf8.RuneError && n == 1:
			t.Mark(fmt.Sprintf("0x%02X", s[0]))
		case joins || lines && (r == '\n' || r == '\t') || r == '\u00a0' || !Invisible(r):
			t.Put(r)
		default:
			t.Mark(Name(r))
		}
		if !joins { // an emoji may continue after its joiner
			last = r
		}
		s = s[n:]
	}
	return t.String()
}

// isPlain reports whether a text is printable ASCII and line breaks.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' {
			return false
		}
	}
	return true
}

// Escaped returns the text of a JSON value, with the invisible characters of its strings as \u and four digits: the same
// value, whose every character is visible. Bytes that are no character become U+FFFD.
func Escaped(json string) string {
	if isPlain(json) {
		return json
	}
	var b strings.Builder
	for _, r := range json {
		switch {
		case r == '\n' || !Invisible(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
