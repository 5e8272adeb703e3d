// Package paper writes a chat as a PDF document. Only functions/records links it.
//
// The faces are embedded. A character that they do not have is U+FFFD in the document: they have Latin, Greek and Cyrillic
// letters, and no emoji.
package paper

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"

	"piloto/internal/conversation"
)

// Measures, in millimetres; sizes of letters in points.
const (
	margin     = 20.0
	foot       = 16.0
	indent     = 6.0
	textSize   = 10.5
	smallSize  = 8.5
	codeSize   = 9.0
	titleSize  = 17.0
	textLine   = 5.4
	smallLine  = 4.4
	codeLine   = 4.6
	afterBlock = 1.8
)

// face is one of the embedded faces.
type face struct{ family, style string }

var (
	plain = face{"go", ""}
	bold  = face{"go", "B"}
	mono  = face{"gomono", ""}
)

// run is a piece of text in one face.
type run struct {
	text string
	face face
}

// printer writes text at a place of a page.
type printer struct {
	pdf    *fpdf.Fpdf
	glyphs map[face]*glyphs
	left   float64 // where lines begin
	size   float64
	line   float64 // its height
}

// Print writes a document. It is the httpapi.Printer of functions/records.
func Print(d conversation.Paper) ([]byte, error) {
	p := &printer{pdf: fpdf.New("P", "mm", "A4", ""), glyphs: map[face]*glyphs{}}
	for _, f := range []struct {
		face
		raw []byte
	}{{plain, goregular.TTF}, {bold, gobold.TTF}, {mono, gomono.TTF}} {
		g, err := glyphsOf(f.raw)
		if err != nil {
			return nil, err
		}
		p.glyphs[f.face] = g
		p.pdf.AddUTF8FontFromBytes(f.family, f.style, f.raw)
	}
	p.pdf.SetMargins(margin, margin, margin)
	p.pdf.SetCellMargin(0)
	p.pdf.SetAutoPageBreak(true, foot+4)
	p.pdf.SetCreationDate(d.At)
	p.pdf.SetModificationDate(d.At)
	p.pdf.SetTitle(d.Title, true)
	p.pdf.SetLang(d.Lang)
	p.pdf.AliasNbPages("")
	p.pdf.SetFooterFunc(func() {
		p.pdf.SetY(-foot)
		p.pdf.SetFont(plain.family, plain.style, smallSize)
		p.pdf.SetTextColor(110, 110, 110)
		p.pdf.CellFormat(0, smallLine, fmt.Sprintf("%d / {nb}", p.pdf.PageNo()), "", 0, "C", false, 0, "")
	})
	p.pdf.AddPage()
	p.text(titleSize, titleSize*0.5, 0, run{d.Title, bold})
	for _, line := range d.Notes {
		p.grey(func() { p.text(smallSize, smallLine, 0, run{line, plain}) })
	}
	for _, e := range d.Entries {
		p.entry(e)
	}
	var b bytes.Buffer
	err := p.pdf.Output(&b)
	return b.Bytes(), err
}

// entry writes one message.
func (p *printer) entry(e conversation.PaperEntry) {
	p.pdf.Ln(3)
	if _, height := p.pdf.GetPageSize(); p.pdf.GetY() > height-foot-30 { // its author does not stand alone at the end of a page
		p.pdf.AddPage()
	}
	p.pdf.SetDrawColor(215, 215, 215)
	p.pdf.Line(margin, p.pdf.GetY(), p.right(), p.pdf.GetY())
	p.pdf.Ln(2.5)
	p.text(textSize, textLine, 0, run{e.Author, bold}, run{"   " + e.Time, plain})
	for _, line := range e.Above {
		p.strip(line)
	}
	if e.Markdown {
		for _, b := range blocksOf(e.Text) {
			p.block(b)
		}
	} else {
		p.text(textSize, textLine, 0, run{e.Text, plain})
	}
	for _, line := range e.Notes {
		p.grey(func() { p.text(smallSize, smallLine, 0, run{line, plain}) })
	}
}

