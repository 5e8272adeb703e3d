package webui

import (
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
)

// display renders text for a confirmation. Characters that a reader cannot see are marked as ⟦U+202E⟧: controls,
// line breaks, bidi and zero-width characters, unusual spaces, padding, invalid bytes. A letter that imitates
// another one is followed by its code point. No part of the text is omitted or shortened.
func display(text string) render.HTML {
	var p visibleWriter
	p.text(text)
	return p.html()
}

// plain returns the same without markup, for attributes and titles.
func plain(text string) string {
	p := visibleWriter{bare: true}
	p.text(text)
	return p.b.String()
}

// title returns the name of a chat without markup. Its emoji keep their joiners.
func title(text string) string {
	p := visibleWriter{bare: true, prose: true}
	p.text(text)
	return p.b.String()
}

// prose renders a message: line breaks are kept, and emoji keep their joiners.
func prose(text string) render.HTML {
	p := visibleWriter{prose: true}
	p.text(text)
	return p.html()
}

// visibleWriter writes text as HTML in which every character is visible.
type visibleWriter struct {
	b     strings.Builder
	bare  bool // without markup: for attributes, which html/template escapes
	prose bool // a message, not a value
	// step, if set, highlights references: it returns the description of the step that a reference names.
	step   func(id string) string
	marked bool // a character was marked
	last   rune // the previous rune, to recognise an emoji's joiner
}

func (p *visibleWriter) html() render.HTML {
	return render.HTML(p.b.String()) //nolint:gosec // every rune was written by put or mark
}

// text writes literal text and, if step is set, references.
func (p *visibleWriter) text(s string) {
	if p.step == nil {
		p.literal(s)
		return
	}
	for s != "" {
		i, j := ref.Next(s)
		p.literal(s[:i])
		if i == j {
			return
		}
		p.reference(s[i:j])
		s = s[j:]
	}
}

func (p *visibleWriter) reference(s string) { p.writeReference(s, s) }

// reference writes a whole reference without the signs around it.
func (p *visibleWriter) bareReference(s string) {
	p.writeReference(s, strings.TrimSuffix(strings.TrimPrefix(s, "${"), "}"))
}

func (p *visibleWriter) writeReference(s, shown string) {
	title := ""
	if refs, err := ref.InText(s); err == nil && len(refs) == 1 {
		title = p.step(refs[0].Step)
	}
	fmt.Fprintf(&p.b, `<span class="ref" title="%s">`, html.EscapeString(title))
	p.literal(shown)
	p.b.WriteString(`</span>`)
}

// padding is the longest run of spaces that is shown unchanged.
const padding = 12

func (p *visibleWriter) literal(s string) {
	genuine := genuineScripts(s)
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			p.mark(fmt.Sprintf("0x%02X", s[0]))
		case p.prose && (r == '\u200d' || r == '\ufe0f') && unicode.Is(unicode.So, p.last):
			p.b.WriteRune(r) // last is kept: an emoji may continue after its joiner
			s = s[n:]
			continue
		case isWord(r):
			n = wordLen(s)
			p.word(s[:n], genuine)
		case r == ' ':
			n = len(s) - len(strings.TrimLeft(s, " "))
			if n > padding && !p.prose {
				p.mark(fmt.Sprintf("U+0020 ×%d", n))
				break
			}
			p.b.WriteString(s[:n])
		case p.prose && (r == '\n' || r == '\t' || r == '\u00a0'):
			p.put(r)
		case ref.Invisible(r):
			p.mark(codePoint(r))
		default:
			p.put(r)
		}
		p.last = r
		s = s[n:]
	}
}

// word writes letters and their accents, and marks imitations.
func (p *visibleWriter) word(s string, genuine map[*unicode.RangeTable]bool) {
	fake := imitations(s, genuine)
	accents := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.M, r):
			if accents++; accents > 2 || ref.Invisible(r) || isOverlay(r) {
				p.mark(codePoint(r))
				continue
			}
			p.put(r)
			continue
		case ref.Invisible(r):
			p.mark(codePoint(r))
		case isStyled(r) || fake(r):
			p.put(r)
			p.mark(codePoint(r))
		default:
			p.put(r)
		}
		accents = 0
	}
}

func (p *visibleWriter) put(r rune) {
	if p.bare {
		p.b.WriteRune(r)
		return
	}
	switch r {
	case '&':
		p.b.WriteString("&amp;")
	case '<':
		p.b.WriteString("&lt;")
	case '>':
		p.b.WriteString("&gt;")
	case '"':
		p.b.WriteString("&#34;")
	case '\'':
		p.b.WriteString("&#39;")
	default:
		p.b.WriteRune(r)
	}
}

// mark writes a placeholder for an invisible character.
func (p *visibleWriter) mark(name string) {
	p.marked = true
	if p.bare {
		p.b.WriteString("⟦" + name + "⟧")
		return
	}
	p.b.WriteString(`<span class="esc">⟦` + html.EscapeString(name) + `⟧</span>`)
}

func codePoint(r rune) string { return fmt.Sprintf("U+%04X", r) }

// tail returns the end of a text that is too long to be visible at once; "" for a short one.
func tail(text string) string {
	const long, lines, end = 1200, 24, 160
	if len(text) <= long && strings.Count(text, "\n") <= lines {
		return ""
	}
	runes := []rune(text)
	return "…" + string(runes[max(0, len(runes)-end):])
}
