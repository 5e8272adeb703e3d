package archtest

import (
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

// unspoken lists the texts of the command's packages that no person reads as they are, each with the reason.
var unspoken = map[string]string{
	"no process has the data folder":                                     "errors.Is compares it; a person reads up.no_process",
	"piloto ready on %s\n\n":                                             "programs read this line; a terminal gets a sentence",
	"it answered %s: %s":                                                 "a detail of a sentence",
	"template.yaml:%d: %s has no role of its own":                        "an error of the template, for who writes it",
	"template.yaml:%d: the role of %s: %w":                               "an error of the template, for who writes it",
	"template.yaml:%d: %s: there is no functions/%s":                     "an error of the template, for who writes it",
	"functions that are processes of their own have the machine's clock": "a test's mistake",
}

// consoleWrites are the methods of a console that write a text as it is.
var consoleWrites = []string{"Say", "Print", "PrintLines"}

var words = regexp.MustCompile(`[A-Za-z]{2,} [A-Za-z]{2,}`)

// TestNoCommandSpeaksByALiteral: what the command tells a person is a sentence of the catalogue, so that it is in their language.
func TestNoCommandSpeaksByALiteral(t *testing.T) {
	seen, places := map[string]bool{}, 0
	for _, f := range sources(t, false) {
		if !within(f.dir(), "cmd/piloto/cli", "cmd/piloto/verify", "infra/local/process") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at := 0
			name := nameOf(call.Fun)
			if method, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(consoleWrites, method.Sel.Name) {
				name = "console"
			}
			switch name {
			case "c.Strange":
				return false // the cause of an answer that is told by a sentence
			case "errors.New", "fmt.Errorf", "console", "console.ToldText":
			case "fmt.Fprintf", "fmt.Fprintln", "fmt.Fprint", "io.WriteString":
				at = 1
			default:
				return true
			}
			places++
			for _, arg := range call.Args[min(at, len(call.Args)):] {
				text, ok := literal(arg)
				if !ok || !words.MatchString(text) {
					continue
				}
				seen[text] = true
				if unspoken[text] == "" {
					t.Errorf("%s says %q in one language", f.at(n), text)
				}
			}
			return true
		})
	}
	for text := range unspoken {
		if !seen[text] {
			t.Errorf("%q is said nowhere any more: take it off the list", text)
		}
	}
	if places < 30 {
		t.Errorf("only %d places: the scan no longer finds them", places)
	}
}
