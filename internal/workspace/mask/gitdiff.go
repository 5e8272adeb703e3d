package mask

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/workspace"
)

// Lines of an output of git: the first of the diff of a file, with the prefix of each line in a graph; those that name the
// file; the head of a part; and the end of a diff whose lines have no signs.
var (
	diffOf     = lazy.Pattern(`^(.*?)diff --(?:git|cc|combined) (.+)$`)
	fileOf     = lazy.Pattern(`^(?:---|\+\+\+|(?:rename|copy) (?:from|to)) (.+)$`)
	headOf     = lazy.Pattern(`(@@+) (?:[-+]\d+(?:,\d+)? )+@@+ ?`)
	afterOf    = lazy.Pattern(`^(?:commit|tag|tree|object) \S`)
	rangeOf    = lazy.Pattern(` [-+]\d+(?:,(\d+))?`)
	goneWord   = lazy.Pattern(`\[-(.*?)-\]`)
	besideMark = lazy.Pattern(`[^\s"'=:{}+\-\[\]]+\[redacted\]`)
	newWord    = lazy.Pattern(`\{\+(.*?)\+\}`)
)

// Diffs returns an output of a command in which the lines of each diff are masked as the files are whose names stand above them,
// because a line that is gone is in no file. byWords says that the diffs are of words: their lines have no signs.
func Diffs(shown workspace.Shown, output string, byWords bool) string {
	if !strings.Contains(output, "@@") {
		return output
	}
	all := strings.Split(output, "\n")
	d := diff{shown: shown, byWords: byWords}
	for i, line := range all {
		git := diffOf().FindStringSubmatch(line)
		isPlain := i+2 < len(all) && strings.HasPrefix(line, "--- ") && strings.HasPrefix(all[i+1], "+++ ") && strings.HasPrefix(all[i+2], "@@ -")
		if git != nil && d.signs > 0 && !strings.HasPrefix(line, d.graph+"diff ") && strings.Trim(git[1], `|*/\_ `) != "" {
			git = nil // a line of the file
		}
		if git != nil || isPlain && d.signs > 0 {
			d.end()
			d.names, d.signs, d.graph = nil, 0, ""
		}
		if git != nil {
			d.graph = git[1]
			if !strings.Contains(line, "diff --git ") {
				d.named(git[2])
			}
		}
		text, isOf := strings.CutPrefix(line, d.graph)
		head := headOf().FindStringSubmatchIndex(text)
		switch {
		case head != nil && head[0] == 0 && isOf:
			d.end()
			d.signs, d.left = head[3]-head[2]-1, 0
			for _, count := range rangeOf().FindAllStringSubmatch(text[:head[1]], -1) {
				n, err := strconv.Atoi(count[1])
				if err != nil { // git leaves out a count of one
					n = 1
				}
				d.left += n
			}
			if before, _, isSecret := strings.Cut(d.content(text[head[1]:]), Mark); isSecret { // git cuts the line, so that its end is not known
				all[i] = d.graph + text[:head[1]] + before + Mark
			}
		case d.signs == 0:
			if file := fileOf().FindStringSubmatch(text); file != nil {
				d.named(file[1])
			}
		case !isOf || !d.has(text):
			d.end()
			d.names, d.signs = nil, 0
		default:
			d.left--
			if strings.HasPrefix(text, strings.Repeat(" ", d.signs)) { // it stands on each side
				d.left -= d.signs
			}
			d.lines = append(d.lines, &all[i])
		}
	}
	d.end()
	return strings.Join(all, "\n")
}

// diff is the diff of a file that is being read.
type diff struct {
	shown   workspace.Shown
	byWords bool
	graph   string
	names   []string
	signs   int       // that each line of a part has; 0 before the first part
	left    int       // lines that the part can still have, with any signs: git lets its reader choose them
	lines   []*string // of the part
}

// named adds a name of the file, as git writes it.
func (d *diff) named(name string) {
	name, _, _ = strings.Cut(name, "\t")
	if plain, err := strconv.Unquote(name); err == nil {
		name = plain
	}
	if len(name) > 2 && name[1] == '/' { // of a side
		name = name[2:]
	}
	if name != "/dev/null" && !slices.Contains(d.names, name) {
		d.names = append(d.names, name)
	}
}