// block writes a block of Markdown.
func (p *printer) block(b block) {
	switch b.kind {
	case heading:
		p.pdf.Ln(1)
		size := max(textSize+4-float64(b.level), textSize)
		p.text(size, size*0.55, 0, run{b.text, bold})
	case item:
		p.text(textSize, textLine, float64(b.level)*indent, append([]run{{b.mark + " ", plain}}, inline(b.text)...)...)
	case code:
		p.text(codeSize, codeLine, indent, run{b.text, mono})
	case quote:
		p.grey(func() { p.text(textSize, textLine, indent, inline(b.text)...) })
	default:
		p.text(textSize, textLine, 0, inline(b.text)...)
	}
}

// strip writes a line that contradicts the text after it, on an amber ground with a bar at its side.
func (p *printer) strip(line string) {
	p.pdf.SetFont(bold.family, bold.style, textSize)
	p.pdf.SetFillColor(253, 243, 223)
	p.pdf.SetDrawColor(138, 80, 0)
	p.pdf.SetLineWidth(1)
	p.pdf.SetCellMargin(2.5)
	p.pdf.MultiCell(0, textLine+1, p.glyphs[bold].shown(line), "L", "L", true)
	p.pdf.SetCellMargin(0)
	p.pdf.SetLineWidth(0.2)
	p.pdf.Ln(afterBlock)
}

func (p *printer) grey(write func()) {
	p.pdf.SetTextColor(100, 100, 100)
	write()
	p.pdf.SetTextColor(0, 0, 0)
}

// right is where lines end.
func (p *printer) right() float64 {
	width, _ := p.pdf.GetPageSize()
	return width - margin
}

// text writes runs as a paragraph of its own, in lines that are as long as there is room.
func (p *printer) text(size, line, in float64, runs ...run) {
	p.left, p.size, p.line = margin+in, size, line
	p.pdf.SetX(p.left)
	for _, r := range runs {
		p.flow(r)
	}
	p.pdf.Ln(line)
	p.pdf.Ln(afterBlock)
}

// flow writes a run at the present place. A piece that fits into a line is written at once. Code keeps its spaces.
func (p *printer) flow(r run) {
	text := p.glyphs[r.face].shown(r.text)
	p.pdf.SetFont(r.face.family, r.face.style, p.size)
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			p.pdf.Ln(p.line)
			p.pdf.SetX(p.left)
		}
		var pending strings.Builder
		width := 0.0
		write := func() {
			p.pdf.CellFormat(width, p.line, pending.String(), "", 0, "L", false, 0, "")
			pending.Reset()
			width = 0
		}
		next := func() {
			write()
			p.pdf.Ln(p.line)
			p.pdf.SetX(p.left)
		}
		for _, word := range wordsOf(line) {
			w := p.pdf.GetStringWidth(word)
			switch room := p.right() - p.pdf.GetX() - width; {
			case w <= room:
			case w <= p.right()-p.left:
				next()
				if strings.TrimSpace(word) == "" && r.face != mono {
					continue
				}
			default: // longer than a line
				for _, c := range word {
					one := p.pdf.GetStringWidth(string(c))
					if one > p.right()-p.pdf.GetX()-width {
						next()
					}
					pending.WriteRune(c)
					width += one
				}
				continue
			}
			pending.WriteString(word)
			width += w
		}
		write()
	}
}

// wordsOf divides a line into words and the spaces between them.
func wordsOf(line string) []string {
	var words []string
	from, space := 0, false
	for i, c := range line {
		if is := c == ' '; i > from && is != space {
			words, from = append(words, line[from:i]), i
			space = is
		} else if i == from {
			space = is
		}
	}
	if from < len(line) {
		words = append(words, line[from:])
	}
	return words
}

// printable reports whether a character has a width; the others are left out.
func printable(c rune) bool {
	return c == '\n' || unicode.IsPrint(c)
}
