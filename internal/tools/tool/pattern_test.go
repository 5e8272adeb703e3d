package tool

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

func TestPatternsRefuseCostlyPatternBeforeCompiling(t *testing.T) {
	for pattern, want := range map[string]bool{
		"^[a-z]{1,20}$": true, "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$": true, ".{1,1000}": true, "(a|b)*c": true, "": true,
		"(?=x)": false, "(x{1000}){1000}": false, "(((a{20}){20}){2}){3}": false, strings.Repeat("x{999}", 6): false,
		strings.Repeat("x", 2001): false, "[": false, strings.Repeat("(a|", 5000): false,
	} {
		p := Patterns{Left: 1_000_000}
		if got := p.Usable(pattern); got != want {
			t.Errorf("%.40s: %v, want %v", pattern, got, want)
		}
		if (p.Compile(pattern) != nil) != want {
			t.Errorf("%.40s: compiled, want %v", pattern, want)
		}
	}
	p, made := Patterns{Left: 10_000}, 0
	for range 100 {
		if p.Usable(".{1,900}") {
			made++
		}
	}
	if made < 5 || made > 12 {
		t.Errorf("%d patterns of a thousand steps within 10,000 steps", made)
	}
}

// FuzzPatterns checks that the program of a usable pattern has at most a few steps for each counted step.
func FuzzPatterns(f *testing.F) {
	for _, s := range []string{"^[a-z]{1,20}$", "(x{10}){10}", `\pL{50}`, "(?i)straße{30}", "(a|b|cc)*{3}", "[^a]{9}", `(?:\b\w+){4}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		p := Patterns{Left: 1_000_000}
		if !p.Usable(pattern) {
			return
		}
		counted := 1_000_000 - p.Left
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			return
		}
		if len(program.Inst) > 4*counted+8 {
			t.Fatalf("%q: %d steps, counted %d", pattern, len(program.Inst), counted)
		}
		_ = regexp.MustCompile(pattern)
	})
}
