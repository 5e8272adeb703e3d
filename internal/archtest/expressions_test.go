package archtest

import (
	"go/ast"
	"regexp"
	"testing"
)

// expressing lists the packages that write expressions of DynamoDB, each with a reason.
var expressing = map[string]string{
	"internal/store/kv":   "it makes the expressions of conditions, changes and queries that stores have as values",
	"infra/local/process": "the owner of a data folder lists its tokens, of all accounts",
}

var expression = regexp.MustCompile(`\b(attribute_exists|attribute_not_exists|if_not_exists|begins_with)\(|[=<>] :[a-z]|[$#]\w* = |\b(SET|REMOVE) [#a-zA-Z]| BETWEEN `)

// TestExpressionsAreMadeInOnePackage: no string of an expression travels between packages.
func TestExpressionsAreMadeInOnePackage(t *testing.T) {
	found := map[string]bool{}
	for _, f := range sources(t, false) {
		if within(f.dir(), localaws, "internal/archtest") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok {
				return true
			}
			if text, ok := literal(lit); ok && expression.MatchString(text) {
				found[f.dir()] = true
				if expressing[f.dir()] == "" {
					t.Errorf("%s has an expression: %q", f.at(n), text)
				}
			}
			return true
		})
	}
	for dir := range expressing {
		if !found[dir] {
			t.Errorf("%s has no expression any more: take it off the list", dir)
		}
	}
}
