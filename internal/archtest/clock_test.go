package archtest

import (
	"go/ast"
	"go/token"
	"testing"
)

// paced lists the tests that compare times of the machine's clock but do not fail because of them, each with a
// reason.
var paced = map[string]string{
	"infra/e2e": "a crash test waits before it looks again",
}

// A test that fails on a slow machine proves nothing about the code. Time is measured in a bubble
// (testing/synctest) or in a benchmark, or the test counts events instead.
func TestNoTestIsTimed(t *testing.T) {
	found := map[string]bool{}
	for _, f := range sources(t, true) {
		if !f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || mentions(fn, "synctest") {
				continue
			}
			for _, n := range timeComparisons(fn) {
				found[f.dir()] = true
				if paced[f.dir()] == "" {
					t.Errorf("%s compares what the clock of the machine says", f.at(n))
				}
			}
		}
	}
	for dir := range paced {
		if !found[dir] {
			t.Errorf("%s compares no times any more: take it off the list", dir)
		}
	}
}

func mentions(root ast.Node, name string) (found bool) {
	ast.Inspect(root, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// timeComparisons returns the comparisons of a function with a result of time.Since.
func timeComparisons(fn *ast.FuncDecl) (list []ast.Node) {
	since := func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return false
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "Since"
	}
	took := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, e := range a.Rhs {
				if id, ok := a.Lhs[i].(*ast.Ident); ok && since(e) {
					took[id.Name] = true
				}
			}
		}
		return true
	})
	ast.Inspect(fn, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok || b.Op != token.LSS && b.Op != token.GTR && b.Op != token.LEQ && b.Op != token.GEQ {
			return true
		}
		for _, e := range []ast.Expr{b.X, b.Y} {
			if id, ok := e.(*ast.Ident); since(e) || ok && took[id.Name] {
				list = append(list, b)
			}
		}
		return true
	})
	return list
}
