//go:build unix

package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
)

func TestHookMatchesPatterns(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		file     string
		want     bool
	}{
		{nil, "a/b.go", true},
		{[]string{"*.go"}, "a/b.go", true},
		{[]string{"*.go"}, "b.go", true},
		{[]string{"*.go"}, "a.go/b", false},
		{[]string{"*.py", "*.go"}, "a/b.go", true},
		{[]string{"a/*.go"}, "a/b.go", true},
		{[]string{"/a/*.go"}, "a/b.go", true},
		{[]string{"a/*.go"}, "a/c/b.go", false},
		{[]string{"a/**/*.go"}, "a/c/d/b.go", true},
		{[]string{"a/**/*.go"}, "a/b.go", true},
		{[]string{"**/*.go"}, "b.go", true},
		{[]string{"a/**"}, "a/b/c", true},
		{[]string{"a/**"}, "b/a/c", false},
		{[]string{"*.{ts,tsx}"}, "a/b.tsx", true},
		{[]string{"[a-"}, "a", false},
	} {
		if got := (Hook{FilePatterns: c.patterns}).Matches(c.file); got != c.want {
			t.Errorf("%q matches %q: %v", c.patterns, c.file, got)
		}
	}
}

func TestHookLineHasAnArgumentForTheFile(t *testing.T) {
	for text, want := range map[string]string{
		`gofmt -l {file}`:                   `gofmt -l "$1"`,
		`gofmt -l "{file}" && go vet ./...`: `gofmt -l "${1}" && go vet ./...`,
		`x --in={file} --out={file}.bak`:    `x --in="$1" --out="$1".bak`,
		`F={file} x`:                        `F="$1" x`,
		`x < {file}`:                        `x < "$1"`,
		`n=$(wc -l {file}); echo "$n"`:      `n=$(wc -l "$1"); echo "$n"`,
		`sh -c 'gofmt "$1"' sh {file}`:      `sh -c 'gofmt "$1"' sh "$1"`,
		`sh lint.sh {file}`:                 `sh lint.sh "$1"`,
		`for f in {file}; do x "$f"; done`:  `for f in "$1"; do x "$f"; done`,
		`case {file} in *.go) x;; esac`:     `case "$1" in *.go) x;; esac`,
		`make lint`:                         `make lint`,
		`gofmt -l '{file}'`:                 "",
		`echo "it is {file}"`:               "",
		`sh -c "gofmt {file}"`:              "",
		`sh -c {file}`:                      "",
		`sh -ec {file}`:                     "",
		`env sh -c {file}`:                  "",
		`/bin/bash -c "{file}"`:             "",
		`timeout 5 bash -c x{file}`:         "",
		`python3 -c {file}`:                 "",
		`eval gofmt {file}`:                 "",
		`ssh host gofmt {file}`:             "",
		`trap {file} EXIT`:                  "",
		`. {file}`:                          "",
		`{file}`:                            "",
		`{file} x`:                          "",
		"x <<END\n{file}\nEND":              "",
		`x # {file}`:                        "",
		`echo $(( {file} ))`:                "",
		`(( {file} ))`:                      "",
		`[[ {file} -eq 1 ]]`:                "",
		`[ -v {file} ]`:                     "",
		`printf -v {file} x`:                "",
		`a[{file}]=1`:                       "",
		`declare x={file}`:                  "",
		`echo ${x:-{file}}`:                 "",
		`echo $'{file}'`:                    "",
		`echo $"{file}"`:                    "",
		`x;{file}`:                          "",
		`x '{file}`:                         "",
		``:                                  "",
	} {
		line, why := hookLine(text)
		if line != want || (why == nil) != (want != "") {
			t.Errorf("%q gives %q, %v, want %q", text, line, why, want)
		}
	}
}

func TestHookOfAConfigurationIsChecked(t *testing.T) {
	good := Hook{Name: "fmt", Command: "gofmt -l {file}", FilePatterns: []string{"*.go"}, TimeoutS: 300}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for key, change := range map[string]func(*Hook){
		"sandbox.hook.nameless": func(h *Hook) { h.Name = "" },
		"sandbox.hook.seconds":  func(h *Hook) { h.TimeoutS = 301 },
		"sandbox.hook.pattern":  func(h *Hook) { h.FilePatterns = []string{"["} },
		"sandbox.hook.syntax":   func(h *Hook) { h.Command = "gofmt '" },
		"sandbox.hook.place":    func(h *Hook) { h.Command = "eval {file}" },
	} {
		h := good
		change(&h)
		if f := fault.Of(h.Check()); f.Code != ErrHook.Code || f.Inner["why"].Code != key {
			t.Errorf("%+v: %v", h, f)
		}
	}
}

