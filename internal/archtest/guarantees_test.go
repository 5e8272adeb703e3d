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
	exist := map[string]bool{}
	for _, f := range sources(t, true) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				exist[f.dir()+" "+fn.Name.Name] = true
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
		id, dir, named := strings.TrimSpace(cells[1]), "", 0
		rows = append(rows, id)
		for _, found := range part.FindAllStringSubmatch(cells[3], -1) {
			if found[1] != "" {
				dir = found[1]
				continue
			}
			if named++; !exist[dir+" "+found[2]] {
				t.Errorf("%s: %s has no %s", id, dir, found[2])
			}
		}
		if named == 0 {
			t.Errorf("%s names no test", id)
		}
	}
	for _, id := range proven {
		if !slices.Contains(rows, id) {
			t.Errorf("%s is not in the table", id)
		}
	}
}
