package httpapi

import (
	"regexp"
	"strings"
	"sync"
)

// mostFence is the longest fence of code that is written, in characters.
const mostFence = 10

// inertForms are the parts of Markdown that inert changes.
var inertForms = sync.OnceValue(func() (f struct{ fence, marker, info, link, definition *regexp.Regexp }) {
	f.fence = regexp.MustCompile("^(`{3,}|~{3,})(.*)$")
	f.marker = regexp.MustCompile(`^(?:[-*+]|\d{1,9}[.)])(?: +|$)`)
	f.info = regexp.MustCompile(`^[A-Za-z0-9+#._-]{1,20}`)
	f.link = regexp.MustCompile(`(?i)\]\((https?://|mailto:)?`)
	f.definition = regexp.MustCompile(`(?i)\]:([ \t]*https?://)?`)
	return f
})

// inertText breaks the beginnings of HTML, of an image, of a block of code, and of a formula of several lines. A character
// that is written as its code stands for itself, also behind a backslash.
var inertText = strings.NewReplacer("<", "&lt;", "![", "&#33;[", "```", "&#96;&#96;&#96;", "~~~", "&#126;&#126;&#126;", "$$", "&#36;&#36;", "\x00", "")

// inert returns a text in Markdown of which no viewer runs or loads anything: it has no HTML, no image, and no link
// but http, https and mailto. The content of its blocks of code is unchanged, also in a list or a quotation: each is written
// as a block that begins in the first column and is closed, because every viewer takes those for code. Text after it is in
// none of its blocks.
func inert(text string) string {
	b := blocks{lines: strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(text), "\n")}
	for b.at < len(b.lines) {
		b.next()
	}
	return strings.Join(b.out, "\n")
}

// inertLines returns a text that has no blocks of code, for a place within a line.
func inertLines(text string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := range lines {
		lines[i] = inertLine(lines[i])
	}
	return strings.Join(lines, "\n")
}

// blocks finds the blocks of code of a text, line by line. An error of it matters to a reader only: text outside of blocks
// is written without anything that a viewer could run.
type blocks struct {
	lines []string
	at    int
	out   []string
	lists []inside // the lists that are open, the innermost last
	blank bool     // the line before is blank, or there is none: a text does not go on
	shift int      // the columns that text is moved to the left, because a block of code ended its list
}

// inside is a place in a list: the number of quotations around it, and the column where its text begins.
type inside struct{ quotes, column int }

// next reads a line, or a block of code.
func (b *blocks) next() {
	line := untabbed(b.lines[b.at])
	at, quotes := quoted(line, -1)
	column := textAt(line, at)
	if column == len(line) {
		b.out, b.blank = append(b.out, inertLine(b.lines[b.at])), true
		b.at++
		return
	}
	for n := len(b.lists); n > 0 && (b.lists[n-1].quotes > quotes || b.lists[n-1].quotes == quotes && b.lists[n-1].column > column); n-- {
		b.lists = b.lists[:n-1]
	}
	list := 0 // the column where the text of the list begins; 0: it is in none
	if n := len(b.lists); n > 0 && b.lists[n-1].quotes == quotes {
		list = b.lists[n-1].column
	}
	base, begins := max(at, list), b.blank || b.at == 0
	for column-base < 4 { // the markers of lists, and of quotations in them
		marker := inertForms().marker.FindString(line[column:])
		if marker == "" {
			break
		}
		list, begins = column+len(marker), true
		if bare := len(strings.TrimRight(marker, " ")); len(marker)-bare > 4 { // the rest is an indented block of code
			list = column + bare + 1
		}
		b.lists = append(b.lists, inside{quotes, list})
		base, column = list, textAt(line, list)
		if more, n := quoted(line[base:], -1); n > 0 && column-base < 4 {
			quotes, list, base = quotes+n, 0, base+more
			column = textAt(line, base)
		}
	}
	b.blank = false
	fence := inertForms().fence.FindStringSubmatch(line[column:])
	switch {
	case column-base < 4 && fence != nil && (fence[1][0] == '~' || !strings.Contains(fence[2], "`")):
		b.write(line[:column], list, codeLanguage(fence[2]), b.fenced(fence[1], quotes, list, column))
	case column-base >= 4 && begins && column < len(line):
		b.write(line[:column], list, "", b.indented(quotes, base+4))
	default:
		b.text()
	}
}

// textAt returns where the text of a line begins behind a place.
func textAt(line string, at int) int { return len(line) - len(strings.TrimLeft(line[at:], " ")) }

// fenced returns the content of a block of code, up to its end or that of its list or quotation.
func (b *blocks) fenced(fence string, quotes, list, column int) (content []string) {
	for b.at++; b.at < len(b.lines); b.at++ {
		line := untabbed(b.lines[b.at])
		at, n := quoted(line, quotes)
		begin := textAt(line, at)
		text := line[begin:]
		if n < quotes || text != "" && begin < list {
			break
		}
		if begin-max(at, list) < 4 && strings.HasPrefix(text, fence) && strings.Trim(strings.TrimLeft(text, fence[:1]), " \t") == "" {
			b.at++
			break
		}
		content = append(content, from(b.lines[b.at], min(max(at, column), max(at, begin))))
	}
	return content
}

