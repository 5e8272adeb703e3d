package filetool

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/clip"
)

const bom = "\xEF\xBB\xBF"

// document is the content of a text file. Models read and write its lines with "\n" and without the byte order mark. A
// change keeps the line ends and the mark of the file.
type document struct {
	mark bool   // it begins with a byte order mark
	body []byte // without the mark
}

func newDocument(content []byte) document {
	body, mark := bytes.CutPrefix(content, []byte(bom))
	return document{mark, body}
}

// content returns the file with another body.
func (d document) content(body []byte) []byte {
	if d.mark {
		return append([]byte(bom), body...)
	}
	return body
}

// lines returns the lines with their ends.
func (d document) lines() [][]byte { return splitLines(d.body) }

func splitLines(body []byte) [][]byte {
	lines := make([][]byte, 0, bytes.Count(body, []byte("\n"))+1)
	for line := range bytes.Lines(body) {
		lines = append(lines, line)
	}
	return lines
}

// lineEnd returns the first line end of a text, and otherwise when there is none.
func lineEnd(text []byte, otherwise string) string {
	switch i := bytes.IndexByte(text, '\n'); {
	case i < 0:
		return otherwise
	case i > 0 && text[i-1] == '\r':
		return "\r\n"
	}
	return "\n"
}

// bare returns a line without its end.
func bare(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// plain returns a text with "\n" as its only line end.
func plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// traits names the properties that a model cannot see in the lines: "CRLF line ends, ...". It is "" for an ordinary text.
func (d document) traits() string {
	var all []string
	crlf, lf := bytes.Count(d.body, []byte("\r\n")), bytes.Count(d.body, []byte("\n"))
	switch {
	case crlf > 0 && crlf == lf:
		all = append(all, "CRLF line ends")
	case crlf > 0:
		all = append(all, "mixed line ends")
	}
	if d.mark {
		all = append(all, "a byte order mark")
	}
	if !utf8.Valid(d.body) {
		all = append(all, "bytes that are not UTF-8, shown as \uFFFD")
	}
	if len(d.body) > 0 && d.body[len(d.body)-1] != '\n' {
		all = append(all, "no line end at its end")
	}
	return strings.Join(all, ", ")
}

// cut shortens a text to some bytes and says how many more it has. It does not cut a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	at := clip.Boundary(text, most)
	return fmt.Sprintf("%s… (+%d bytes)", text[:at], len(text)-at)
}

// window shortens a line around a position in it.
func window(line string, at, most int) string {
	if len(line) <= most {
		return line
	}
	from := clip.Boundary(line, max(0, min(at-most/3, len(line)-most)))
	text := cut(line[from:], most)
	if from > 0 {
		text = fmt.Sprintf("(%d bytes+) …%s", from, text)
	}
	return text
}

// page collects lines of an output up to a size.
type page struct {
	b    strings.Builder
	most int
}

// add writes a line, and reports whether it has room.
func (p *page) add(line string) bool {
	if p.b.Len()+len(line)+1 > p.most {
		return false
	}
	p.b.WriteString(line)
	p.b.WriteByte('\n')
	return true
}

// size writes a number of bytes for a reader.
func size(n int64) string {
	switch {
	case n < 1_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1_000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
}