// has reports whether a line can be one of the part.
func (d *diff) has(text string) bool {
	if d.byWords {
		return !afterOf().MatchString(text)
	}
	return d.left > 0 || text == "" || text[0] == '\\' || len(text) >= d.signs && strings.Trim(text[:d.signs], " +-") == ""
}

// content masks a text as the file.
func (d *diff) content(text string) string {
	for _, name := range d.names {
		safe, _ := Content(d.shown, name, []byte(text))
		text = string(safe)
	}
	return text
}

// end masks the lines of the part.
func (d *diff) end() {
	if len(d.lines) == 0 {
		return
	}
	var marks, texts []string
	for _, line := range d.lines {
		at := len(d.graph)
		if !d.byWords {
			at = min(at+d.signs, len(*line))
		}
		marks, texts = append(marks, (*line)[:at]), append(texts, (*line)[at:])
	}
	if d.byWords {
		d.maskWords(texts)
	} else {
		texts = strings.Split(d.content(strings.Join(texts, "\n")), "\n")
		d.maskGone(marks, texts)
	}
	for i, line := range d.lines {
		*line = marks[i] + texts[i]
	}
	d.lines = nil
}

// maskGone masks deleted lines as the lines that replaced them: the context that makes those secrets may be elsewhere.
func (d *diff) maskGone(marks, texts []string) {
	if len(d.names) == 0 || slices.ContainsFunc(d.names, d.shown.Names) {
		return
	}
	for _, line := range texts {
		before, _, masked := strings.Cut(line, Mark)
		if !masked || !words().MatchString(before) {
			continue
		}
		for i, text := range texts {
			if strings.Contains(marks[i], "-") && strings.HasPrefix(text, before) && !strings.HasPrefix(text[len(before):], Mark) {
				texts[i] = before + Mark
			}
		}
	}
}

// maskWords masks the lines of a diff of words, each side of them by itself.
func (d *diff) maskWords(texts []string) {
	if slices.Contains(texts, "~") {
		d.maskPieces(texts)
		return
	}
	for i := range texts { // without colours, deleted words stand before added ones
		texts[i] = besideMark().ReplaceAllLiteralString(texts[i], Mark)
	}
	for _, side := range []struct{ of, other *regexp.Regexp }{{goneWord(), newWord()}, {newWord(), goneWord()}} {
		plain := make([]string, len(texts))
		for i, text := range texts {
			plain[i] = side.of.ReplaceAllString(side.other.ReplaceAllLiteralString(text, ""), "$1")
		}
		for i, safe := range strings.Split(d.content(strings.Join(plain, "\n")), "\n") {
			switch {
			case safe == plain[i]:
			case texts[i] == plain[i]:
				texts[i] = safe
			default:
				texts[i] = withoutWords(texts[i], plain[i], safe)
				texts[i] = goneWord().ReplaceAllLiteralString(texts[i], "[-"+Mark+"-]")
				texts[i] = newWord().ReplaceAllLiteralString(texts[i], "{+"+Mark+"+}")
			}
		}
	}
}

// maskPieces is maskWords for a diff with a piece of a line on each of its lines, after a sign. A ~ ends the line.
func (d *diff) maskPieces(texts []string) {
	for _, other := range []string{"+", "-"} {
		plain, of := []string{""}, make([]int, len(texts)) // the lines of a side, and that of each piece
		for i, text := range texts {
			of[i] = len(plain) - 1
			switch {
			case text == "~":
				plain = append(plain, "")
			case text != "" && !strings.HasPrefix(text, other):
				plain[of[i]] += text[1:]
			}
		}
		safe := strings.Split(d.content(strings.Join(plain, "\n")), "\n")
		for i, text := range texts {
			switch line := of[i]; {
			case text == "" || text == "~" || plain[line] == safe[line]:
			case text[0] == ' ':
				texts[i] = withoutWords(text, plain[line], safe[line])
			default:
				texts[i] = text[:1] + Mark
			}
		}
	}
}

// withoutWords returns a text with masks for the words that a masked form of a line does not show. Git may have signs between them.
func withoutWords(text, plain, safe string) string {
	for _, v := range taken(plain, safe) {
		for word := range strings.FieldsSeq(v.text) {
			if len(word) > 2 {
				text = strings.ReplaceAll(text, word, Mark)
			}
		}
	}
	return text
}
