package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// proven lists the guarantees for which docs/guarantees.md must name tests.
var proven = []string{
	"I01", "I02", "I03", "I04", "I05", "I06", "I07", "I08", "I09", "I10", "I11", "I12", "I13", "I14", "I15", "I16",
	"I17", "I18", "I19", "I20", "I21", "I22", "I23", "I24", "I25", "I26", "I27", "I28", "I29", "I30", "I31", "I32", "I37",
}

// TestTestsOfGuaranteesExist: docs/guarantees.md names, for each guarantee, tests by package; all of them must
// exist.
func TestTestsOfGuaranteesExist(t *testing.T) {
	exist, ofAChange := map[string]bool{}, map[string]bool{}
	for _, f := range sources(t, true) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				exist[f.dir()+" "+fn.Name.Name] = true
				ofAChange[f.dir()+" "+fn.Name.Name] = !isLeftOutShort(fn)
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
	for _, id := range proven {
		if !slices.Contains(rows, id) {
			t.Errorf("%s is not in the table", id)
		}
	}
}

// isLeftOutShort reports whether a test begins with `if testing.Short() { t.Skip(…) }`.
func isLeftOutShort(fn *ast.FuncDecl) bool {
	if fn.Body == nil || len(fn.Body.List) == 0 {
		return false
	}
	first, ok := fn.Body.List[0].(*ast.IfStmt)
	return ok && mentions(first.Cond, "Short") && mentions(first.Body, "Skip")
}
