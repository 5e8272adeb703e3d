package overlay

import (
	"iter"
	"strconv"
	"strings"
)

// LineKind is the kind of a line of a diff.
type LineKind string

// The kinds of lines. Stays is a line that stays as it is.
const (
	Stays   LineKind = ""
	Added   LineKind = "add"
	Removed LineKind = "del"
	Names   LineKind = "file" // it names a file, or says that it is binary
	Part    LineKind = "part" // it says where in the file the next lines are, or that the last one has no end
)

// Line is a line of a diff, with its mark and without its end.
type Line struct {
	Kind LineKind
	Text string
}

// Lines returns the lines of a diff that Diff made. A mark alone does not determine the kind of a line: "--- a" may be the
// line "-- a" that is removed. So the lines of each part are counted.
func Lines(diff string) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		var old, now int // lines of the part that are still to come
		for text := range strings.Lines(diff) {
			line := Line{Text: strings.TrimSuffix(text, "\n")}
			switch {
			case old+now == 0 && strings.HasPrefix(text, "@@"):
				line.Kind, old, now = Part, partLines(line.Text, "-"), partLines(line.Text, "+")
			case strings.HasPrefix(text, "\\"):
				line.Kind = Part
			case old+now == 0:
				line.Kind = Names
			case strings.HasPrefix(text, "+"):
				line.Kind, now = Added, now-1
			case strings.HasPrefix(text, "-"):
				line.Kind, old = Removed, old-1
			default:
				old, now = old-1, now-1
			}
			if !yield(line) {
				return
			}
		}
	}
}

// partLines returns how many lines a part has of one side, by its head "@@ -1,3 +1,4 @@".
func partLines(head, side string) int {
	_, rest, _ := strings.Cut(head, " "+side)
	span, _, _ := strings.Cut(rest, " ")
	_, n, ok := strings.Cut(span, ",")
	if !ok {
		return 1
	}
	lines, _ := strconv.Atoi(n) // the diff was made here
	return lines
}
