package command

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCommand bounds a command that a model proposes, in bytes.
const maxCommand = 4 << 10

// Accept says why another command may not stand in for one that failed, as a key of
// locale ("command.KEY"), or "" when it may. confirmed is the command of the plan,
// failed the one that was run.
//
// It may when it is another command, of one line and at most 4 KB, that destroys
// nothing, is no more dangerous than either, does nothing of a kind that the failed
// one did not, and calls the programs that the failed one called, or ones that are
// safe as they are called.
func Accept(confirmed, failed, other string) (why string) {
	if len(other) > maxCommand || !utf8.ValidString(other) || strings.ContainsFunc(other, unprintable) {
		return "lines"
	}
	was, now, plan := judged(failed), judged(other), judged(confirmed)
	switch {
	case strings.TrimSpace(other) == "" || same(failed, other, was, now):
		return "same"
	case now.result.Class == Destructive:
		return "destructive"
	case now.result.Class > was.result.Class || now.result.Class > plan.result.Class || !within(now, was):
		return "above"
	}
	for name, class := range now.programs {
		if _, called := was.programs[name]; !called && class > Safe {
			return "other"
		}
	}
	return ""
}

// unprintable reports what hides in a line, or makes it another than it looks.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Co, r)
}

// same reports whether two commands do the same, however they are quoted and
// spaced.
func same(a, b string, was, now *judge) bool {
	if strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ") {
		return true
	}
	return len(now.trace) > 0 && strings.Join(was.trace, "\n") == strings.Join(now.trace, "\n")
}

// within reports whether a command was found to do nothing but what another was.
func within(now, was *judge) bool {
	did := map[string]bool{}
	for _, f := range was.result.Findings {
		did[f.Why] = true
	}
	for _, f := range now.result.Findings {
		if !did[f.Why] {
			return false
		}
	}
	return len(now.result.Findings) < maxFindings
}

// Line is a command on one line, as a message shows it: at most 500 characters.
func Line(text string) string { return oneLine(text, 500) }

// oneLine is text on one line, without what cannot be seen, and at most so many
// characters of it.
func oneLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unprintable(r), r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
