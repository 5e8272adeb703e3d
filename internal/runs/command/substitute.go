package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Asks reports whether a person must approve the other command before it replaces the failed one. A model
// wrote it after it read the response of a service, so the author of that response may have chosen
// it.
//
// It returns false only for a safe command with the same program and the same operands: both are a
// single command of plain words, and they differ only in options without a value.
func (r Replacement) Asks() bool {
	if Classify(r.Other).Class != Safe {
		return true
	}
	was, plain := plainWords(r.Failed)
	now, also := plainWords(r.Other)
	if !plain || !also || was[0] != now[0] {
		return true
	}
	return !slices.Equal(operands(was), operands(now)) || slices.ContainsFunc(now[1:], func(w string) bool {
		return isOption(w) && !isBareOption(w) && !slices.Contains(was, w)
	})
}

// plainWords returns the words of a text that is a single command of plain words; false for any
// other text. A plain word has the same meaning with every kind of quotes.
func plainWords(text string) ([]string, bool) {
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
		word, ok := literalText(w.Parts)
		if !ok {
			return nil, false
		}
		list = append(list, word)
	}
	return list, len(list) > 0
}

// literalText returns the text of a word that has nothing that a shell computes, escapes or
// matches.
func literalText(parts []syntax.WordPart) (string, bool) {
	var b strings.Builder
	for _, part := range parts {
		text, ok := "", false
		switch p := part.(type) {
		case *syntax.Lit:
			text, ok = p.Value, true
		case *syntax.SglQuoted:
			text, ok = p.Value, !p.Dollar
		case *syntax.DblQuoted:
			if text, ok = literalText(p.Parts); p.Dollar {
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

func isOption(w string) bool { return len(w) > 1 && w[0] == '-' && w != "--" }

// isBareOption reports whether an option carries no value: one letter, or a word.
func isBareOption(w string) bool {
	if name, long := strings.CutPrefix(w, "--"); long {
		return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
	}
	return len(w) == 2
}

// operands returns the words after the program that are not options.
func operands(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list[1:]), isOption)
}
