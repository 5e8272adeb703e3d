package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	usedVariable = regexp.MustCompile(`\$\{?([A-Z][A-Z_]+)\b`)
	setVariable  = regexp.MustCompile(`\b([A-Z][A-Z_]+)=`)
	usedFunction = regexp.MustCompile(`^    (?:\$ )?(say|get|ask|post|put)\b[^(]`)
	setFunction  = regexp.MustCompile(`^    (?:\$ )?([a-z]+)\(\)`)
)

// ofEveryShell are variables that a person has anyway, or that a page explains as settings.
var ofEveryShell = map[string]bool{"PATH": true, "HOME": true, "EDITOR": true, "PWD": true}

// TestCommandsOfDocsDefineTheirVariables: a command block is pasted, so each variable in it has its value on the same page,
// in a block before it or in the same one; and so is each function of our own defined.
func TestCommandsOfDocsDefineTheirVariables(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		set, fenced := map[string]bool{}, false
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if !fenced && !strings.HasPrefix(line, "    ") {
				continue
			}
			if m := setFunction.FindStringSubmatch(line); m != nil {
				set[m[1]] = true
			}
			if m := usedFunction.FindStringSubmatch(line); m != nil && !set[m[1]] {
				t.Errorf("%s: nothing on the page defines %s before\n%s", filepath.Base(page), m[1], line)
			}
			for _, m := range setVariable.FindAllStringSubmatch(line, -1) {
				set[m[1]] = true
			}
			for _, m := range usedVariable.FindAllStringSubmatch(line, -1) {
				found++
				if !set[m[1]] && !ofEveryShell[m[1]] {
					t.Errorf("%s: nothing on the page sets $%s before\n%s", filepath.Base(page), m[1], line)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d variables were found", found)
	}
}
