// Package clip shortens a text to so many characters or bytes, or to one line. It is for texts of others, which may be of
// any length.
package clip

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/visible"
)

// ellipsis stands for the end of a text that was cut. It counts as a part of the result.
const ellipsis = "…"

// Instructions is the most bytes of what an operator tells a model in one place: an assistant, a project, an agent, the
// sections of a router, a business context.
const Instructions = 16 << 10

// Runes returns a text of at most most characters. A longer one is cut, and ends with an ellipsis.
func Runes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:max(0, most-1)]) + ellipsis
}

// Bytes is Runes for a size in bytes. A text that is cut is valid UTF-8.
func Bytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, most-len(ellipsis))], "") + ellipsis
}

// Middle leaves out the middle of a text of more than head+tail bytes. omitted returns the text that stands for it, by the
// number of bytes that are left out.
func Middle(text string, head int, omitted func(bytes int) string, tail int) string {
	from, to := head, len(text)-tail
	if from >= to {
		return text
	}
	return strings.ToValidUTF8(text[:from], "") + omitted(to-from) + strings.ToValidUTF8(text[to:], "")
}

// Boundary returns the last index up to at that is not within a character. The text is longer than at.
func Boundary(text string, at int) int {
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// Line puts a text on one line; one that shows nothing is empty. A text in the description of a plan must not pass for
// another line of it, nor change the writing direction of the text after it.
func Line(text string) string {
	text = LineWithout(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
	})
	if visible.Blank(text) {
		return ""
	}
	return text
}

// LineWithout puts a text on one line, and leaves out the characters for which drop is true; nil: none. A text for a model has no
// character of a tag, and one for a person has no control.
func LineWithout(text string, drop func(rune) bool) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if drop != nil && drop(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)), " ")
}
