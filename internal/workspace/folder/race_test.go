//go:build linux || darwin

package folder

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"piloto/internal/workspace"
)

// A swap replaces a file or a folder of a workspace, as another process would.
type swap struct {
	name string
	path string // what is replaced
	by   func(path string) error
	want string // what is read then
}

// swaps lists what can come in the place of dir/file and of dir. "secret" is outside, in ".env" and in ".git/file".
var swaps = []swap{
	{"another file", "dir/file", func(path string) error { return os.WriteFile(path, []byte("new"), 0o644) }, "new"},
	{"a link out", "dir/file", func(path string) error { return os.Symlink("../../outside/file", path) }, ""},
	{"an absolute link out", "dir/file", func(path string) error {
		return os.Symlink(filepath.Join(filepath.Dir(path), "../../outside/file"), path)
	}, ""},
	{"a link to a hidden file", "dir/file", func(path string) error { return os.Symlink("../.env", path) }, ""},
	{"a link to a hidden file beside it", "dir/file", func(path string) error { return os.Symlink(".env", path) }, ""},
	{"a hard link", "dir/file", func(path string) error {
		return os.Link(filepath.Join(filepath.Dir(path), "../../outside/file"), path)
	}, ""},
	{"a FIFO", "dir/file", func(path string) error { return syscall.Mkfifo(path, 0o644) }, ""},
	{"a folder", "dir/file", func(path string) error { return os.Mkdir(path, 0o755) }, ""},
	{"a link to the hidden folder", "dir", func(path string) error { return os.Symlink(".git", path) }, ""},
	{"a link to the folder outside", "dir", func(path string) error { return os.Symlink("../outside", path) }, ""},
	{"a FIFO for the folder", "dir", func(path string) error { return syscall.Mkfifo(path, 0o644) }, ""},
	{"a file for the folder", "dir", func(path string) error { return os.WriteFile(path, []byte("new"), 0o644) }, ""},
}

// workspaceOf makes a workspace with one file, hidden ones, and a file outside.
func workspaceOf(t *testing.T) (root string, f *Folder) {
	t.Helper()
	dir := t.TempDir()
	root = filepath.Join(dir, "root")
	for name, content := range map[string]string{
		"root/dir/file": "old", "root/dir/.env": "secret", "root/.env": "secret", "root/.git/file": "secret", "outside/file": "secret",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(Config{Root: root, History: filepath.Join(dir, "history"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		inspected = func() {}
		for _, name := range []string{"root/.env", "root/.git/file", "outside/file"} {
			if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(content) != "secret" {
				t.Errorf("%s has %q, %v", name, content, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return root, f
}

// swapAt makes a swap when an entry was inspected for the nth time and is not yet open. It returns a function that
// tells whether that happened.
func swapAt(t *testing.T, root string, s swap, nth int) func() bool {
	looks := 0
	inspected = func() {
		if looks++; looks != nth {
			return
		}
		path := filepath.Join(root, s.path)
		if err := errors.Join(os.RemoveAll(path), s.by(path)); err != nil {
			t.Error(err)
		}
	}
	return func() bool { return looks >= nth }
}

// TestSwapBetweenLookAndOpening: whatever comes in the place of a file or a folder is noticed at every moment.
func TestSwapBetweenLookAndOpening(t *testing.T) {
	refused := func(t *testing.T, err error) {
		t.Helper()
		for _, is := range []error{nil, workspace.ErrMoved, workspace.ErrSpecial, workspace.ErrName, workspace.ErrNotFound} {
			if errors.Is(err, is) {
				return
			}
		}
		t.Error(err)
	}
	operations := map[string]func(t *testing.T, f *Folder, want string){
		"read": func(t *testing.T, f *Folder, want string) {
			content, _, err := f.Read(t.Context(), "dir/file", "", 0, 100)
			if string(content) != want && string(content) != "old" || (len(content) > 0) != (err == nil) {
				t.Errorf("read %q, %v", content, err)
			}
		},
		"list": func(t *testing.T, f *Folder, _ string) {
			l, err := f.List(t.Context())
			if err != nil {
				t.Error(err)
			}
			for _, file := range l.Files {
				if file.Name != "dir/file" && file.Name != "dir" || file.Size != 3 {
					t.Errorf("listed %+v", file)
				}
			}
		},
		"write": func(t *testing.T, f *Folder, _ string) {
			_, err := f.Write(t.Context(), "dir/file", []byte("ours"), workspace.Sum([]byte("old")))
			refused(t, err)
		},
		"create": func(t *testing.T, f *Folder, _ string) {
			_, err := f.Write(t.Context(), "dir/new", []byte("ours"), "")
			refused(t, err)
		},
		"delete": func(t *testing.T, f *Folder, _ string) {
			refused(t, f.Delete(t.Context(), "dir/file", workspace.Sum([]byte("old"))))
		},
	}
	for name, operation := range operations {
		for _, s := range swaps {
			for nth, met := 1, true; met; nth++ {
				t.Run(name+"/"+s.name+"/"+strconv.Itoa(nth), func(t *testing.T) {
					root, f := workspaceOf(t)
					happened := swapAt(t, root, s, nth)
					operation(t, f, s.want)
					met = happened()
				})
			}
		}
	}
}
