package private

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestAFileIsWrittenWholeForItsOwnerAlone(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	if err := os.WriteFile(path, []byte("earlier"), 0o644); err != nil { //nolint:gosec // that others may read
		t.Fatal(err)
	}
	if err := Write(path, []byte("later")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || string(text) != "later" || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v", text, err, info.Mode())
	}
}

func TestAFileThatCannotBeWrittenLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "a", "b"), 0o700); err != nil { // no file takes the place of a folder
		t.Fatal(err)
	}
	if err := Write(filepath.Join(folder, "a"), nil); err == nil {
		t.Error("a folder was replaced")
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if err := Write(filepath.Join(folder, "none", "a"), nil); err == nil {
		t.Error("a folder was made")
	}
}
