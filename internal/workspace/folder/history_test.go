package folder_test

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"piloto/internal/workspace"
	"piloto/internal/workspace/folder"
)

// clock is a time that a test moves.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

// versions returns the contents of the versions of a file, the newest first.
func versions(t *testing.T, f *folder.Folder, name string) string {
	t.Helper()
	all, err := f.Versions(t.Context(), name)
	if errors.Is(err, workspace.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	var contents []string
	for _, v := range all {
		content, _, err := f.Read(t.Context(), name, v.Version, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, string(content))
	}
	return strings.Join(contents, " ")
}

func TestHistoryKeepsVersionsForThirtyDays(t *testing.T) {
	c := &clock{time.Now()}
	history := t.TempDir()
	f := in(t, folder.Config{History: history, Now: c.now})
	version := ""
	for i := range 3 {
		now, err := f.Write(t.Context(), "a", []byte(strconv.Itoa(i)), version)
		if err != nil {
			t.Fatal(err)
		}
		version = now.Version
		c.Time = c.Add(20 * 24 * time.Hour)
	}
	if got := versions(t, f, "a"); got != "2 1" { // 0 was replaced 40 days ago, 1 was 20 days ago
		t.Errorf("versions %q", got)
	}
	if err := f.Delete(t.Context(), "a", version); err != nil {
		t.Fatal(err)
	}
	if got := versions(t, f, "a"); got != "2 1" {
		t.Errorf("versions %q after the delete", got)
	}
	c.Time = c.Add(20 * 24 * time.Hour)
	if got := versions(t, f, "a"); got != "2" {
		t.Errorf("versions %q 20 days after the delete", got)
	}
	c.Time = c.Add(20 * 24 * time.Hour)
	if got := versions(t, f, "a"); got != "" {
		t.Errorf("versions %q 40 days after the delete", got)
	}
	if _, err := f.Write(t.Context(), "b", nil, ""); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"content", "kept"} {
		if left := everything(t, filepath.Join(history, dir)); len(left) > 0 {
			t.Errorf("the next write leaves in %s: %q", dir, left)
		}
	}
}

func TestHistoryKeepsEachContentOnce(t *testing.T) {
	f := in(t, folder.Config{})
	for _, content := range []string{"A", "B", "A", "B", "A"} {
		if _, err := f.Write(t.Context(), "a", []byte(content), versionOf(t, f, "a")); err != nil {
			t.Fatal(err)
		}
	}
	if got := versions(t, f, "a"); got != "A B" {
		t.Errorf("versions %q", got)
	}
	if err := f.Delete(t.Context(), "a", versionOf(t, f, "a")); err != nil {
		t.Fatal(err)
	}
	if got := versions(t, f, "a"); got != "A B" {
		t.Errorf("versions %q after the delete", got)
	}
}

// TestHistoryKeepsWhatAnotherProgramWrote: a person's change is kept when it is replaced.
func TestHistoryKeepsWhatAnotherProgramWrote(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"a": "theirs"})
	f := in(t, folder.Config{Root: root})
	now, err := f.Stat(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(t.Context(), "a", []byte("ours"), now.Version); err != nil {
		t.Fatal(err)
	}
	put(t, root, map[string]string{"a": "theirs-again"})
	if _, err := f.Write(t.Context(), "a", []byte("ours-again"), versionOf(t, f, "a")); err != nil {
		t.Fatal(err)
	}
	if got := versions(t, f, "a"); got != "ours-again theirs-again theirs" {
		t.Errorf("versions %q", got)
	}
}

// TestSweepKeepsContentOfAnUnreadableRecord: what cannot be read is not removed, and other files can be written.
func TestSweepKeepsContentOfAnUnreadableRecord(t *testing.T) {
	root, history := t.TempDir(), t.TempDir()
	put(t, root, map[string]string{"a": "1", "b": "1"})
	f := in(t, folder.Config{Root: root, History: history})
	if _, err := f.Write(t.Context(), "a", []byte("2"), versionOf(t, f, "a")); err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob(filepath.Join(history, "kept", "*"))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	if err := os.WriteFile(records[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := in(t, folder.Config{Root: root, History: history}) // sweeps with its first write
	if _, err := again.Write(t.Context(), "c", []byte("1"), ""); err != nil {
		t.Fatal(err)
	}
	if contents := everything(t, filepath.Join(history, "content")); len(contents) != 1 {
		t.Errorf("contents %q", contents)
	}
	if _, err := again.Write(t.Context(), "a", []byte("3"), versionOf(t, again, "a")); err == nil {
		t.Error("a record that cannot be read was replaced")
	}
	if got, err := os.ReadFile(filepath.Join(root, "a")); err != nil || string(got) != "2" {
		t.Errorf("a has %q, %v", got, err)
	}
}

var writeGolden = flag.Bool("write-golden", false, "write testdata anew; for a new format only")

// TestHistoryGolden checks that the stored format equals testdata, and that testdata can be read.
func TestHistoryGolden(t *testing.T) {
	const name, golden = "docs/año.md", "testdata/format-1"
	root, history := t.TempDir(), t.TempDir()
	c := &clock{time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)}
	f := in(t, folder.Config{Root: root, History: history, Now: c.now})
	written := time.Date(2026, 11, 20, 8, 30, 0, 123456000, time.UTC)
	put(t, root, map[string]string{name: "first"})
	for _, change := range []func() error{
		func() error {
			_, err := f.Write(t.Context(), name, []byte("second"), versionOf(t, f, name))
			return err
		},
		func() error { return f.Delete(t.Context(), name, versionOf(t, f, name)) },
	} {
		if err := os.Chtimes(filepath.Join(root, name), written, written); err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		written, c.Time = written.Add(24*time.Hour), c.Add(24*time.Hour)
	}
	if err := os.Remove(filepath.Join(history, "lock")); err != nil {
		t.Fatal(err)
	}
	if *writeGolden {
		if err := errors.Join(os.RemoveAll(golden), os.CopyFS(golden, os.DirFS(history))); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := stored(t, history), stored(t, golden); !maps.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	f = in(t, folder.Config{History: copied, Now: c.now})
	if got := versions(t, f, name); got != "second first" {
		t.Errorf("versions %q", got)
	}
}

// stored returns the files of a folder with their contents.
func stored(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range everything(t, dir) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			all[name] = string(content)
		}
	}
	return all
}
