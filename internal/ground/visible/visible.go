// Package visible owns the form in which a person reads a text before a decision: every character is visible, and a
// letter that imitates another one is named. The page and the terminal use it.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Sink takes a text whose characters are all visible.
type Sink interface {
	// Put takes a character that is visible.
	Put(r rune)
	// Mark takes the name of a character: instead of one that is invisible, or after one that imitates another one.
	Mark(name string)
}

// padding is the longest run of spaces that is shown unchanged.
const padding = 12

// Value writes the text of a value. Marked are controls, line breaks, bidi and zero-width characters, unusual
// spaces, padding and invalid bytes. No part of the text is omitted or shortened.
func Value(to Sink, s string) { write(to, s, false) }

// Prose writes a message: line breaks are kept, CR LF as LF, and emoji keep their joiners.
func Prose(to Sink, s string) { write(to, s, true) }

func write(to Sink, s string, prose bool) {
	genuine := genuineScripts(s)
	var last rune // the previous rune, to recognise the joiner of an emoji
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case prose && strings.HasPrefix(s, "\r\n"): // the LF alone is written
		case r == utf8.RuneError && n == 1:
			to.Mark(fmt.Sprintf("0x%02X", s[0]))
		case prose && (r == '\u200d' || r == '\ufe0f') && unicode.Is(unicode.So, last):
			to.Put(r) // last is kept: an emoji may continue after its joiner
			s = s[n:]
			continue
		case isWord(r):
			n = wordLen(s)
			word(to, s[:n], genuine)
		case r == ' ':
			n = len(s) - len(strings.TrimLeft(s, " "))
			if n > padding && !prose {
				to.Mark(fmt.Sprintf("U+0020 ×%d", n))
				break
			}
			for range n {
				to.Put(' ')
			}
		case prose && (r == '\n' || r == '\t' || r == '\u00a0'):
			to.Put(r)
		case Invisible(r):
			to.Mark(Name(r))
		default:
			to.Put(r)
		}
		last = r
		s = s[n:]
	}
}

// word writes letters and their accents, and marks imitations.
func word(to Sink, s string, genuine map[*unicode.RangeTable]bool) {
	fake := imitations(s, genuine)
	accents := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.M, r):
			if accents++; accents > 2 || Invisible(r) || isOverlay(r) {
				to.Mark(Name(r))
				continue
			}
			to.Put(r)
			continue
		case Invisible(r):
			to.Mark(Name(r))
		case isStyled(r) || fake(r):
			to.Put(r)
			to.Mark(Name(r))
		default:
			to.Put(r)
		}
		accents = 0
	}
}

// Name returns the name of a character: U+202E.
func Name(r rune) string { return fmt.Sprintf("U+%04X", r) }

// Text writes marks between brackets: ⟦U+202E⟧.
type Text struct {
	strings.Builder
	Marked bool // a character was marked
}

// Put writes a character.
func (t *Text) Put(r rune) { t.WriteRune(r) }

// Mark writes the name of a character.
func (t *Text) Mark(name string) {
	t.Marked = true
	t.WriteString("⟦" + name + "⟧")
}

// Line returns a value as text.
func Line(s string) string {
	var t Text
	Value(&t, s)
	return t.String()
}

// Lines returns a message as text.
func Lines(s string) string {
	var t Text
	Prose(&t, s)
	return t.String()
}
