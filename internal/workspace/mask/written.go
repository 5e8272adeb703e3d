package mask

import (
	"regexp"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/workspace"
)

// mark finds a mask, also one of which a part is missing.
var mark = lazy.Pattern(`(?i)\[\s*redacted\b\s*\]?|\bredacted\s*\]`)

// spellings are other ways to write the brackets of a mask.
var spellings = strings.NewReplacer(
	`\[`, "[", `\]`, "]", "%5B", "[", "%5b", "[", "%5D", "]", "%5d", "]", `\u005b`, "[", `\u005B`, "[", `\u005d`, "]", `\u005D`, "]", `\x5b`, "[", `\x5d`, "]",
	"&#91;", "[", "&#93;", "]", "&lsqb;", "[", "&rsqb;", "]", "［", "[", "］", "]", "[[:space:]]", "",
)

// quotes are what a shell drops inside a word.
var quotes = strings.NewReplacer(`"`, "", "'", "", `\`, "")

// In reports whether a text has a mask, or a part of one.
func In(text string) bool {
	text = spellings.Replace(text)
	// A word is found much faster than a pattern, and files are large.
	return strings.Contains(strings.ToLower(text), "redacted") && mark().MatchString(text)
}

// InCommand reports whether a line for a shell has a mask, also one in which quotes stand.
func InCommand(line string) bool { return In(line) || In(quotes.Replace(spellings.Replace(line))) }

// Harms reports whether a file would get a mask that it does not have. was and is are its contents, nil for none. In a file
// that has secrets, each line with a mask must be there already.
func Harms(shown workspace.Shown, name string, was, is []byte) bool {
	if !In(string(is)) {
		return false
	}
	before, after := marks(was), marks(is)
	if len(after.all) > len(before.all) {
		return true
	}
	if _, secrets := Content(shown, name, was); secrets == 0 {
		return false
	}
	for line, n := range after.lines {
		if n > before.lines[line] {
			return true
		}
	}
	return false
}

// written are the masks of a content, and the lines that have them.
type written struct {
	all   [][]int
	lines map[string]int
}

func marks(content []byte) written {
	text := spellings.Replace(string(content))
	w := written{all: find(mark(), text), lines: map[string]int{}}
	if len(w.all) == 0 {
		return w
	}
	for line := range strings.Lines(text) {
		if mark().MatchString(line) {
			w.lines[strings.TrimRight(line, "\r\n")]++
		}
	}
	return w
}

func find(of *regexp.Regexp, text string) [][]int { return of.FindAllStringIndex(text, -1) }
