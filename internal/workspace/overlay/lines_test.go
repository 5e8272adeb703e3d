package overlay_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture/memory"
	"piloto/internal/workspace/overlay"
)

// TestLinesOfADiffHaveTheirKinds: also lines whose content looks like a mark, of two parts and of two files.
func TestLinesOfADiffHaveTheirKinds(t *testing.T) {
	long := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	base := memory.With(map[string]string{"a.sql": "-- old\n" + long + "end", "b.bin": "\x00"})
	v := over(t, base, overlay.Set{})
	put(t, v, "a.sql", "++ new\n@@ -1 +1 @@\n"+long+"\\ end")
	put(t, v, "b.bin", "one\n")
	put(t, v, "c.txt", "\n")
	set := v.Changes()
	diff, err := overlay.Diff(t.Context(), base, set)
	if err != nil {
		t.Fatal(err)
	}
	var got, all []string
	for line := range overlay.Lines(diff) {
		got, all = append(got, string(line.Kind)+": "+line.Text), append(all, line.Text)
	}
	want := []string{
		"file: --- a/a.sql", "file: +++ b/a.sql", "part: @@ -1,4 +1,5 @@", "del: --- old", "add: +++ new", "add: +@@ -1 +1 @@", ":  1", ":  2", ":  3",
		"part: @@ -8,4 +9,4 @@", ":  7", ":  8", ":  9", "del: -end", "part: \\ No newline at end of file", "add: +\\ end", "part: \\ No newline at end of file",
		"file: --- a/b.bin", "file: +++ b/b.bin", "file: (binary: 1 bytes become this text)", "part: @@ -0,0 +1,1 @@", "add: +one",
		"file: --- /dev/null", "file: +++ b/c.txt", "part: @@ -0,0 +1,1 @@", "add: +",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if strings.Join(all, "\n")+"\n" != diff {
		t.Error("the lines are not the diff")
	}
	for range overlay.Lines(diff) { // whoever stops early is called no more
		break
	}
	if c := set.Changes[0]; c.Added != 3 || c.Removed != 2 {
		t.Errorf("%+v", c)
	}
}
