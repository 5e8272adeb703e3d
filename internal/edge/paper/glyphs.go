package paper

import (
	"strings"

	"golang.org/x/image/font/sfnt"
)

// glyphs knows which characters a face has.
type glyphs struct {
	font *sfnt.Font
	buf  sfnt.Buffer
	has  map[rune]bool
}

func glyphsOf(raw []byte) (*glyphs, error) {
	font, err := sfnt.Parse(raw)
	return &glyphs{font: font, has: map[rune]bool{}}, err
}

// missing stands for a character that a face does not have. The PDF library fails above U+FFFF.
const missing = '\ufffd'

// shown returns a text in characters that the face has. Tabs are four spaces.
func (g *glyphs) shown(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n':
			return c
		case !printable(c):
			return -1
		case g.knows(c):
			return c
		}
		return missing
	}, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    "))
}

func (g *glyphs) knows(c rune) bool {
	known, seen := g.has[c]
	if !seen {
		i, err := g.font.GlyphIndex(&g.buf, c)
		known = err == nil && i != 0 && c <= 0xffff
		g.has[c] = known
	}
	return known
}
