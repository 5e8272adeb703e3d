package command

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"piloto/internal/locale"
)

type line struct {
	class Class
	text  string
}

// corpus reads the lines of a file: a class, a tab, a command.
func corpus(t testing.TB, name string) []line {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []line
	for s := bufio.NewScanner(f); s.Scan(); {
		class, text, ok := strings.Cut(s.Text(), "\t")
		if !ok {
			continue
		}
		for c := Safe; c <= Destructive; c++ {
			if c.String() == class {
				out = append(out, line{c, strings.ReplaceAll(text, "␤", "\n")})
			}
		}
	}
	return out
}

func TestNoDangerousCommandIsPutBelowItsClass(t *testing.T) {
	lines := corpus(t, "dangerous.txt")
	if len(lines) < 600 {
		t.Fatalf("only %d lines were read", len(lines))
	}
	for _, l := range lines {
		if got := Classify(l.text); got.Class < l.class {
			t.Errorf("%q is %s, below %s: %v", l.text, got.Class, l.class, got.Findings)
		}
	}
}

func TestWhatOnlyReadsIsSafe(t *testing.T) {
	lines := corpus(t, "harmless.txt")
	if len(lines) < 150 {
		t.Fatalf("only %d lines were read", len(lines))
	}
	for _, l := range lines {
		got := Classify(l.text)
		if l.text[0] == '#' {
			continue
		}
		if got.Class != Safe {
			t.Errorf("%q is %s: %v", l.text, got.Class, got.Findings)
		}
	}
}

func TestTheClassIsThatOfTheWorstFinding(t *testing.T) {
	for _, l := range append(corpus(t, "dangerous.txt"), corpus(t, "harmless.txt")...) {
		r, worst := Classify(l.text), Safe
		for _, f := range r.Findings {
			worst = max(worst, f.Class)
			if _, ok := locale.Lookup(locale.Spanish, "command.why."+f.Why); !ok {
				t.Errorf("%q: nothing says what %q is", l.text, f.Why)
			}
		}
		if r.Class != worst {
			t.Errorf("%q is %s, and its worst finding %s", l.text, r.Class, worst)
		}
	}
}

func TestCommandsInRowsAreAsBadAsTheWorst(t *testing.T) {
	dangerous, harmless := corpus(t, "dangerous.txt"), corpus(t, "harmless.txt")
	for i, l := range dangerous {
		if _, ok := parse(l.text); !ok || strings.ContainsAny(l.text, "#\n") || strings.HasSuffix(l.text, "&") {
			continue
		}
		other := harmless[i%len(harmless)].text
		for _, row := range []string{other + "\n" + l.text, l.text + " || true", "{ " + l.text + "; }", "(" + l.text + "\n)", "echo \"$(" + l.text + "\n)\"", "if true; then " + l.text + "\nfi"} {
			if got := Classify(row); got.Class < l.class {
				t.Errorf("%q is %s, and %q in it %s", row, got.Class, l.text, l.class)
			}
		}
	}
}

func TestWhatIsTooLongOrTooDeepIsSensitive(t *testing.T) {
	for name, text := range map[string]string{
		"long":          "echo " + strings.Repeat("a ", maxText),
		"brackets":      strings.Repeat("(", 8000) + "ls" + strings.Repeat(")", 8000),
		"substitutions": strings.Repeat("$(", 5000) + "ls" + strings.Repeat(")", 5000),
		"arithmetic":    strings.Repeat("$((", 4000),
		"quotes":        strings.Repeat(`"$(echo `, 1500),
		"wrappers":      strings.Repeat("nice ", 3000) + "ls",
		"keywords":      strings.Repeat("if ", 5000),
		"negations":     strings.Repeat("! ", 8000) + "ls",
		"backquotes":    strings.Repeat("`", 16000),
		"variables":     "A=aaaaaaaaaaaaaaaa; " + strings.Repeat("A=$A$A$A$A; ", 1000) + "$A",
		"pipes":         strings.Repeat("ls | ", 3000) + "./x",
		"heredocs":      strings.Repeat("cat <<A; ", 1700),
		"globs":         strings.Repeat("[*?", 5000),
	} {
		began := time.Now()
		if got := Classify(text); got.Class < Sensitive {
			t.Errorf("%s: %s", name, got.Class)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
	if got := Classify(strings.Repeat("a ", maxText) + "; rm -rf /"); got.Class != Destructive {
		t.Errorf("a long text that destroys is %s", got.Class)
	}
}

// quotedAt is the text with one plain word of a command between quotes.
func quotedAt(text string, nth int) (string, bool) {
	file, ok := parse(text)
	if !ok {
		return "", false
	}
	var plain []*syntax.Lit
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			for _, w := range c.Args {
				lit, ok := w.Parts[0].(*syntax.Lit)
				if ok && len(w.Parts) == 1 && lit.Value != "" && strings.Trim(lit.Value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
					plain = append(plain, lit)
				}
			}
		}
		return true
	})
	if len(plain) == 0 {
		return "", false
	}
	lit := plain[nth%len(plain)]
	from, to := lit.ValuePos.Offset(), lit.ValueEnd.Offset()
	if text[from:to] != lit.Value { // a word that is cut by an escaped new line
		return "", false
	}
	return text[:from] + "'" + lit.Value + "'" + text[to:], true
}

func FuzzClassify(f *testing.F) {
	for _, l := range append(corpus(f, "dangerous.txt"), corpus(f, "harmless.txt")...) {
		f.Add(l.text, 0)
		f.Add(l.text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, nth int) {
		if len(text) > maxText-64 {
			return
		}
		class := Classify(text).Class
		if _, ok := parse(text); !ok {
			if class < Sensitive {
				t.Errorf("%q does not parse and is %s", text, class)
			}
			return
		}
		if got := Classify("sudo " + text).Class; got < class && strings.TrimSpace(text) != "" {
			t.Errorf("%q is %s, and with sudo %s", text, class, got)
		}
		if got := Classify(text + "; true").Class; got < class && strings.TrimSpace(text) != "" {
			t.Errorf("%q is %s, and before ; true %s", text, class, got)
		}
		if quoted, ok := quotedAt(text, max(nth, 0)); ok {
			if got := Classify(quoted).Class; got < class {
				t.Errorf("%q is %s, and quoted, %q, %s", text, class, quoted, got)
			}
		}
	})
}
