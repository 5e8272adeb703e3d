package paper

import (
	"regexp"
	"strings"
	"sync"
)

// kind is the kind of a block of Markdown.
type kind int

const (
	paragraph kind = iota
	heading
	item
	code // also of a table: its columns stand under one another
	quote
)

// block is a part of a text that is written on its own.
type block struct {
	kind  kind
	level int    // of a heading, from 1; of an item, how deep it is, from 0
	mark  string // of an item
	text  string
}

// forms are the lines that begin a block.
var forms = sync.OnceValue(func() (f struct{ heading, item, fence, rule, table, divider, quote *regexp.Regexp }) {
	f.heading = regexp.MustCompile(`^ {0,3}(#{1,6})\s+(.*?)\s*#*$`)
	f.item = regexp.MustCompile(`^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$`)
	f.fence = regexp.MustCompile("^\\s*(```+|~~~+)")
	f.rule = regexp.MustCompile(`^ {0,3}([-*_])(\s*[-*_]){2,}\s*$`)
	f.table = regexp.MustCompile(`^\s*\|.*\|\s*$`)
	f.divider = regexp.MustCompile(`^\s*\|[\s:|-]*\|\s*$`)
	f.quote = regexp.MustCompile(`^ {0,3}>\s?(.*)$`)
	return f
})

// blocksOf divides a text into blocks, a line at a time. Unknown Markdown stays as it is written.
func blocksOf(text string) []block {
	var list []block
	f := forms()
	open := false // the last block goes on
	add := func(b block, goesOn bool) {
		if last := len(list) - 1; open && goesOn && list[last].kind == b.kind {
			list[last].text += "\n" + b.text
		} else {
			list = append(list, b)
		}
		open = goesOn
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch m := f.item.FindStringSubmatch(line); {
		case f.fence.MatchString(line):
			fence := f.fence.FindStringSubmatch(line)[1]
			var inside []string
			for i++; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), fence); i++ {
				inside = append(inside, lines[i])
			}
			add(block{kind: code, text: strings.Join(inside, "\n")}, false)
		case strings.TrimSpace(line) == "" || f.rule.MatchString(line):
			open = false
		case f.heading.MatchString(line):
			h := f.heading.FindStringSubmatch(line)
			add(block{kind: heading, level: len(h[1]), text: h[2]}, false)
		case f.table.MatchString(line):
			var rows []string
			for ; i < len(lines) && f.table.MatchString(lines[i]); i++ {
				rows = append(rows, lines[i])
			}
			i--
			add(block{kind: code, text: columns(rows)}, false)
		case f.quote.MatchString(line):
			add(block{kind: quote, text: f.quote.FindStringSubmatch(line)[1]}, true)
		case m != nil:
			mark := m[2]
			if len(mark) == 1 {
				mark = "•"
			}
			add(block{kind: item, level: min(len(strings.ReplaceAll(m[1], "\t", "    "))/2, 6), mark: mark, text: m[3]}, false)
		default:
			add(block{kind: paragraph, text: strings.TrimSpace(line)}, true)
		}
	}
	return list
}

// mostColumn is the longest cell that others are filled up to, in characters.
const mostColumn = 24

// columns writes the rows of a table with their cells under one another.
func columns(rows []string) string {
	var table [][]string
	var widths []int
	for _, row := range rows {
		if forms().divider.MatchString(row) {
			continue
		}
		var cells []string
		for i, cell := range strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|") {
			var text strings.Builder
			for _, r := range inline(strings.TrimSpace(cell)) {
				text.WriteString(r.text)
			}
			cells = append(cells, text.String())
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(len([]rune(text.String())), mostColumn))
		}
		table = append(table, cells)
	}
	lines := make([]string, len(table))
	for n, cells := range table {
		for i, cell := range cells {
			if i > 0 {
				lines[n] += "  "
			}
			lines[n] += cell
			if fill := widths[i] - len([]rune(cell)); fill > 0 && i+1 < len(cells) {
				lines[n] += strings.Repeat(" ", fill)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// marks are the parts of a line that are not plain: code, strong, emphasis, and a link with its text and address.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("`([^`\n]+)`" + `|\*\*([^*\n]+)\*\*|~~([^~\n]+)~~|\[([^\]\n]*)\]\(([^)\s]+)\)`)
})

// inline divides the text of a block into runs of one face.
func inline(text string) []run {
	var runs []run
	at := 0
	for _, m := range marks().FindAllStringSubmatchIndex(text, -1) {
		if m[0] > at {
			runs = append(runs, run{text[at:m[0]], plain})
		}
		part := func(n int) string { return text[m[2*n]:m[2*n+1]] }
		switch at = m[1]; {
		case m[2] >= 0:
			runs = append(runs, run{part(1), mono})
		case m[4] >= 0:
			runs = append(runs, run{part(2), bold})
		case m[6] >= 0:
			runs = append(runs, run{part(3), plain})
		default:
			runs = append(runs, run{part(4) + " (" + part(5) + ")", plain})
		}
	}
	if at < len(text) {
		runs = append(runs, run{text[at:], plain})
	}
	return runs
}
