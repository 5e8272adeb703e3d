package httpapi

import (
	"regexp"
	"strings"
	"sync"
)

// mostFence is the longest fence of code that is kept, in characters.
const mostFence = 10

// inertForms are the parts of Markdown that inert changes.
var inertForms = sync.OnceValue(func() (f struct{ fence, info, span, link, definition *regexp.Regexp }) {
	f.fence = regexp.MustCompile("^( {0,3})(`{3,}|~{3,})(.*)$")
	f.info = regexp.MustCompile(`^[A-Za-z0-9+#._-]{1,20}`)
	f.span = regexp.MustCompile("`([^`]*<[^`]*)`")
	f.link = regexp.MustCompile(`(?i)\]\((https?://|mailto:)?`)
	f.definition = regexp.MustCompile(`(?i)\]:([ \t]*https?://)?`)
	return f
})

// inertText breaks what begins HTML, an image, or a formula of several lines. A character that is written as its code
// stands for itself, also behind a backslash.
var inertText = strings.NewReplacer("<", "&lt;", "![", "&#33;[", "$$", "&#36;&#36;", "\x00", "")

var inertFence = strings.NewReplacer("`", "&#96;", "~", "&#126;")

// inert returns a text in Markdown of which no viewer runs or loads anything: it has no HTML, no image, and no link
// but http, https and mailto. Its blocks of code are as they were, if they are fenced, from the first column on, and
// closed: every viewer takes those for code. Text after it is in none of its blocks.
func inert(text string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	var unclosed [2]int // the shortest fence of each kind that is not closed in the rest; 0: none
	for i := 0; i < len(lines); i++ {
		m := inertForms().fence.FindStringSubmatch(lines[i])
		if m == nil {
			lines[i] = inertLine(lines[i])
			continue
		}
		kind := strings.IndexByte("`~", m[2][0])
		if m[1] == "" && len(m[2]) <= mostFence && (unclosed[kind] == 0 || len(m[2]) < unclosed[kind]) && !strings.Contains(m[3], "`") {
			if end := closing(lines, i, m[2]); end > 0 {
				lines[i], lines[end] = m[2]+codeLanguage(m[3]), m[2]
				i = end
				continue
			}
			unclosed[kind] = len(m[2])
		}
		lines[i] = inertLine(unfenced(m[1], m[2]) + m[3])
	}
	return strings.Join(lines, "\n")
}

// closing returns the line that closes a fence; 0 if none does.
func closing(lines []string, from int, fence string) int {
	for i := from + 1; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " ")
		if len(lines[i])-len(line) <= 3 && strings.HasPrefix(line, fence) && strings.Trim(strings.TrimLeft(line, fence[:1]), " \t") == "" {
			return i
		}
	}
	return 0
}

// unfenced returns the beginning of a line that opens no block outside of a list. One that is indented may be in a
// list: it is indented so far that it opens a block there only.
func unfenced(indent, fence string) string {
	if indent != "" {
		return "    " + fence
	}
	return inertFence.Replace(fence)
}

// codeLanguage returns the language of a block, which says how it is coloured. Viewers draw what some languages describe.
func codeLanguage(info string) string {
	word := inertForms().info.FindString(strings.TrimLeft(info, " \t"))
	switch strings.ToLower(word) {
	case "mermaid", "math", "geojson", "topojson", "stl", "dot", "plantuml", "puml":
		return ""
	}
	return word
}

// inertLine returns a line that is in no block of code.
func inertLine(line string) string {
	f := inertForms()
	line = f.span.ReplaceAllString(line, "&#96;$1&#96;") // in code &lt; would not stand for itself
	line = f.link.ReplaceAllStringFunc(line, func(begin string) string { return unbroken(begin, "](", "]&#40;") })
	line = f.definition.ReplaceAllStringFunc(line, func(begin string) string { return unbroken(begin, "]:", "]&#58;") })
	return inertText.Replace(line)
}

// unbroken returns the beginning of a link as it is if it has an address, and else broken.
func unbroken(begin, bare, broken string) string {
	if begin == bare {
		return broken
	}
	return begin
}
