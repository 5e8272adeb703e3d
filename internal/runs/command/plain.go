package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Plain is a command whose words are known without running anything: a program and its arguments, without variables,
// substitutions or files that it writes.
type Plain struct {
	Words []string // without quotes
	Text  string   // as it is written
}

// Plains returns the commands of a text, which are joined by ";", newlines, "&&", "||" or "|". It returns false when the
// text has anything else, is no bash, or is beyond the limits of Classify. The redirections 2>&1 and >/dev/null are left
// out.
func Plains(text string) (list []Plain, ok bool) {
	if len(text) > maxText || nesting(text) > maxNesting {
		return nil, false
	}
	file, ok := parse(text)
	if !ok || len(file.Stmts) == 0 {
		return nil, false
	}
	for _, s := range file.Stmts {
		if list, ok = appendPlains(list, s, text); !ok {
			return nil, false
		}
	}
	return list, true
}

// appendPlains adds the commands of one statement.
func appendPlains(list []Plain, s *syntax.Stmt, text string) ([]Plain, bool) {
	if s.Negated || s.Background || s.Coprocess || s.Disown || slices.ContainsFunc(s.Redirs, writesFile) {
		return nil, false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		list, ok := appendPlains(list, c.X, text)
		if !ok {
			return nil, false
		}
		return appendPlains(list, c.Y, text)
	case *syntax.CallExpr:
		p := Plain{Text: text[c.Pos().Offset():c.End().Offset()]}
		for _, w := range c.Args {
			word, ok := plainWord(w)
			if !ok {
				return nil, false
			}
			p.Words = append(p.Words, word)
		}
		return append(list, p), len(c.Assigns) == 0 && len(p.Words) > 0
	}
	return nil, false
}

// writesFile reports whether a redirection does more than 2>&1 and >/dev/null do.
func writesFile(r *syntax.Redirect) bool {
	target, ok := plainWord(r.Word)
	switch r.Op {
	case syntax.DplOut:
		return !ok || target != "1" && target != "2"
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		return !ok || target != "/dev/null"
	}
	return true
}

// plainWord returns the text of a word that has only letters and quotes.
func plainWord(w *syntax.Word) (text string, ok bool) {
	if w == nil {
		return "", false
	}
	parts := w.Parts
	if len(parts) == 1 {
		if q, quoted := parts[0].(*syntax.DblQuoted); quoted && !q.Dollar {
			parts = q.Parts
		}
	}
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsRune(part.Value, '\\') {
				return "", false
			}
			b.WriteString(part.Value)
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			b.WriteString(part.Value)
		default:
			return "", false
		}
	}
	return b.String(), true
}
