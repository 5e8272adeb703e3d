package webui

import (
	"fmt"
	"html"
	"strings"

	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
	"piloto/internal/ground/visible"
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
	known  func(reference string) (value string, ok bool) // if set, the value that is shown instead of a reference
	marked bool                                           // a character was marked
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

// bareReference writes a whole reference without the signs around it.
func (p *visibleWriter) bareReference(s string) {
	p.writeReference(s, strings.TrimSuffix(strings.TrimPrefix(s, "${"), "}"))
}

func (p *visibleWriter) writeReference(s, shown string) {
	title, value := "", shown
	if p.known != nil {
		if known, ok := p.known(s); ok {
			value = known
		}
	}
	if refs, err := ref.InText(s); err == nil && len(refs) == 1 {
		title = p.step(refs[0].Step)
	}
	if value != shown {
		title = s + " · " + title
	}
	fmt.Fprintf(&p.b, `<span class="ref" title="%s">`, html.EscapeString(title))
	p.literal(value)
	p.b.WriteString(`</span>`)
}

// literal writes text without references.
func (p *visibleWriter) literal(s string) {
	if p.prose {
		visible.Prose(p, s)
		return
	}
	visible.Value(p, s)
}

// Put writes a visible character.
func (p *visibleWriter) Put(r rune) {
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

// Mark writes the name of a character that is invisible, or that imitates another one.
func (p *visibleWriter) Mark(name string) {
	p.marked = true
	if p.bare {
		p.b.WriteString("⟦" + name + "⟧")
		return
	}
	p.b.WriteString(`<span class="esc">⟦` + html.EscapeString(name) + `⟧</span>`)
}

// tail returns the end of a text that is too long to be visible at once; "" for a short one.
func tail(text string) string {
	const long, lines, end = 1200, 24, 160
	if len(text) <= long && strings.Count(text, "\n") <= lines {
		return ""
	}
	runes := []rune(text)
	return "…" + string(runes[max(0, len(runes)-end):])
}
