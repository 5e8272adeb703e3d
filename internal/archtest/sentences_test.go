package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"

	_ "piloto/cmd/piloto/cli"      // its sentences
	_ "piloto/internal/edge/webui" // its sentences
	"piloto/internal/ground/locale"
)

// speakers maps the functions that name a sentence to the position of its key. The values of its placeholders follow
// in pairs.
var speakers = map[string]int{
	"locale.Say": 0, "locale.Text": 1, "fault.Reason": 0, "failure": 1, "Because": 0, "tool.Because": 0, "c.report": 2, "j.report": 1, "j.reportOfAll": 1, "pathError": 0, "notUsable": 0, "refusal": 0, "ending.Refusal": 0,
}

// renderers lists the packages of the domain that render a text, each with the reason.
var renderers = map[string]string{
	"internal/runs/plan":      "the failure of a run is stored in the language of the run",
	"internal/runs/run":       "a message about a run is stored; a plan is described",
	"internal/runs/command":   "a prompt for a model; the reason of a ledger entry is stored",
	"internal/chats/proposal": "a plan is stored in the language of whoever asked for it",
	"internal/chats/changes":  "a read of files is stored, and a result for a model",
	"internal/chats/brief":    "what a model is told",
	"internal/chats/turn":     "a message and its notes are stored; a prompt for a model",
	"internal/chats/agent":    "a prompt for a model",
	"internal/chats/job":      "the last message of a job is stored",
	"internal/tools/tool":     "the problem of a call is told to a model",
}

var placeholders = regexp.MustCompile(`\{([a-z_]+)`)

// TestEverySentenceOfTheCodeExists: a missing sentence would be shown as its key.
func TestEverySentenceOfTheCodeExists(t *testing.T) {
	seen := 0
	for _, f := range sources(t, false) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at, speaks := speakers[nameOf(call.Fun)]
			if !speaks || len(call.Args) <= at {
				return true
			}
			if prefix, ok := prefixOf(call.Args[at]); ok && len(locale.Keys(prefix)) == 0 {
				t.Errorf("%s: no sentence begins with %q", f.at(n), prefix)
			}
			key, ok := literal(call.Args[at])
			if !ok || key == "" {
				return true
			}
			seen++
			sentence, exists := locale.Lookup(locale.Spanish, key)
			if !exists {
				t.Errorf("%s: there is no sentence %q", f.at(n), key)
			}
			names, known := pairNames(call.Args[at+1:])
			if name := nameOf(call.Fun); name == "refusal" || name == "ending.Refusal" { // who tells it gives these
				names = append(names, "why", "program", "piloto", "whose")
			}
			for _, p := range placeholders.FindAllStringSubmatch(sentence, -1) {
				if known && !call.Ellipsis.IsValid() && nameOf(call.Fun) != "fault.Reason" && !slices.Contains(names, p[1]) {
					t.Errorf("%s: %q has no value for {%s}", f.at(n), key, p[1])
				}
			}
			return true
		})
	}
	if seen < 100 {
		t.Errorf("only %d sentences: the scan no longer finds them", seen)
	}
}

// nameOf returns a function's name, with its package or receiver.
func nameOf(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok {
			return x.Name + "." + fun.Sel.Name
		}
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// prefixOf returns the literal at the beginning of a concatenation.
func prefixOf(e ast.Expr) (string, bool) {
	sum, ok := e.(*ast.BinaryExpr)
	if !ok || sum.Op != token.ADD {
		return "", false
	}
	if text, ok := literal(sum.X); ok {
		return text, true
	}
	return prefixOf(sum.X)
}

// pairNames returns the names in a list of name, value pairs; false when one is not a literal.
func pairNames(args []ast.Expr) (names []string, ok bool) {
	for i := 0; i < len(args); i += 2 {
		name, ok := literal(args[i])
		if !ok {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// TestDomainRendersInFewPlaces: domain code returns phrases, and a phrase is rendered where its text is stored.
func TestDomainRendersInFewPlaces(t *testing.T) {
	found := map[string]bool{}
	for _, f := range sources(t, false) {
		if !within(f.dir(), "internal/runs", "internal/models", "internal/chats", "internal/tools", "internal/conversation") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			phrase := ok && sel.Sel.Name == "In" && len(call.Args) == 1 && slices.Contains(f.imports(), "piloto/internal/ground/locale")
			if name := nameOf(call.Fun); phrase || name == "locale.Text" || name == "locale.Fill" {
				found[f.dir()] = true
				if renderers[f.dir()] == "" {
					t.Errorf("%s renders a text", f.at(n))
				}
			}
			return true
		})
	}
	for dir := range renderers {
		if !found[dir] {
			t.Errorf("%s renders no text any more: take it off the list", dir)
		}
	}
}

// TestEachLanguageHasItsQuotationMarks: a value stands in those of the language.
func TestEachLanguageHasItsQuotationMarks(t *testing.T) {
	for tag, others := range map[locale.Tag]*regexp.Regexp{
		locale.English: regexp.MustCompile(`[«»]|"\{[a-z_]+\}"`),
		locale.Spanish: regexp.MustCompile(`[“”]|"\{[a-z_]+\}"`),
	} {
		for _, key := range locale.Keys("") {
			if text, _ := locale.Lookup(tag, key); others.MatchString(text) {
				t.Errorf("%s %s: %s", tag, key, text)
			}
		}
	}
}
