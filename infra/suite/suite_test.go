package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// module is a folder with a module of its own: one package passes, one fails, is skipped and dies, one does not compile.
func module(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module piloto\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
}

const head = "package x\n\nimport \"testing\"\n\n"

// TestTheEndSaysWhatFailedFirst: with its output, then what was skipped, then the counts.
func TestTheEndSaysWhatFailedFirst(t *testing.T) {
	module(t, map[string]string{
		"good/x_test.go": head + "func TestGood(t *testing.T) { t.Log(\"nobody reads this\") }\nfunc TestSkipped(t *testing.T) { t.Skip(\"no browser\") }\n",
		"bad/x_test.go":  head + "func TestBad(t *testing.T) { t.Log(\"why it failed\"); t.Fail() }\nfunc TestFine(t *testing.T) {}\n",
		"dead/x_test.go": head + "import \"os\"\n\nfunc TestThatExits(t *testing.T) { println(\"last words\"); os.Exit(3) }\n",
		"none/x_test.go": head + "func TestNone(t *testing.T) { missing() }\n",
	})
	var out strings.Builder
	ok, err := suite(t.Context(), options{times: 1}, []string{"./..."}, &out)
	if err != nil || ok {
		t.Fatalf("%v, %v: %s", ok, err, out.String())
	}
	_, end, _ := strings.Cut(out.String(), "--- FAIL: ")
	at := 0
	for _, part := range []string{"why it failed", "Skipped:", "1  no browser", "The slowest:", "Failed:", "  bad TestBad", "processor time", "2 passed, 3 failed, 1 skipped"} {
		i := strings.Index(end[at:], part)
		if i < 0 {
			t.Errorf("after %d: no %q in\n%s", at, part, end)
			continue
		}
		at += i
	}
	for _, part := range []string{"last words", "undefined: missing", "FAIL  bad TestBad", "ok    good", "  dead TestThatExits\n", "  none\n"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, out.String())
		}
	}
	if strings.Contains(out.String(), "nobody reads this") {
		t.Errorf("what passed is told:\n%s", out.String())
	}
}

// TestSilenceIsBroken: a package that compiles, or a test that takes long, is named when nothing was printed for a while.
func TestSilenceIsBroken(t *testing.T) {
	var out strings.Builder
	began := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	tell := newTeller(&out, began)
	tell.beat(began.Add(silence - time.Second))
	if out.Len() > 0 {
		t.Errorf("too early: %s", out.String())
	}
	tell.beat(began.Add(silence))
	tell.printed = began
	tell.read(strings.NewReader(`{"Time":"2026-03-02T09:00:10Z","Action":"run","Package":"piloto/a","Test":"TestLong"}` + "\n"))
	tell.beat(began.Add(70 * time.Second))
	want := []string{"…     19s: 0 packages have passed; now compiling", "…     1m10s: 0 packages have passed; now a TestLong (60 s)"}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestWhatFailsNowAndThenIsNamed: at the end of several runs, with the runs in which it failed.
func TestWhatFailsNowAndThenIsNamed(t *testing.T) {
	module(t, map[string]string{"a/x_test.go": head + `import "os"

func TestOdd(t *testing.T) {
	t.Run("part", func(t *testing.T) {
		if _, err := os.Stat("ran"); err != nil {
			os.WriteFile("ran", nil, 0o600)
			return
		}
		os.Remove("ran")
		t.Fatal("every second time")
	})
}
`})
	var out strings.Builder
	ok, err := suite(t.Context(), options{times: 4}, []string{"./..."}, &out)
	if _, end, _ := strings.Cut(out.String(), "2 of 4 runs failed\n"); ok || err != nil || end != "  a TestOdd/part: run 2, 4\n" {
		t.Errorf("%v, %v: %s", ok, err, out.String())
	}
}

// TestAnInterruptEndsEverything: no further run begins.
func TestAnInterruptEndsEverything(t *testing.T) {
	module(t, map[string]string{"a/x_test.go": head + "func TestA(t *testing.T) {}\n"})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out strings.Builder
	if ok, err := suite(ctx, options{times: 3}, []string{"./..."}, &out); ok || err == nil {
		t.Errorf("%v, %v: %s", ok, err, out.String())
	}
}
