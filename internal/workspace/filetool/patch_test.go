package filetool_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"pgregory.net/rapid"

	"piloto/infra/local/fixture/memory"
	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filetool"
)

func TestPatchOfOneFile(t *testing.T) {
	const was = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	replace := func(s string) string { return strings.Replace(was, "two\n", s, 1) }
	for _, c := range []struct {
		what, was, patch, want, has string // want "": it stays
	}{
		{"a hunk", was, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", replace("2\n"), "Patched f (+1 −1)."},
		{"with header", was, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", replace("2\n"), "Patched f"},
		{"of git", was, "diff --git a/f b/f\nindex 1234567..89abcde 100644\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@ heading\n one\n-two\n+2\n three\n", replace("2\n"), "Patched f"},
		{"no last line end", was, "@@ -2 +2 @@\n-two\n+2", replace("2\n"), "Patched f"},
		{"two hunks", was, "@@ -2 +2,2 @@\n-two\n+2\n+2b\n@@ -9,2 +10,1 @@\n nine\n-ten\n", strings.Replace(replace("2\n2b\n"), "ten\n", "", 1), "(+2 −2)"},
		{"in another order", was, "@@ -10 +10 @@\n-ten\n+10\n@@ -2 +2 @@\n-two\n+2\n", strings.Replace(replace("2\n"), "ten", "10", 1), "Patched f"},
		{"no context", was, "@@ -2,0 +3 @@\n+2b\n", replace("two\n2b\n"), "Patched f"},
		{"before the first line", was, "@@ -0,0 +1 @@\n+zero\n", "zero\n" + was, "Patched f"},
		{"an empty line of context without its space", "a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n", "Patched f"},
		{"CRLF", crlf(was), "@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n", crlf(replace("2\n2b\n")), "Patched f"},
		{"CRLF in the patch", was, crlf("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"), replace("2\n"), "Patched f"},
		{"mixed line ends", "a\r\nb\nc\r\n", "@@ -1,3 +1,4 @@\n a\n+a2\n b\n+b2\n-c\n", "a\r\na2\r\nb\nb2\n", "Patched f"},
		{"BOM", mark + "a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n", mark + "x\nb\n", "Patched f"},
		{"Latin-1", "ca\xf1a\nb\nc\n", "@@ -3 +3 @@\n-c\n+d\n", "ca\xf1a\nb\nd\n", "Patched f"},
		{"an open last line", "a\nb", "@@ -2 +2,2 @@\n b\n+c\n", "a\nb\nc\n", "Patched f"},
		{"the last line is closed", "a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n", "Patched f"},
		{"the last line is opened", "a\n", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a", "Patched f"},
		{"all lines", "a\n", "@@ -1 +0,0 @@\n-a\n", "", ""}, // see below
		{"an empty file", "", "@@ -0,0 +1 @@\n+a\n", "a\n", "Patched f"},

		{"another text", was, "@@ -1,3 +1,3 @@\n one\n-TWO\n+2\n three\n", "", `hunk 1 does not fit "f": line 2 is "two", and the patch has "TWO" there. Read that part`},
		{"another place", was, "@@ -1,3 +1,3 @@\n three\n-four\n+4\n five\n", "", "are at line 3: correct the numbers"},
		{"the second hunk", was, "@@ -2 +2 @@\n-two\n+2\n@@ -9 +9 @@\n-none\n+9\n", "", "hunk 2 does not fit"},
		{"after the end", was, "@@ -40 +40 @@\n-two\n+2\n", "", "are at line 2: correct"},
		{"far after the end", was, "@@ -40,0 +41 @@\n+2\n", "", "it begins at line 40, and the file has 10 lines"},
		{"over each other", was, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -2,2 +2,2 @@\n two\n-three\n+3\n", "", "in the hunk before, too"},
		{"a count", was, "@@ -1,9 +1,3 @@\n one\n-two\n+2\n three\n", "", "the counts are those of its lines"},
		{"a count that is too small", was, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n three\n+more\n", "", `" three" belongs to no hunk`},
		{"a line that is no hunk", was, "@@ -2 +2 @@\n-two\n+2\n@@ ... @@\n-ten\n+10\n", "", `"@@ ... @@" belongs to no hunk`},
		{"words around it", was, "Here it is:\n--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+2\n", "", `"Here it is:" belongs to no hunk`},
		{"no diff", was, "replace two by 2", "", `"replace two by 2" belongs to no hunk`},
		{"no hunk", was, "--- a/f\n+++ b/f\n", "", "no unified diff"},
		{"nothing changes", was, "@@ -1,2 +1,2 @@\n one\n two\n", "", "no changes"},
		{"the same line again", was, "@@ -2 +2 @@\n-two\n+two\n", "", "changes nothing"},
		{"another file", was, "--- a/g\n+++ b/g\n@@ -2 +2 @@\n-two\n+2\n", "", `the patch is for "g", and path is "f"`},
		{"huge numbers", was, "@@ -9223372036854775807,1 +1 @@\n-two\n+2\n", "", "does not fit"},
		{"negative numbers", was, "@@ --2,1 +1 @@\n-two\n+2\n", "", "Nothing was changed"},
		{"binary", "a\x00", "@@ -1 +1 @@\n-a\n+b\n", "", "is binary"},
		{"a binary patch", was, "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n", "", "Nothing was changed"},
	} {
		f, s := over(map[string]string{"f": c.was})
		r := call(t, f, "apply_patch", args{"path": "f", "patch": c.patch})
		want, ok := c.want, true
		if c.has != "" && !strings.HasPrefix(c.has, "Patched") && !strings.HasPrefix(c.has, "(") {
			want, ok = c.was, false
		}
		if r.OK != ok || !strings.Contains(r.Output+r.Error, c.has) {
			t.Errorf("%s: %+v", c.what, r)
		}
		if got := read(t, s, "f"); got != want {
			t.Errorf("%s: %q, want %q", c.what, got, want)
		}
	}
}

func TestPatchOfSeveralFiles(t *testing.T) {
	start := map[string]string{"a/x": "1\n", "b": "2\n", "c/d": "3\n", "b/only": "4\n"}
	delete(start, "b")
	start["b2"] = "2\n"
	for _, c := range []struct {
		what, patch string
		want        map[string]string // what differs from the start; "-": it is deleted. nil: nothing
		has         string
	}{
		{
			"three files", "--- a/a/x\n+++ b/a/x\n@@ -1 +1 @@\n-1\n+one\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+n\n+m\n--- a/b2\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n",
			map[string]string{"a/x": "one\n", "new": "n\nm\n", "b2": "-"},
			"Patched a/x (+1 −1), b2 (+0 −1), new (+2 −0).",
		},
		{"folders that are called a and b", "--- a/x\n+++ a/x\n@@ -1 +1 @@\n-1\n+one\n--- b/only\n+++ b/only\n@@ -1 +1 @@\n-4\n+four\n", map[string]string{"a/x": "one\n", "b/only": "four\n"}, "Patched"},
		{"git's empty file", "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n", map[string]string{"e": ""}, "Patched e (+0 −0)"},
		{"one file twice", "--- a/b2\n+++ b/b2\n@@ -1 +1 @@\n-2\n+3\n--- a/b2\n+++ b/b2\n@@ -1 +1 @@\n-3\n+4\n", map[string]string{"b2": "4\n"}, "Patched b2 (+1 −1)."},
		{"the second does not fit", "--- a/a/x\n+++ b/a/x\n@@ -1 +1 @@\n-1\n+one\n--- a/b2\n+++ b/b2\n@@ -1 +1 @@\n-9\n+x\n", nil, `does not fit "b2"`},
		{"the second is not there", "--- a/a/x\n+++ b/a/x\n@@ -1 +1 @@\n-1\n+one\n--- a/no\n+++ b/no\n@@ -1 +1 @@\n-9\n+x\n", nil, `no file or folder "no"`},
		{"it is there already", "--- /dev/null\n+++ b/b2\n@@ -0,0 +1 @@\n+x\n", nil, "is there already"},
		{"more lines than it deletes", "--- a/c/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-9\n", nil, "does not fit"},
		{"a rename", "diff --git a/b2 b/b3\nsimilarity index 100%\nrename from b2\nrename to b3\n", nil, "not renamed"},
		{"a mode", "diff --git a/b2 b/b2\nold mode 100644\nnew mode 100755\n", nil, "no hunk"},
		{"outside", "--- /dev/null\n+++ b/../../etc/x\n@@ -0,0 +1 @@\n+x\n", nil, "“.” or “..”"},
		{"absolute", "--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+x\n", nil, "absolute"},
		{"a folder that is a file", "--- a/a/x\n+++ b/a/x\n@@ -1 +1 @@\n-1\n+one\n--- /dev/null\n+++ b/b2/x\n@@ -0,0 +1 @@\n+x\n", nil, "same name"},
	} {
		f, s := over(start)
		r := call(t, f, "apply_patch", args{"patch": c.patch})
		if r.OK != (c.want != nil) || !strings.Contains(r.Output+r.Error, c.has) {
			t.Errorf("%s: %+v", c.what, r)
		}
		want := map[string]string{}
		for _, m := range []map[string]string{start, c.want} {
			for name, content := range m {
				if want[name] = content; content == "-" {
					delete(want, name)
				}
			}
		}
		if got := memory.With(want).String(); s.String() != got {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, s, got)
		}
	}
	f := filetool.New(memory.With(start), filetool.Options{})
	expect{"a delete where nothing allows it", "apply_patch", args{"patch": "--- a/b2\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n"}, false, []string{"may not be deleted here"}}.check(t, f)
	expect{"path and two files", "apply_patch", args{"path": "b2", "patch": "--- a/b2\n+++ b/b2\n@@ -1 +1 @@\n-2\n+3\n--- a/c/d\n+++ b/c/d\n@@ -1 +1 @@\n-3\n+4\n"}, false, []string{"leave path out"}}.check(t, f)
}

// refusing is a store that does not write some files.
type refusing struct {
	*memory.Store
	names []string
}

func (s refusing) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	if slices.Contains(s.names, name) {
		return workspace.File{}, fault.ErrStorage
	}
	return s.Store.Write(ctx, name, content, version)
}

// TestPatchThatStopsIsTakenBack: the store fails at the second file.
func TestPatchThatStopsIsTakenBack(t *testing.T) {
	s := memory.With(map[string]string{"a": "1\n", "b": "2\n"})
	was := s.String()
	f := filetool.New(refusing{s, []string{"b"}}, filetool.Options{})
	r := call(t, f, "apply_patch", args{"patch": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-2\n+two\n"})
	if r.OK || !strings.Contains(r.Error, "disk") || s.String() != was {
		t.Errorf("%+v\n%s", r, s)
	}
}

// TestPatchTurnsOneTextIntoAnother applies the diff of any two texts, with either line end.
func TestPatchTurnsOneTextIntoAnother(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "", "  d", "-- x", "++ y", "@@ -1 +1 @@", "\\ z", "ñ", "diff --git a/f b/f"})
	text := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"), "\n")
		return s + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
	})
	rapid.Check(t, func(r *rapid.T) {
		before, after := text.Draw(r, "before"), text.Draw(r, "after")
		if before == after {
			return
		}
		_, patch, _ := strings.Cut(string(diff.Diff("a/f", []byte(before), "b/f", []byte(after))), "\n")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "line end")
		bom := rapid.SampledFrom([]string{"", mark}).Draw(r, "bom")
		if !strings.Contains(before, "\n") {
			end = "\n" // the file has no line end to keep
		}
		f, s := over(map[string]string{"f": bom + strings.ReplaceAll(before, "\n", end)})
		if res := call(t, f, "apply_patch", args{"patch": patch}); !res.OK {
			r.Fatalf("%s\n%s", res.Error, patch)
		}
		if got, want := read(t, s, "f"), bom+strings.ReplaceAll(after, "\n", end); got != want {
			r.Fatalf("%q, want %q, by\n%s", got, want, patch)
		}
	})
}

// FuzzPatch: no patch makes the tool fail, and what it refuses changes nothing.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		"@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+2\n", "diff --git a/f b/g\nrename from f\nrename to g\n",
		"GIT binary patch\nliteral 1\nIcmZPo000310RR91\n", "@@", "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", "@@ -1 +1 @@\n", "--- a/f\n+++ b/f\n@@ -1,0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, patch string) {
		tools, s := over(map[string]string{"f": "one\ntwo\nthree\n"})
		was := s.String()
		for _, a := range []args{{"patch": patch}, {"patch": patch, "path": "f"}} {
			r := call(t, tools, "apply_patch", a)
			if !r.OK && s.String() != was || strings.Contains(r.Error, "The tool failed") {
				t.Fatalf("%+v\n%s", r, s)
			}
			was = s.String()
		}
	})
}
