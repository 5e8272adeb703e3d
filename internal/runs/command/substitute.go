package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Asks reports whether a person must approve another command before it is run in the
// place of one that failed. A model wrote it after it read what a service answered, so
// whoever controls that answer may have written it.
//
// It is false only for a safe command that is the same program on the same operands:
// both are one command, of plain words, and they differ in options without a value.
func Asks(failed, other string) bool {
	if Classify(other).Class != Safe {
		return true
	}
	was, plain := words(failed)
	now, also := words(other)
	if !plain || !also || was[0] != now[0] {
		return true
	}
	return !slices.Equal(operands(was), operands(now)) || slices.ContainsFunc(now[1:], func(w string) bool {
		return option(w) && !bare(w) && !slices.Contains(was, w)
	})
}

// words are the words of a text that is one command of plain words; false for any
// other. A plain word means the same however it is quoted.
func words(text string) ([]string, bool) {
	file, ok := parse(text)
	if !ok || len(file.Stmts) != 1 || strings.Contains(text, "#") {
		return nil, false
	}
	s := file.Stmts[0]
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || len(s.Redirs) > 0 || len(c.Assigns) > 0 {
		return nil, false
	}
	var list []string
	for _, w := range c.Args {
		word, ok := literal(w.Parts)
		if !ok {
			return nil, false
		}
		list = append(list, word)
	}
	return list, len(list) > 0
}

// literal is the text of a word without anything that a shell computes, escapes or
// matches.
func literal(parts []syntax.WordPart) (string, bool) {
	var b strings.Builder
	for _, part := range parts {
		text, ok := "", false
		switch p := part.(type) {
		case *syntax.Lit:
			text, ok = p.Value, true
		case *syntax.SglQuoted:
			text, ok = p.Value, !p.Dollar
		case *syntax.DblQuoted:
			if text, ok = literal(p.Parts); p.Dollar {
				ok = false
			}
		}
		if !ok || strings.ContainsAny(text, "$`\\*?[]{}~!^#<>|&;()'\"\n") {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

func option(w string) bool { return len(w) > 1 && w[0] == '-' && w != "--" }

// bare reports whether an option carries no value: one letter, or a word.
func bare(w string) bool {
	if name, long := strings.CutPrefix(w, "--"); long {
		return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
	}
	return len(w) == 2
}

// operands are the words after the program that are no options.
func operands(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list[1:]), option)
}