// indented returns the content of a block of code that is one by its indentation, from a column on. The blank lines behind
// it are not in it.
func (b *blocks) indented(quotes, column int) (content []string) {
	content = append(content, from(b.lines[b.at], column))
	filled := 1
	for b.at++; b.at < len(b.lines); b.at++ {
		line := untabbed(b.lines[b.at])
		at, n := quoted(line, quotes)
		begin := textAt(line, at)
		if n < quotes || begin < len(line) && begin < column {
			break
		}
		content = append(content, from(b.lines[b.at], column))
		if begin < len(line) {
			filled = len(content)
		}
	}
	b.at -= len(content) - filled
	return content[:filled]
}

// write writes a block of code in the first column, behind the markers of lists that stand before it. Text after it is moved
// so many columns to the left, until a line begins in the first one.
func (b *blocks) write(before string, shift int, language string, content []string) {
	fence := fenceFor(content)
	if fence == "" { // no fence is long enough
		for _, line := range content {
			b.out = append(b.out, inertLine(line))
		}
		return
	}
	if before = strings.TrimRight(before, " >"); strings.TrimLeft(before, " >") != "" {
		b.out = append(b.out, inertLine(before))
	}
	b.out = append(append(append(b.out, fence+language), content...), fence)
	b.shift, b.blank = shift, true
}

// text writes a line that is in no block of code.
func (b *blocks) text() {
	line := b.lines[b.at]
	b.at++
	if b.shift > 0 {
		rest := strings.TrimLeft(untabbed(line), " ")
		indent := len(untabbed(line)) - len(rest)
		line = strings.Repeat(" ", max(indent-b.shift, 0)) + rest
		if indent == 0 {
			b.shift = 0
		}
	}
	b.out = append(b.out, inertLine(line))
}

// fenceFor returns a fence that no line of a block of code closes; "" if none of few characters does.
func fenceFor(content []string) string {
	for _, mark := range []string{"`", "~"} {
		longest := 2
		for _, line := range content {
			text := strings.TrimLeft(line, " \t")
			longest = max(longest, len(text)-len(strings.TrimLeft(text, mark)))
		}
		if longest < mostFence {
			return strings.Repeat(mark, longest+1)
		}
	}
	return ""
}

// untabbed returns a line whose tabs before its text are spaces.
func untabbed(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var out strings.Builder
	for i := range len(line) {
		switch c := line[i]; {
		case c == '\t':
			out.WriteString(strings.Repeat(" ", 4-out.Len()%4))
		case strings.IndexByte(" >-*+.)0123456789", c) < 0:
			return out.String() + line[i:]
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// quoted returns the position behind the quotation marks of a line, at most so many of them (-1: all), and their number.
func quoted(line string, most int) (at, quotes int) {
	for quotes != most {
		next := at + len(line[at:]) - len(strings.TrimLeft(line[at:], " "))
		if next == len(line) || line[next] != '>' {
			break
		}
		at, quotes = next+1, quotes+1
		if at < len(line) && line[at] == ' ' {
			at++
		}
	}
	return at, quotes
}

// from returns a line from a column on. Of a tab that begins before it, spaces are left.
func from(line string, column int) string {
	at := 0
	for i := range len(line) {
		if at >= column {
			return strings.Repeat(" ", at-column) + line[i:]
		}
		if line[i] == '\t' {
			at += 4 - at%4
		} else {
			at++
		}
	}
	return ""
}

// codeLanguage returns the language of a block, which decides its colours; "" for a language from which viewers draw a
// picture.
func codeLanguage(info string) string {
	word := inertForms().info.FindString(strings.TrimLeft(info, " \t"))
	switch strings.ToLower(word) {
	case "mermaid", "math", "geojson", "topojson", "stl", "dot", "plantuml", "puml":
		return ""
	}
	return word
}

// inertLine returns a line that is in no block of code. In code within it, a character that is written as its code would not
// stand for itself: then it is no code.
func inertLine(line string) string {
	var out strings.Builder
	for line != "" {
		before, mark, code, after := cutCode(line)
		out.WriteString(inertWords(before))
		switch words := inertWords(code); {
		case len(mark) > 2 || words != code:
			mark = strings.Repeat("&#96;", len(mark))
			code = words
			fallthrough
		case mark != "":
			out.WriteString(mark + code + mark)
		}
		line = after
	}
	return out.String()
}

// cutCode cuts a line around its first code, which is between two marks of as many characters. Without one, all is before.
func cutCode(line string) (before, mark, code, after string) {
	for at := strings.IndexByte(line, '`'); at >= 0 && at < len(line); {
		mark := line[at : len(line)-len(strings.TrimLeft(line[at:], "`"))]
		for end := at + len(mark); end < len(line); {
			next := strings.IndexByte(line[end:], '`')
			if next < 0 {
				break
			}
			begin := end + next
			end = len(line) - len(strings.TrimLeft(line[begin:], "`"))
			if end-begin == len(mark) {
				return line[:at], mark, line[at+len(mark) : begin], line[end:]
			}
		}
		rest := at + len(mark)
		next := strings.IndexByte(line[rest:], '`')
		if next < 0 {
			break
		}
		at = rest + next
	}
	return line, "", "", ""
}

func inertWords(text string) string {
	f := inertForms()
	text = f.link.ReplaceAllStringFunc(text, func(begin string) string { return unbroken(begin, "](", "]&#40;") })
	text = f.definition.ReplaceAllStringFunc(text, func(begin string) string { return unbroken(begin, "]:", "]&#58;") })
	return inertText.Replace(text)
}

// unbroken returns the beginning of a link as it is if it has an address, and else broken.
func unbroken(begin, bare, broken string) string {
	if begin == bare {
		return broken
	}
	return begin
}