// A name is one argument with any characters: nothing in it is run.
func TestNoNameOfAFileIsReadAsCode(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pieces := rapid.SampledFrom([]string{
		"'", `"`, `\`, " ", "\n", "\t", ";", "&", "|", "$(touch hit)", "`touch hit`", "${HOME}", "$1", "{file}", "*", "?", "~", "#", "!", "-", "--",
		"(", ")", "<", ">", "> hit", "; touch hit", "&& touch hit", "a[$(touch hit)]", "\x01", "\x1b[2J", "\xff", "ñ", "😀", "a", "/", "..", ".go",
	})
	lines := rapid.SampledFrom([]string{
		`PROBE probe argument {file}`,
		`PROBE probe argument "{file}"`,
		`sh -c '"$0" probe argument "$1"' PROBE {file}`,
		`F={file} && PROBE probe argument "$F"`,
		`for f in {file}; do PROBE probe argument "$f"; done`,
		`true {file} && PROBE probe argument {file}`,
	})
	confined := Check(context.Background()) == nil
	rapid.Check(t, func(rt *rapid.T) {
		name := strings.Join(rapid.SliceOfN(pieces, 1, 12).Draw(rt, "name"), "")
		line := strings.ReplaceAll(lines.Draw(rt, "line"), "PROBE", "'"+self+"'")
		workspace := t.TempDir()
		base := Command{
			Workspace: workspace, ReadOnly: []string{filepath.Dir(self)}, Language: locale.English,
			Unconfined: !confined || rapid.Bool().Draw(rt, "unconfined"),
		}
		got := Hook{Name: "probe", Command: line}.Run(context.Background(), base, name)
		want := name
		if strings.HasPrefix(name, "-") {
			want = "./" + name
		}
		if got != fmt.Sprintf("[hook probe: fine]\n%q", []string{want}) {
			rt.Fatalf("%s with the file %q gives %s", line, name, got)
		}
		if made, err := os.ReadDir(workspace); err != nil || len(made) != 0 {
			rt.Fatalf("%s with the file %q made %v, %v", line, name, made, err)
		}
	})
}

func TestHookAlwaysReturnsAText(t *testing.T) {
	workspace := t.TempDir()
	base := Command{Workspace: workspace, Unconfined: true, Language: locale.English}
	ctx := context.Background()
	for want, h := range map[string]Hook{
		"[hook a: fine]":                                          {Name: "a", Command: "true {file}"},
		"[hook a: ended with code 3]\nb.go:1":                     {Name: "a", Command: "echo {file}:1; exit 3"},
		"[hook a: did not end within 1 s]":                        {Name: "a", Command: "sleep 1000", TimeoutS: 1},
		"[hook a: ended with code 127]":                           {Name: "a", Command: "no-such-program 2>/dev/null"},
		"[hook a: ended with code 137]":                           {Name: "a", Command: "kill -9 $$"},
		"[hook a: could not be run: its command cannot be read.]": {Name: "a", Command: "'"},
	} {
		if got := h.Run(ctx, base, "b.go"); got != want {
			t.Errorf("%+v gives %q, want %q", h, got, want)
		}
	}
	gone := base
	gone.Workspace = filepath.Join(workspace, "gone")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for what, got := range map[string]string{
		"no folder": Hook{Name: "a", Command: "true"}.Run(ctx, gone, "b.go"),
		"a panic":   Hook{Name: "a", Command: "true"}.Run(nil, base, "b.go"), //nolint:staticcheck // a nil context panics
		"ended":     Hook{Name: "a", Command: "true"}.Run(ended, base, "b.go"),
		"a null":    Hook{Name: "a", Command: "true {file}"}.Run(ctx, base, "b\x00.go"),
		"a time":    Hook{Name: "a", Command: "true", TimeoutS: -1}.Run(ctx, base, "b.go"),
	} {
		if !strings.HasPrefix(got, "[hook a: ") || strings.HasSuffix(got, ": fine]") {
			t.Errorf("with %s the outcome is %q", what, got)
		}
	}
}

func TestOnlyHooksOfTheFileRunAfterAnEdit(t *testing.T) {
	base := Command{Workspace: t.TempDir(), Unconfined: true, Language: locale.English}
	hooks := []Hook{
		{Name: "one", Command: "echo 1; exit 1", FilePatterns: []string{"*.go"}},
		{Name: "two", Command: "echo 2", FilePatterns: []string{"*.py"}},
		{Name: "three", Command: "echo 3"},
	}
	got := strings.Split(AfterEdit(context.Background(), hooks, base, "a/b.go"), "\n")
	if want := []string{"[hook one: ended with code 1]", "1", "[hook three: fine]", "3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := AfterEdit(context.Background(), hooks[:2], base, "c.txt"); got != "" {
		t.Errorf("got %q", got)
	}
}
