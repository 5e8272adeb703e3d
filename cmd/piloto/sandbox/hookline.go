package sandbox

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"piloto/internal/ground/fault"
)

// placeholder stands for the name of the edited file in the command of a hook.
const placeholder = "{file}"

// Reasons why the command of a hook is refused.
var (
	errHookSyntax = fault.Reason("sandbox.hook.syntax") // it is no bash
	errHookPlace  = fault.Reason("sandbox.hook.place")  // {file} stands where a shell would read the name as code
)

// besides are the characters that may stand in one word with {file}. No shell gives them a meaning.
var besides = regexp.MustCompile(`^[A-Za-z0-9_./=:,@%+-]*$`)

// readsCode lists programs that read the argument after one of these options as code.
var readsCode = map[string][]string{
	"sh": {"-c"}, "bash": {"-c"}, "dash": {"-c"}, "zsh": {"-c"}, "ksh": {"-c"},
	"python": {"-c"}, "python3": {"-c"}, "perl": {"-e", "-E"}, "ruby": {"-e"}, "node": {"-e", "-p", "--eval"}, "php": {"-r"},
	"printf": {"-v"}, "test": {"-v"}, "[": {"-v"}, // they read the name of a variable, and run the code in its index
}

// readsShell lists the programs that read any of their arguments as a line of a shell, or as a variable with an index.
var readsShell = []string{"eval", "trap", "ssh", "su", "watch", "unset", "read", "let", "mapfile", "readarray"}

// hookLine returns the command of a hook as a line of bash in which "$1" stands for {file}. The name of a file is an
// argument of that line and never a part of its text, so that no name can be read as code.
func hookLine(text string) (line string, why *fault.Error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || len(file.Stmts) == 0 {
		return "", errHookSyntax
	}
	places := map[int]string{} // the replacement of the placeholder at an offset
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if !takesName(n.Args) {
				why = errHookPlace
			}
		case *syntax.Word:
			addPlaces(places, n)
		case *syntax.Redirect:
			return n.Hdoc == nil
		case *syntax.Assign:
			return n.Index == nil
		case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause, *syntax.TestClause, *syntax.ParamExp, *syntax.ArrayExpr,
			*syntax.CStyleLoop, *syntax.DeclClause:
			return false // an arithmetic expression runs the code in an index
		}
		return true
	})
	if len(places) != strings.Count(text, placeholder) {
		why = errHookPlace // one is in a comment, in single quotes or in a node that was not entered
	}
	if why != nil {
		return "", why
	}
	var b strings.Builder
	rest := 0
	for at := range len(text) {
		if by, ok := places[at]; ok {
			b.WriteString(text[rest:at] + by)
			rest = at + len(placeholder)
		}
	}
	return b.String() + text[rest:], nil
}

// addPlaces adds the placeholders of a word that has only them and harmless characters, perhaps in double quotes.
func addPlaces(places map[int]string, w *syntax.Word) {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			addLit(places, part, `"$1"`)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok && !part.Dollar && len(part.Parts) == 1 {
					addLit(places, lit, `${1}`)
				}
			}
		}
	}
}

// addLit adds the placeholders of a text without quotes.
func addLit(places map[int]string, lit *syntax.Lit, by string) {
	if !besides.MatchString(strings.ReplaceAll(lit.Value, placeholder, "")) {
		return
	}
	for at := 0; ; {
		next := strings.Index(lit.Value[at:], placeholder)
		if next < 0 {
			return
		}
		places[int(lit.Pos().Offset())+at+next] = by
		at += next + len(placeholder)
	}
}

// takesName reports whether a call may have {file} where it has it: not as its program, and not where a program reads
// code.
func takesName(words []*syntax.Word) bool {
	var before []string
	for i, w := range words {
		text := wordText(w)
		if strings.Contains(text, placeholder) {
			if i == 0 || slices.ContainsFunc(before, func(b string) bool { return slices.Contains(readsShell, path.Base(b)) }) ||
				before[0] == "." || before[0] == "source" || readsCodeHere(before) {
				return false
			}
		}
		before = append(before, text)
	}
	return true
}

// readsCodeHere reports whether the word after these is code for one of the programs among them.
func readsCodeHere(before []string) bool {
	for i, program := range before {
		options, ok := readsCode[path.Base(program)]
		if last := len(before) - 1; ok && last > i && slices.ContainsFunc(options, func(o string) bool { return hasOption(before[last], o) }) {
			return true
		}
	}
	return false
}

// hasOption reports whether a word has an option, perhaps among other letters: -ec has -c.
func hasOption(word, option string) bool {
	if word == option {
		return true
	}
	return len(option) == 2 && len(word) > 2 && word[0] == '-' && word[1] != '-' && strings.HasSuffix(word, option[1:])
}

// wordText returns the letters of a word, without quotes and with a mark for each part that only a shell knows.
func wordText(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(part.Value)
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					b.WriteString(lit.Value)
				}
			}
		}
	}
	return b.String()
}
