package archtest

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// last is the number of the last guarantee: docs/guarantees.md has all of them from I01 to here.
const last = 51

// TestTestsOfGuaranteesExist: docs/guarantees.md names, for each guarantee, tests by package; all of them must
// exist.
func TestTestsOfGuaranteesExist(t *testing.T) {
	exist, ofAChange := map[string]bool{}, map[string]bool{}
	inBrowser := namesIn(t, "internal/edge/webui/browser_test.go", "ofAChange")
	for _, f := range sources(t, true) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				exist[f.dir()+" "+fn.Name.Name] = true
				left := isLeftOutShort(fn) || f.dir() == "infra/provider" || // which does nothing without the programs of others
					f.dir() == "internal/edge/webui" && opensBrowser(fn) && !inBrowser[fn.Name.Name]
				ofAChange[f.dir()+" "+fn.Name.Name] = !left
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	part := regexp.MustCompile("`([a-z0-9/]+)`|\\b((?:Test|Fuzz)[A-Z]\\w*)")
	var rows []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| I") || len(cells) != 6 {
			continue
		}
		id, dir, named, awaited := strings.TrimSpace(cells[1]), "", 0, 0
		rows = append(rows, id)
		for _, found := range part.FindAllStringSubmatch(cells[3], -1) {
			if found[1] != "" {
				dir = found[1]
				continue
			}
			if named++; !exist[dir+" "+found[2]] {
				t.Errorf("%s: %s has no %s", id, dir, found[2])
			}
			if ofAChange[dir+" "+found[2]] {
				awaited++
			}
		}
		if named == 0 {
			t.Errorf("%s names no test", id)
		}
		if awaited == 0 {
			t.Errorf("%s: all its tests are left out with -short, so that a change may break it until the night", id)
		}
	}
	for n := range last {
		if id := fmt.Sprintf("I%02d", n+1); !slices.Contains(rows, id) {
			t.Errorf("%s is not in the table", id)
		}
	}
	if len(rows) != last {
		t.Errorf("the table has %d guarantees, and %d are counted on", len(rows), last)
	}
}

// namesIn returns the strings of a list that a file declares.
func namesIn(t *testing.T, path, name string) map[string]bool {
	t.Helper()
	list := map[string]bool{}
	for _, f := range sources(t, true) {
		if f.path != path {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Names[0].Name != name {
				return true
			}
			ast.Inspect(spec, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok {
					list[strings.Trim(lit.Value, `"`)] = true
				}
				return true
			})
			return false
		})
	}
	if len(list) == 0 {
		t.Errorf("%s has no list %s", path, name)
	}
	return list
}

// opensBrowser reports whether a test of the page needs a browser.
func opensBrowser(fn *ast.FuncDecl) bool {
	return slices.ContainsFunc([]string{"open", "opened"}, func(name string) bool { return mentions(fn.Body, name) })
}

// isLeftOutShort reports whether a test begins with `if testing.Short() { t.Skip(…) }`.
func isLeftOutShort(fn *ast.FuncDecl) bool {
	if fn.Body == nil || len(fn.Body.List) == 0 {
		return false
	}
	first, ok := fn.Body.List[0].(*ast.IfStmt)
	return ok && mentions(first.Cond, "Short") && mentions(first.Body, "Skip")
}
