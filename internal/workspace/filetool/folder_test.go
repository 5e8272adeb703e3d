package filetool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"piloto/internal/workspace"
	"piloto/internal/workspace/filetool"
	"piloto/internal/workspace/folder"
	"piloto/internal/workspace/overlay"
)

// inFolder returns a store of a real folder with files.
func inFolder(t testing.TB, files map[string]string) (workspace.Store, string) {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := folder.Open(folder.Config{Root: root, History: t.TempDir(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, root
}

// TestToolsOverAFolder: a job changes files of a folder, and a person confirms the changes.
func TestToolsOverAFolder(t *testing.T) {
	files := map[string]string{".env": "SECRET=1\n"}
	for name, content := range project {
		files[name] = content
	}
	s, root := inFolder(t, files)
	v, err := overlay.New(s, overlay.Set{}, overlay.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	f := filetool.New(v, filetool.Options{AllowDelete: true})
	for _, e := range []expect{
		{"a file that is not listed", "grep", args{"text": "run", "path": "build/out.txt"}, true, []string{"(1 match)"}},
		{"the same", "read_file", args{"path": "src/debug.log"}, true, []string{"a line of a log"}},
		{"a hidden file", "read_file", args{"path": ".env"}, false, []string{"secrets"}},
		{"a hidden file is not made", "write_file", args{"path": "web/.env", "content": "x"}, false, []string{"secrets"}},
		{"a hidden file is not searched", "grep", args{"text": "SECRET"}, true, []string{"No line matches."}},
		{"nor by its name", "grep", args{"text": "SECRET", "path": ".env"}, false, []string{"no file or folder"}},
		{"an edit", "edit_file", args{"path": "src/main.go", "old_str": "run()", "new_str": "start()"}, true, nil},
		{"a new file", "write_file", args{"path": "src/start.go", "content": "package main\n"}, true, nil},
		{"it is read", "grep", args{"text": "start()"}, true, []string{"src/main.go\n     4: \tstart()\n"}},
		{"a delete", "delete_file", args{"path": "web/b.tsx"}, true, nil},
	} {
		e.check(t, f)
	}
	if got := tree(t, f); strings.Contains(got, "SECRET") || strings.Contains(got, ".env") || !strings.Contains(got, "  start.go\n") {
		t.Errorf("the tree:\n%s", got)
	}
	if text, err := os.ReadFile(filepath.Join(root, "src/main.go")); err != nil || strings.Contains(string(text), "start()") {
		t.Errorf("the folder was written before anybody confirmed: %v", err)
	}
	set := v.Changes()
	if got, want := fmt.Sprint(set.Lines()), "2 1"; got != want {
		t.Errorf("lines: %s, want %s", got, want)
	}
	done, err := overlay.Apply(t.Context(), s, set)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, "src/main.go"); !strings.Contains(got, "start()") {
		t.Error(got)
	}
	back, err := overlay.Undo(t.Context(), s, set, done)
	if err == nil {
		_, err = overlay.Apply(t.Context(), s, back)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if text, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(text) != want {
			t.Errorf("%s after undo: %q, %v", name, text, err)
		}
	}
}

// BenchmarkFolder lists and searches 2,000 files of 5 kB in a real folder.
func BenchmarkFolder(b *testing.B) {
	s, _ := inFolder(b, benchmarkFiles(1_999))
	f := filetool.New(s, filetool.Options{})
	for b.Loop() {
		call(b, f, "list_files", args{"path": "src"})
		call(b, f, "grep", args{"text": "absent"})
	}
}
