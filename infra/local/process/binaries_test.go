package process

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestBuildFlagsMatchMakefile: the functions here and in a deployment have the same build flags.
func TestBuildFlagsMatchMakefile(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, found := strings.Cut(string(raw), "\nBUILD := CGO_ENABLED=0 GOOS=linux GOARM64=v8.2 go build ")
	line, _, ended := strings.Cut(line, "\n")
	if !found || !ended {
		t.Fatal("the Makefile has no BUILD as expected")
	}
	var made []string
	for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1) {
		made = append(made, strings.Trim(word, `"`))
	}
	if !slices.Equal(made, buildFlags()) {
		t.Errorf("make builds with\n%q, and this with\n%q", made, buildFlags())
	}
}
