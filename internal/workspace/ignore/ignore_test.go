package ignore_test

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/workspace/ignore"
)

// git asks git itself which names are left out in a folder with these .gitignore files.
type git struct{ dir string }

func newGit(t *testing.T) git {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	g := git{t.TempDir()}
	if out, err := exec.Command("git", "init", "-q", g.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return g
}

// write replaces the .gitignore files.
func (g git) write(files map[string]string) {
	entries, _ := os.ReadDir(g.dir)
	for _, e := range entries {
		if e.Name() != ".git" {
			os.RemoveAll(filepath.Join(g.dir, e.Name()))
		}
	}
	for folder, content := range files {
		at := filepath.Join(g.dir, filepath.FromSlash(folder))
		if err := os.MkdirAll(at, 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(filepath.Join(at, ignore.File), []byte(content), 0o600); err != nil {
			panic(err)
		}
	}
}

// ignored returns those names that git leaves out.
func (g git) ignored(names []string) map[string]bool {
	cmd := exec.Command("git", "-c", "core.ignorecase=false", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Dir = g.dir
	cmd.Stdin = strings.NewReader(strings.Join(names, "\x00") + "\x00")
	out, _ := cmd.Output() // status 1: none
	all := map[string]bool{}
	for _, name := range bytes.Split(out, []byte{0}) {
		all[string(name)] = true
	}
	return all
}

var (
	segments = []string{"a", "b", "ab", "foo", "fooo", "Foo", "foo.log", "bar.txt", "build", "x y", "x ", "a[1]", "#h", "!n", ".env", "a\\b", "]", "-", "{a,b}", "&&", "*"}
	known    = []string{
		"*.log", "/foo", "foo/", "a/**", "**/foo", "a/**/b", "**", "*", "!foo", "!a/", "!*.txt", "build/*", "!build/foo", "/a/*", "!/a/b",
		"\\!n", "\\#h", "#comment", "x\\ y", "x\\ ", "x ", "foo  ", "*.txt\\ ", "a[[]1]", "/**/a", "foo/**/", ".*", "[a-", "a**", "**a", "foo\t",
		"[[:alpha:]]", "[![:alpha:]]*", "[[:nope:]]", "**/", "a//b", "./a", "*.*", "\\*", "\\foo", "[\\]a]", "[]a]", "[!]a]", "[]-a]", "[a-]", "[z-a]",
		"bar.txt\r", "", "/", "!", "!/", "\\", "foo\\", "***", "a/***/b", "a***/b", "x/a**/b", "a/b**/foo", "[a&&b]", "{a,b}", "foo[", "[z-ab]", "a[/]b", "a[+-9]b", "[[:punct:]]*", "[a-", "[^a]/foo", "?/?", "**foo/b",
	}
)

// patterns generates lines: known ones, and combinations of parts.
func patterns() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"a", "b", "foo", "*", "**", "?", "/", "[ab]", "[!a]", "[^/]", "[/]", "[+-9]", "[[:print:]]", "\\", ".", " ", "!", "#", "log", "[a-f]", "-", "]", "***"})
	return rapid.OneOf(rapid.SampledFrom(known), rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "")
	}))
}

// TestRulesAgreeWithGit compares with git, also where .gitignore files lie in folders.
func TestRulesAgreeWithGit(t *testing.T) {
	g := newGit(t)
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(patterns(), 0, 4)
		files := map[string]string{"": strings.Join(lines.Draw(t, "root"), "\n") + rapid.SampledFrom([]string{"", "\n", "\r\n"}).Draw(t, "end")}
		for _, folder := range []string{"a", "a/b", "foo"} {
			if rapid.Bool().Draw(t, "nested") {
				files[folder] = strings.Join(lines.Draw(t, folder), "\n")
			}
		}
		segment := rapid.SampledFrom(segments)
		names := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/")
		}), 20, 40).Draw(t, "names")
		g.write(files)
		var r ignore.Rules
		for folder, content := range files {
			r.Add(folder, []byte(content))
		}
		want := g.ignored(names)
		for _, name := range names {
			if info, err := os.Stat(filepath.Join(g.dir, name)); err == nil && info.IsDir() {
				continue // a folder that has a .gitignore file
			}
			if got := r.Ignored(name); got != want[name] {
				t.Fatalf("%q: %v, git says %v, with %q", name, got, want[name], files)
			}
		}
	})
}

func TestExcludedFolders(t *testing.T) {
	var r ignore.Rules
	r.Add("", []byte("!node_modules/\n!dist\n"))
	for name, want := range map[string]bool{
		"node_modules/x/index.js": true, "web/node_modules/x": true, "dist/app.js": true, "vendor/m/m.go": true, ".git/config": true,
		"__pycache__/a.pyc": true, "dist": false, "src/vendor.go": false, "distance/a": false,
	} {
		if got := r.Ignored(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct{ pattern, in, out string }{
		{"*.go", "a.go x/y/b.go", "a.goo x/go"},
		{"src/*.go", "src/a.go", "a.go src/x/a.go"},
		{"/a.go", "a.go", "x/a.go"},
		{"src/**", "src/a src/b/c", "src asrc/a"},
		{"src/**/a.ts", "src/a.ts src/x/y/a.ts", "src/xa.ts"},
		{"**/*_test.{go,ts}", "a_test.go x/b_test.ts", "a_test.js test.go"},
		{"{a,b/*}", "a b/c", "b c"},
		{"a{1", "a{1", "a1"},
		{"[ab]?.md", "a1.md b2.md", "c1.md a.md"},
		{"ñ?", "ñé", "ñ"},
		{"a.b", "a.b", "acb"},
	} {
		re, err := ignore.Glob(c.pattern)
		if err != nil {
			t.Fatalf("%s: %v", c.pattern, err)
		}
		for _, name := range strings.Fields(c.in) {
			if !re.MatchString(name) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for _, name := range strings.Fields(c.out) {
			if re.MatchString(name) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
	}
	for _, bad := range []string{"[a", "a\\", "[[:x:]]", strings.Repeat("a", ignore.MaxPattern+1)} {
		if _, err := ignore.Glob(bad); err == nil {
			t.Errorf("%.20q is a pattern", bad)
		}
	}
}

// BenchmarkHostile: the time of the worst patterns grows with the length of a name only.
func BenchmarkHostile(b *testing.B) {
	name := path.Join(strings.Repeat("a", 200), strings.Repeat("a/", 100), "b")
	for _, pattern := range []string{strings.Repeat("*a", 400), strings.Repeat("**/a/", 150), strings.Repeat("{a,b}", 150)} {
		re, err := ignore.Glob(pattern)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(pattern[:5], func(b *testing.B) {
			for b.Loop() {
				re.MatchString(name)
			}
		})
	}
}
