package overlay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture/memory"
	"piloto/infra/local/fixture/storetest"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace"
	"piloto/internal/workspace/overlay"
)

var noon = overlay.Options{Now: func() time.Time { return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) }}

func over(t testing.TB, base workspace.Store, from overlay.Set) *overlay.Overlay {
	t.Helper()
	v, err := overlay.New(base, from, noon)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// put writes a file whatever its version is.
func put(t testing.TB, s workspace.Store, name, content string) workspace.File {
	t.Helper()
	f, err := s.Stat(t.Context(), name)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		t.Fatal(err)
	}
	if f, err = s.Write(t.Context(), name, []byte(content), f.Version); err != nil {
		t.Fatal(err)
	}
	return f
}

func remove(t testing.TB, s workspace.Store, name string) {
	t.Helper()
	f, err := s.Stat(t.Context(), name)
	if err == nil {
		err = s.Delete(t.Context(), name, f.Version)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOverlayReadsItsChangesAndLeavesTheBase(t *testing.T) {
	files := map[string]string{"a.txt": "one\ntwo\n", "b.txt": "b\n", "c/d.txt": "d\n"}
	base := memory.With(files)
	v := over(t, base, overlay.Set{})
	put(t, v, "a.txt", "one\n2\ntwo\n")
	put(t, v, "new/e.txt", "e\ne\n")
	remove(t, v, "b.txt")
	want := map[string]string{"a.txt": "one\n2\ntwo\n", "c/d.txt": "d\n", "new/e.txt": "e\ne\n"}
	if diff := cmp.Diff(want, storetest.Contents(t, v)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(files, storetest.Contents(t, base)); diff != "" {
		t.Errorf("the base was written: %s", diff)
	}
	if _, err := v.Stat(t.Context(), "b.txt"); !errors.Is(err, workspace.ErrNotFound) {
		t.Errorf("b.txt: %v", err)
	}
	before, _ := base.Stat(t.Context(), "a.txt")
	gone, _ := base.Stat(t.Context(), "b.txt")
	wantChanges := []overlay.Change{
		{Name: "a.txt", Before: before.Version, After: workspace.Sum([]byte("one\n2\ntwo\n")), Added: 1},
		{Name: "b.txt", Before: gone.Version, Removed: 1},
		{Name: "new/e.txt", After: workspace.Sum([]byte("e\ne\n")), Added: 2},
	}
	if diff := cmp.Diff(wantChanges, v.Changes().Changes); diff != "" {
		t.Error(diff)
	}
	old, _, err := v.Read(t.Context(), "a.txt", before.Version, 4, 3)
	if err != nil || string(old) != "two" {
		t.Errorf("an earlier version: %q, %v", old, err)
	}
	versions, err := v.Versions(t.Context(), "a.txt")
	if err != nil || len(versions) != 2 || versions[1].Version != before.Version {
		t.Errorf("versions: %v, %v", versions, err)
	}
}

func TestWhatIsTakenBackIsNoChange(t *testing.T) {
	v := over(t, memory.With(map[string]string{"a": "1\n", "b": "2\n"}), overlay.Set{})
	was, _ := v.List(t.Context())
	put(t, v, "a", "x")
	put(t, v, "n", "x")
	remove(t, v, "b")
	now, _ := v.List(t.Context())
	if now.Version == was.Version {
		t.Error("the version of the listing stays while files change")
	}
	put(t, v, "a", "1\n")
	put(t, v, "b", "2\n")
	remove(t, v, "n")
	if s := v.Changes(); len(s.Changes) != 0 || len(s.Contents) != 0 {
		t.Errorf("%+v", s)
	}
	if now, _ := v.List(t.Context()); now.Version != was.Version {
		t.Error("the listing has another version than that of the base")
	}
}

func TestWritesHaveTheirConditions(t *testing.T) {
	base := memory.With(map[string]string{"a": "1", "dir/b": "2"})
	v := over(t, base, overlay.Set{})
	a, _ := v.Stat(t.Context(), "a")
	refused := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	write := func(name, content, version string) error {
		_, err := v.Write(t.Context(), name, []byte(content), version)
		return err
	}
	refused("a file that exists", write("a", "x", ""), workspace.ErrMoved)
	refused("a file that does not exist", write("n", "x", "v9"), workspace.ErrMoved)
	refused("a name", write("../n", "x", ""), workspace.ErrName)
	refused("a file where a folder is", write("dir", "x", ""), workspace.ErrName)
	refused("a folder where a file is", write("a/n", "x", ""), workspace.ErrName)
	refused("another case", write("A", "x", ""), workspace.ErrName)
	refused("size", write("n", strings.Repeat("x", workspace.MaxFileBytes+1), ""), workspace.ErrTooLarge)
	refused("delete of no file", v.Delete(t.Context(), "n", ""), workspace.ErrNotFound)
	refused("delete without version", v.Delete(t.Context(), "a", ""), workspace.ErrMoved)
	refused("delete of another version", v.Delete(t.Context(), "a", "v9"), workspace.ErrMoved)
	put(t, base, "a", "of another")
	refused("a file that moved below", write("a", "x", a.Version), workspace.ErrMoved)
	if s := v.Changes(); len(s.Changes) != 0 {
		t.Errorf("something was changed: %+v", s)
	}
	guarded, err := overlay.New(base, overlay.Set{}, overlay.Options{Now: noon.Now, Check: func(name string) error {
		return workspace.ErrName.With("name", name)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = guarded.Write(t.Context(), "n", nil, ""); !errors.Is(err, workspace.ErrName) {
		t.Errorf("a name that the base does not take: %v", err)
	}
}

func TestOverlayHoldsLimitsOfTheWorkspace(t *testing.T) {
	files := map[string]string{}
	for i := range 5 {
		files[fmt.Sprintf("f%d", i)] = "x"
	}
	v, err := overlay.New(memory.With(files), overlay.Set{}, overlay.Options{Now: noon.Now, Limits: workspace.Limits{Files: 5, Bytes: 50}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Write(t.Context(), "one-more", nil, ""); !errors.Is(err, workspace.ErrFull) {
		t.Errorf("a file too many: %v", err)
	}
	remove(t, v, "f0")
	if _, err := v.Write(t.Context(), "one-more", nil, ""); err != nil {
		t.Errorf("a file in the place of another: %v", err)
	}
	was, _ := v.Stat(t.Context(), "f1")
	if _, err := v.Write(t.Context(), "f1", make([]byte, 48), was.Version); !errors.Is(err, workspace.ErrFull) {
		t.Errorf("bytes too many: %v", err)
	}
}

func TestSetIsStoredAsJSON(t *testing.T) {
	base := memory.With(map[string]string{"a": "1\n", "b": "2\n"})
	v := over(t, base, overlay.Set{})
	put(t, v, "a", "\xff\x00binary")
	put(t, v, "ñ", "é\n")
	remove(t, v, "b")
	set := v.Changes()
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	var back overlay.Set
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(set, over(t, base, back).Changes()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(storetest.Contents(t, v), storetest.Contents(t, over(t, base, back))); diff != "" {
		t.Error(diff)
	}
	for name, damage := range map[string]func(*overlay.Set){
		"another content": func(s *overlay.Set) { s.Contents[s.Changes[0].After] = []byte("x") },
		"no content":      func(s *overlay.Set) { s.Contents = nil },
		"twice":           func(s *overlay.Set) { s.Changes = append(s.Changes, s.Changes[0]) },
		"nothing":         func(s *overlay.Set) { s.Changes = append(s.Changes, overlay.Change{Name: "z"}) },
	} {
		var bad overlay.Set
		if err := json.Unmarshal(text, &bad); err != nil {
			t.Fatal(err)
		}
		damage(&bad)
		if _, err := overlay.New(base, bad, noon); err == nil {
			t.Errorf("%s: it was taken", name)
		}
		if _, err := overlay.Apply(t.Context(), base, bad); err == nil {
			t.Errorf("%s: it was applied", name)
		}
	}
}

func TestDigestCoversVersionsAndContents(t *testing.T) {
	digest := func(c ...overlay.Change) string {
		sum, err := overlay.Set{Changes: c}.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	one := overlay.Change{Name: "a", Before: "v1", After: "00", Added: 1}
	const golden = "0b8ee19813dd1cdb2409db15dcb940a2dc6163e2cfe3c8c2ac18de4ca1d42e21"
	if got := digest(one); got != golden {
		t.Errorf("the form of a set that somebody may have confirmed is another one: %s", got)
	}
	seen := map[string]bool{digest(): true, digest(one): true}
	for _, change := range []func(*overlay.Change){
		func(c *overlay.Change) { c.Name = "b" }, func(c *overlay.Change) { c.Before = "v2" }, func(c *overlay.Change) { c.After = "01" },
		func(c *overlay.Change) { c.Before = "" }, func(c *overlay.Change) { c.After = "" },
	} {
		c := one
		change(&c)
		if sum := digest(c); seen[sum] {
			t.Errorf("%+v has the digest of another one", c)
		} else {
			seen[sum] = true
		}
	}
}

func TestTitleCountsChanges(t *testing.T) {
	s := overlay.Set{Changes: []overlay.Change{
		{Name: "a", Before: "v1", After: "00", Added: 30, Removed: 10},
		{Name: "b", After: "01", Added: 1},
		{Name: "c", Before: "v2", Removed: 2},
		{Name: "d.png", Before: "v3", After: "02", Binary: true},
	}}
	if got := s.Title().In(locale.Spanish); got != "Aplica 4 cambios (+31 −12)" {
		t.Error(got)
	}
	if got := s.Only("b").Title().In(locale.English); got != "Apply 1 change (+1 −0)" {
		t.Error(got)
	}
	var lines []string
	for _, c := range s.Changes {
		lines = append(lines, c.Phrase().In(locale.Spanish))
	}
	want := []string{"a (+30 −10)", "b: archivo nuevo (+1)", "c: se borra (−2)", "d.png: binario, cambia"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestDiffIsUnified(t *testing.T) {
	base := memory.With(map[string]string{
		"changed": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n", "crlf": "a\r\nb\r\n", "dashes": "-- a\n", "deleted": "x\n", "empty": "", "end": "x", "image": "\x00\x01",
	})
	v := over(t, base, overlay.Set{})
	put(t, v, "changed", "one\n2\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n")
	put(t, v, "crlf", "a\r\nc\r\n")
	put(t, v, "dashes", "++ a\n")
	put(t, v, "end", "x\n")
	put(t, v, "image", "\x00\x01\x02")
	put(t, v, "made", "")
	remove(t, v, "deleted")
	remove(t, v, "empty")
	text, err := overlay.Diff(t.Context(), base, v.Changes())
	if err != nil {
		t.Fatal(err)
	}
	const want = `--- a/changed
+++ b/changed
@@ -1,5 +1,5 @@
 one
-two
+2
 three
 four
 five
@@ -7,3 +7,4 @@
 seven
 eight
 nine
+ten
--- a/crlf
+++ b/crlf
@@ -1,2 +1,2 @@
 a` + "\r" + `
-b` + "\r" + `
+c` + "\r" + `
--- a/dashes
+++ b/dashes
@@ -1,1 +1,1 @@
--- a
+++ a
--- a/deleted
+++ /dev/null
@@ -1,1 +0,0 @@
-x
--- a/empty
+++ /dev/null
--- a/end
+++ b/end
@@ -1,1 +1,1 @@
-x
\ No newline at end of file
+x
--- a/image
+++ b/image
(binary: 2 bytes become 3)
--- /dev/null
+++ b/made
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	long := over(t, base, overlay.Set{})
	put(t, long, "long", strings.Repeat("\n", 500_001))
	if s := long.Changes(); !s.Changes[0].Binary || s.Changes[0].Added != 0 {
		t.Errorf("a text of too many lines has a diff: %+v", s.Changes)
	}
	added, removed := v.Changes().Lines()
	if added != 5 || removed != 5 {
		t.Errorf("+%d −%d", added, removed)
	}
}

// BenchmarkWrite replaces a line of a file of the largest size: the diff is a part of it.
func BenchmarkWrite(b *testing.B) {
	var text strings.Builder
	for i := 0; text.Len() < workspace.MaxFileBytes-20; i++ {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	base := memory.With(map[string]string{"a": text.String()})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		put(b, over(b, base, overlay.Set{}), "a", text.String()+fmt.Sprint(i))
	}
}

// TestATextInThePlaceOfABinaryIsShown: a person would otherwise confirm lines that they never saw.
func TestATextInThePlaceOfABinaryIsShown(t *testing.T) {
	base := memory.With(map[string]string{"logo.png": "\x89PNG\x00", "b": "x\n"})
	v := over(t, base, overlay.Set{})
	put(t, v, "logo.png", "rm -rf /\n")
	set := v.Changes()
	diff, err := overlay.Diff(t.Context(), base, set)
	if err != nil || !strings.Contains(diff, "(binary: 5 bytes become this text)\n@@ -0,0 +1,1 @@\n+rm -rf /\n") || len(set.Unseen()) != 0 {
		t.Errorf("%q, %v, %v", diff, set.Unseen(), err)
	}
	put(t, v, "b", "\x00\x01")
	if got := v.Changes().Unseen(); len(got) != 1 || got[0] != "b" {
		t.Errorf("%v", got)
	}
}

// TestBytesThatAreNoTextHaveNoDiff: two of them would look alike in one. The text that takes their place is shown whole.
func TestBytesThatAreNoTextHaveNoDiff(t *testing.T) {
	base := memory.With(map[string]string{"a": "caf\xe9\n"})
	v := over(t, base, overlay.Set{})
	put(t, v, "a", "caf\ufffd\n")
	diff, err := overlay.Diff(t.Context(), base, v.Changes())
	if err != nil || !strings.Contains(diff, "become this text)\n") || !strings.Contains(diff, "+caf\ufffd\n") || strings.Contains(diff, "\n-") {
		t.Errorf("%q, %v", diff, err)
	}
}
