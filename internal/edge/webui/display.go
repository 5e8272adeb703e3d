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

// display renders text to be confirmed. What a reader would not see is written
// out as ⟦U+202E⟧: controls, line breaks, bidi and zero-width characters, odd
// spaces, padding, bytes that are not text. A letter that imitates another one
// is followed by its code point. Nothing is left out and nothing is cut.
func display(text string) render.HTML {
	var p pen
	p.text(text)
	return p.html()
}

// plain is display without markup, for attributes and titles.
func plain(text string) string {
	p := pen{bare: true}
	p.text(text)
	return p.b.String()
}

// prose renders what somebody said: lines stay lines, and emoji keep the joiners
// they are made of.
func prose(text string) render.HTML {
	p := pen{prose: true}
	p.text(text)
	return p.html()
}

// pen writes text as HTML in which everything is visible.
type pen struct {
	b     strings.Builder
	bare  bool // no markup: for attributes, which html/template escapes itself
	prose bool // a message, not a value
	// step, when given, makes references stand out: it returns what to say of
	// the step that a reference names.
	step   func(id string) string
	marked bool // something was written out
	last   rune // the rune before, to know an emoji's joiner
}

func (p *pen) html() render.HTML {
	return render.HTML(p.b.String()) //nolint:gosec // every rune went through put or mark
}

// text writes literal text and, when step is given, references.
func (p *pen) text(s string) {
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

func (p *pen) reference(s string) { p.referring(s, s) }

// named writes a whole reference without the signs around it.
func (p *pen) named(s string) { p.referring(s, strings.TrimSuffix(strings.TrimPrefix(s, "${"), "}")) }

func (p *pen) referring(s, shown string) {
	title := ""
	if refs, err := ref.InText(s); err == nil && len(refs) == 1 {
		title = p.step(refs[0].Step)
	}
	fmt.Fprintf(&p.b, `<span class="ref" title="%s">`, html.EscapeString(title))
	p.literal(shown)
	p.b.WriteString(`</span>`)
}

// padding is how many spaces in a row are still shown as they are.
const padding = 12

func (p *pen) literal(s string) {
	genuine := genuineScripts(s)
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			p.mark(fmt.Sprintf("0x%02X", s[0]))
		case p.prose && (r == '\u200d' || r == '\ufe0f') && unicode.Is(unicode.So, p.last):
			p.b.WriteRune(r) // last stays: an emoji may go on after its joiner
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

// word writes letters and their accents, naming those that imitate others.
func (p *pen) word(s string, genuine map[*unicode.RangeTable]bool) {
	fake := imitations(s, genuine)
	accents := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.M, r):
			if accents++; accents > 2 || ref.Invisible(r) || overlay(r) {
				p.mark(codePoint(r))
				continue
			}
			p.put(r)
			continue
		case ref.Invisible(r):
			p.mark(codePoint(r))
		case styled(r) || fake(r):
			p.put(r)
			p.mark(codePoint(r))
		default:
			p.put(r)
		}
		accents = 0
	}
}

func (p *pen) put(r rune) {
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

// mark writes what stands for something a reader would not see.
func (p *pen) mark(name string) {
	p.marked = true
	if p.bare {
		p.b.WriteString("⟦" + name + "⟧")
		return
	}
	p.b.WriteString(`<span class="esc">⟦` + html.EscapeString(name) + `⟧</span>`)
}

func codePoint(r rune) string { return fmt.Sprintf("U+%04X", r) }

// tail returns the end of a text that is too long to be seen at once, to be
// shown beside the whole; "" for a short one.
func tail(text string) string {
	const long, lines, end = 1200, 24, 160
	if len(text) <= long && strings.Count(text, "\n") <= lines {
		return ""
	}
	runes := []rune(text)
	return "…" + string(runes[max(0, len(runes)-end):])
}
