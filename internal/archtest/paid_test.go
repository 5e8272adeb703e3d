package archtest

import (
	"go/ast"
	"slices"
	"testing"
)

// payers lists the places that may call a model, or move what is held for its calls.
var payers = map[string]string{
	"internal/models/llm":    "it repeats a call",
	"internal/models/cache":  "it stands before a model",
	"internal/models/paid":   "it holds, calls and settles",
	"internal/models/credit": "it keeps the holds",
	"internal/boot":          "it makes the models",
}

// TestOnlyPaidCallsModels checks that every call of a model goes through package paid: another way would hold, go on and
// settle as it likes.
func TestOnlyPaidCallsModels(t *testing.T) {
	paying := map[string][]string{
		"piloto/internal/models/llm":    {"Complete"},
		"piloto/internal/models/credit": {"Cover", "Settle", "Drop"},
		"piloto/internal/models/paid":   {"Cover", "Drop"},
	}
	for _, f := range sources(t, false) {
		if !within(f.dir(), "internal", "functions") || payers[f.dir()] != "" || within(f.dir(), "internal/store") {
			continue
		}
		var methods []string
		for _, i := range f.imports() {
			methods = append(methods, paying[i]...)
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) < 2 {
				return true
			}
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && slices.Contains(methods, s.Sel.Name) {
				t.Errorf("%s calls a model, or moves its hold, past package paid", f.at(n))
			}
			return true
		})
	}
}
