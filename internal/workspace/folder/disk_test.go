package folder_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace"
	"piloto/internal/workspace/folder"
)

// put writes files as another program would.
func put(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// listed returns the names of a list.
func listed(t *testing.T, f *folder.Folder) []string {
	t.Helper()
	l, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range l.Files {
		all = append(all, file.Name)
	}
	return all
}

func TestListLeavesOutWhatNobodyWrote(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{
		"main.go": "1", "sub/a.go": "2", "node_modules/x/index.js": "3", "sub/vendor/y.go": "4", "dist/app.js": "5", "__pycache__/z.pyc": "6",
		".git/config": "7", ".env": "8", ".gitignore": "/out\n*.log\n!keep.log\n", "out/bin": "9", "a.log": "10", "keep.log": "11", "sub/.gitignore": "tmp/\n",
		"sub/tmp/x": "12", "tmp/x": "13", "a:b": "no name for Windows", ".piloto-left": "half written",
		"large": strings.Repeat("x", workspace.MaxFileBytes+1),
	})
	f := in(t, folder.Config{Root: root, Limits: workspace.Limits{Files: 6}})
	want := []string{".gitignore", "keep.log", "main.go", "sub/.gitignore", "sub/a.go", "tmp/x"}
	if got := listed(t, f); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	for name, content := range map[string]string{"node_modules/x/index.js": "3", "a.log": "10", "out/bin": "9"} {
		got, file, err := f.Read(t.Context(), name, "", 0, 99)
		if err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if _, err := f.Write(t.Context(), name, []byte("changed"), file.Version); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Stat(t.Context(), "large"); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("large: %v", err)
	}
	shown, err := workspace.Show("vendor/**", "**/vendor/**", "/out/bin")
	if err != nil {
		t.Fatal(err)
	}
	all := in(t, folder.Config{Root: root, Shown: shown})
	want = []string{".gitignore", "keep.log", "main.go", "out/bin", "sub/.gitignore", "sub/a.go", "sub/vendor/y.go", "tmp/x"}
	if got := listed(t, all); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func TestListSaysHowManyFilesAreTooMany(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"a": "1", "b": "2", "dir/c": "3"})
	f := in(t, folder.Config{Root: root, Limits: workspace.Limits{Files: 2}})
	_, err := f.List(t.Context())
	many := fault.Of(err)
	for tag, want := range map[locale.Tag]string{
		locale.English: "The folder " + root + " has more than 2 files, or than 100 MB, without what .gitignore leaves out: name a folder below it with -w, or " +
			"name in a .gitignore what the agent does not need.",
		locale.Spanish: "La carpeta " + root + " tiene más de 2 archivos, o de 100 MB, sin contar lo que deja fuera .gitignore: nombra con -w una carpeta de " +
			"dentro, o en un .gitignore lo que el agente no necesita.",
	} {
		if got := locale.OfFault(many).In(tag); !errors.Is(err, workspace.ErrFull) || !errors.Is(err, workspace.ErrMany) || got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
	f = in(t, folder.Config{Root: root, Limits: workspace.Limits{Bytes: 2}})
	if _, err := f.List(t.Context()); !errors.Is(err, workspace.ErrFull) {
		t.Errorf("%v", err)
	}
	put(t, root, map[string]string{".gitignore": "dir\n"})
	f = in(t, folder.Config{Root: root, Limits: workspace.Limits{Files: 3}})
	if l, err := f.List(t.Context()); err != nil || len(l.Files) != 3 { // what the sentence says helps
		t.Errorf("%v, %v", l, err)
	}
	if content, _, err := f.Read(t.Context(), "dir/c", "", 0, 9); err != nil || string(content) != "3" {
		t.Errorf("a file of a full workspace is read: %q, %v", content, err)
	}
}

// TestListSeesEveryChange: another program changes a file to a content of the same size, at once and with the old time.
func TestListSeesEveryChange(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a")
	later := func() time.Time { return time.Now().Add(time.Minute) } // so that versions are taken from memory
	for name, now := range map[string]func() time.Time{"within the tick of the clock": time.Now, "with the old time of change": later} {
		f := in(t, folder.Config{Root: root, Now: now})
		var was string
		for i := range 30 {
			put(t, root, map[string]string{"a": fmt.Sprintf("%03d", i)})
			if name != "within the tick of the clock" {
				time.Sleep(20 * time.Millisecond) // longer than the tick of a file system of this machine
				if err := os.Chtimes(path, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
					t.Fatal(err)
				}
			}
			l, err := f.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if l.Version == was {
				t.Fatalf("%s: change %d is not seen", name, i)
			}
			was = l.Version
		}
	}
}

