package filetool_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture/memory"
	"piloto/internal/workspace/filetool"
	"piloto/internal/workspace/overlay"
)

// TestToolsOverAnOverlayDoWhatTheyDoInTheStore makes the same calls over an overlay and in a store: each has the same
// answer. Then the changes of the overlay are applied: both stores have the same files.
func TestToolsOverAnOverlayDoWhatTheyDoInTheStore(t *testing.T) {
	name := rapid.SampledFrom([]string{"a.txt", "src/b.go", "src/c.go", "src", "A.txt", "../x", "new/d"})
	text := rapid.SampledFrom([]string{"", "one\n", "one\ntwo\nthree\n", "one\r\ntwo\r\n", mark + "one\n", "two\ntwo\n", "open"})
	part := rapid.SampledFrom([]string{"one", "two\n", "o", "three\n"})
	patch := rapid.SampledFrom([]string{
		"@@ -1 +1 @@\n-one\n+ONE\n", "@@ -2 +2,2 @@\n-two\n+2\n+2b\n", "@@ -0,0 +1 @@\n+new\n", "@@ -1,2 +1 @@\n one\n-two\n", "no patch",
	})
	several := rapid.SampledFrom([]string{
		"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- /dev/null\n+++ b/src/new\n@@ -0,0 +1 @@\n+x\n",
		"--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n--- a/src/b.go\n+++ b/src/b.go\n@@ -1 +1 @@\n-one\n+1\n",
	})
	draw := func(r *rapid.T) (tool string, a args) {
		switch tool = rapid.SampledFrom([]string{"write_file", "write_file", "edit_file", "edit_file", "apply_patch", "delete_file", "several", "read_file", "grep", "list_files"}).Draw(r, "tool"); tool {
		case "write_file":
			return tool, args{"path": name.Draw(r, "name"), "content": text.Draw(r, "text"), "mode": rapid.SampledFrom([]string{"overwrite", "append"}).Draw(r, "mode")}
		case "edit_file":
			return tool, args{"path": name.Draw(r, "name"), "old_str": part.Draw(r, "old"), "new_str": text.Draw(r, "new")}
		case "apply_patch":
			return tool, args{"path": name.Draw(r, "name"), "patch": patch.Draw(r, "patch")}
		case "several":
			return "apply_patch", args{"patch": several.Draw(r, "patch")}
		case "grep":
			return tool, args{"text": "o"}
		case "list_files":
			return tool, args{"recursive": true}
		}
		return tool, args{"path": name.Draw(r, "name")}
	}
	rapid.Check(t, func(r *rapid.T) {
		files := rapid.MapOf(rapid.SampledFrom([]string{"a.txt", "src/b.go"}), text).Draw(r, "files")
		base, store := memory.With(files), memory.With(files)
		now := overlay.Options{Now: func() time.Time { return time.Unix(0, 0) }}
		v, err := overlay.New(base, overlay.Set{}, now)
		if err != nil {
			r.Fatal(err)
		}
		over, in := filetool.New(v, filetool.Options{AllowDelete: true}), filetool.New(store, filetool.Options{AllowDelete: true})
		for range rapid.IntRange(1, 12).Draw(r, "calls") {
			tool, a := draw(r)
			if one, two := call(t, over, tool, a), call(t, in, tool, a); one != two {
				r.Fatalf("%s %v: over the overlay %+v, in the store %+v", tool, a, one, two)
			}
		}
		if base.String() != memory.With(files).String() {
			r.Fatal("the base was written")
		}
		if _, err := overlay.Apply(t.Context(), base, v.Changes()); err != nil {
			r.Fatal(err)
		}
		if base.String() != store.String() {
			r.Fatalf("applied:\n%s\nin the store:\n%s", base, store)
		}
	})
}
