package command

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/clip"
)

// maxCommand is the greatest size, in bytes, of a command that a model proposes.
const maxCommand = 4 << 10

// Replacement is a command that may replace one that was run and failed.
type Replacement struct {
	Confirmed string // the command of the plan
	Failed    string
	Other     string
}

// Refused returns the reason why the other command may not replace the failed one, as a key of locale
// ("command.KEY"), or "" when it may.
//
// The other command must differ, have one line and at most 4 KB, destroy nothing, be no more
// dangerous than either command, have no finding that the failed one does not have, and call only
// programs that the failed one called, or programs that are safe with these arguments.
func (r Replacement) Refused() (why string) {
	failed, other := r.Failed, r.Other
	if len(other) > maxCommand || !utf8.ValidString(other) || strings.ContainsFunc(other, isUnprintable) {
		return "lines"
	}
	was, now, plan := analyse(failed), analyse(other), analyse(r.Confirmed)
	switch {
	case strings.TrimSpace(other) == "" || isSameCommand(failed, other, was, now):
		return "same"
	case now.result.Class == Destructive:
		return "destructive"
	case now.result.Class > was.result.Class || now.result.Class > plan.result.Class || !doesNoMore(now, was):
		return "above"
	}
	for name, class := range now.programs {
		if _, called := was.programs[name]; !called && class > Safe {
			return "other"
		}
	}
	return ""
}

// isUnprintable reports whether a character is invisible in a line, or changes the display of the line.
func isUnprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Co, r)
}

// isSameCommand reports whether two commands do the same, in spite of other quotes or spaces.
func isSameCommand(a, b string, was, now *analysis) bool {
	if strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ") {
		return true
	}
	return len(now.trace) > 0 && strings.Join(was.trace, "\n") == strings.Join(now.trace, "\n")
}

// doesNoMore reports whether all findings of a command are also findings of another one.
func doesNoMore(now, was *analysis) bool {
	did := map[string]bool{}
	for _, f := range was.result.Findings {
		did[f.Why] = true
	}
	did["writes"] = did["writes"] || did["overwrites"] // to write without an overwrite is less
	for _, f := range now.result.Findings {
		if !did[f.Why] {
			return false
		}
	}
	return len(now.result.Findings) < maxFindings
}

// Line returns a command on one line, for a message: at most 500 characters.
func Line(text string) string { return oneLine(text, 500) }

// oneLine returns text on one line, without invisible characters, and with at most the given number
// of characters.
func oneLine(s string, most int) string {
	return clip.Runes(clip.LineWithout(s, func(r rune) bool { return isUnprintable(r) || r == utf8.RuneError }), most)
}