// TestWriteComparesAgain: another program changes the file while it is being replaced. Its content is never lost.
func TestWriteComparesAgain(t *testing.T) {
	root := t.TempDir()
	calls, at := 0, 0
	f := in(t, folder.Config{Root: root, Now: func() time.Time {
		if calls++; calls == at { // the clock is asked again and again during a write
			put(t, root, map[string]string{"a": "theirs"})
		}
		return time.Now()
	}})
	met := 0
	for first := 1; ; first++ {
		put(t, root, map[string]string{"a": "old"})
		version := versionOf(t, f, "a")
		calls, at = 0, first
		_, err := f.Write(t.Context(), "a", []byte("ours"), version)
		if calls < at {
			break // the write is over earlier
		}
		met++
		content, readErr := os.ReadFile(filepath.Join(root, "a"))
		if !errors.Is(err, workspace.ErrMoved) || string(content) != "theirs" || readErr != nil {
			t.Errorf("changed at call %d: %v, and the file has %q, %v", at, err, content, readErr)
		}
	}
	if met < 3 {
		t.Errorf("the file was changed at %d moments only", met)
	}
}

func TestWriteKeepsModeAndRefusesReadOnly(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"run.sh": "1", "fixed": "1"})
	for name, mode := range map[string]fs.FileMode{"run.sh": 0o775, "fixed": 0o444} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	f := in(t, folder.Config{Root: root})
	now, err := f.Stat(t.Context(), "run.sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(t.Context(), "run.sh", []byte("2"), now.Version); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(root, "run.sh")); err != nil || info.Mode().Perm() != 0o775 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := f.Write(t.Context(), "fixed", []byte("2"), now.Version); !errors.Is(err, workspace.ErrDenied) {
		t.Errorf("a file that is read-only: %v", err)
	}
}

func TestWriteRefusesANameOfAFolder(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "empty/dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, root, map[string]string{"hidden/.env": "x"})
	f := in(t, folder.Config{Root: root})
	for _, name := range []string{"empty", "empty/dir", "hidden"} {
		if _, err := f.Write(t.Context(), name, nil, ""); !errors.Is(err, workspace.ErrSpecial) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func versionOf(t *testing.T, f *folder.Folder, name string) string {
	t.Helper()
	now, err := f.Stat(t.Context(), name)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		t.Fatal(err)
	}
	return now.Version
}

// everything lists a folder with all that a store does not list.
func everything(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if path != root {
			rel, _ := filepath.Rel(root, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDeleteRemovesEmptyFolders(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"a/b/c/file": "x", "a/other": "y"})
	f := in(t, folder.Config{Root: root})
	now, err := f.Stat(t.Context(), "a/b/c/file")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Delete(t.Context(), "a/b/c/file", now.Version); err != nil {
		t.Fatal(err)
	}
	if left := everything(t, root); !slices.Equal(left, []string{"a", "a/other"}) {
		t.Errorf("left: %q", left)
	}
}

func TestFolderThatVanishesIsSaid(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "workspace")
	put(t, root, map[string]string{"a": "1"})
	f := in(t, folder.Config{Root: root})
	now, err := f.Stat(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	gone := func(how string) {
		t.Helper()
		_, listErr := f.List(t.Context())
		_, _, readErr := f.Read(t.Context(), "a", "", 0, 1)
		_, statErr := f.Stat(t.Context(), "a")
		_, writeErr := f.Write(t.Context(), "a", []byte("2"), now.Version)
		_, versionsErr := f.Versions(t.Context(), "a")
		for _, err := range []error{listErr, readErr, statErr, writeErr, versionsErr, f.Delete(t.Context(), "a", now.Version)} {
			if !errors.Is(err, workspace.ErrGone) {
				t.Errorf("%s: %v", how, err)
			}
		}
	}
	if err := os.Rename(root, root+"2"); err != nil {
		t.Fatal(err)
	}
	gone("it was moved")
	put(t, root, map[string]string{"a": "1"})
	gone("another is in its place")
	if err := errors.Join(os.RemoveAll(root), os.RemoveAll(root+"2")); err != nil {
		t.Fatal(err)
	}
	gone("it was removed")
	if _, err := folder.Open(folder.Config{Root: root, History: filepath.Join(dir, "history"), Now: time.Now}); !errors.Is(err, workspace.ErrGone) {
		t.Errorf("open: %v", err)
	}
}

func TestHistoryIsOutside(t *testing.T) {
	root, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	put(t, root, map[string]string{"sub/a": "1"})
	if err := os.Symlink(filepath.Join(root, "sub"), link); err != nil {
		t.Fatal(err)
	}
	for _, history := range []string{root, filepath.Join(root, "a/b"), filepath.Join(link, "h")} {
		if f, err := folder.Open(folder.Config{Root: root, History: history, Now: time.Now}); err == nil {
			f.Close()
			t.Errorf("%s is inside of the workspace", history)
		}
	}
	if left := everything(t, root); !slices.Equal(left, []string{"sub", "sub/a"}) {
		t.Errorf("left: %q", left)
	}
}
